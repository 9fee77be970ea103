"""A that changes in mid-run: the A of every round, the way between two of them, and the best player who knows it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import (
    FTM,
    LAI,
    Environment,
    Paths,
    Plan,
    Policy,
    Problem,
    RandomProblem,
    Result,
    State,
    random_curvature,
    simulate,
)
from soqo._changes import Change, known_contractions, known_path, turned
from soqo._simulation import excess, lai_path, play
from soqo._storage.records import pack, same, unpack
from soqo.errors import ArgumentError
from soqo.noise import Adversarial, Uniform
from soqo.processes import Gaussian, Recorded

FLOAT: Any = 2.0
OLD = random_curvature(3, 3, 0.2, 3.0, rng=np.random.default_rng(0))
NEW = random_curvature(3, 3, 0.5, 9.0, rng=np.random.default_rng(1))
FLAT = random_curvature(3, 1, 2.0, rng=np.random.default_rng(2))
W = np.array([[3.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 2.0]])
FAMILY = RandomProblem(3, 2, 0.1, 1.0)


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
    return np.array([A for stretch in rounds for A in stretch])


# ---- at once -------------------------------------------------------------------------------------------------------


def test_an_abrupt_change_counts_from_its_round_on() -> None:
    paths = environment(Change(4, NEW), Change(6, FLAT)).draw(7, 2, seed=0)
    expected = [OLD, OLD, OLD, NEW, NEW, FLAT, FLAT]
    for A, given in zip(of_rounds(paths), expected, strict=True):
        np.testing.assert_array_equal(A, [given, given])


def test_a_single_change_needs_no_sequence() -> None:
    change = Change(4, NEW)
    one = environment(changes=change)
    assert one.changes == (change,)
    assert same(one.draw(7, 2, seed=0), environment(change).draw(7, 2, seed=0))


def test_a_change_may_come_in_the_last_round_or_not_at_all() -> None:
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
    A = of_rounds(environment(Change(3, RandomProblem(3, 1, 7.0))).draw(4, 5, seed=0))
    np.testing.assert_array_equal(A[1], [OLD] * 5)
    spectra = np.linalg.eigvalsh(A[2])
    np.testing.assert_allclose(spectra, np.broadcast_to([0.0, 0.0, 7.0], (5, 3)), atol=1e-14)
    assert len({float(matrix[0, 0]) for matrix in A[2]}) == 5


def test_changes_leave_the_rest_of_a_run_as_it_was() -> None:
    with_changes = environment(Change(3), Change(5, duration=2), problem=FAMILY).draw(9, 4, seed=3)
    without = environment(problem=FAMILY).draw(9, 4, seed=3)
    np.testing.assert_array_equal(with_changes.problem.A, without.problem.A)
    np.testing.assert_array_equal(with_changes.v, without.v)
    np.testing.assert_array_equal(with_changes.variates, without.variates)
    # What comes later must not disturb what came before it either.
    earlier = of_rounds(environment(Change(3), problem=FAMILY).draw(9, 4, seed=3))
    np.testing.assert_array_equal(of_rounds(with_changes)[:4], earlier[:4])


def test_a_run_is_the_same_whatever_the_number_of_runs_and_rounds() -> None:
    world = environment(Change(3), Change(5, duration=3), problem=FAMILY)
    whole = of_rounds(world.draw(9, 6, seed=4))
    np.testing.assert_array_equal(of_rounds(world.draw(9, 2, seed=4, first_run=3)), whole[:, 3:5])
    np.testing.assert_array_equal(of_rounds(world.draw(6, 2, seed=4)), whole[:6, :2])


def test_a_given_A_per_run_is_followed_by_one_A_for_all() -> None:
    given = np.stack([OLD, NEW, FLAT])
    world = environment(Change(2, NEW), problem=Problem(given))
    A = of_rounds(world.draw(2, 2, seed=0, first_run=1))
    np.testing.assert_array_equal(A, [given[1:], [NEW, NEW]])


def test_a_new_A_given_for_each_run_goes_to_its_run() -> None:
    given = np.stack([OLD, NEW, FLAT])
    for over in (1, 2):
        world = environment(Change(2, given, duration=over))
        A = of_rounds(world.draw(4, 2, seed=0, first_run=1))
        np.testing.assert_array_equal(A[3], given[1:])
        with pytest.raises(ArgumentError, match="one A, or one for each of 4 runs"):
            world.draw(4, 3, seed=0, first_run=1)


# ---- by and by -----------------------------------------------------------------------------------------------------


def test_a_gradual_change_starts_in_its_round_and_arrives_exactly() -> None:
    A = of_rounds(environment(Change(4, NEW, duration=5)).draw(10, 1, seed=0))[:, 0]
    np.testing.assert_array_equal(A[:3], [OLD] * 3)
    np.testing.assert_array_equal(A[7:], [NEW] * 3)
    steps = np.linalg.norm(np.diff(A[2:8], axis=0), axis=(1, 2))
    assert (steps > 0.1).all()


def test_a_second_change_goes_on_from_where_the_first_arrived() -> None:
    A = of_rounds(environment(Change(2, NEW, duration=2), Change(4, FLAT, duration=2)).draw(5, 1, seed=0))
    for t, (old, new) in ((1, (OLD, NEW)), (3, (NEW, FLAT))):
        begin, end = np.linalg.eigvalsh(old), np.linalg.eigvalsh(new)
        halfway = np.linalg.eigvalsh(A[t, 0])
        np.testing.assert_allclose(halfway, 0.5 * (begin + end), atol=1e-13 * 9.0)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 7])
def test_eigenvalues_of_a_gradual_change_are_on_straight_lines(dim: int) -> None:
    rng = np.random.default_rng(dim)
    old = Problem(random_curvature(dim, dim, 0.5, 3.0, rng=rng))
    new = Problem(random_curvature(dim, (dim + 1) // 2, 1.0, 8.0, rng=rng))
    begin, end = np.linalg.eigvalsh(old.A), np.linalg.eigvalsh(new.A)
    way = Change(2, new, duration=8).problems(old)
    assert [first for first, _ in way] == list(range(1, 9))
    for A in turned(old, new, np.array([0.3, 0.6])):
        np.testing.assert_array_equal(A, A.T)
    for k, (_, problem) in enumerate(way, start=1):
        np.testing.assert_array_equal(problem.A, problem.A.T)
        line = begin + k / 8 * (end - begin)
        # Some products of orthogonal matrices: round-off of the size of the largest eigenvalue.
        np.testing.assert_allclose(np.linalg.eigvalsh(problem.A), line, atol=1e-13 * 8.0)


def frames(curvatures: list[Any], first: Any) -> Any:
    """Eigenvectors of each, their signs such that each turns little from the one before."""
    found = [first]
    for A in curvatures:
        _, Q = np.linalg.eigh(A)
        found.append(Q * np.sign(np.vecdot(Q.T, found[-1].T)))
    return np.array(found)


@pytest.mark.parametrize("dim", [2, 3, 4, 5])
def test_eigenvectors_of_a_gradual_change_turn_at_a_constant_speed(dim: int) -> None:
    rng = np.random.default_rng(10 + dim)
    old = Problem(random_curvature(dim, dim, 1.0, 5.0, rng=rng))
    new = Problem(random_curvature(dim, dim, 2.0, 9.0, rng=rng))
    # So many rounds that no eigenvector turns by more than pi/20 from one to the next: signs are no question then.
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


def test_two_axes_that_change_places_turn_by_a_quarter() -> None:
    way = turned(Problem(np.diag([1.0, 4.0])), Problem(np.diag([4.0, 1.0])), np.array([1 / 3, 0.5]))
    for A, angle in zip(way, (np.pi / 6, np.pi / 4), strict=True):
        # Mean 2.5, half the difference 1.5: on a circle with twice the angle, from the direction of diag(-1, 1).
        assert A[0, 0] == pytest.approx(2.5 - 1.5 * np.cos(2 * angle))
        assert A[1, 1] == pytest.approx(2.5 + 1.5 * np.cos(2 * angle))
        assert abs(A[0, 1]) == pytest.approx(1.5 * np.sin(2 * angle))
    assert np.sign(way[0][0, 1]) == np.sign(way[1][0, 1])


def test_no_change_at_all_takes_no_turn() -> None:
    for problem in (Problem(OLD), Problem(FLAT), Problem(np.eye(3)), Problem(np.zeros((3, 3)))):
        for A in turned(problem, problem, np.array([0.25, 0.5])):
            np.testing.assert_allclose(A, problem.A, atol=1e-13 * 3.0)


def test_a_small_change_takes_a_small_turn() -> None:
    # LAPACK reverses two eigenvectors between these, which must not make it a half turn.
    old = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, 1.0]])
    new = old + 0.01 * np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    for A in turned(Problem(old), Problem(new), np.arange(1, 10) / 10):
        assert np.abs(A - old).max() < 0.02


@pytest.mark.parametrize("dim", [3, 4, 6])
def test_no_turn_in_space_is_longer_than_it_needs_to_be(dim: int) -> None:
    rng = np.random.default_rng(dim)
    for _ in range(20):
        old, new = (Problem(random_curvature(dim, dim, 1.0, 4.0, rng=rng)) for _ in range(2))
        Q = frames(turned(old, new, np.arange(1, 40) / 40), np.linalg.eigh(old.A)[1])
        turn = np.linalg.matrix_power(Q[1] @ Q[0].T, 40)
        shortest = max(
            float(np.trace((np.linalg.eigh(new.A)[1] * signs) @ Q[0].T))
            for signs in product((-1.0, 1.0), repeat=dim)
            if np.linalg.det((np.linalg.eigh(new.A)[1] * signs) @ Q[0].T) > 0.0
        )
        assert np.trace(turn) == pytest.approx(shortest, abs=1e-9)


def test_half_turns_keep_the_eigenvalues() -> None:
    # Two pairs of axes change places: as a permutation it reverses two directions.
    for new in (np.diag([2.0, 1.0, 4.0, 3.0]), np.diag([3.0, 4.0, 1.0, 2.0])):
        for A in turned(Problem(np.diag([1.0, 2.0, 3.0, 4.0])), Problem(new), np.array([0.2, 0.5])):
            np.testing.assert_allclose(np.linalg.eigvalsh(A), [1.0, 2.0, 3.0, 4.0])


def test_a_batch_of_runs_turns_run_by_run() -> None:
    old, new = np.stack([OLD, NEW, FLAT]), np.stack([NEW, FLAT, OLD])
    shares = np.array([0.2, 0.7])
    together = turned(Problem(old), Problem(new), shares)
    spread = turned(Problem(OLD), Problem(new), shares)
    for k in range(2):
        assert together[k].shape == (3, 3, 3)
        for run in range(3):
            alone = turned(Problem(old[run]), Problem(new[run]), shares)[k]
            np.testing.assert_allclose(together[k][run], alone, atol=1e-13)
            one_for_all = turned(Problem(OLD), Problem(new[run]), shares)[k]
            np.testing.assert_allclose(spread[k][run], one_for_all, atol=1e-13)


# ---- what it costs -------------------------------------------------------------------------------------------------


def weight_matrix(weight: Any) -> Any:
    return np.eye(3) if weight is None else np.eye(3) * weight if np.ndim(weight) < 2 else weight


@pytest.mark.parametrize("weight", [None, 2.5, [1.0, 4.0, 0.5], W], ids=["I", "c", "diag", "W"])
def test_costs_are_those_of_a_plain_loop(weight: Any) -> None:
    family = RandomProblem(3, 2, 0.1, 1.0, switching_weight=weight)
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
    """The path of least total cost for who knows all of v."""
    pull = np.matvec(A, v)
    pull[0] += weight @ x0
    return np.linalg.solve(conditions(A, weight), pull.ravel()).reshape(v.shape)


def test_gains_are_corners_of_the_inverse_of_the_hessian() -> None:
    # Eliminating the rounds from the last one on is the recursion; the dense inverse knows nothing of it.
    world = environment(Change(3), Change(5, NEW, duration=3), problem=FAMILY)
    paths = world.draw(10, 2, seed=1)
    gains, inverses = known_contractions(paths.segments)
    assert gains.shape == inverses.shape == (10, 2, 3, 3)
    A = of_rounds(paths)
    for run in range(2):
        for t in range(10):
            corner = np.linalg.inv(conditions(A[t:, run], np.eye(3)))[:3, :3]
            np.testing.assert_allclose(gains[t, run], corner, rtol=0, atol=1e-13)
            np.testing.assert_allclose(inverses[t, run], np.linalg.inv(corner), atol=1e-11)


def test_gains_without_changes_are_those_of_the_plan() -> None:
    plan = Plan(OLD, horizon=12)
    gains, inverses = known_contractions([(0, 12, Problem(OLD))])
    for t in range(12):
        np.testing.assert_allclose(gains[t, 0], plan.gain(t + 1), atol=1e-13)
        np.testing.assert_allclose(inverses[t, 0] @ plan.gain(t + 1), np.eye(3), atol=1e-13)
    rng = np.random.default_rng(0)
    v, x0 = rng.standard_normal((4, 12, 3)), rng.standard_normal((4, 3))
    np.testing.assert_allclose(known_path(gains, v, x0), plan.path(x0, v), atol=1e-12)


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
def test_a_change_that_is_none_changes_nothing(weight: Any) -> None:
    problem = Problem(OLD, weight)
    without = environment(problem=problem).draw(12, 3, seed=2)
    x = without.v + 0.5
    for change in (Change(5, OLD), Change(5, OLD, duration=4), Change(13, NEW)):
        paths = environment(change, problem=problem).draw(12, 3, seed=2)
        np.testing.assert_allclose(lai_path(paths), lai_path(without), atol=1e-12)
        np.testing.assert_allclose(excess(paths, x), excess(without, x), atol=1e-12)
        np.testing.assert_allclose(paths.costs(x), without.costs(x), atol=1e-12)


@pytest.mark.parametrize("weight", [None, [1.0, 4.0, 0.5], W], ids=["plain", "diagonal", "matrix"])
def test_where_v_rests_the_benchmark_is_the_optimum_in_hindsight(weight: Any) -> None:
    # A martingale that has stopped is known for ever: then nobody can do better.
    world = environment(
        Change(3, NEW),
        Change(6, FLAT, duration=4),
        problem=Problem(OLD, weight),
        process=Gaussian(0.0),
        v0=[4.0, 1.0, -2.0],
    )
    paths = world.draw(14, 2, seed=0)
    path = lai_path(paths)
    best = dense_optimum(of_rounds(paths)[:, 0], weight_matrix(weight), paths.v[0], paths.x0[0])
    np.testing.assert_allclose(path, [best, best], atol=1e-12)


def best_in_expectation(A: Any, weight: Any, steps: Any, x0: Any) -> dict[Any, Any]:
    """The best player of a game in which v steps by plus or minus steps[t], each as likely: dense, over all histories.

    An action may depend on the signs so far and on nothing else; so there is one unknown action for each history.
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
def test_on_a_martingale_nobody_does_better_in_expectation_than_the_benchmark(weight: Any) -> None:
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
    path = lai_path(paths)
    best = best_in_expectation(of_rounds(paths)[:, 0], weight_matrix(weight), steps, paths.x0[0])
    for run, history in enumerate(signs):
        for t in range(T):
            np.testing.assert_allclose(path[run, t], best[tuple(history[: t + 1])], atol=1e-12)


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("problem", ["given", "drawn"])
def test_regret_is_the_sum_of_the_excess_on_average(problem: str, weight: Any) -> None:
    old: Any = Problem(OLD, weight)
    if problem == "drawn":
        old = RandomProblem(3, 2, 0.2, 3.0, switching_weight=weight)
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
        # Such a bound says something only where it is small beside the regret.
        assert 4 * error < 0.2 * regret.mean(), name


# ---- in a simulation -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Listener(Policy[tuple[Any, ...]]):
    """Stands still and keeps every reading."""

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
    readings = play(Listener(), paths).diagnostics["readings"]
    u = paths.x0[0]  # v rests at zero
    expected = 0.5 * np.einsum("i,trij,j->rt", u, of_rounds(paths), u)
    np.testing.assert_allclose(readings, expected, rtol=1e-12)
    # Every change is heard.
    heard = np.abs(np.diff(readings, axis=1)) > 1e-3
    np.testing.assert_array_equal(heard, [[False, True, False, False, True, True, False]] * 3)


def test_an_adversary_knows_of_the_change() -> None:
    # It makes the direction of least curvature look costly, and that is another one from round 3 on.
    world = Environment(
        Problem(np.diag([1.0, 4.0])),
        Gaussian(0.0),
        Adversarial(0.25),
        x0=[1.0, 0.0],
        changes=Change(3, np.diag([4.0, 1.0])),
    )
    readings = play(Listener(), world.draw(4, 1, seed=0)).diagnostics["readings"]
    np.testing.assert_allclose(readings, [[0.5 + 0.25] * 2 + [2.0 - 0.25] * 2])


def test_pieces_of_a_simulation_make_up_the_whole() -> None:
    world = environment(Change(3), Change(6, duration=3), problem=FAMILY)
    policies = {"FTM": FTM(), "LAI, old A": LAI.for_problem}
    whole = simulate(world, policies, 10, 5, seed=2)
    pieces = [simulate(world, policies, 10, n, seed=2, first_run=k) for k, n in ((0, 2), (2, 3))]
    together = Result.concat(pieces)
    for name in policies:
        np.testing.assert_array_equal(together.regret(name), whole.regret(name))
        np.testing.assert_array_equal(together[name].excess, whole[name].excess)


def test_a_result_of_a_changing_world_can_be_kept(tmp_path: Path) -> None:
    world = environment(Change(3), Change(6, NEW, duration=3), problem=FAMILY)
    result = simulate(world, {"FTM": FTM()}, 10, 3, seed=2, record=True)
    again = Result.load(result.save(tmp_path / "result.nc"))
    np.testing.assert_array_equal(again.regret("FTM"), result.regret("FTM"))
    np.testing.assert_array_equal(again["FTM"].excess, result["FTM"].excess)
    assert again.configuration == result.configuration
    described = again.configuration["environment"]["changes"]
    assert described == [
        {"class": "Change", "round": 3, "problem": None, "over": 1},
        {
            "class": "Change",
            "round": 6,
            "problem": {"class": "Problem", "A": NEW.tolist(), "switching_weight": None},
            "over": 3,
        },
    ]


def test_a_changing_world_can_be_packed_and_built_again() -> None:
    world = environment(Change(3), Change(6, NEW, duration=3), problem=FAMILY)
    again = unpack(*pack(world))
    assert same(again, world)
    assert same(again.draw(9, 2, seed=1), world.draw(9, 2, seed=1))


# ---- refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Change(1, NEW), "round must be an integer of at least 2, got 1"),
        (lambda: Change(-3, NEW), "round must be an integer of at least 2, got -3"),
        (lambda: Change(FLOAT, NEW), "round must be an integer of at least 2, got 2.0"),
        (lambda: Change(True, NEW), "round must be an integer of at least 2, got True"),
        (lambda: Change(3, NEW, duration=0), "over must be a positive integer, got 0"),
        (lambda: Change(3, NEW, duration=FLOAT), "over must be a positive integer, got 2.0"),
        (lambda: Change(3, -NEW), "A must be positive semi-definite"),
        (lambda: Change(3, "steep"), "A must be an array of real numbers, got str"),
        (lambda: Change(3).problems(Problem(OLD)), "problem must be given .* got None"),
        (lambda: Change(3).problems(Problem(OLD), FAMILY), "rng must be given to draw a new A"),
        (
            lambda: Change(3, np.eye(2)).problems(Problem(OLD)),
            "problem must have dimension 3, got 2",
        ),
        (lambda: environment(changes=3), "changes must hold Changes, got int"),
        (lambda: environment(changes=None), "changes must hold Changes, got NoneType"),
        (
            lambda: environment(Change(3, Problem(NEW, 2.0))),
            "changes must leave the switching weight as it is",
        ),
        (lambda: environment(changes=[NEW]), "changes must hold Changes, got ndarray"),
        (lambda: environment(changes=[Change(3, NEW), 7]), "changes must hold Changes, got int"),
        (
            lambda: environment(Change(5, NEW), Change(4, FLAT)),
            "changes must be in order and not overlap, got one at round 4",
        ),
        (
            lambda: environment(Change(5, NEW), Change(5, FLAT)),
            "changes must be in order and not overlap, got one at round 5",
        ),
        (
            lambda: environment(Change(3, NEW, duration=3), Change(5, FLAT)),
            "got one at round 5 where the one before takes until round 5",
        ),
        (lambda: environment(Change(3)), "changes must name their problem .* a Change without one"),
        (
            lambda: environment(Change(3, np.eye(2))),
            "changes must have problems of dimension 3, got 2",
        ),
        (
            lambda: environment(Change(3, RandomProblem(4, 1, 1.0))),
            "changes must have problems of dimension 3, got 4",
        ),
    ],
)
def test_bad_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_change_may_begin_in_the_round_after_the_last_of_the_one_before() -> None:
    paths = environment(Change(3, NEW, duration=3), Change(6, FLAT)).draw(6, 1, seed=0)
    np.testing.assert_array_equal(of_rounds(paths)[4:, 0], [NEW, FLAT])
