"""Print how SCaLE's expected regret grows with T for four ways to probe, and draw docs/theory.svg.

python benchmarks/theory_figure.py [PATH]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from soqo import SCaLE
from soqo.experiments.presentation._figures import save_figure
from soqo.experiments.presentation._style import RC, SMALL, ordered
from soqo.theory import (
    exact_scale_regret,
    expected_scale_regret,
    growth_exponent,
    optimal_gamma2,
    second_order_bound,
)
from soqo.typing import Array

FULL, DEFICIENT = np.diag([1.0, 2.0, 3.0, 4.0]), np.diag([1.0, 0.0, 0.0, 0.0])
VARIANCE, NOISE, DRAWS = 2500.0, 10.0, 32
HORIZONS = np.array([1e3, 4e3, 1.6e4, 6.4e4, 2.56e5, 1.024e6])


def expected(A: Array, levels: list[float], m: int) -> tuple[Array, Array]:
    """Expected regret for each horizon and draw, and what of it no probing can change."""
    totals, irreducible = [], []
    for T, level in zip(HORIZONS, levels, strict=True):
        found = expected_scale_regret(level, A, VARIANCE, int(T), m, NOISE, draws=DRAWS)
        totals.append(found.draws[0])
        irreducible.append(exact_scale_regret(A, A, VARIANCE, int(T), m, level).irreducible)
    return np.stack(totals), np.array(irreducible)


def studies() -> list[tuple[str, list[float], Array, Array]]:
    """Each way to probe: its levels, its regret, and the part that no probing can change."""
    full = SCaLE(NOISE, rank=4, min_eigenvalue=1.0)
    deficient = SCaLE(NOISE, rank=1, min_eigenvalue=1.0, c1=10.0)
    rows = []
    for rank, A, policy in (("full rank", FULL, full), ("rank 1", DEFICIENT, deficient)):
        m = policy.exploration_rounds(4)
        printed = [policy.probe_variance(4, int(T)) for T in HORIZONS]
        best = [optimal_gamma2(A, VARIANCE, int(T), m, NOISE, draws=DRAWS) for T in HORIZONS]
        rows.append((f"{rank}, the paper's level", printed, *expected(A, printed, m)))
        rows.append((f"{rank}, the optimal level", best, *expected(A, best, m)))
    return rows


def report(rows: list[tuple[str, list[float], Array, Array]]) -> None:
    """Regret by horizon, and exponents."""
    print(f"{'T':<30}" + "".join(f"{T:>10.3g}" for T in HORIZONS))
    for name, levels, totals, irreducible in rows:
        print(f"{name}\n{'  gamma^2':<30}" + "".join(f"{level:>10.3g}" for level in levels))
        print(f"{'  expected regret':<30}" + "".join(f"{r:>10.3g}" for r in totals.mean(axis=1)))
        beyond = totals.mean(axis=1) - irreducible
        print(f"{'  beyond the irreducible':<30}" + "".join(f"{r:>10.3g}" for r in beyond))
        shown = [growth_exponent(HORIZONS, y).exponent for y in (levels, totals.mean(axis=1), beyond)]
        print("  exponents: gamma^2 {:.3f}, regret {:.3f}, beyond {:.3f}".format(*shown))


def draw_levels(axes: Any) -> None:
    """Expected regret against the level, for some horizons, with the optimum of each."""
    m = SCaLE(NOISE, 4, 1.0).exploration_rounds(4)
    horizons = HORIZONS[::2]
    levels = np.geomspace(10.0, 3000.0, 22)
    for T, color in zip(horizons, ordered(len(horizons)), strict=True):
        regret = expected_scale_regret(levels, FULL, VARIANCE, int(T), m, NOISE, draws=DRAWS).mean
        floor = exact_scale_regret(FULL, FULL, VARIANCE, int(T), m, 1.0).irreducible
        axes.plot(levels, regret - floor, color=color)
        best = int(regret.argmin())
        axes.plot(levels[best], regret[best] - floor, "o", color=color)
        label = f"T = {T:,.0f}".replace(",", " ")
        where: Any = {"xytext": (-7, -9), "textcoords": "offset points", "ha": "right"}
        axes.annotate(label, (levels[best], regret[best] - floor), color=color, **where)
    axes.set_ylim(bottom=8e3)
    axes.set_xlim(left=5.0)  # room for the labels
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="level γ² of the probes",
        title="Every T has its own level",
    )


def draw_growth(axes: Any, rows: list[tuple[str, list[float], Array, Array]]) -> None:
    """Regret beyond the irreducible against T."""
    looks = (("#E69F00", "-"), ("#7A1FA2", "-"), ("#E69F00", "--"), ("#7A1FA2", "--"))
    for (name, _, totals, irreducible), (color, style) in zip(rows, looks, strict=True):
        beyond = totals.mean(axis=1) - irreducible
        slope = growth_exponent(HORIZONS, beyond).exponent
        axes.plot(
            HORIZONS,
            beyond,
            f"o{style}",
            color=color,
            markersize=3.5,
            label=f"{name}: slope {slope:.2f}",
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="horizon T",
        title="and in full rank its regret grows as T^(1/3)",
    )
    axes.set_ylim(top=1e8)  # room for the legend
    axes.legend(loc="upper left")


def main() -> None:
    """Print and draw."""
    rows = studies()
    report(rows)
    bound = second_order_bound(FULL, VARIANCE, 0.1, 1000).value
    true = exact_scale_regret(FULL, FULL + 0.1 * np.eye(4), VARIANCE, 1048, 48, 0.0).exploitation.total
    print(f"an estimate off by 0.1 I, 1000 rounds: regret {true:.4g}, bound of second order {bound:.4g}")
    house: Any = RC
    with plt.rc_context(house):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")
        draw_levels(left)
        draw_growth(right, rows)
        left.set_ylabel("expected regret beyond the irreducible")
        caption = f"SCaLE at d = 4, eigenvalues 1..4 (or 1), steps of 50, noise up to 10; {DRAWS} draws of probes"
        figure.text(0.99, -0.03, caption, ha="right", color=SMALL)
        save_figure(figure, Path(sys.argv[1] if len(sys.argv) > 1 else "docs/theory.svg"))


if __name__ == "__main__":
    main()
