"""A base load that depends on covariates: what the player reads and is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, LAI, Covariates, Delay, Environment, Factor, Problem, play, simulate
from soqo.noise import Uniform
from soqo.policies import Policy
from soqo.processes import Gaussian

PROBLEM = Problem(np.diag([1.0, 3.0]))
H = [2.0, -1.0, 0.5]


class Told(FTM):
    """It follows v, and writes down its readings and what it is told with them."""

    notes: list[Any]

    def learn(self, state: Any, y: Any) -> Any:
        self.notes.append((state.round, np.array(y), state.covariates))
        return super().learn(state, y)


class Oracle(Told):
    """The same without noise."""

    @property
    def exact_feedback(self) -> bool:
        return True


def environment(covariates: Covariates | None, **options: Any) -> Environment:
    return Environment(PROBLEM, Gaussian(3.0), Uniform(0.0), covariates=covariates, **options)


def noted(policy: Policy[Any], paths: Any) -> list[Any]:
    object.__setattr__(policy, "notes", [])
    play(policy, paths)
    return list(vars(policy)["notes"])


UNIT = Factor(0.5)


@pytest.mark.parametrize("options", [{}, {"delay": Delay(1)}, {"unit": UNIT}, {"delay": Delay(1), "unit": UNIT}])
def test_a_reading_has_the_load_and_its_player_is_told_the_covariates(options: Any) -> None:
    paths = environment(Covariates(H), **options).draw(12, 3, seed=1)
    assert paths.covariates is not None
    notes = noted(Told(), paths)
    assert len(notes) == 12 - ("delay" in options)
    for number, y, told in notes:
        np.testing.assert_array_equal(told, paths.covariates[:, number - 1])
        np.testing.assert_allclose(y, told @ H, atol=1e-12)  # in the unit of the reading


def test_a_player_without_noise_has_no_load_either() -> None:
    for _, y, told in noted(Oracle(), environment(Covariates(H)).draw(5, 2, seed=1)):
        assert told is None
        np.testing.assert_array_equal(y, 0.0)


def test_the_load_does_not_change_what_is_drawn_beside_it_nor_the_benchmark() -> None:
    policies: dict[str, Any] = {"LAI": LAI.for_problem}
    plain, loaded = (simulate(environment(one), policies, horizon=20, runs=3) for one in (None, Covariates(H)))
    np.testing.assert_array_equal(loaded.benchmark_hitting, plain.benchmark_hitting)
    np.testing.assert_array_equal(loaded.regret("LAI"), plain.regret("LAI"))
