"""A minimizer that is told with an error: what the player sees, what it pays, and who knows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, LAI, RLS, Environment, Offset, Problem, RandomProblem, simulate
from soqo.noise import Uniform
from soqo.processes import Gaussian

PROBLEM = Problem(np.diag([1.0, 3.0]))


def environment(offset: Offset | None) -> Environment:
    return Environment(PROBLEM, Gaussian(3.0), Uniform(0.5), offset=offset)


def test_the_player_is_told_v_plus_b_and_pays_for_the_distance_from_v() -> None:
    b = np.array([1.0, -2.0])
    result = simulate(environment(Offset(b)), {"FTM": FTM()}, horizon=40, runs=3, record=True)
    assert result.v is not None
    assert result.actions is not None
    np.testing.assert_allclose(result.actions["FTM"], result.v + b)
    np.testing.assert_allclose(result["FTM"].hitting, 0.5 * b @ PROBLEM.A @ b)


def test_the_benchmark_knows_the_offset_and_lai_does_not() -> None:
    plain = simulate(environment(None), {"LAI": LAI.for_problem}, horizon=40, runs=3)
    told = simulate(environment(Offset([1.0, -2.0])), {"LAI": LAI.for_problem}, horizon=40, runs=3)
    np.testing.assert_array_equal(told.benchmark_hitting, plain.benchmark_hitting)
    assert np.abs(plain.regret("LAI")).max() < 1e-9
    assert (told.regret("LAI")[:, -1] > 10.0).all()


def test_a_random_offset_is_constant_in_a_run_and_a_walk_is_not() -> None:
    rngs = [np.random.default_rng(k) for k in range(400)]
    constant = Offset(2.0, scale=1.5).paths(rngs, 5, dim=3)
    assert (constant == constant[:, :1]).all()
    assert constant.mean() == pytest.approx(2.0, abs=6.0 * 1.5 / np.sqrt(1200))
    assert constant[:, 0].std() == pytest.approx(1.5, rel=6.0 / np.sqrt(2 * 1200))
    walk = Offset(walk=0.5).paths([np.random.default_rng(k) for k in range(100)], 50, dim=3)
    assert np.diff(walk, axis=1).std() == pytest.approx(0.5, rel=6.0 / np.sqrt(2 * 14700))


def test_least_squares_with_an_offset_finds_where_the_optimum_is() -> None:
    """In a setting of docs: steps and offset of 5, noise 10, eigenvalues 1..4, for which LAI does not know b."""
    plant = Environment(
        RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0),
        Gaussian(5.0),
        Uniform(10.0),
        offset=Offset(scale=5.0),
    )
    noise = 10.0 / np.sqrt(3.0)
    policies: dict[str, Any] = {"LAI": LAI.for_problem, "RLS": RLS(noise), "RLS, offset": RLS(noise, offset=True)}
    result = simulate(plant, policies, horizon=600, runs=8)
    regret = {name: float(np.median(result.regret(name)[:, -1])) for name in result}
    assert regret["RLS, offset"] < 0.1 * min(regret["LAI"], regret["RLS"])
