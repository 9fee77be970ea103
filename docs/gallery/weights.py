"""What a wrong switching weight costs: the weight that a policy is told over the true one, against the true cost."""

import matplotlib.pyplot as plt
import numpy as np

import soqo
from soqo.plants import Interpolation

problem = soqo.Problem([[2.0, 0.5], [0.5, 1.0]], switching_weight=4.0)
environment = soqo.Environment(problem, soqo.processes.Gaussian(1.0), soqo.noise.Gaussian(0.3))
factors, shares = np.geomspace(0.1, 10.0, 9), np.geomspace(0.05, 1.0, 40)
told = [soqo.Weighted(soqo.GLIDE(), 4.0 * factor) for factor in factors]
policies = {str(k): policy for k, policy in enumerate([*told, *map(Interpolation, shares)])}
result = soqo.simulate(environment, policies, horizon=500, runs=8, seed=0)
parts = np.array([[result[name].hitting.sum(), result[name].switching.sum()] for name in result][-len(policies) :])
learned, fixed = np.split(parts, [len(factors)])
chosen = [fixed[np.argmin(fixed @ [1.0, factor])].sum() for factor in factors]
best = fixed.sum(axis=1).min()

figure, axes = plt.subplots(figsize=(7, 3.6))
axes.plot(factors, 100 * (np.array(chosen) / best - 1), "s--", label="the best fixed share for this weight")
axes.plot(factors, 100 * (learned.sum(axis=1) / best - 1), "o-", label="GLIDE")
axes.set(xscale="log", xlabel="weight that is told / true weight", ylabel="cost above the best share (%)")
axes.set_xticks([0.1, 0.3, 1.0, 3.0, 10.0], ["0.1", "0.3", "1", "3", "10"])
axes.set_title("A wrong switching weight")
axes.legend()
