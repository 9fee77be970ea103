"""Each loss in one dimension against a search over all breakpoints, and its directions against Newton's equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo.estimators import adjoint
from soqo.estimators.sdp._arithmetic import BatchArithmetic, SingleArithmetic
from soqo.estimators.sdp._interior_point import Iterate, Loss, interior_point
from soqo.estimators.sdp._losses import AbsoluteLoss, L1Constraint, SquaredLoss
from soqo.estimators.sdp._newton_system import dense_solver

SINGLE, BATCH = SingleArithmetic(), BatchArithmetic()
L1_LOSSES = [lambda: AbsoluteLoss(SINGLE), lambda: L1Constraint(SINGLE, 3.0)]
each_l1_loss = pytest.mark.parametrize("make", L1_LOSSES, ids=["absolute", "constraint"])


# ---- solutions in one dimension --------------------------------------------------------------------------------------


def line(seed: int, A: float) -> tuple[Any, Any, Any]:
    """Return measurements (m, 1), the slopes h of the readings h M, and noisy readings of the number A."""
    rng = np.random.default_rng([43, seed])
    z = rng.uniform(0.5, 2.0, 9)
    h = 0.5 * z * z
    return z[:, None], h, h * A + 0.3 * rng.standard_normal(9)


def solve(Z: Any, y: Any, loss: Loss) -> tuple[Iterate, float]:
    """Return the solution and its matrix, which is a number here."""
    point = interior_point(Z, y, loss, gap_tolerance=1e-9, tolerance=1e-10)
    assert point.converged
    return point, float(point.X[0, 0])


def deviations(M: Any, h: Any, y: Any) -> Any:
    """Return the sum of absolute deviations for each candidate M."""
    return np.abs(y - np.multiply.outer(M, h)).sum(axis=-1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("A", [1.5, -1.5])
def test_absolute_loss_is_minimized_at_the_best_breakpoint(seed: int, A: float) -> None:
    Z, h, y = line(seed, A)
    least = deviations(np.append(np.maximum(y / h, 0.0), 0.0), h, y).min()  # the sum is linear between breakpoints
    point, found = solve(Z, y, AbsoluteLoss(SINGLE))
    assert point.primal == pytest.approx(least, rel=1e-7)
    assert point.dual == pytest.approx(least, rel=1e-7)
    assert deviations(found, h, y) == pytest.approx(least, rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_l1_constraint_gives_the_least_number_within_the_radius(seed: int, share: float) -> None:
    Z, h, y = line(seed, 1.5)
    breakpoints = np.sort(np.append(np.maximum(y / h, 0.0), 0.0))
    sums = deviations(breakpoints, h, y)
    radius = (1.0 - share) * sums.min() + share * sums[0]
    after = int(np.argmax(sums <= radius))  # the sum falls to the radius just before this breakpoint, linearly
    expected = np.interp(-radius, -sums[after - 1 : after + 1], breakpoints[after - 1 : after + 1])
    point, found = solve(Z, y, L1Constraint(SINGLE, radius))
    assert found == pytest.approx(expected, rel=1e-7)
    assert point.primal == pytest.approx(expected, rel=1e-7)
    assert point.dual == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("A", [1.5, -1.5])
def test_squared_loss_is_minimized_by_the_clipped_regression(seed: int, A: float) -> None:
    Z, h, y = line(seed, A)
    expected = max(0.0, float(h @ y / (h @ h)))
    point, found = solve(Z, y, SquaredLoss(SINGLE))
    least = 0.5 * np.square(y - h * expected).sum()
    assert found == pytest.approx(expected, abs=1e-4)  # the square root of the tolerance of the value
    assert point.primal == pytest.approx(least, rel=1e-7)
    assert point.dual == pytest.approx(least, rel=1e-7)
    np.testing.assert_allclose(point.multipliers, y - h * found, atol=1e-8)  # lambda is the residual


# ---- the start -------------------------------------------------------------------------------------------------------


def started(loss: Any, seed: int = 0, m: int = 12, d: int = 3) -> tuple[Any, Any, Any, Any, float]:
    """Start a loss; return Z, y, the fitted readings, the first multipliers and the weight of the trace."""
    rng = np.random.default_rng([44, seed])
    Z, y = rng.standard_normal((m, d)), rng.standard_normal(m)
    fitted = y + rng.standard_normal(m)
    multipliers = np.full(m, 1.0 / np.linalg.eigvalsh(adjoint(Z, np.ones(m)))[-1])
    return Z, y, fitted, *loss.start(y, fitted, 0.7, multipliers)


@pytest.mark.parametrize("make", [*L1_LOSSES, lambda: SquaredLoss(SINGLE)], ids=["absolute", "constraint", "squared"])
def test_every_loss_starts_with_a_dual_point_inside_its_cone(make: Any) -> None:
    Z, _, _, lam, weight = started(make())
    assert np.linalg.eigvalsh(weight * np.eye(3) - adjoint(Z, lam))[0] > 0.0


@each_l1_loss
def test_l1_losses_start_with_positive_parts_of_the_residual_and_the_slacks_of_the_multipliers(make: Any) -> None:
    loss = make()
    _, y, fitted, lam, _ = started(loss)
    kappa = loss.slacks[24] if isinstance(loss, L1Constraint) else 1.0
    assert loss.parts.min() > 0.0
    assert loss.slacks.min() > 0.0
    np.testing.assert_allclose(loss.residual(), y - fitted, atol=1e-14)
    np.testing.assert_allclose(loss.slacks[:24], np.concatenate([kappa - lam, kappa + lam]), rtol=1e-14)


# ---- Newton directions -----------------------------------------------------------------------------------------------


def predict(loss: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Start an l1 loss and record its predictor; return ZG, y, the changes of lambda and kappa, and the solver."""
    _, y, _, lam, _ = started(loss)
    loss.values(1.0, y, lam)
    ZG = np.random.default_rng(45).standard_normal((12, 3))
    solved = dense_solver(SINGLE, ZG, *loss.schur_terms(), *loss.predictor_rhs(y))
    assert solved is not None
    (change, d_kappa, _), solver = solved
    loss.record_predictor(change, d_kappa)
    return ZG, y, change, d_kappa, solver


def changes(loss: Any, change: Any, d_kappa: float) -> tuple[Any, Any]:
    """Return the changes of the parts and of the slacks along the predictor, for which s dp + p ds = -p s."""
    p, s = loss.parts, loss.slacks
    ds = np.concatenate([d_kappa - change, d_kappa + change, np.full(p.size - 24, d_kappa)])
    return -p - p / s * ds, ds


def assert_solves(loss: Any, ZG: Any, change: Any, d_parts: Any, rhs: Any) -> None:
    """Check the equations of the readings, measure(dX) + dr = rhs, and that of the ball, sum(d_parts) = shortfall."""
    np.testing.assert_allclose(np.square(ZG @ ZG.T) @ change + d_parts[:12] - d_parts[12:24], rhs, atol=1e-11)
    if isinstance(loss, L1Constraint):
        assert d_parts.sum() == pytest.approx(3.0 - loss.parts.sum(), abs=1e-11)


@each_l1_loss
def test_predictors_of_l1_losses_solve_the_linearized_equations(make: Any) -> None:
    loss = make()
    ZG, y, change, d_kappa, _ = predict(loss)
    p, s = loss.parts, loss.slacks
    dp, ds = changes(loss, change, d_kappa)
    assert_solves(loss, ZG, change, dp, y - loss.residual())  # it sends X to zero
    np.testing.assert_allclose(loss.min_relative_changes, [(dp / p).min(), (ds / s).min()], rtol=1e-12)
    products = loss.complementarity()
    assert products == pytest.approx(p @ s)
    expected = (p + 0.3 * dp) @ (s + 0.8 * ds)
    assert loss.predicted_complementarity(products, 0.3, 0.8) == pytest.approx(expected, rel=1e-11)


@each_l1_loss
def test_correctors_of_l1_losses_solve_the_linearized_equations_to_second_order(make: Any) -> None:
    loss = make()
    ZG, _, change, d_kappa, solver = predict(loss)
    p, s = loss.parts, loss.slacks
    predicted = np.prod(changes(loss, change, d_kappa), axis=0)
    rhs, solutions = np.random.default_rng(48).standard_normal(12), []

    def solve_and_keep(b: Any, g: float) -> Any:
        solutions.append(solver(b, g))
        return solutions[0]

    change, _ = loss.corrector(solve_and_keep, rhs, 0.3)
    dp, ds = loss.d_parts, loss.d_slacks
    assert_solves(loss, ZG, change, dp, rhs)
    np.testing.assert_allclose(ds, changes(loss, change, solutions[0][1])[1], atol=1e-12)
    np.testing.assert_allclose(s * dp + p * ds, 0.3 - p * s - predicted, atol=1e-11)
    np.testing.assert_allclose(loss.min_relative_changes, [(dp / p).min(), (ds / s).min()], rtol=1e-12)
    loss.advance(0.3, 0.8)
    np.testing.assert_allclose(loss.parts, p + 0.3 * dp, rtol=1e-14)
    np.testing.assert_allclose(loss.slacks, s + 0.8 * ds, rtol=1e-14)


def test_directions_of_the_squared_loss_solve_the_linearized_equations() -> None:
    loss = SquaredLoss(SINGLE)
    _, y, _, lam, _ = started(loss)
    rng = np.random.default_rng(46)
    ZG, rhs = rng.standard_normal((12, 3)), rng.standard_normal(12)
    K = np.square(ZG @ ZG.T)
    solved = dense_solver(SINGLE, ZG, *loss.schur_terms(), *loss.predictor_rhs(y))
    assert solved is not None
    (predictor, _, _), solver = solved
    np.testing.assert_allclose(K @ predictor + predictor, y - loss.residual(), atol=1e-11)
    change, _ = loss.corrector(solver, rhs, 0.3)
    np.testing.assert_allclose(K @ change + change, rhs, atol=1e-11)
    loss.advance(0.5, 0.5)
    np.testing.assert_allclose(loss.residual(), lam + 0.5 * change, atol=1e-13)


# ---- a batch ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_ball", [False, True])
def test_l1_losses_of_selected_runs_are_those_of_a_batch_of_these_runs(is_ball: bool) -> None:
    rng = np.random.default_rng(47)
    y, fitted, multipliers = rng.standard_normal((3, 4, 6))
    mean, radius, keep = *rng.uniform(1.0, 3.0, (2, 4, 1)), np.array([True, False, True, True])
    whole, part = (L1Constraint(BATCH, r) if is_ball else AbsoluteLoss(BATCH) for r in (radius, radius[keep]))
    lam, _ = whole.start(y, fitted, mean, multipliers)
    whole.values(mean, y, lam)
    whole.select(keep)
    lam, _ = part.start(y[keep], fitted[keep], mean[keep], multipliers[keep])
    found, expected = (
        (loss.residual(), *loss.values(mean[keep], y[keep], lam), loss.schur_terms()[0], *(loss.schur_terms()[1] or ()))
        for loss in (whole, part)
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
