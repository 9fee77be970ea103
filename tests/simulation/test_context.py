"""A minimizer that depends on a context: what the player is told, and what a player who knows M gains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from soqo import FTM, LAI, Context, Delay, Environment, Offset, Problem, State, play, simulate
from soqo.noise import Uniform
from soqo.processes import Gaussian

PROBLEM = Problem(np.diag([1.0, 3.0]))
M = np.array([[2.0, 0.0, -1.0], [0.5, 1.0, 0.0]])


def environment(context: Context | None, **options: Any) -> Environment:
    return Environment(PROBLEM, Gaussian(3.0), Uniform(0.5), context=context, **options)


@dataclass(frozen=True)
class KnowsM(LAI):
    """LAI for a player who knows M."""

    def decide(self, state: State[Any], v: Any) -> Any:
        assert state.context is not None
        return super().decide(state, v + state.context @ M.T)


def test_the_player_is_told_v_without_the_part_of_the_context() -> None:
    paths = environment(Context(M), offset=Offset([1.0, -1.0])).draw(20, 3, seed=1)
    assert paths.context is not None
    told = paths.v + np.array([1.0, -1.0]) - paths.context @ M.T
    np.testing.assert_allclose(paths.told, told)
    np.testing.assert_allclose(play(FTM(), paths).x, told)
    np.testing.assert_array_equal(paths.v, environment(None).draw(20, 3, seed=1).v)


def test_who_knows_the_effect_of_the_context_has_no_regret_and_who_does_not_has() -> None:
    policies: dict[str, Any] = {"knows": KnowsM(PROBLEM.A), "LAI": LAI.for_problem}
    result = simulate(environment(Context(M), delay=Delay(2)), policies, horizon=40, runs=3)
    assert np.abs(result.regret("knows")).max() < 1e-9
    assert (result.regret("LAI")[:, -1] > 10.0).all()
    plain = simulate(environment(None), {"LAI": LAI.for_problem}, horizon=40, runs=3)
    np.testing.assert_array_equal(result.benchmark_hitting, plain.benchmark_hitting)


def test_a_random_effect_is_constant_in_a_run_and_has_entries_of_the_given_size() -> None:
    rngs = [np.random.default_rng(k) for k in range(600)]
    w, shift = Context(size=1.5, dim=1, scale=2.0).draw(rngs, 4, dim=3)
    effects = shift / w
    np.testing.assert_allclose(effects, np.broadcast_to(effects[:, :1], effects.shape), rtol=1e-9)
    assert effects[:, 0].std() == pytest.approx(1.5, rel=6.0 / np.sqrt(2 * 1800))
