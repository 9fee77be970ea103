"""The figure of bounds: one color per statement, points with bars, and dashes for single horizons."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from soqo.experiments.execution import BoundsTable
from soqo.experiments.presentation import bounds_figure
from soqo.theory import bounds

HORIZONS = (100, 200, 400)

# Viénot, Brettel and Mollon (1999): linear RGB as a deuteranope and a protanope see it.
SIMULATED_EYES = (
    np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
    np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
)


@pytest.fixture(scope="module", params=[2, 1], ids=["full rank", "rank 1"])
def table(request: pytest.FixtureRequest) -> BoundsTable:
    """Every bound of an instance, with regret below the upper bounds."""
    A = np.diag([1.0, 2.0 if request.param == 2 else 0.0])
    found = [bounds(A, np.eye(2), horizon=T, noise_cap=1.0) for T in HORIZONS]
    names = [(row.statement, row.variant) for row in found[0] if row.bound is not None]
    regret = np.array(HORIZONS)[:, None] * np.linspace(0.5, 1.5, 8)
    return BoundsTable(
        setting="mine",
        title="Mine",
        policy="SCaLE",
        probe_rule="= 1",
        m=10,
        handover="direct",
        direct=regret + 1.0,
        horizons=HORIZONS,
        simulated=regret,
        exact=regret + 1.0,
        exploitation=0.5 * regret,
        error=0.1 * np.ones_like(regret),
        gamma2=np.ones(3),
        bounds={name: np.array([each.value(*name) for each in found]) for name in names},
        epsilon=np.ones_like(regret),
        schedules={},
    )


def bound_lines(axes: Axes, table: BoundsTable) -> dict[tuple[str, str], str]:
    """The color of each bound that a panel draws."""
    return {
        name: str(line.get_color())
        for name, values in table.bounds.items()
        for line in axes.get_lines()
        if np.array_equal(np.asarray(line.get_ydata()), values, equal_nan=True)
    }


def test_panels_draw_every_bound_and_statements_have_colors_that_every_reader_can_distinguish(
    table: BoundsTable,
) -> None:
    left, right = bounds_figure(table).axes
    panels = [bound_lines(axes, table) for axes in (left, right)]
    assert set(panels[0]) == set(table.whole_names)
    assert set(panels[1]) == {*table.exploitation_names, *table.lower_names}
    for found in panels:
        linear = {statement: np.array(to_rgb(color)) ** 2.2 for (statement, _), color in found.items()}
        for matrix in (np.eye(3), *SIMULATED_EYES):
            seen = [np.clip(matrix @ rgb, 0, 1) ** (1 / 2.2) for rgb in linear.values()]
            assert all(np.linalg.norm(one - other) > 0.12 for one, other in combinations(seen, 2))


def simulated(axes: Axes) -> np.ndarray:
    (points,) = [one for one in axes.get_lines() if one.get_label() == "simulated"]
    return np.asarray(points.get_ydata())


def test_points_are_means_with_two_standard_errors(table: BoundsTable) -> None:
    figure = bounds_figure(table)
    axes = figure.axes[0]
    np.testing.assert_allclose(simulated(axes), table.mean)
    corners = axes.collections[0].get_paths()[0].vertices
    for T, middle, half in zip(HORIZONS, table.mean, 2.0 * table.standard_error, strict=True):
        ends = np.asarray(corners)[np.asarray(corners)[:, 0] == T, 1]
        assert (ends.min(), ends.max()) == pytest.approx((middle - half, middle + half))
    assert "2 standard errors on either side" in figure.legends[0].get_title().get_text()


def test_points_are_medians_where_there_is_no_exact_regret(table: BoundsTable) -> None:
    nothing = np.full_like(table.exact, np.nan)
    bare = bounds_figure(
        replace(table, no_exact="no variance", bounds={}, exact=nothing, exploitation=nothing, epsilon=nothing)
    )
    (axes,) = bare.axes
    np.testing.assert_allclose(simulated(axes), np.median(table.simulated, axis=1))
    assert bare.legends[0].get_title().get_text().startswith("median of 8 runs")
