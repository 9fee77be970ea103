"""Costs against their definitions, switching weights, random curvatures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import Problem, RandomProblem, random_curvature
from soqo.errors import ArgumentError

W = np.array([[3.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 2.0]])
WEIGHTS: list[Any] = [None, 2.5, [1.0, 4.0, 0.25], W]


def as_matrix(weight: Any) -> Any:
    if weight is None:
        return np.eye(3)
    weight = np.asarray(weight)
    return weight if weight.ndim == 2 else np.eye(3) * weight


def curvature(seed: int = 0) -> Any:
    return random_curvature(3, 3, min_eigenvalue=0.2, max_eigenvalue=5.0, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("weight", WEIGHTS)
def test_costs_are_their_definitions(weight: Any) -> None:
    A, rng = curvature(), np.random.default_rng(1)
    x, v, x_prev = rng.standard_normal((3, 4, 3))
    problem, full = Problem(A, weight), as_matrix(weight)
    for run in range(4):
        u, move = x[run] - v[run], x[run] - x_prev[run]
        assert problem.hitting_cost(x, v)[run] == pytest.approx(0.5 * u @ A @ u)
        assert problem.switching_cost(x, x_prev)[run] == pytest.approx(0.5 * move @ full @ move)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_plain_problem_costs_the_same(weight: Any) -> None:
    problem = Problem(curvature(), weight)
    x, v, x_prev = np.random.default_rng(2).standard_normal((3, 5, 3))
    to_plain = problem.coordinates.to_plain
    plain = problem.plain
    assert plain.switching_weight is None
    np.testing.assert_allclose(plain.hitting_cost(to_plain(x), to_plain(v)), problem.hitting_cost(x, v), rtol=1e-12)
    np.testing.assert_allclose(
        plain.switching_cost(to_plain(x), to_plain(x_prev)),
        problem.switching_cost(x, x_prev),
        rtol=1e-12,
    )
    np.testing.assert_allclose(problem.coordinates.from_plain(to_plain(x)), x, rtol=1e-12)


def test_the_plain_problem_exists_for_weights_of_any_spread() -> None:
    rng = np.random.default_rng(8)
    for spread in (1e6, 1e8, 1e12):
        for _ in range(50):
            Q, _ = np.linalg.qr(rng.standard_normal((4, 4)))
            weight = Q @ np.diag([1.0, spread, spread, spread]) @ Q.T
            A = Q[:, 1:3] @ Q[:, 1:3].T
            plain = Problem(A, 0.5 * (weight + weight.T)).plain
            np.testing.assert_allclose(plain.spectrum.values[-2:], 1 / spread, rtol=1e-3)


@pytest.mark.parametrize("batched", [False, True])
def test_path_costs_are_the_rounds_one_by_one(batched: bool) -> None:
    A = np.stack([curvature(k) for k in range(4)]) if batched else curvature()
    problem = Problem(A, W)
    rng = np.random.default_rng(3)
    x, v = rng.standard_normal((2, 4, 6, 3))
    x0 = rng.standard_normal((4, 3))
    hitting, switching = problem.path_costs(x, v, x0=x0)
    for t in range(6):
        before = x0 if t == 0 else x[:, t - 1]
        np.testing.assert_allclose(hitting[:, t], problem.hitting_cost(x[:, t], v[:, t]))
        np.testing.assert_allclose(switching[:, t], problem.switching_cost(x[:, t], before))
    np.testing.assert_allclose(problem.total_cost(x, v, x0=x0), (hitting + switching).sum(axis=1))


def test_a_problem_is_immutable() -> None:
    A = np.eye(2)
    problem = Problem(A)
    A[0, 0] = 7.0
    assert problem.A[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        problem.A[0, 0] = 7.0


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-1.0, "switching_weight must be positive, got -1"),
        (0.0, "switching_weight must be positive, got 0"),
        ([1.0, 0.0, 1.0], "switching_weight must be positive, got 0"),
        (np.diag([1.0, 1.0, 0.0]), "switching_weight must be positive definite"),
        (np.eye(2), "switching_weight must be for dimension 3 as A is, got 2"),
        ([1.0, 2.0], "switching_weight must be for dimension 3 as A is, got 2"),
        (np.triu(np.ones((3, 3))), "switching_weight must be symmetric"),
        (np.nan, "switching_weight must be finite"),
        (np.ones((1, 3, 3)), "switching_weight must be None, a number, a vector or a matrix"),
    ],
)
def test_a_bad_switching_weight_is_refused(weight: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Problem(np.eye(3), weight)


def test_rank_counts_the_curved_directions() -> None:
    assert Problem(np.diag([1.0, 0.0, 1e-9])).rank == 2
    assert Problem(np.zeros((2, 2))).rank == 0
    batch = Problem(np.stack([np.eye(2), np.diag([1.0, 0.0])]))
    assert batch.batch_shape == (2,)
    np.testing.assert_array_equal(batch.rank, [2, 1])


@pytest.mark.parametrize(
    ("spacing", "expected"),
    [
        ("equal", [0, 0.5, 0.5, 0.5]),
        ("linear", [0, 0.5, 4.25, 8.0]),
        ("geometric", [0, 0.5, 2.0, 8.0]),
    ],
)
def test_random_curvature_has_the_spacing_asked_for(spacing: Any, expected: list[float]) -> None:
    A = random_curvature(4, 3, min_eigenvalue=0.5, max_eigenvalue=8.0, spacing=spacing, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(A, A.T)
    np.testing.assert_allclose(np.linalg.eigvalsh(A), expected, atol=1e-14)


def test_random_curvature_of_rank_one_and_zero() -> None:
    one = random_curvature(3, 1, min_eigenvalue=0.5, rng=np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.eigvalsh(one), [0, 0, 0.5], atol=1e-15)
    np.testing.assert_array_equal(random_curvature(3, 0, min_eigenvalue=0.5, rng=np.random.default_rng(0)), 0.0)


def test_random_curvature_eigenvectors_are_haar() -> None:
    # For Haar eigenvectors q: E[q_i^2] = 1/d and E[q_i^4] = 3/(d(d+2)).
    d, runs = 3, 4000
    rngs = np.random.default_rng(0).spawn(runs)
    A = random_curvature(d, 1, min_eigenvalue=1.0, rng=rngs)
    squares = np.diagonal(A, axis1=1, axis2=2)
    for moment, expected, spread in (
        (squares, 1 / d, np.sqrt(3 / (d * (d + 2)) - 1 / d**2)),
        (squares**2, 3 / (d * (d + 2)), 0.5),
    ):
        error = np.abs(moment.mean(axis=0) - expected)
        assert (error < 5 * spread / np.sqrt(runs)).all()
    # q_i q_j has mean zero, which a preferred orientation would break.
    assert np.abs(A[:, 0, 1].mean()) < 5 * np.sqrt(1 / (d * (d + 2)) / runs)


def test_random_curvature_batch_draws_each_run_from_its_own_stream() -> None:
    batch = random_curvature(3, 2, min_eigenvalue=0.1, max_eigenvalue=1.0, rng=np.random.default_rng(5).spawn(4))
    alone = random_curvature(3, 2, min_eigenvalue=0.1, max_eigenvalue=1.0, rng=np.random.default_rng(5).spawn(4)[2])
    np.testing.assert_array_equal(batch[2], alone)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dim": 0}, "dim must be a positive integer, got 0"),
        ({"rank": 4}, "rank must be at most dim = 3, got 4"),
        ({"rank": -1}, "rank must be an integer of at least 0, got -1"),
        ({"min_eigenvalue": 0.0}, "min_eigenvalue must be a finite number above 0, got 0.0"),
        ({"max_eigenvalue": 0.01}, "max_eigenvalue must be a finite number at least 0.1, got 0.01"),
        ({"max_eigenvalue": None}, "max_eigenvalue must be given for linear spacing, got None"),
        ({"min_eigenvalue": "0.1"}, "min_eigenvalue must be a finite number above 0, got '0.1'"),
        ({"spacing": "flat"}, "spacing must be one of 'equal', 'linear', 'geometric'"),
    ],
)
def test_random_problem_refuses_bad_settings(change: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"dim": 3, "rank": 2, "min_eigenvalue": 0.1, "max_eigenvalue": 1.0, **change}
    with pytest.raises(ArgumentError, match=message):
        RandomProblem(**settings)


def test_a_drawn_problem_has_the_weight_of_its_family() -> None:
    problem = RandomProblem(3, 2, min_eigenvalue=0.1, max_eigenvalue=1.0, switching_weight=[1.0, 2.0, 3.0]).draw(
        np.random.default_rng(0).spawn(5)
    )
    assert problem.batch_shape == (5,)
    np.testing.assert_array_equal(problem.switching_weight, [1.0, 2.0, 3.0])
    with pytest.raises(ArgumentError, match="switching_weight must be for dimension 3, got 2"):
        RandomProblem(3, 2, min_eigenvalue=0.1, max_eigenvalue=1.0, switching_weight=[1.0, 2.0])


def test_a_random_problem_is_frozen() -> None:
    weight = np.array([1.0, 2.0, 3.0])
    family = RandomProblem(3, 2, min_eigenvalue=0.1, max_eigenvalue=1.0, switching_weight=weight)
    weight[0] = -1.0
    np.testing.assert_array_equal(family.switching_weight, [1.0, 2.0, 3.0])


def test_a_seed_draws_the_same_as_its_generator() -> None:
    A = random_curvature(3, 2, min_eigenvalue=0.1, max_eigenvalue=1.0, rng=7)
    np.testing.assert_array_equal(
        A, random_curvature(3, 2, min_eigenvalue=0.1, max_eigenvalue=1.0, rng=np.random.default_rng(7))
    )
    family = RandomProblem(3, 2, min_eigenvalue=0.1, max_eigenvalue=1.0)
    assert family.draw(7) == Problem(A)
    with pytest.raises(ArgumentError, match=r"rng must be an int, a numpy\.random\.Generator or "):
        family.draw("seven")  # type: ignore[arg-type]  # on purpose
