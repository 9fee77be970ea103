"""Draw docs/explanation/glide.svg: the regret of GLIDE and other policies, without and with a change of A.

python benchmarks/glide_figure.py [PATH]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes

import soqo
from soqo.experiments.presentation import house_style, new_figure, policy_styles, save_figure
from soqo.noise import Uniform
from soqo.processes import Gaussian

ROUNDS, RUNS, CHANGE = 1000, 24, 500
POLICIES: dict[str, soqo.Policy[Any]] = {
    "FTM": soqo.FTM(),
    "POL": soqo.POL(1e-6),
    "SCaLE": soqo.SCaLE(10.0, 4, min_eigenvalue=1.0),
    "HySCaLE": soqo.HySCaLE(10.0, 4, min_eigenvalue=1.0, learning_rate=1e-8),
    "GLIDE": soqo.GLIDE(),
}


def draw(axes: Axes, environment: soqo.Environment, title: str) -> None:
    """Draw the median of the expected regret up to each round, with quartiles, on logarithmic axes."""
    result = soqo.simulate(environment, POLICIES, horizon=ROUNDS, runs=RUNS, seed=0)
    shown = np.unique(np.round(np.geomspace(1, ROUNDS, 160)).astype(int))
    if environment.changes:
        shown = np.unique(np.concatenate([shown, np.arange(CHANGE - 10, CHANGE + 60, 2)]))
    for name, (color, style) in policy_styles(POLICIES).items():
        sums = np.cumsum(result[name].low_variance_regret, axis=1)[:, shown - 1]
        low, middle, high = np.quantile(sums, [0.25, 0.5, 0.75], axis=0)
        axes.fill_between(shown, low, high, color=color, alpha=0.18, linewidth=0)
        axes.plot(shown, middle, style, color=color, label=name)
    axes.set(xscale="log", yscale="log", xlabel="round t", title=title, xlim=(1, ROUNDS))


def main() -> None:
    """Draw both panels."""
    constant = soqo.Environment(
        soqo.RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Gaussian(50.0), Uniform(10.0)
    )
    changing = replace(constant, changes=(soqo.Change(CHANGE),))
    with house_style():
        figure = new_figure(10.0, 4.0)
        left, right = figure.subplots(1, 2, sharey=True)
        draw(left, constant, "One A throughout")
        draw(right, changing, f"A new A in round {CHANGE}")
        left.set_ylabel("regret against LAI up to t")
        left.legend(loc="upper left")
        caption = f"steps N(0, 50² I), noise up to 10, eigenvalues 1..4; median and quartiles of {RUNS} runs"
        figure.text(0.99, -0.03, caption, ha="right", color="#555555")
        save_figure(figure, sys.argv[1] if len(sys.argv) > 1 else "docs/explanation/glide.svg")


if __name__ == "__main__":
    main()
