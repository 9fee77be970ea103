"""The numbers of a table of bounds: means, standard errors, violations and growth, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo.experiments import BoundsTable


def handmade(**changes: Any) -> BoundsTable:
    """Return a table with exact regret 10 and 20, of exploitation 1 and 2."""
    of_runs = np.ones((2, 4))
    given: dict[str, Any] = {
        "setting": "mine",
        "title": "Mine",
        "policy": "SCaLE",
        "probe_rule": "= 1",
        "m": 5,
        "handover": "virtual",
        "direct": of_runs * [[9.5], [18.0]],
        "horizons": (100, 400),
        "simulated": np.array([[9.0, 11.0, 10.0, 10.0], [18.0, 22.0, 20.0, 20.0]]),
        "exact": of_runs * [[10.0], [20.0]],
        "exploitation": of_runs * [[1.0], [2.0]],
        "error": of_runs,
        "gamma2": np.ones(2),
        "bounds": {
            ("Theorem 1", "corrected"): np.array([10.0, 30.0]),
            ("Theorem 1", "as_printed"): np.array([9.0, 19.0]),
            ("Theorem 5", "corrected"): np.array([1.5, 1.5]),
            ("Theorem 2", "corrected"): np.array([0.5, 3.0]),
        },
        "epsilon": of_runs,
        "schedules": {"corrected": np.ones(2)},
    }
    return BoundsTable(**{**given, **changes})


@pytest.mark.parametrize(
    ("name", "horizons"),
    [
        (("Theorem 1", "corrected"), []),  # an upper bound on all regret, equal to it at T = 100
        (("Theorem 1", "as_printed"), [100, 400]),
        (("Theorem 5", "corrected"), [400]),  # an upper bound on the regret of exploitation
        (("Theorem 2", "corrected"), [400]),  # a lower bound on the regret of exploitation
    ],
)
def test_a_bound_is_violated_where_the_exact_regret_is_on_the_wrong_side(name: Any, horizons: list[int]) -> None:
    assert handmade().violations(name) == horizons


def test_growth_is_the_slope_over_the_horizons_longer_than_exploration() -> None:
    table = handmade()
    assert table.growth(table.exact).exponent == pytest.approx(np.log(2.0) / np.log(4.0))
    assert np.isnan(handmade(m=100).growth(table.exact).exponent)  # one horizon is left
    infinite = np.where(np.arange(2)[:, None] == 0, np.inf, table.exact)
    assert np.isnan(table.growth(infinite).exponent)


def test_the_lower_bound_is_apart_from_the_upper_ones() -> None:
    table = handmade()
    assert table.lower_names == [("Theorem 2", "corrected")]
    assert ("Theorem 2", "corrected") not in [*table.whole_names, *table.exploitation_names]


def test_the_discrepancy_is_in_standard_errors_of_the_runs() -> None:
    simulated = np.array([[8.0, 12.0], [20.0, 24.0]])
    table = handmade(simulated=simulated, exact=np.full((2, 2), 10.0) * [[1.0], [2.0]])
    # The differences are -2, 2 and 0, 4: means 0 and 2, standard errors 2 and 2.
    np.testing.assert_allclose(table.discrepancy, [0.0, 1.0])


def test_the_handover_is_the_cause_where_a_direct_one_keeps_the_bound() -> None:
    # The exact regret, 10 and 20, exceeds the printed bound, 9 and 19; with a direct handover it is 9.5 and 18.
    assert handmade().caused_by_handover(("Theorem 1", "as_printed")) == [400]
    assert handmade().caused_by_handover(("Theorem 1", "corrected")) == []
