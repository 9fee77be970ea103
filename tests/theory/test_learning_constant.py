"""kappa: its parts against dense gains and sampled moments, and the whole against simulated certainty equivalence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from soqo import random_curvature
from soqo.errors import ArgumentError
from soqo.estimators import smat, svec, svec_rows
from soqo.noise import Adversarial, Uniform
from soqo.processes import Gaussian
from soqo.theory import learning_constant, learning_regret
from soqo.typing import Array

A = np.array([[1.0, 0.2], [0.2, 0.4]])
SIGMA = np.array([[25.0, 5.0], [5.0, 16.0]])
CAP = 3.0


def gain(M: Array) -> Array:
    """Return C of an infinite horizon by iterating the recursion, for a batch of matrices."""
    identity = np.eye(M.shape[-1])
    C: Array = np.broadcast_to(identity, M.shape)
    for _ in range(200):
        C = np.asarray(np.linalg.inv(2.0 * identity + M - C), dtype=np.float64)
    return C


def stationary(C: Array, sigma: Array) -> Array:
    """Return the covariance W of w with W = C W C + Sigma, by iteration."""
    W = sigma
    for _ in range(2000):
        W = C @ W @ C + sigma
    return W


def test_the_weight_is_the_second_order_cost_of_an_error() -> None:
    found, h = learning_constant(A, SIGMA, CAP), 1e-4
    Q = np.linalg.eigh(A)[1]
    C = gain(A)
    W = stationary(C, SIGMA)
    E = np.array([[0.3, -0.7], [-0.7, 0.5]])
    # The error of the action is (C(A + h E) - C(A)) w.
    D = (gain(A + h * E) - gain(A - h * E)) / (2.0 * h)
    dense = 0.5 * np.trace(D @ W @ D @ np.linalg.inv(C))
    e = svec(Q.T @ E @ Q)
    assert e @ found.weight @ e == pytest.approx(dense, rel=1e-6)


def test_the_information_is_the_mean_of_sampled_readings() -> None:
    found = learning_constant(A, SIGMA, CAP)
    Q = np.linalg.eigh(A)[1]
    C = gain(A)
    U = C @ stationary(C, SIGMA) @ C
    u = np.random.default_rng(0).multivariate_normal(np.zeros(2), U, size=400_000) @ Q
    phi = svec_rows(u)
    products = phi[:, :, None] * phi[:, None, :]
    error = products.std(axis=0) / math.sqrt(len(u))
    assert np.all(np.abs(products.mean(axis=0) - found.information) < 4.5 * error)
    assert np.all(error.diagonal() < 0.01 * found.information.diagonal())


def certainty_equivalence(unknown: str, rounds: int, runs: int) -> Array:
    """Return the regret of each round, shape (runs, rounds), of LAI for the least-squares estimate."""
    rng = np.random.default_rng(1)
    C = gain(A)
    inverse = np.linalg.inv(C)
    root = np.linalg.cholesky(SIGMA)
    extra = {"": 0, "base_load": 1, "offset": 3}[unknown]
    p = 3 + extra
    mean, covariance = np.zeros((runs, p)), np.tile(np.diag([1.0] * 3 + [1e4] * extra), (runs, 1, 1))
    mean[:, :3] = svec(A)
    variance, w, found = CAP**2 / 3.0, np.zeros((runs, 2)), np.empty((runs, rounds))
    for t in range(rounds):
        w = w - rng.standard_normal((runs, 2)) @ root.T
        values, Q = np.linalg.eigh(smat(mean[:, :3]))
        values = np.maximum(values, 1e-9)
        c = 1.0 + values / 2.0 - np.sqrt(values + values**2 / 4.0)
        shift = np.zeros((runs, 2))
        if unknown == "offset":
            shift = (Q @ (np.matvec(Q.mT, mean[:, 3:5]) / np.maximum(values, 0.02))[..., None])[..., 0]
        # The player aims at v - shift; the true shift is zero.
        u = (Q * c[:, None, :]) @ (Q.mT @ (w + shift)[..., None])
        u = u[..., 0] - shift
        error = u - w @ C
        found[:, t] = 0.5 * np.vecdot(error, error @ inverse)
        row = np.concatenate([svec_rows(u), u, np.ones((runs, 1))], axis=1)[
            :, {0: [0, 1, 2], 1: [0, 1, 2, 5]}.get(extra, slice(None))
        ]
        y = 0.5 * np.vecdot(u, u @ A) + rng.uniform(-CAP, CAP, runs)
        spread = np.matvec(covariance, row)
        step = spread / (variance + np.vecdot(row, spread))[:, None]
        mean = mean + step * (y - np.vecdot(row, mean))[:, None]
        covariance = covariance - step[:, :, None] * spread[:, None, :]
        w = u
    return found


@pytest.mark.parametrize("unknown", ["", "base_load", "offset"])
def test_kappa_is_the_slope_of_simulated_regret_in_log_t(unknown: str) -> None:
    rounds, first = 1200, 300
    loss = certainty_equivalence(unknown, rounds, 2000)[:, first:]
    slopes = (loss * np.arange(first, rounds)).mean(axis=1)  # round t + 1 costs kappa / t
    error = slopes.std(ddof=1) / math.sqrt(slopes.size)
    kappa = learning_constant(A, SIGMA, Uniform(CAP), unknown=(unknown,) if unknown else ()).kappa
    assert error < 0.02 * kappa
    # Terms of higher order are of relative size p / t.
    assert abs(slopes.mean() - kappa) < 3.0 * error + 0.01 * kappa


def test_shares_add_up_and_follow_the_basis() -> None:
    found = learning_constant(A, SIGMA, CAP, unknown=("offset",))
    assert found.shares.sum() + found.offset_share == pytest.approx(found.kappa, rel=1e-12)
    np.testing.assert_array_equal(found.shares, found.shares.T)
    Q = np.linalg.qr(np.random.default_rng(3).standard_normal((2, 2)))[0]
    turned = learning_constant(Q @ A @ Q.T, Q @ SIGMA @ Q.T, CAP)
    assert turned.kappa == pytest.approx(learning_constant(A, SIGMA, CAP).kappa, rel=1e-9)


def test_kappa_scales_with_the_noise_and_not_with_the_steps_squared() -> None:
    # u grows with the steps: the information of a reading with their fourth power, the cost with their square.
    kappa = learning_constant(A, SIGMA, 1.0).kappa
    assert learning_constant(A, SIGMA, 3.0).kappa == pytest.approx(9.0 * kappa, rel=1e-12)
    assert learning_constant(A, 4.0 * SIGMA, 1.0).kappa == pytest.approx(kappa / 4.0, rel=1e-12)


def test_equal_eigenvalues_are_the_limit_of_different_ones() -> None:
    near = learning_constant(np.diag([1.0, 1.0 + 3e-4]), 25.0, 1.0).kappa
    assert learning_constant(np.eye(2), 25.0, 1.0).kappa == pytest.approx(near, rel=1e-3)


@pytest.mark.parametrize("unknown", [(), ("base_load",)])
def test_the_rounds_of_a_long_horizon_cost_kappa_over_t(unknown: Any) -> None:
    M = random_curvature(3, 3, min_eigenvalue=0.3, max_eigenvalue=2.0, rng=0)
    regret = learning_regret(M, Gaussian(5.0), 2.0, 3000, unknown=unknown)
    kappa = learning_constant(M, Gaussian(5.0), 2.0, unknown=unknown).kappa
    assert regret[2500] * 2500 == pytest.approx(kappa, rel=0.01)
    assert regret[100:1500].sum() == pytest.approx(kappa * math.log(1500 / 100), rel=0.05)


def test_the_first_round_costs_the_error_of_the_prior() -> None:
    # One dimension, by hand: the error of A has variance 0.04, and w the variance of one step.
    a, T, deviation = 0.7, 5, 0.2
    c = np.ones(1)
    for _ in range(T):
        c = 1.0 / (2.0 + a - c)
    h = 1e-6
    up, down = np.ones(1), np.ones(1)
    for _ in range(T):
        up, down = 1.0 / (2.0 + a + h - up), 1.0 / (2.0 + a - h - down)
    slope = (up - down) / (2.0 * h)
    expected = 0.5 * slope**2 / c * deviation**2 * 9.0
    found = learning_regret([[a]], 9.0, 1.0, T, prior_deviation=deviation)
    assert found[0] == pytest.approx(expected.item(), rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((np.diag([1.0, 0.0]), 1.0, 1.0), {}, "A must be positive definite"),
        ((A, 1.0, 0.0), {}, "noise must be"),
        ((A, 1.0, Adversarial(1.0, "overstate")), {}, "noise must be independent"),
        ((A, 1.0, 1.0), {"unknown": "base_load"}, "unknown must be a tuple"),
        ((A, 1.0, 1.0), {"unknown": ("drift",)}, "unknown must be a tuple"),
    ],
)
def test_bad_arguments_are_named(arguments: Any, keywords: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        learning_constant(*arguments, **keywords)
