"""The interior-point method: its points against dense matrices, its steps against Newton's equations, and its end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from instances import instance

from soqo import psd_least_absolute_deviations, random_curvature, trace_min
from soqo.errors import ArgumentError
from soqo.estimators import adjoint, measure
from soqo.estimators.sdp import _interior_point
from soqo.estimators.sdp._arithmetic import SingleArithmetic
from soqo.estimators.sdp._interior_point import MAX_DENSE_READINGS, Iterate, Loss, Program, interior_point, is_gap_small
from soqo.estimators.sdp._losses import AbsoluteLoss, L1Constraint, SquaredLoss
from soqo.estimators.sdp._newton_system import dense_solver
from soqo.estimators.sdp._starting_point import starting_point

SINGLE = SingleArithmetic()
LOSSES = [lambda: AbsoluteLoss(SINGLE), lambda: L1Constraint(SINGLE, 2.0), lambda: SquaredLoss(SINGLE)]
each_loss = pytest.mark.parametrize("make", LOSSES, ids=["absolute", "constraint", "squared"])
WEIGHTS: dict[Any, float] = {AbsoluteLoss: 0.0, L1Constraint: 1.0, SquaredLoss: 0.0}  # of the trace in the objective


def readings(m: int = 20, d: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng([51, m, d])
    Z = rng.standard_normal((m, d))
    A = random_curvature(d, d, min_eigenvalue=0.2, max_eigenvalue=2.0, rng=rng)
    return Z, measure(Z, A) + rng.uniform(-0.2, 0.2, m)


def solve(Z: Any, y: Any, loss: Loss) -> Iterate:
    return interior_point(Z, y, loss, gap_tolerance=1e-8, tolerance=1e-9)


def dual_matrix(point: Iterate) -> Any:
    """Return S = inv(G)' diag(values) inv(G)."""
    inverse = np.linalg.inv(point.G)
    return inverse.T @ np.diag(point.values) @ inverse


# ---- points ----------------------------------------------------------------------------------------------------------


@each_loss
def test_the_first_scaling_represents_a_primal_and_a_dual_matrix(make: Any) -> None:
    Z, y = readings()
    loss = make()
    program = Program(Z, y, loss)
    assert program.initial_scaling is not None
    point = Iterate(*program.initial_scaling, program.multipliers)
    S = WEIGHTS[type(loss)] * np.eye(3) - adjoint(Z, point.multipliers)
    np.testing.assert_allclose(dual_matrix(point), S, atol=1e-12 * np.abs(S).max())
    np.testing.assert_allclose(point.X, starting_point(SINGLE, Z, y)[0], atol=1e-12)


@each_loss
def test_the_last_point_satisfies_the_conditions_of_an_optimum(make: Any) -> None:
    """The equations of the readings, both cones, and X S = 0."""
    Z, y = readings()
    loss = make()
    point = solve(Z, y, loss)
    assert point.converged
    S = WEIGHTS[type(loss)] * np.eye(3) - adjoint(Z, point.multipliers)
    # Equations hold to 1e-9 of the scale of the loss, which is at most the sum of the readings.
    np.testing.assert_allclose(measure(Z, point.X) + loss.residual(), y, atol=1e-9 * np.abs(y).sum())
    assert np.linalg.eigvalsh(point.X)[0] > 0.0
    assert np.linalg.eigvalsh(S)[0] > -1e-10
    assert abs(np.sum(point.X * S)) < 1e-7 * (1.0 + point.primal)


@each_loss
def test_the_history_has_the_values_of_every_point(make: Any) -> None:
    point = solve(*readings(), make())
    assert len(point.history) == point.iterations + 1
    assert point.history[-1] == (point.primal, point.dual, point.violation)
    assert is_gap_small(point.primal, point.dual, 1.0, 1e-8)
    assert not is_gap_small(*point.history[0][:2], 1.0, 1e-8)


# ---- steps -----------------------------------------------------------------------------------------------------------


def test_a_step_solves_newtons_equations_with_mehrotras_corrector() -> None:
    Z, y = readings()
    loss = SquaredLoss(SINGLE)  # its residual is lambda, and so it changes as lambda does
    program = Program(Z, y, loss)
    assert program.initial_scaling is not None
    G, values = program.initial_scaling
    ZG, fitted, defect, *_ = program.evaluate(G, values, program.multipliers)
    np.testing.assert_allclose(defect, y - measure(Z, G @ np.diag(values) @ G.T) - program.multipliers, atol=1e-12)
    solved = dense_solver(SINGLE, ZG, *loss.schur_terms(), *loss.predictor_rhs(y))
    assert solved is not None
    dX, minus_dS, change, primal, dual = program.step(ZG, values, fitted, defect, solved)
    np.testing.assert_allclose(measure(Z, G @ dX @ G.T) + change, defect, atol=1e-10)
    np.testing.assert_allclose(minus_dS, G.T @ adjoint(Z, change) @ G, atol=1e-10)
    # Predictor: dX + dS = -D. Corrector: the symmetric part of D (dX + dS) is center I - D^2 - dX dS of the predictor.
    D, predictor = np.diag(values), -G.T @ adjoint(Z, solved[0][0]) @ G
    crossed = (-D - predictor) @ predictor
    products = D @ (dX - minus_dS) + (dX - minus_dS) @ D + 2.0 * D @ D + crossed + crossed.T
    center = 0.5 * np.trace(products) / 3
    assert 0.0 < center < np.square(values).mean()
    np.testing.assert_allclose(products, 2.0 * center * np.eye(3), atol=1e-10)
    assert primal == dual  # a variable of both sides needs steps of the same length
    assert 0.0 < primal <= 1.0
    assert np.linalg.eigvalsh(D + primal * dX)[0] > 0.0
    assert np.linalg.eigvalsh(D - dual * minus_dS)[0] > 0.0


def test_an_advance_leads_to_the_scaling_of_the_moved_matrices() -> None:
    program = Program(*readings(), SquaredLoss(SINGLE))
    rng = np.random.default_rng(52)
    G, values = rng.standard_normal((3, 3)), np.array([1.0, 2.0, 3.0])
    dX, minus_dS = (0.1 * (M + M.T) for M in rng.standard_normal((2, 3, 3)))
    moved = program.advance(G, values, (dX.copy(), minus_dS.copy(), np.zeros(20), 0.5, 0.8))
    assert moved is not None
    point = Iterate(*moved, np.zeros(20))
    inverse = np.linalg.inv(G)
    np.testing.assert_allclose(point.X, G @ (np.diag(values) + 0.5 * dX) @ G.T, atol=1e-12)
    S = inverse.T @ (np.diag(values) - 0.8 * minus_dS) @ inverse
    np.testing.assert_allclose(dual_matrix(point), S, atol=1e-12 * np.abs(S).max())


@pytest.mark.parametrize(("x", "s"), [(-4.0, 0.0), (0.0, 4.0)])
def test_an_advance_out_of_a_cone_has_no_scaling(x: float, s: float) -> None:
    program = Program(*readings(), SquaredLoss(SINGLE))
    assert program.advance(np.eye(3), np.ones(3), (x * np.eye(3), s * np.eye(3), np.zeros(20), 1.0, 1.0)) is None


# ---- solvers of the system -------------------------------------------------------------------------------------------


def test_the_woodbury_identity_gives_the_matrix_of_the_dense_solver() -> None:
    rng = np.random.default_rng(2)
    A = random_curvature(6, 6, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=rng)
    Z = rng.standard_normal((300, 6))
    y = measure(Z, A) + rng.uniform(-0.2, 0.2, 300)
    assert y.size <= MAX_DENSE_READINGS < 2 * y.size
    dense = trace_min(Z, y, 30.0)
    woodbury = trace_min(np.concatenate([Z, Z]), np.concatenate([y, y]), 60.0)  # the same program, with more readings
    assert dense.solved
    assert woodbury.solved
    np.testing.assert_allclose(woodbury.matrix, dense.matrix, atol=1e-6)


def test_the_dense_solver_takes_over_where_the_woodbury_identity_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    Z, y = readings()
    expected = solve(Z, y, AbsoluteLoss(SINGLE))
    calls = []

    def fails_at_the_third_step(*system: Any, refinements: int) -> Any:
        calls.append(refinements)
        return dense_solver(*system) if len(calls) < 3 else None

    monkeypatch.setattr(_interior_point, "MAX_DENSE_READINGS", 0)
    monkeypatch.setattr(_interior_point, "woodbury_solver", fails_at_the_third_step)
    found = solve(Z, y, AbsoluteLoss(SINGLE))
    assert len(calls) == 3  # once it fails, it is not tried again
    assert found.converged
    assert found.iterations == expected.iterations
    np.testing.assert_array_equal(found.X, expected.X)


# ---- the end ---------------------------------------------------------------------------------------------------------


def test_a_program_without_a_solution_does_not_converge_and_its_dual_value_exceeds_any_trace() -> None:
    Z, y = readings()
    radius = 0.9 * psd_least_absolute_deviations(Z, y).residual
    point = solve(Z, y, L1Constraint(SINGLE, radius))
    assert not point.converged
    assert max(dual for _, dual, _ in point.history) > 1e6 * np.trace(solve(Z, y, SquaredLoss(SINGLE)).X)


def test_the_method_returns_its_best_point_if_it_cannot_reach_the_tolerance() -> None:
    _, Z, y, _ = instance(4, d=3, noise=0.1)
    point = interior_point(Z, y, AbsoluteLoss(SINGLE), gap_tolerance=0.0, tolerance=0.0)

    def merit(values: tuple[float, float, float]) -> float:
        primal, dual, violation = values
        return violation + abs(primal - dual) / (1.0 + abs(primal) + abs(dual))

    assert not point.converged
    assert merit((point.primal, point.dual, point.violation)) == min(map(merit, point.history))
    assert len(point.history) > point.iterations + 1  # later points are worse


@pytest.mark.parametrize("make", [LOSSES[0], LOSSES[2]], ids=["absolute", "squared"])
def test_rank_deficient_measurements_are_refused_if_the_objective_has_no_trace(make: Any) -> None:
    with pytest.raises(ArgumentError, match=r"Z must have full column rank, got a matrix of shape \(4, 2\)"):
        solve(np.outer(np.ones(4), [1.0, 0.0]), np.ones(4), make())


def test_a_gap_is_small_relative_to_the_values_and_the_floor() -> None:
    assert is_gap_small(100.0, 99.0, 0.0, 0.01)
    assert not is_gap_small(100.0, 97.0, 0.0, 0.01)
    assert is_gap_small(-99.0, -100.0, 0.0, 0.01)
    assert is_gap_small(0.01, 0.0, 1.0, 0.01)
    assert not is_gap_small(0.01, 0.0, 0.0, 0.01)
