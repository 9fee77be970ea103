"""An A that changes during a run: the A of every round, the path between two of them, and the optimal player."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import (
    FTM,
    LAI,
    Change,
    Environment,
    Paths,
    Policy,
    Problem,
    RandomProblem,
    Result,
    State,
    random_curvature,
    simulate,
)
from soqo.errors import ArgumentError
from soqo.noise import Adversarial, Uniform
from soqo.processes import Gaussian, Recorded

OLD = random_curvature(3, 3, min_eigenvalue=0.2, max_eigenvalue=3.0, rng=np.random.default_rng(0))
NEW = random_curvature(3, 3, min_eigenvalue=0.5, max_eigenvalue=9.0, rng=np.random.default_rng(1))
FLAT = random_curvature(3, 1, min_eigenvalue=2.0, rng=np.random.default_rng(2))
W = np.array([[3.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 2.0]])
FAMILY = RandomProblem(3, 2, min_eigenvalue=0.1, max_eigenvalue=1.0)


def environment(*changes: Change, **others: Any) -> Environment:
    settings: dict[str, Any] = {
        "problem": Problem(OLD),
        "process": Gaussian(2.0),
        "noise": Uniform(1.0),
        "x0": [1.0, -2.0, 3.0],
        "changes": changes,
        **others,
    }
    return Environment(**settings)


def of_rounds(paths: Paths) -> Any:
    """A of every round, shape (T, runs, 3, 3); the segments must cover every round once and in order."""
    segments = paths.segments
    assert segments[0][0] == 0
    assert segments[-1][1] == paths.horizon
    assert all(one[1] == other[0] for one, other in pairwise(segments))
    assert all(first < stop for first, stop, _ in segments)
    shape = (paths.runs, 3, 3)
    rounds = [[np.broadcast_to(p.A, shape)] * (stop - first) for first, stop, p in segments]
    return np.array([A for segment in rounds for A in segment])


def between(old: Any, new: Any, duration: int) -> list[Any]:
    """The curvatures on the way from one to the other, at 1/duration, 2/duration, ... of it."""
    return [problem.A for _, problem in Change(2, new, duration=duration).problems(Problem(old))][:-1]


def benchmark_path(world: Environment, horizon: int, runs: int, seed: int) -> Any:
    """The actions of the benchmark, shape (runs, T, d)."""
    actions = simulate(world, {"FTM": FTM()}, horizon=horizon, runs=runs, seed=seed, record=True).actions
    assert actions is not None
    return actions[Result.BENCHMARK]


# ---- abrupt changes ------------------------------------------------------------------------------------------------


def test_an_abrupt_change_takes_effect_in_its_round() -> None:
    paths = environment(Change(4, NEW), Change(6, FLAT)).draw(7, 2, seed=0)
    expected = [OLD, OLD, OLD, NEW, NEW, FLAT, FLAT]
    for A, given in zip(of_rounds(paths), expected, strict=True):
        np.testing.assert_array_equal(A, [given, given])


def test_a_single_change_needs_no_sequence() -> None:
    change = Change(4, NEW)
    one = environment(changes=change)
    assert one.changes == (change,)
    assert one.draw(7, 2, seed=0) == environment(change).draw(7, 2, seed=0)


def test_a_change_may_be_in_the_last_round_or_after_it() -> None:
    world = environment(Change(5, NEW))
    np.testing.assert_array_equal(of_rounds(world.draw(5, 1, seed=0))[:, 0], [OLD] * 4 + [NEW])
    np.testing.assert_array_equal(of_rounds(world.draw(4, 1, seed=0))[:, 0], [OLD] * 4)


def test_a_new_A_is_drawn_for_each_run_from_the_environments_own_family() -> None:
    paths = environment(Change(3), Change(5), problem=FAMILY).draw(6, 4, seed=0)
    A = of_rounds(paths)
    for first, again in ((0, 1), (2, 3), (4, 5)):
        np.testing.assert_array_equal(A[first], A[again])
    drawn = A[::2]
    assert len({float(matrix[0, 0]) for matrix in drawn.reshape(-1, 3, 3)}) == 12
    spectra = np.linalg.eigvalsh(drawn)
    np.testing.assert_allclose(spectra, np.broadcast_to([0.0, 0.1, 1.0], (3, 4, 3)), atol=1e-14)


def test_a_new_A_may_come_from_a_family_of_its_own() -> None:
    A = of_rounds(environment(Change(3, RandomProblem(3, 1, min_eigenvalue=7.0))).draw(4, 5, seed=0))
    np.testing.assert_array_equal(A[1], [OLD] * 5)
    spectra = np.linalg.eigvalsh(A[2])
    np.testing.assert_allclose(spectra, np.broadcast_to([0.0, 0.0, 7.0], (5, 3)), atol=1e-14)
    assert len({float(matrix[0, 0]) for matrix in A[2]}) == 5


def test_changes_do_not_affect_the_rest_of_a_run() -> None:
    with_changes = environment(Change(3), Change(5, duration=2), problem=FAMILY).draw(9, 4, seed=3)
    without = environment(problem=FAMILY).draw(9, 4, seed=3)
    np.testing.assert_array_equal(with_changes.problem.A, without.problem.A)
    np.testing.assert_array_equal(with_changes.v, without.v)
    np.testing.assert_array_equal(with_changes.variates, without.variates)
    # A later change must not affect earlier rounds either.
    earlier = of_rounds(environment(Change(3), problem=FAMILY).draw(9, 4, seed=3))
    np.testing.assert_array_equal(of_rounds(with_changes)[:4], earlier[:4])


def test_a_run_does_not_depend_on_the_number_of_runs_and_rounds() -> None:
    world = environment(Change(3), Change(5, duration=3), problem=FAMILY)
    whole = of_rounds(world.draw(9, 6, seed=4))
    np.testing.assert_array_equal(of_rounds(world.draw(9, 2, seed=4, first_run=3)), whole[:, 3:5])
    np.testing.assert_array_equal(of_rounds(world.draw(6, 2, seed=4)), whole[:6, :2])


def test_a_given_A_per_run_is_followed_by_one_A_for_all() -> None:
    given = np.stack([OLD, NEW, FLAT])
    world = environment(Change(2, NEW), problem=Problem(given))
    A = of_rounds(world.draw(2, 2, seed=0, first_run=1))
    np.testing.assert_array_equal(A, [given[1:], [NEW, NEW]])


def test_a_new_A_given_for_each_run_is_used_for_that_run() -> None:
    given = np.stack([OLD, NEW, FLAT])
    for duration in (1, 2):
        world = environment(Change(2, given, duration=duration))
        A = of_rounds(world.draw(4, 2, seed=0, first_run=1))
        np.testing.assert_array_equal(A[3], given[1:])
        with pytest.raises(ArgumentError, match="one A, or one for each of 4 runs"):
            world.draw(4, 3, seed=0, first_run=1)


# ---- gradual changes -----------------------------------------------------------------------------------------------


def test_a_gradual_change_starts_in_its_round_and_ends_exactly_at_the_new_A() -> None:
    A = of_rounds(environment(Change(4, NEW, duration=5)).draw(10, 1, seed=0))[:, 0]
    np.testing.assert_array_equal(A[:3], [OLD] * 3)
    np.testing.assert_array_equal(A[7:], [NEW] * 3)
    steps = np.linalg.norm(np.diff(A[2:8], axis=0), axis=(1, 2))
    assert (steps > 0.1).all()


def test_a_second_change_starts_from_the_A_of_the_first() -> None:
    A = of_rounds(environment(Change(2, NEW, duration=2), Change(4, FLAT, duration=2)).draw(5, 1, seed=0))
    for t, (old, new) in ((1, (OLD, NEW)), (3, (NEW, FLAT))):
        begin, end = np.linalg.eigvalsh(old), np.linalg.eigvalsh(new)
        halfway = np.linalg.eigvalsh(A[t, 0])
        np.testing.assert_allclose(halfway, 0.5 * (begin + end), atol=1e-13 * 9.0)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 7])
def test_eigenvalues_of_a_gradual_change_are_on_straight_lines(dim: int) -> None:
    rng = np.random.default_rng(dim)
    old = Problem(random_curvature(dim, dim, min_eigenvalue=0.5, max_eigenvalue=3.0, rng=rng))
    new = Problem(random_curvature(dim, (dim + 1) // 2, min_eigenvalue=1.0, max_eigenvalue=8.0, rng=rng))
    begin, end = np.linalg.eigvalsh(old.A), np.linalg.eigvalsh(new.A)
    way = Change(2, new, duration=8).problems(old)
    assert [first for first, _ in way] == list(range(1, 9))
    for k, (_, problem) in enumerate(way, start=1):
        np.testing.assert_array_equal(problem.A, problem.A.T)
        line = begin + k / 8 * (end - begin)
        # Some products of orthogonal matrices: round-off of the size of the largest eigenvalue.
        np.testing.assert_allclose(np.linalg.eigvalsh(problem.A), line, atol=1e-13 * 8.0)


def frames(curvatures: list[Any], first: Any) -> Any:
    """The eigenvectors of each, with signs that make each close to the one before."""
    found = [first]
    for A in curvatures:
        _, Q = np.linalg.eigh(A)
        found.append(Q * np.sign(np.vecdot(Q.T, found[-1].T)))
    return np.array(found)


@pytest.mark.parametrize("dim", [2, 3, 4, 5])
def test_eigenvectors_of_a_gradual_change_turn_at_a_constant_speed(dim: int) -> None:
    rng = np.random.default_rng(10 + dim)
    old = Problem(random_curvature(dim, dim, min_eigenvalue=1.0, max_eigenvalue=5.0, rng=rng))
    new = Problem(random_curvature(dim, dim, min_eigenvalue=2.0, max_eigenvalue=9.0, rng=rng))
    # Within 20 rounds no eigenvector rotates by more than pi/20 per round, so the signs are unambiguous.
    way = [problem.A for _, problem in Change(2, new, duration=20).problems(old)]
    Q = frames(way, np.linalg.eigh(old.A)[1])
    turns = Q[1:] @ Q[:-1].swapaxes(-1, -2)
    # Eigenvectors are known to round-off over the smallest gap of eigenvalues, which is 1.
    np.testing.assert_allclose(turns, np.broadcast_to(turns[0], turns.shape), atol=1e-12)
    assert np.linalg.norm(turns[0] - np.eye(dim)) > 0.01
    np.testing.assert_allclose(np.linalg.det(turns), 1.0)
    arrived = np.abs(np.linalg.matrix_power(turns[0], 20) @ Q[0])
    np.testing.assert_allclose(arrived, np.abs(np.linalg.eigh(new.A)[1]), atol=1e-11)


def test_matrices_with_the_same_eigenvectors_change_along_a_straight_line() -> None:
    for Q in (np.eye(3), np.linalg.eigh(OLD)[1]):
        old, new = (Q * [1.0, 2.0, 4.0]) @ Q.T, (Q * [0.0, 3.0, 9.0]) @ Q.T
        way = Change(2, new, duration=4).problems(Problem(old))
        for k, (_, problem) in enumerate(way, start=1):
            line = old + k / 4 * (new - old)
            np.testing.assert_allclose(problem.A, line, atol=1e-13 * 9.0)


def test_two_axes_that_swap_rotate_by_a_quarter_turn() -> None:
    way = between(np.diag([1.0, 4.0]), np.diag([4.0, 1.0]), 6)[1:3]
    for A, angle in zip(way, (np.pi / 6, np.pi / 4), strict=True):
        # Mean 2.5, half the difference 1.5: on a circle with twice the angle, from the direction of diag(-1, 1).
        assert A[0, 0] == pytest.approx(2.5 - 1.5 * np.cos(2 * angle))
        assert A[1, 1] == pytest.approx(2.5 + 1.5 * np.cos(2 * angle))
        assert abs(A[0, 1]) == pytest.approx(1.5 * np.sin(2 * angle))
    assert np.sign(way[0][0, 1]) == np.sign(way[1][0, 1])


def test_a_small_change_is_a_small_rotation() -> None:
    # LAPACK reverses two eigenvectors between these, which must not make it a half turn.
    old = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, 1.0]])
    new = old + 0.01 * np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    for A in between(old, new, 10):
        assert np.abs(A - old).max() < 0.02


@pytest.mark.parametrize("dim", [3, 4, 6])
def test_the_rotation_is_the_shortest(dim: int) -> None:
    rng = np.random.default_rng(dim)
    for _ in range(20):
        old, new = (random_curvature(dim, dim, min_eigenvalue=1.0, max_eigenvalue=4.0, rng=rng) for _ in range(2))
        Q = frames(between(old, new, 40), np.linalg.eigh(old)[1])
        turn = np.linalg.matrix_power(Q[1] @ Q[0].T, 40)
        shortest = max(
            float(np.trace((np.linalg.eigh(new)[1] * signs) @ Q[0].T))
            for signs in product((-1.0, 1.0), repeat=dim)
            if np.linalg.det((np.linalg.eigh(new)[1] * signs) @ Q[0].T) > 0.0
        )
        assert np.trace(turn) == pytest.approx(shortest, abs=1e-9)


def test_half_turns_keep_the_eigenvalues() -> None:
    # Two pairs of axes swap: this permutation reverses two directions.
    for new in (np.diag([2.0, 1.0, 4.0, 3.0]), np.diag([3.0, 4.0, 1.0, 2.0])):
        for A in between(np.diag([1.0, 2.0, 3.0, 4.0]), new, 10):
            np.testing.assert_allclose(np.linalg.eigvalsh(A), [1.0, 2.0, 3.0, 4.0])


def test_a_batch_of_runs_rotates_run_by_run() -> None:
    old, new = np.stack([OLD, NEW, FLAT]), np.stack([NEW, FLAT, OLD])
    together, spread = between(old, new, 5), between(OLD, new, 5)
    for k in range(4):
        assert together[k].shape == (3, 3, 3)
        for run in range(3):
            np.testing.assert_allclose(together[k][run], between(old[run], new[run], 5)[k], atol=1e-13)
            np.testing.assert_allclose(spread[k][run], between(OLD, new[run], 5)[k], atol=1e-13)


# ---- costs ---------------------------------------------------------------------------------------------------------


def weight_matrix(weight: Any) -> Any:
    return np.eye(3) if weight is None else np.eye(3) * weight if np.ndim(weight) < 2 else weight


@pytest.mark.parametrize("weight", [None, 2.5, [1.0, 4.0, 0.5], W], ids=["I", "c", "diag", "W"])
def test_costs_are_those_of_a_plain_loop(weight: Any) -> None:
    family = RandomProblem(3, 2, min_eigenvalue=0.1, max_eigenvalue=1.0, switching_weight=weight)
    world = environment(Change(4), Change(6, NEW, duration=3), problem=family)
    paths = world.draw(11, 3, seed=0)
    x = np.random.default_rng(5).standard_normal((3, 11, 3))
    hitting, switching = paths.costs(x)
    full, A = weight_matrix(weight), of_rounds(paths)
    for run in range(3):
        before = paths.x0[run]
        for t in range(11):
            u, move = x[run, t] - paths.v[run, t], x[run, t] - before
            assert hitting[run, t] == pytest.approx(0.5 * u @ A[t, run] @ u, rel=1e-12)
            assert switching[run, t] == pytest.approx(0.5 * move @ full @ move, rel=1e-12)
            before = x[run, t]


# ---- the benchmark -------------------------------------------------------------------------------------------------


def conditions(A: Any, weight: Any) -> Any:
    """The Hessian of the total cost of rounds with these A, dense."""
    T = len(A)
    H = np.zeros((T, 3, T, 3))
    for t in range(T):
        H[t, :, t] += A[t] + weight * (1.0 if t == T - 1 else 2.0)
        if t:
            H[t, :, t - 1] = H[t - 1, :, t] = -weight
    return H.reshape(3 * T, 3 * T)


def dense_optimum(A: Any, weight: Any, v: Any, x0: Any) -> Any:
    """The path of least total cost for a player who knows all of v."""
    pull = np.matvec(A, v)
    pull[0] += weight @ x0
    return np.linalg.solve(conditions(A, weight), pull.ravel()).reshape(v.shape)


def test_gains_are_corners_of_the_inverse_of_the_hessian() -> None:
    # The recursion eliminates the rounds from the last one on; the dense inverse does not use it.
    world = environment(Change(3), Change(5, NEW, duration=3), problem=FAMILY)
    paths = world.draw(10, 2, seed=1)
    gains, inverses = paths.gains
    assert gains.shape == inverses.shape == (10, 2, 3, 3)
    A = of_rounds(paths)
    for run in range(2):
        for t in range(10):
            corner = np.linalg.inv(conditions(A[t:, run], np.eye(3)))[:3, :3]
            np.testing.assert_allclose(gains[t, run], corner, rtol=0, atol=1e-13)
            np.testing.assert_allclose(inverses[t, run], np.linalg.inv(corner), atol=1e-11)


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
def test_a_change_to_the_same_A_changes_no_cost(weight: Any) -> None:
    problem = Problem(OLD, weight)
    policies = {"FTM": FTM(), "LAI": LAI.for_problem, "stays": Listener()}

    def outcome(world: Environment) -> Any:
        result = simulate(world, policies, horizon=12, runs=3, seed=2)
        forms = [result.regret(name, form=form) for name in policies for form in ("difference", "low_variance")]
        return np.stack([*forms, benchmark_path(world, 12, 3, seed=2).sum(axis=-1)])

    without = outcome(environment(problem=problem))
    for change in (Change(5, OLD), Change(5, OLD, duration=4), Change(13, NEW)):
        np.testing.assert_allclose(outcome(environment(change, problem=problem)), without, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weight", [None, [1.0, 4.0, 0.5], W], ids=["plain", "diagonal", "matrix"])
def test_if_v_is_constant_the_benchmark_is_the_optimum_in_hindsight(weight: Any) -> None:
    # A constant v is known in advance, so no player can do better.
    world = environment(
        Change(3, NEW),
        Change(6, FLAT, duration=4),
        problem=Problem(OLD, weight),
        process=Gaussian(0.0),
        v0=[4.0, 1.0, -2.0],
    )
    paths = world.draw(14, 2, seed=0)
    path = benchmark_path(world, 14, 2, seed=0)
    best = dense_optimum(of_rounds(paths)[:, 0], weight_matrix(weight), paths.v[0], paths.x0[0])
    np.testing.assert_allclose(path, [best, best], atol=1e-12)


def best_in_expectation(A: Any, weight: Any, steps: Any, x0: Any) -> dict[Any, Any]:
    """The optimal player when v moves by plus or minus steps[t] with equal probability: dense, over all histories.

    An action may depend on the signs so far only, so there is one unknown action for each history.
    """
    T = len(A)
    histories = [signs for t in range(1, T + 1) for signs in product((-1.0, 1.0), repeat=t)]
    index = {signs: k for k, signs in enumerate(histories)}
    H = np.zeros((len(histories), 3, len(histories), 3))
    pull = np.zeros((len(histories), 3))
    for signs, k in index.items():
        t = len(signs)
        chance = 0.5**t
        H[k, :, k] += chance * (A[t - 1] + weight)
        pull[k] += chance * A[t - 1] @ (np.array(signs) @ steps[:t])
        if t == 1:
            pull[k] += chance * weight @ x0
        else:
            parent = index[signs[:-1]]
            H[parent, :, parent] += chance * weight
            H[parent, :, k] -= chance * weight
            H[k, :, parent] -= chance * weight
    x = np.linalg.solve(H.reshape(pull.size, pull.size), pull.ravel()).reshape(pull.shape)
    return {signs: x[k] for signs, k in index.items()}


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
def test_on_a_martingale_no_player_does_better_in_expectation_than_the_benchmark(weight: Any) -> None:
    T = 5
    steps = np.random.default_rng(3).standard_normal((T, 3))
    signs = np.array(list(product((-1.0, 1.0), repeat=T)))
    v = np.cumsum(signs[:, :, None] * steps, axis=1)
    world = environment(
        Change(2, NEW),
        Change(3, FLAT, duration=2),
        problem=Problem(OLD, weight),
        process=Recorded(v),
    )
    paths = world.draw(T, len(v), seed=0)
    path = benchmark_path(world, T, len(v), seed=0)
    best = best_in_expectation(of_rounds(paths)[:, 0], weight_matrix(weight), steps, paths.x0[0])
    for run, history in enumerate(signs):
        for t in range(T):
            np.testing.assert_allclose(path[run, t], best[tuple(history[: t + 1])], atol=1e-12)


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("problem", ["given", "drawn"])
def test_regret_is_the_sum_of_the_excess_on_average(problem: str, weight: Any) -> None:
    old: Any = Problem(OLD, weight)
    if problem == "drawn":
        old = RandomProblem(3, 2, min_eigenvalue=0.2, max_eigenvalue=3.0, switching_weight=weight)
    target = None if problem == "drawn" else NEW
    world = environment(Change(6, target), Change(10, FLAT, duration=4), problem=old)
    policies = {"FTM": FTM(), "LAI, old A": LAI.for_problem}
    result = simulate(world, policies, horizon=18, runs=600, seed=1)
    for name in policies:
        regret = result.regret(name)[:, -1]
        shares = result.regret(name, form="low_variance", per_round=True)
        assert (shares >= 0.0).all()
        difference = regret - shares.sum(axis=1)
        error = difference.std(ddof=1) / np.sqrt(difference.size)
        assert abs(difference.mean()) < 4 * error, name
        # The bound is informative only if it is small compared with the regret.
        assert 4 * error < 0.2 * regret.mean(), name


# ---- in a simulation -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Listener(Policy[tuple[Any, ...]]):
    """A policy that does not move and records every reading."""

    def begin(self, x0: Any, horizon: int | None, rng: Any) -> tuple[Any, ...]:
        return ()

    def decide(self, state: State[tuple[Any, ...]], v: Any) -> tuple[Any, tuple[Any, ...]]:
        return state.x, state.memory

    def learn(self, state: State[tuple[Any, ...]], y: Any) -> tuple[Any, ...]:
        return (*state.memory, y)

    def diagnostics(self, state: State[tuple[Any, ...]]) -> dict[str, Any]:
        return {"readings": np.stack(state.memory, axis=1)}


def test_readings_are_of_the_A_of_their_round() -> None:
    world = environment(
        Change(3), Change(6, NEW, duration=2), problem=FAMILY, process=Gaussian(0.0), noise=Uniform(0.0)
    )
    paths = world.draw(8, 3, seed=0)
    readings = simulate(world, {"listener": Listener()}, horizon=8, runs=3, seed=0)["listener"].diagnostics["readings"]
    u = paths.x0[0]  # v stays at zero
    expected = 0.5 * np.einsum("i,trij,j->rt", u, of_rounds(paths), u)
    np.testing.assert_allclose(readings, expected, rtol=1e-12)
    # Every change affects the readings.
    changed = np.abs(np.diff(readings, axis=1)) > 1e-3
    np.testing.assert_array_equal(changed, [[False, True, False, False, True, True, False]] * 3)


def test_an_adversary_knows_of_the_change() -> None:
    # It makes the direction of least curvature look costly, which is another direction from round 3 on.
    world = Environment(
        Problem(np.diag([1.0, 4.0])),
        Gaussian(0.0),
        Adversarial(0.25),
        x0=[1.0, 0.0],
        changes=Change(3, np.diag([4.0, 1.0])),
    )
    readings = simulate(world, {"listener": Listener()}, horizon=4, runs=1, seed=0)["listener"].diagnostics["readings"]
    np.testing.assert_allclose(readings, [[0.5 + 0.25] * 2 + [2.0 - 0.25] * 2])


def low_variance(result: Result, name: str) -> Any:
    return result.regret(name, form="low_variance", per_round=True)


def test_pieces_of_a_simulation_make_up_the_whole() -> None:
    world = environment(Change(3), Change(6, duration=3), problem=FAMILY)
    policies = {"FTM": FTM(), "LAI, old A": LAI.for_problem}
    whole = simulate(world, policies, horizon=10, runs=5, seed=2)
    pieces = [simulate(world, policies, horizon=10, runs=n, seed=2, first_run=k) for k, n in ((0, 2), (2, 3))]
    together = Result.concat(pieces)
    for name in policies:
        np.testing.assert_array_equal(together.regret(name), whole.regret(name))
        np.testing.assert_array_equal(low_variance(together, name), low_variance(whole, name))


def test_a_result_of_a_changing_world_can_be_kept(tmp_path: Path) -> None:
    world = environment(Change(3), Change(6, NEW, duration=3), problem=FAMILY)
    result = simulate(world, {"FTM": FTM()}, horizon=10, runs=3, seed=2, record=True)
    again = Result.load(result.save(tmp_path / "result.nc"))
    np.testing.assert_array_equal(again.regret("FTM"), result.regret("FTM"))
    np.testing.assert_array_equal(low_variance(again, "FTM"), low_variance(result, "FTM"))
    assert again.configuration == result.configuration
    described = again.configuration["environment"]["changes"]
    assert described == [
        {"class": "Change", "round": 3, "problem": None, "duration": 1},
        {
            "class": "Change",
            "round": 6,
            "problem": {"class": "Problem", "A": NEW.tolist(), "switching_weight": None},
            "duration": 3,
        },
    ]


def test_a_changing_world_can_be_pickled() -> None:
    world = environment(Change(3), Change(6, NEW, duration=3), problem=FAMILY)
    again = pickle.loads(pickle.dumps(world))
    assert again == world
    assert again.draw(9, 2, seed=1) == world.draw(9, 2, seed=1)


# ---- bad settings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Change(1, NEW), "round must be an integer of at least 2, got 1"),
        (lambda: Change(3, NEW, duration=0), "duration must be a positive integer, got 0"),
        (lambda: Change(3, -NEW), "A must be positive semi-definite"),
        (lambda: Change(3, "steep"), "A must be an array of real numbers, got str"),
        (lambda: Change(3).problems(Problem(OLD)), "problem must be given .* got None"),
        (lambda: Change(3).problems(Problem(OLD), FAMILY), "rng must be given to draw a new A"),
        (
            lambda: Change(3, np.eye(2)).problems(Problem(OLD)),
            "problem must have dimension 3, got 2",
        ),
        (lambda: environment(changes=3), "changes must hold Changes, got int"),
        (
            lambda: environment(Change(3, Problem(NEW, 2.0))),
            "changes must not change the switching weight",
        ),
        (lambda: environment(changes=[Change(3, NEW), 7]), "changes must hold Changes, got int"),
        (
            lambda: environment(Change(5, NEW), Change(4, FLAT)),
            "changes must be in order and not overlap, got one at round 4",
        ),
        (
            lambda: environment(Change(3, NEW, duration=3), Change(5, FLAT)),
            "got one at round 5 where the one before takes until round 5",
        ),
        (lambda: environment(Change(3)), "changes must have a problem .* a Change without one"),
        (
            lambda: environment(Change(3, np.eye(2))),
            "changes must have problems of dimension 3, got 2",
        ),
    ],
)
def test_bad_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_change_may_begin_in_the_round_after_the_last_of_the_one_before() -> None:
    paths = environment(Change(3, NEW, duration=3), Change(6, FLAT)).draw(6, 1, seed=0)
    np.testing.assert_array_equal(of_rounds(paths)[4:, 0], [NEW, FLAT])
