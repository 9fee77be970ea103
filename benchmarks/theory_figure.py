"""Print the growth of SCaLE's expected regret with T for four probe variances, and draw docs/explanation/theory.svg.

python benchmarks/theory_figure.py [PATH]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from soqo import SCaLE
from soqo.experiments.presentation import CAPTION_COLOR, house_style, new_figure, save_figure, sequential_colors
from soqo.theory import (
    exact_scale_regret,
    expected_scale_regret,
    growth_exponent,
    optimal_gamma2,
    second_order_bound,
)
from soqo.typing import Array, ArrayLike

FULL, DEFICIENT = np.diag([1.0, 2.0, 3.0, 4.0]), np.diag([1.0, 0.0, 0.0, 0.0])
COVARIANCE, NOISE, DRAWS = 2500.0, 10.0, 32
HORIZONS = np.array([1e3, 4e3, 1.6e4, 6.4e4, 2.56e5, 1.024e6])


@dataclass(frozen=True)
class Study:
    """One rule for the probe variance: its value, the expected regret and the irreducible part for each horizon."""

    name: str
    gamma2: Array
    regret: Array
    irreducible: Array

    @property
    def reducible(self) -> Array:
        """The expected regret without its irreducible part."""
        return self.regret - self.irreducible


def expected_regret(gamma2: ArrayLike, A: Array, horizon: int, m: int) -> Array:
    """Return the expected regret for each probe variance."""
    return expected_scale_regret(gamma2, A, covariance=COVARIANCE, horizon=horizon, m=m, noise=NOISE, draws=DRAWS).mean


def evaluate(name: str, A: Array, gamma2: list[float], m: int) -> Study:
    """Compute the expected regret and its irreducible part for each horizon."""
    regret, irreducible = [], []
    for T, variance in zip(HORIZONS, gamma2, strict=True):
        regret.append(expected_regret(variance, A, int(T), m)[0])
        irreducible.append(
            exact_scale_regret(A, A, covariance=COVARIANCE, horizon=int(T), m=m, gamma2=variance).irreducible
        )
    return Study(name, np.array(gamma2), np.array(regret), np.array(irreducible))


def evaluate_all() -> list[Study]:
    """Evaluate the paper's probe variance and the optimal one, in full rank and for rank 1."""
    full = SCaLE(NOISE, rank=4, min_eigenvalue=1.0)
    deficient = SCaLE(NOISE, rank=1, min_eigenvalue=1.0, c1=10.0)
    studies = []
    for rank, A, policy in (("full rank", FULL, full), ("rank 1", DEFICIENT, deficient)):
        m = policy.exploration_rounds(4)
        printed = [policy.probe_variance(4, int(T)) for T in HORIZONS]
        best = [optimal_gamma2(A, COVARIANCE, horizon=int(T), m=m, noise=NOISE, draws=DRAWS) for T in HORIZONS]
        studies.append(evaluate(f"{rank}, the paper's level", A, printed, m))
        studies.append(evaluate(f"{rank}, the optimal level", A, best, m))
    return studies


def report(studies: list[Study]) -> None:
    """Print regret by horizon, and growth exponents."""
    print(f"{'T':<30}" + "".join(f"{T:>10.3g}" for T in HORIZONS))
    for study in studies:
        rows = {"gamma^2": study.gamma2, "expected regret": study.regret, "beyond the irreducible": study.reducible}
        print(study.name)
        for label, row in rows.items():
            print(f"{'  ' + label:<30}" + "".join(f"{value:>10.3g}" for value in row))
        exponents = [growth_exponent(HORIZONS, row).exponent for row in rows.values()]
        print("  exponents: gamma^2 {:.3f}, regret {:.3f}, beyond {:.3f}".format(*exponents))


def draw_variances(axes: Axes) -> None:
    """Draw expected regret against the probe variance for some horizons, with the optimum of each."""
    m = SCaLE(NOISE, 4, min_eigenvalue=1.0).exploration_rounds(4)
    horizons = HORIZONS[::2]
    gamma2 = np.geomspace(10.0, 3000.0, 22)
    for T, color in zip(horizons, sequential_colors(len(horizons)), strict=True):
        regret = expected_regret(gamma2, FULL, int(T), m)
        reducible = (
            regret - exact_scale_regret(FULL, FULL, covariance=COVARIANCE, horizon=int(T), m=m, gamma2=1.0).irreducible
        )
        axes.plot(gamma2, reducible, color=color)
        best = int(regret.argmin())
        axes.plot(gamma2[best], reducible[best], "o", color=color)
        axes.annotate(
            f"T = {T:,.0f}".replace(",", " "),
            (gamma2[best], reducible[best]),
            xytext=(-7, -9),
            textcoords="offset points",
            ha="right",
            color=color,
        )
    axes.set_ylim(bottom=8e3)
    axes.set_xlim(left=5.0)  # room for the labels
    axes.set(xscale="log", yscale="log", xlabel="level γ² of the probes", title="Every T has its own level")


def draw_growth(axes: Axes, studies: list[Study]) -> None:
    """Draw regret without its irreducible part against T."""
    styles = (("#E69F00", "-"), ("#7A1FA2", "-"), ("#E69F00", "--"), ("#7A1FA2", "--"))
    for study, (color, line) in zip(studies, styles, strict=True):
        label = f"{study.name}: slope {growth_exponent(HORIZONS, study.reducible).exponent:.2f}"
        axes.plot(HORIZONS, study.reducible, f"o{line}", color=color, markersize=3.5, label=label)
    axes.set(xscale="log", yscale="log", xlabel="horizon T", title="and in full rank its regret grows as T^(1/3)")
    axes.set_ylim(top=1e8)  # room for the legend
    axes.legend(loc="upper left")


def main() -> None:
    """Print the table and draw the figure."""
    studies = evaluate_all()
    report(studies)
    bound = second_order_bound(FULL, COVARIANCE, epsilon=0.1, horizon=1000).value
    exact = exact_scale_regret(
        FULL, FULL + 0.1 * np.eye(4), covariance=COVARIANCE, horizon=1048, m=48, gamma2=0.0
    ).exploitation.total
    print(f"an estimate off by 0.1 I, 1000 rounds: regret {exact:.4g}, bound of second order {bound:.4g}")
    with house_style():
        figure = new_figure(10.0, 4.2)
        left, right = figure.subplots(1, 2)
        draw_variances(left)
        draw_growth(right, studies)
        left.set_ylabel("expected regret beyond the irreducible")
        caption = f"SCaLE at d = 4, eigenvalues 1..4 (or 1), steps of 50, noise up to 10; {DRAWS} draws of probes"
        figure.text(0.99, -0.03, caption, ha="right", color=CAPTION_COLOR)
        save_figure(figure, Path(sys.argv[1] if len(sys.argv) > 1 else "docs/explanation/theory.svg"))


if __name__ == "__main__":
    main()
