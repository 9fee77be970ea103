"""A minimizer that depends on a context: what the player is told, and what a player who knows M gains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from soqo import FTM, LAI, Context, Delay, Environment, Offset, Problem, State, play, simulate
from soqo.errors import ArgumentError
from soqo.noise import Uniform
from soqo.processes import Gaussian

PROBLEM = Problem(np.diag([1.0, 3.0]))
M = np.array([[2.0, 0.0, -1.0], [0.5, 1.0, 0.0]])
WRONG: Any = 1.0


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


def test_contexts_do_not_depend_on_the_runs_or_on_the_horizon() -> None:
    one = environment(Context(size=1.0, dim=2))
    few, many = one.draw(6, 2, seed=3), one.draw(9, 4, seed=3)
    for found, more in ((few.context, many.context), (few.shift, many.shift)):
        assert found is not None
        assert more is not None
        np.testing.assert_array_equal(found, more[:2, :6])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Context(), "M must be given, or else size and dim to draw it, got M = None"),
        (lambda: Context(size=1.0), "M must be given, or else size and dim"),
        (lambda: Context(M, size=1.0), "size and dim must not be given beside M"),
        (lambda: Context([1.0]), r"M must have shape \(d, k\), got \(1,\)"),
        (lambda: Context(M, scale=-1.0), "scale must be"),
        (lambda: Context(M, correlation=1.0), "correlation must be below 1, got 1.0"),
        (lambda: Context(size=1.0, dim=0), "dim must be a positive integer, got 0"),
        (lambda: environment(Context(M.T)), r"M must have 2 rows, one for each coordinate of v, got shape \(3, 2\)"),
        (lambda: environment(WRONG), "context must be a Context, got float"),
    ],
)
def test_bad_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
