"""Draw docs/paper/limit.svg: regret against kappa log T, and against the bound on the first rounds.

python benchmarks/limit_figure.py [PATH]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

import soqo
from limit_settings import Setting, policies, settings
from soqo.experiments.presentation import CAPTION_COLOR, house_style, new_figure, save_figure
from soqo.theory import first_rounds_bound, learning_constant

ROUNDS, RUNS = 10_000, 32
COLORS = {"RLS": "#0072B2", "GLIDE": "#7A1FA2", "SCaLE": "#E69F00"}
SPECTRA = {(4, 1.0): (1.0, 4.0, 7.0, 10.0), (4, 0.01): (0.01, 3.34, 6.67, 10.0), (1, 1.0): (1.0, 0.0, 0.0, 0.0),
           (1, 0.01): (0.01, 0.0, 0.0, 0.0)}  # fmt: skip


def draw_slopes(axes: Axes, setting: Setting) -> None:
    """Draw mean regret against T on a logarithmic axis, beside lines of slope kappa."""
    environment = soqo.Environment(soqo.Problem(setting.A), setting.process, setting.noise)
    chosen = policies(setting)
    result = soqo.simulate(environment, chosen, horizon=ROUNDS, runs=RUNS, seed=4)
    kappa = learning_constant(setting.A, setting.process, setting.noise).kappa
    t = np.arange(1, ROUNDS + 1)
    for name in chosen:
        mean = result.regret(name, form="low_variance").mean(axis=0)
        axes.plot(t, mean, color=COLORS[name], label=name)
        late = t >= 300
        axes.plot(t[late], mean[-1] + kappa * np.log(t[late] / ROUNDS), "--", color="black", linewidth=1.0)
    axes.plot([], [], "--", color="black", linewidth=1.0, label=f"slope κ = {kappa:.2f}")
    axes.set(xscale="log", xlabel="round T", ylabel="mean regret", title="Regret grows as κ log T")
    axes.set_xlim(left=10.0)
    axes.legend(loc="upper left")


def draw_first_rounds(axes: Axes) -> None:
    """Draw mean regret over the prior of the settings with Gaussian steps, and the bound on it."""
    names, curves = ("SCaLE", "RLS", "GLIDE"), []
    for rank, smallest in SPECTRA:
        problem = soqo.RandomProblem(4, rank, min_eigenvalue=smallest, max_eigenvalue=10.0 if rank > 1 else None)
        environment = soqo.Environment(problem, soqo.processes.Gaussian(50.0), soqo.noise.Uniform(10.0))
        compared = {
            "SCaLE": soqo.SCaLE(10.0, rank=rank, min_eigenvalue=smallest, c1=10.0 if rank == 1 else 3.0),
            "RLS": soqo.RLS(5.8),
            "GLIDE": soqo.GLIDE(),
        }
        result = soqo.simulate(environment, compared, horizon=1000, runs=16, seed=0)
        curves.append([result.regret(name, form="low_variance").mean(axis=0) for name in names])
    t = np.arange(1, 1001)
    for name, curve in zip(names, np.mean(curves, axis=0), strict=True):
        axes.plot(t, curve, color=COLORS[name], label=name)
    bound = np.cumsum(first_rounds_bound(list(SPECTRA.values()), 2500.0).rounds)
    axes.step(
        np.append(t[:4], 1000), np.append(bound, bound[-1]), where="post", color="black", label="no policy is below"
    )
    axes.set(xscale="log", yscale="log", xlabel="round", ylabel="mean regret", title="Most is lost in the first rounds")
    axes.legend(loc="upper left", ncols=2)
    axes.set_ylim(top=3e7)


def main() -> None:
    """Draw the figure."""
    with house_style():
        figure = new_figure(10.0, 4.2)
        left, right = figure.subplots(1, 2)
        draw_slopes(left, next(settings()))
        draw_first_rounds(right)
        caption = (
            f"left: d = 2, eigenvalues 0.3 and 1, steps of 5, noise 5.8, {RUNS} runs; right: d = 4, uniform "
            "eigenvectors, four spectra, steps of 50, noise up to 10"
        )
        figure.supxlabel(caption, x=0.99, ha="right", fontsize="small", color=CAPTION_COLOR)
        save_figure(figure, Path(sys.argv[1] if len(sys.argv) > 1 else "docs/paper/limit.svg"))


if __name__ == "__main__":
    main()
