"""The benchmark for a plant with a lag or with outages, and regret against it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, LAI, Actuation, Environment, Factor, Outages, Problem, simulate
from soqo.noise import Uniform
from soqo.processes import Gaussian

A = np.array([[2.0, 0.5], [0.5, 1.0]])
W = [[2.0, 0.3], [0.3, 0.5]]


def environment(weight: Any = None, **given: Any) -> Environment:
    return Environment(Problem(A, weight), Gaussian(3.0), Uniform(0.5), **given)


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "given",
    [
        {"outages": Outages(0.3)},
        {"actuation": Actuation(lag=2.0)},
        {"period": 90.0},
        {"factor": Factor(0.6, period=7.0, deviation=0.5, correlation=0.5)},
    ],
    ids=["outages", "lag", "angles", "factor"],
)
def test_the_benchmark_is_best_and_both_forms_of_regret_have_one_mean(given: dict[str, Any], weight: Any) -> None:
    policies: dict[str, Any] = {"LAI": LAI.for_problem, "FTM": FTM()}
    if "period" in given:
        policies.pop("LAI")  # it is the benchmark where v does not jump to another turn
    result = simulate(environment(weight, **given), policies, horizon=30, runs=2000, seed=1)
    for name in policies:
        exact = result.regret(name, form="difference")[:, -1]
        gap = exact - result.regret(name, form="low_variance")[:, -1]
        assert abs(gap.mean()) < 5.0 * gap.std() / np.sqrt(gap.size)
        assert exact.mean() > 3.0 * exact.std() / np.sqrt(exact.size)  # LAI knows nothing of what will come


def test_limits_cost_regret_and_the_benchmark_has_none() -> None:
    free, slow = (
        simulate(environment(actuation=Actuation(rate=rate)), {"LAI": LAI(A)}, horizon=40, runs=200)
        for rate in (np.inf, 1.0)
    )
    np.testing.assert_array_equal(free.benchmark_hitting, slow.benchmark_hitting)
    np.testing.assert_allclose(free.regret("LAI"), 0.0, atol=1e-9)
    assert (slow.regret("LAI", form="low_variance")[:, -1] > 0.0).all()
