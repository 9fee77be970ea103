"""Draw the pictures of docs/explanation/glide.md: a round, what GLIDE believes of A, and regret.

python benchmarks/glide_figure.py [FOLDER]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

import soqo
from soqo.experiments.presentation import CAPTION_COLOR, house_style, new_figure, policy_styles, save_figure
from soqo.noise import Uniform
from soqo.processes import Gaussian
from soqo.typing import Array

PURPLE, ORANGE, BLUE = "#7A1FA2", "#C46A00", "#0072B2"
CURVATURE = np.array([[1.5, 0.5], [0.5, 0.7]])
"""A of the first two pictures."""

SHOWN, STEPS, NOISE = (1, 3, 5, 16), 20.0, 5.0
"""The rounds after which the belief is shown, the deviation of the steps, and the largest noise."""

ROUNDS, RUNS, CHANGE = 1000, 24, 500
POLICIES: dict[str, soqo.Policy[Any]] = {
    "FTM": soqo.FTM(),
    "POL": soqo.POL(1e-6),
    "SCaLE": soqo.SCaLE(10.0, 4, min_eigenvalue=1.0),
    "HySCaLE": soqo.HySCaLE(10.0, 4, min_eigenvalue=1.0, learning_rate=1e-8),
    "RLS": soqo.RLS(10.0 / 3.0**0.5),
    "GLIDE": soqo.GLIDE(),
}


def caption(figure: Any, text: str) -> None:
    """Write what was simulated under a figure."""
    figure.supxlabel(text, x=0.99, ha="right", fontsize="small", color=CAPTION_COLOR)


def at(point: Array) -> tuple[float, float]:
    """Return a point as Matplotlib wants it."""
    return float(point[0]), float(point[1])


# ---- a round --------------------------------------------------------------------------------------------------------


def draw_plane(axes: Axes) -> None:
    """Draw where the player was, where the minimizer is, what the player plays, and lines of equal hitting cost."""
    v_before, v, x_before = np.array([-2.3, -1.0]), np.array([1.2, 0.3]), np.array([-2.6, 0.9])
    x = v + np.linalg.solve(2.0 * np.eye(2) + CURVATURE - 0.45 * np.eye(2), x_before - v)
    values, vectors = np.linalg.eigh(CURVATURE)
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    own = float((x - v) @ CURVATURE @ (x - v))
    for level, width in ((0.25, 0.8), (1.0, 1.4), (2.0, 0.8)):
        ring = v[:, None] + vectors @ (np.sqrt(level * own / values)[:, None] * circle)
        axes.plot(*ring, color=BLUE, linewidth=width, alpha=0.55)
    arrow: dict[str, Any] = {"arrowstyle": "-|>", "shrinkA": 4, "shrinkB": 4, "linewidth": 1.6}
    axes.annotate("", at(v), at(v_before), arrowprops={**arrow, "color": "#999999", "linestyle": ":"})
    axes.annotate("", at(x), at(x_before), arrowprops={**arrow, "color": PURPLE})
    axes.annotate("", at(x), at(v), arrowprops={**arrow, "color": BLUE, "linewidth": 1.2})
    for point, color, text, where in (
        (v_before, "#999999", "$v_{t-1}$", (0, -15)),
        (v, "#333333", "$v_t$", (11, -10)),
        (x_before, PURPLE, "$x_{t-1}$", (-2, 9)),
        (x, PURPLE, "$x_t$", (-8, 9)),
    ):
        axes.plot(*point, "o", color=color, markersize=6, zorder=3)
        axes.annotate(text, at(point), xytext=where, textcoords="offset points", color=color, ha="center", fontsize=12)
    axes.annotate("$u = x_t - v_t$", at(0.4 * x + 0.6 * v), xytext=(4, 8), textcoords="offset points", color=BLUE)
    axes.set_title("The minimizer moves, the player goes a part of the way")
    axes.set(aspect="equal", xlim=(-3.4, 4.0), ylim=(-3.2, 3.5))
    axes.axis("off")


def draw_loop(axes: Axes) -> None:
    """Draw the four steps of a round as a loop."""
    boxes = (
        (0.0, 1.0, "1  sees", "the minimizer $v_t$", "#555555"),
        (1.0, 1.0, "2  plays", "$x_t$ of least expected regret", PURPLE),
        (1.0, 0.0, "3  hears", "$y_t$ = hitting cost + noise", BLUE),
        (0.0, 0.0, "4  learns", "what it believes of $A$", ORANGE),
    )
    width, height = 0.78, 0.42
    for column, row, head, text, color in boxes:
        corner = column - 0.5 * width, row - 0.5 * height
        axes.add_patch(
            FancyBboxPatch(corner, width, height, boxstyle="round,pad=0,rounding_size=0.05", facecolor="#fbfbfb",
                           edgecolor=color, linewidth=1.5)
        )  # fmt: skip
        axes.text(column, row + 0.08, head, ha="center", va="center", weight="bold", color=color)
        axes.text(column, row - 0.09, text, ha="center", va="center", fontsize=9)
    arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": "#444444", "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
    x, y = 0.5 * width + 0.02, 0.5 * height + 0.03
    for end, start in (((1 - x, 1), (x, 1)), ((1, y), (1, 1 - y)), ((x, 0), (1 - x, 0)), ((0, 1 - y), (0, y))):
        axes.annotate("", end, start, arrowprops=arrow)
    axes.text(0.04, 0.5, "next round", color="#666666", va="center")
    axes.set_title("A round of GLIDE")
    axes.set(xlim=(-0.45, 1.45), ylim=(-0.3, 1.3))
    axes.axis("off")


def draw_round(path: Path) -> None:
    """Draw what the player sees, plays and hears."""
    figure = new_figure(10.0, 3.7)
    left, right = figure.subplots(1, 2, width_ratios=[1.0, 1.15])
    draw_plane(left)
    draw_loop(right)
    save_figure(figure, path)


# ---- the belief -----------------------------------------------------------------------------------------------------


def beliefs() -> dict[int, tuple[Array, Array, Array]]:
    """Return the estimate of w'Aw, its deviation, and the directions w, after some rounds of one run."""
    policy, rng, v = soqo.GLIDE(), np.random.default_rng(3), np.zeros(2)
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    state, found = policy.start(v, 1000), {}
    for t in range(1, SHOWN[-1] + 1):
        v = v + STEPS * rng.standard_normal(2)
        x, state = policy.act(state, v)
        reading = 0.5 * (x - v) @ CURVATURE @ (x - v) + rng.uniform(-NOISE, NOISE)
        state = policy.observe(state, reading)
        estimate = policy.diagnostics(state)["estimate"]
        along = np.vecdot(directions @ estimate, directions)
        found[t] = along, policy.uncertainty_of(state, directions), directions
    return {t: found[t] for t in SHOWN}


def draw_belief(path: Path) -> None:
    """Draw the displacements of hitting cost one, as GLIDE believes them and as they are."""
    figure = new_figure(10.0, 3.1)
    largest = 4.5
    for axes, (t, (along, deviation, w)) in zip(
        figure.subplots(1, len(SHOWN), sharey=True), beliefs().items(), strict=True
    ):
        inner, middle, outer = (
            (np.minimum(np.sqrt(2.0 / np.maximum(value, 1e-6)), 3.0 * largest)[:, None] * w).T
            for value in (along + 2.0 * deviation, along, along - 2.0 * deviation)
        )
        band = np.concatenate([outer, inner[:, ::-1]], axis=1)
        axes.fill(*band, color=PURPLE, alpha=0.22, linewidth=0, label="two deviations")
        axes.plot(*middle, color=PURPLE, label="estimate")
        true = np.sqrt(2.0 / np.vecdot(w @ CURVATURE, w))[:, None] * w
        axes.plot(*true.T, "--", color="black", linewidth=1.2, label="true A")
        axes.set(aspect="equal", xlim=(-largest, largest), ylim=(-largest, largest))
        axes.set_title(f"after {t} reading{'s' if t > 1 else ''}")
        axes.set_xticks([-4, -2, 0, 2, 4])
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.axes[0].set_ylabel("second coordinate of u")
    figure.legend(handles, labels, loc="outside upper right", ncols=3)
    caption(figure, f"the displacements u of hitting cost 1; d = 2, steps of {STEPS:g}, noise up to {NOISE:g}")
    save_figure(figure, path)


# ---- regret ---------------------------------------------------------------------------------------------------------


def draw_curves(axes: Axes, environment: soqo.Environment, title: str) -> None:
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


def draw_regret(path: Path) -> None:
    """Draw regret without and with a change of A."""
    constant = soqo.Environment(
        soqo.RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Gaussian(50.0), Uniform(10.0)
    )
    changing = replace(constant, changes=(soqo.Change(CHANGE),))
    figure = new_figure(10.0, 4.2)
    left, right = figure.subplots(1, 2, sharey=True)
    draw_curves(left, constant, "One A throughout")
    draw_curves(right, changing, f"A new A in round {CHANGE}")
    left.set_ylabel("regret against LAI up to t")
    left.legend(loc="upper left", ncols=2)
    caption(figure, f"d = 4, steps N(0, 50² I), noise up to 10, eigenvalues 1..4; median and quartiles of {RUNS} runs")
    save_figure(figure, path)


def main() -> None:
    """Draw the three pictures."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/explanation")
    with house_style():
        draw_round(folder / "glide-round.svg")
        draw_belief(folder / "glide-belief.svg")
        draw_regret(folder / "glide.svg")


if __name__ == "__main__":
    main()
