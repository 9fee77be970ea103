"""Regret of five policies on the same paths: medians of 20 runs, and quartiles."""

import matplotlib.pyplot as plt
import numpy as np

import soqo

problem = soqo.RandomProblem(dim=4, rank=4, min_eigenvalue=0.01, max_eigenvalue=1.0)
environment = soqo.Environment(problem, soqo.processes.Gaussian(scale=50.0), soqo.noise.Uniform(cap=10.0))
policies = {
    "FTM": soqo.FTM(),
    "GLIDE": soqo.GLIDE(),
    "POL": soqo.POL(learning_rate=1e-8),
    "SCaLE": soqo.SCaLE(noise_cap=10.0, rank=4, min_eigenvalue=0.01),
    "RLS": soqo.RLS(),
}
result = soqo.simulate(environment, policies, horizon=500, runs=20, seed=0)

figure, axes = plt.subplots(figsize=(7, 4))
for name in result:
    low, median, high = np.quantile(result.regret(name), [0.25, 0.5, 0.75], axis=0)
    (line,) = axes.plot(np.arange(1, 501), median, label=name)
    axes.fill_between(np.arange(1, 501), low, high, color=line.get_color(), alpha=0.15)
axes.set(xlabel="round", ylabel="regret", yscale="log", ylim=(1e2, None), title="Regret against LAI, which knows A")
axes.legend(ncols=2)
