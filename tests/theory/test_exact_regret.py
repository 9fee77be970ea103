"""Exact regret, against the sum of squares, Monte Carlo, and the known closed form for isotropic steps."""

from __future__ import annotations

import math
import time
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import Case, random_cases, random_rotation

from soqo import Plan
from soqo.errors import ArgumentError
from soqo.processes import Gaussian, Laplace
from soqo.theory import exact_regret, exact_regret_as_squares
from soqo.typing import Array

CASES = 4_000


def squares(cases: list[Case]) -> Array:
    """Return the regret of cases of one dimension as a sum of squares, with dense inverses and no eigenvectors."""
    A, A_hat, covariance = (np.stack([getattr(case, name) for case in cases]) for name in ("A", "A_hat", "covariance"))
    horizons = np.array([case.horizon for case in cases])
    eye = np.eye(A.shape[-1])
    C = C_hat = np.broadcast_to(eye, A.shape)
    gains = []
    for _ in range(horizons.max()):
        C, C_hat = np.linalg.inv(2 * eye + A - C), np.linalg.inv(2 * eye + A_hat - C_hat)
        gains.append((C, C_hat))
    second, total = np.zeros(A.shape), np.zeros(len(cases))
    for n, (C, C_hat) in reversed(list(enumerate(gains, start=1))):
        begun = n <= horizons
        second = second + covariance * begun[:, None, None]
        gap = C_hat - C
        total += 0.5 * np.sum(gap @ np.linalg.solve(C, gap) * second, axis=(1, 2))
        second = C_hat @ second @ C_hat
    return total


def test_exact_regret_equals_the_sum_of_squares() -> None:
    """In 4,000 cases to 1e-8, although the terms that cancel are up to 1e7 times the regret."""
    groups: dict[int, list[Case]] = {}
    for case in random_cases(CASES, longest=40):
        groups.setdefault(len(case.A), []).append(case)
    for cases in groups.values():
        found = [exact_regret(c.A, c.A_hat, covariance=c.covariance, horizon=c.horizon).total for c in cases]
        np.testing.assert_allclose(found, squares(cases), rtol=1e-8)


def test_both_forms_and_the_sum_over_rounds_agree_over_long_horizons() -> None:
    for k, case in enumerate(random_cases(60, seed=1, longest=1000)):
        start = np.random.default_rng(k).standard_normal(len(case.A)) if k % 3 == 0 else None
        arguments: Any = {"A": case.A, "A_hat": case.A_hat, "covariance": case.covariance, "horizon": case.horizon}
        expected = exact_regret_as_squares(**arguments, x0_minus_v0=start)
        found = exact_regret(**arguments, x0_minus_v0=start)
        rounds = exact_regret(**arguments, x0_minus_v0=start, per_round=True)
        assert found.total == pytest.approx(expected.sum(), rel=1e-8)
        assert rounds.value == pytest.approx(found.value, rel=1e-8, abs=1e-10)
        assert rounds.basis == pytest.approx(found.basis, rel=1e-8, abs=1e-10)
        assert rounds.value_rounds is not None
        assert rounds.value_rounds.shape == (case.horizon,)


def test_the_regret_of_a_nearly_exact_estimate_keeps_its_digits() -> None:
    rng = np.random.default_rng(0)
    A, error = random_rotation(rng, np.array([0.5, 1.0, 1.0])), random_rotation(rng, np.array([-1.0, 0.5, 2.0]))
    for size in (1e-4, 1e-7, 1e-10):
        found = exact_regret(A, A + size * error, covariance=1.0, horizon=1000).total
        expected = exact_regret_as_squares(A, A + size * error, covariance=1.0, horizon=1000).sum()
        # The eigenvalues of both matrices are rounded to 1e-16, which is this share of their difference.
        assert found == pytest.approx(expected, rel=1e-9 + 1e-16 / size, abs=0.0)


@pytest.mark.parametrize(("a", "error", "T"), [(1.0, 1e-13, 100), (1e-6, 1e-10, 100), (1e-14, 1e-6, 60), (1e8, 0.3, 3)])
def test_squares_keep_their_digits_however_good_the_estimate_is(a: float, error: float, T: int) -> None:
    """Against the recursion with sixty digits, in one dimension."""
    b = a * (1.0 + error)
    with localcontext() as context:
        context.prec = 60
        pairs = [(Decimal(1), Decimal(1))]
        for _ in range(T):
            C, C_hat = pairs[-1]
            pairs.append((1 / (2 + Decimal(a) - C), 1 / (2 + Decimal(b) - C_hat)))
        second = total = Decimal(0)
        for C, C_hat in reversed(pairs[1:]):
            second += 1
            total += (C_hat - C) ** 2 / C * second / 2
            second *= C_hat * C_hat
    found = exact_regret_as_squares([[a]], [[b]], covariance=1.0, horizon=T).sum()
    assert found == pytest.approx(float(total), rel=1e-13, abs=0.0)


@pytest.mark.parametrize("error", [2.0**-20, 2.0**-40, 2.0**-50])
def test_the_value_part_keeps_its_digits_however_good_the_estimate_is(error: float) -> None:
    """Against exact fractions, where A and the estimate are diagonal."""
    a, gap = [0.5, 1.0, 3.0], Fraction(0)
    b = [(1.0 + error) * value for value in a]
    for one, other in zip(a, b, strict=True):
        C = C_hat = Fraction(1)
        for _ in range(12):
            C, C_hat = 1 / (2 + Fraction(one) - C), 1 / (2 + Fraction(other) - C_hat)
            gap += C - C_hat
    found = exact_regret(np.diag(a), np.diag(b), covariance=1.0, horizon=12).value
    assert found == pytest.approx(float(gap / 2), rel=1e-13, abs=0.0)


def test_over_a_very_long_horizon_the_mean_of_a_round_is_stationary() -> None:
    a, b, T = 0.5, 0.8, 10**12
    c, c_hat = (1.0 + x / 2.0 - math.sqrt(x + x**2 / 4.0) for x in (a, b))
    found = exact_regret([[a]], [[b]], covariance=1.0, horizon=T)
    assert found.value / T == pytest.approx(0.5 * (c - c_hat), rel=1e-11)
    assert found.basis / T == pytest.approx(0.5 * (a - b) * c_hat**2 / (1.0 - c_hat**2), rel=1e-11)


def simulate_regret(A: Array, A_hat: Array, steps: Array, x0: Array) -> Array:
    """Return the regret of each run of steps, shape (runs, T, d), from v0 = 0."""
    v, T = np.cumsum(steps, axis=1), steps.shape[1]

    def cost(x: Array) -> Array:
        u, jumps = x - v, np.diff(x, axis=1, prepend=np.broadcast_to(x0, (len(v), 1, len(x0))))
        return np.asarray(0.5 * (np.sum((u @ A) * u, axis=(1, 2)) + np.sum(jumps**2, axis=(1, 2))))

    return cost(Plan(A_hat, T).path(x0, v)) - cost(Plan(A, T).path(x0, v))


def stochastic_volatility(rng: np.random.Generator, runs: int, T: int, d: int) -> tuple[Array, Array]:
    """Return steps whose size depends on the past, and their mean square: a martingale but not a random walk."""
    log_size, steps = np.zeros(runs), np.empty((runs, T, d))
    variances = np.empty(T)
    variance = 0.0
    for t in range(T):
        shock = rng.standard_normal((runs, d))
        steps[:, t] = np.exp(log_size)[:, None] * shock
        variances[t] = np.exp(2.0 * variance)
        # The next size depends on the current size and shock.
        log_size = 0.8 * log_size + 0.15 * shock[:, 0]
        variance = 0.64 * variance + 0.15**2
    return steps, variances


A3 = random_rotation(np.random.default_rng(5), np.array([0.0, 0.4, 2.0]))
HAT3 = random_rotation(np.random.default_rng(6), np.array([0.1, 0.6, 1.5]))
START = np.array([1.0, -2.0, 0.5])


@pytest.mark.parametrize("kind", ["Gaussian", "Laplace", "volatility"])
@pytest.mark.parametrize("x0", [np.zeros(3), START])
def test_exact_regret_is_the_mean_of_simulations(kind: str, x0: Array) -> None:
    rng = np.random.default_rng(7)
    runs, T = 40_000, 30
    factor = np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, -0.7, 0.3]])
    covariance: Any
    if kind == "Gaussian":
        process: Any = Gaussian(scale=factor)
        steps, covariance = rng.standard_normal((runs, T, 3)) @ factor.T, process
    elif kind == "Laplace":
        steps, covariance = rng.laplace(size=(runs, T, 3)), Laplace()
    else:
        steps, covariance = stochastic_volatility(rng, runs, T, 3)
    regret = simulate_regret(A3, HAT3, steps, x0)
    error = regret.std() / np.sqrt(runs)
    found = exact_regret(A3, HAT3, covariance=covariance, horizon=T, x0_minus_v0=x0).total
    assert abs(regret.mean() - found) < 4.0 * error
    assert error < 0.02 * found  # otherwise the test has little power


def test_isotropic_steps_have_the_known_closed_form() -> None:
    """The closed form of docs/explanation/theory.md."""
    rng = np.random.default_rng(3)
    A, A_hat = (random_rotation(rng, rng.uniform(0.2, 3.0, 4)) for _ in range(2))
    T, s2 = 60, 2.5
    values = np.linalg.eigvalsh(A)
    hat, P = np.linalg.eigh(A_hat)
    n = np.arange(1.0, T + 1.0)[:, None]
    theta = np.arccosh(1.0 + hat / 2.0)
    weights = n / 2.0 + np.sinh(2.0 * n * theta) / (4.0 * np.sinh(theta))
    weights = weights / np.cosh((n + 0.5) * theta) ** 2
    b = np.diagonal(P.T @ A @ P)
    found = exact_regret(A, A_hat, covariance=s2, horizon=T)

    def gain(a: Any) -> Array:
        th = np.arccosh(1.0 + a / 2.0)
        return np.asarray(np.cosh((n - 0.5) * th) / np.cosh((n + 0.5) * th))

    value = 0.5 * s2 * np.sum(gain(values) - gain(hat))
    assert found.value == pytest.approx(value, rel=1e-10)
    assert found.basis == pytest.approx(0.5 * s2 * np.sum((b - hat) * weights), rel=1e-10)


def test_covariances_may_differ_between_rounds() -> None:
    """With a single step of v, the regret is that of a game that begins in its round, that far away from v."""
    T, quiet = 12, 5
    variances = np.zeros((T, 3, 3))
    variances[quiet] = np.outer(START, START)
    found = exact_regret(A3, HAT3, covariance=variances, horizon=T, per_round=True)
    later = exact_regret(A3, HAT3, covariance=0.0, horizon=T - quiet, x0_minus_v0=START)
    assert found.total == pytest.approx(later.total, rel=1e-10)
    assert found.basis_rounds is not None
    assert (found.basis_rounds[:quiet] == 0.0).all()


def test_a_batch_of_estimates_gives_the_regret_of_each() -> None:
    rng = np.random.default_rng(0)
    estimates = np.stack([random_rotation(rng, rng.uniform(0.0, 3.0, 3)) for _ in range(4)])
    forms: list[Any] = [1.5, np.linspace(0.0, 3.0, 40)]
    for form in forms:
        together = exact_regret(A3, estimates, covariance=form, horizon=40, x0_minus_v0=START)
        alone = [
            exact_regret(A3, estimate, covariance=form, horizon=40, x0_minus_v0=START).total for estimate in estimates
        ]
        np.testing.assert_allclose(together.total, alone, rtol=1e-12)
    several = exact_regret(np.stack([A3, HAT3]), HAT3, covariance=1.0, horizon=40)
    assert abs(several.total[1]) < 1e-28
    assert several.total[0] == pytest.approx(exact_regret(A3, HAT3, covariance=1.0, horizon=40).total)


def test_a_million_rounds_in_twenty_dimensions_are_fast_and_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([np.zeros(10), np.geomspace(1e-2, 1e3, 10)])
    A, A_hat = random_rotation(rng, values), random_rotation(rng, values + 1e-5)
    begin = time.perf_counter()
    found = exact_regret(A, A_hat, covariance=np.eye(20), horizon=10**6)
    assert time.perf_counter() - begin < 2.0
    assert np.isfinite(found.total)
    assert found.total > 0.0


def test_the_true_matrix_has_no_regret() -> None:
    found = exact_regret(A3, A3, covariance=1.0, horizon=100, x0_minus_v0=START)
    assert abs(found.value) < 1e-14
    assert abs(found.total) < 1e-28


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"A_hat": np.eye(2)}, r"A_hat must have A's shape \(3, 3\), got \(2, 2\)"),
        ({"A": -np.eye(3)}, "A must be positive semi-definite"),
        ({"horizon": 0}, "horizon must be a positive integer"),
        ({"x0_minus_v0": np.ones(2)}, r"x0_minus_v0 must have shape \(3,\), got \(2,\)"),
    ],
)
def test_errors_name_the_argument(change: dict[str, Any], message: str) -> None:
    arguments = {"A": A3, "A_hat": HAT3, "covariance": 1.0, "horizon": 5, **change}
    with pytest.raises(ArgumentError, match=message):
        exact_regret(**arguments)
    with pytest.raises(ArgumentError, match=message):
        exact_regret_as_squares(**arguments)


def test_squares_take_one_estimate() -> None:
    with pytest.raises(ArgumentError, match="got a batch"):
        exact_regret_as_squares(A3, np.stack([HAT3, HAT3]), covariance=1.0, horizon=5)
