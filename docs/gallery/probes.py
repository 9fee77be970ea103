"""The expected regret of SCaLE, by the variance of its probes; a dot is the rule of Algorithm 1."""

import matplotlib.pyplot as plt
import numpy as np

import soqo
from soqo import theory

A, levels, horizons = np.diag([1.0, 2.0, 3.0, 4.0]), np.logspace(1.0, 3.5, 14), (1_000, 10_000, 100_000)
curves = [
    theory.expected_scale_regret(levels, A, covariance=2500.0, horizon=T, m=48, noise=10.0, draws=8).mean
    for T in horizons
]
rule = [soqo.SCaLE(noise_cap=10.0, rank=4, min_eigenvalue=1.0).probe_variance(4, T) for T in horizons]

figure, axes = plt.subplots(figsize=(7, 4))
for T, regret, printed in zip(horizons, curves, rule, strict=True):
    (line,) = axes.loglog(levels, regret, label=f"T = {T:,}")
    axes.plot(printed, np.interp(printed, levels, regret), "o", color=line.get_color())
axes.set(xlabel="variance of a probe, gamma^2", ylabel="expected regret", title="Probing more than needed")
axes.legend()
