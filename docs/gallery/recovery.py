"""The error of three estimates of a matrix of rank 1, by the number of readings."""

import matplotlib.pyplot as plt
import numpy as np

import soqo

dim, cap, counts = 6, 0.2, [8, 12, 16, 21, 28, 40, 60, 90]
names = ["trace_min", "psd_least_absolute_deviations", "psd_least_squares"]
errors = np.empty((len(names), len(counts), 8))
for i, m in enumerate(counts):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        A = soqo.random_curvature(dim, rank=1, min_eigenvalue=2.0, rng=rng)
        Z = rng.standard_normal((m, dim))
        y = 0.5 * np.einsum("mi,ij,mj->m", Z, A, Z) + rng.uniform(-cap, cap, m)
        low_rank = soqo.trace_min(Z, y, radius=cap * m / 2)
        fits = [low_rank, soqo.psd_least_absolute_deviations(Z, y), soqo.psd_least_squares(Z, y)]
        errors[:, i, seed] = [np.linalg.norm(fit.matrix - A) for fit in fits]

figure, axes = plt.subplots(figsize=(7, 4))
for name, error in zip(names, errors, strict=True):
    axes.loglog(counts, np.median(error, axis=-1), "o-", label=name)
axes.axvline(dim * (dim + 1) / 2, linestyle=":", color="gray", label="as many readings as unknowns")
axes.set(xlabel="readings", ylabel="median error", title="Few readings: the least trace. Many: least squares.")
axes.legend()
