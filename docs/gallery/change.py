"""A changes in round 200: GLIDE raises an alarm and learns anew; a policy that has stopped learning does not notice."""

import matplotlib.pyplot as plt
import numpy as np

import soqo

environment = soqo.Environment(
    soqo.RandomProblem(dim=4, rank=4, min_eigenvalue=1.0, max_eigenvalue=4.0),
    soqo.processes.Gaussian(scale=50.0),
    soqo.noise.Uniform(cap=10.0),
    changes=[soqo.Change(round=200)],
)
policies = {"SCaLE": soqo.SCaLE(10.0, 4, min_eigenvalue=1.0), "GLIDE": soqo.GLIDE(), "RLS": soqo.RLS()}
result = soqo.simulate(environment, policies, horizon=400, runs=20, seed=0)

figure, axes = plt.subplots(figsize=(7, 4))
for name in result:
    axes.plot(np.arange(1, 401), np.median(result.regret(name), axis=0), label=name)
axes.axvline(200, linestyle=":", color="gray")
axes.annotate("A changes", (200, 200), xytext=(6, 0), textcoords="offset points")
axes.set(xlabel="round", ylabel="median regret", yscale="log", ylim=(1e2, None), title="A change of the plant")
axes.legend()
