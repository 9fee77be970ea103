"""The predictable part of the steps of v: correlations against their error, offsets against quadratic programs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from soqo import random_curvature
from soqo._model.gains import advance, contraction
from soqo._model.planner import towards
from soqo._model.spectrum import Spectrum
from soqo.policies.glide._drift import CORRELATED, CORRELATION_VARIANCE, MAX_CORRELATION, Drift

RUNS = 400


def after_steps(steps: Any) -> Drift:
    """Return the state after all of these steps, shape (runs, rounds, d)."""
    drift = Drift.start(steps.shape[0], steps.shape[2])
    for step in steps.swapaxes(0, 1):
        drift = drift.update(step)
    return drift


def with_correlation(rho: Any, step: Any) -> Drift:
    """Return the state after many steps with exactly this correlation and this last step."""
    many = np.full(len(step), 1e6)
    return Drift(step, rho * many, many, np.where(rho, 1.0, many))


# ---- the correlation -----------------------------------------------------------------------------------------------


def test_sums_equal_those_of_a_loop() -> None:
    steps = np.random.default_rng(0).standard_normal((2, 5, 3))
    drift = after_steps(steps)
    for run, d in enumerate(steps):
        inner = [d[t + 1] @ d[t] for t in range(4)]
        assert drift.products[run] == pytest.approx(sum(inner))
        assert drift.squared_products[run] == pytest.approx(sum(value * value for value in inner))
        # The last step has no successor yet.
        assert drift.squares[run] == pytest.approx(sum(d[t] @ d[t] for t in range(4)))
        np.testing.assert_array_equal(drift.last_step[run], d[-1])


@pytest.mark.parametrize("rho", [-0.6, 0.3, 0.8])
def test_the_correlation_of_an_autoregression_is_estimated(rho: float) -> None:
    runs, rounds, dim = 60, 1000, 3
    rng = np.random.default_rng(1)
    new = rng.standard_normal((runs, rounds, dim))
    steps = np.empty_like(new)
    steps[:, 0] = new[:, 0] / math.sqrt(1.0 - rho * rho)
    for t in range(1, rounds):
        steps[:, t] = rho * steps[:, t - 1] + new[:, t]
    found = after_steps(steps).correlation()
    # The deviation of least squares; its bias, -2 rho over the number of pairs, is much smaller.
    deviation = math.sqrt((1.0 - rho * rho) / ((rounds - 1) * dim))
    assert abs(found.mean() - rho) < 4.0 * deviation / math.sqrt(runs)
    assert (np.abs(found - rho) < 4.0 * deviation).all()
    # Chi-square: the mean square is the expected one within 4 of its own deviations.
    scatter = np.square((found - rho) / deviation).mean()
    assert abs(scatter - 1.0) < 4.0 * math.sqrt(2.0 / runs)


def steps_by_chance(kind: str, rounds: int) -> Any:
    rng = np.random.default_rng(2)
    return rng.standard_normal((RUNS, rounds, 2)) if kind == "normal" else rng.standard_cauchy((RUNS, rounds, 2))


@pytest.mark.parametrize("kind", ["normal", "Cauchy"])
def test_independent_steps_are_rarely_taken_for_correlated_ones(kind: str) -> None:
    # By Bayes' theorem the expected odds of a hypothesis that is wrong are its prior odds at any time, so that Markov's
    # inequality bounds the share of runs in which it is as probable as not.
    for rounds in (30, 100, 300):
        drift = after_steps(steps_by_chance(kind, rounds))
        estimate = drift.products / drift.squares
        believed = np.abs(drift.correlation()) > 0.5 * np.abs(estimate)
        assert np.count_nonzero(believed) <= binom.ppf(0.9999, RUNS, 2.0 * CORRELATED)


def test_what_chance_correlations_cost_falls_with_the_number_of_rounds() -> None:
    # A test at a fixed level leaves a mean square of the order of 1 / rounds, which adds up to a logarithm.
    squares = [np.square(after_steps(steps_by_chance("normal", n)).correlation()).mean() for n in (50, 2000)]
    assert squares[1] < squares[0] * (50 / 2000)


def test_the_posterior_mean_is_that_of_a_sum_over_a_grid() -> None:
    steps = np.random.default_rng(12).standard_normal((1, 61, 1))
    for t in range(1, 61):
        steps[:, t] += 0.5 * steps[:, t - 1]
    drift = after_steps(steps)
    estimate, deviation = drift.products / drift.squares, np.sqrt(drift.squared_products) / drift.squares
    rho = np.linspace(-4.0, 4.0, 40_001)
    likelihood = np.exp(-0.5 * np.square((estimate - rho) / deviation))
    prior = np.exp(-0.5 * np.square(rho) / CORRELATION_VARIANCE)
    prior *= CORRELATED / prior.sum()
    none = (1.0 - CORRELATED) * np.exp(-0.5 * np.square(estimate / deviation))
    mean = (rho * likelihood * prior).sum() / ((likelihood * prior).sum() + none)
    assert drift.correlation() == pytest.approx(mean, rel=1e-6)
    assert 0.1 * estimate < mean < 0.95 * estimate  # neither certain nor negligible


def test_correlations_stay_below_one() -> None:
    constant = np.ones((1, 20_000, 2))
    assert after_steps(constant).correlation() == [MAX_CORRELATION]
    reversing = np.where(np.arange(20_000) % 2, -1.0, 1.0)[None, :, None] * constant
    assert after_steps(reversing).correlation() == [-MAX_CORRELATION]


def test_without_steps_the_correlation_is_zero() -> None:
    for steps in (np.zeros((3, 1, 2)), np.ones((3, 1, 2)), np.zeros((3, 30, 2))):
        np.testing.assert_array_equal(after_steps(steps).correlation(), np.zeros(3))


def test_runs_have_separate_correlations() -> None:
    steps = np.random.default_rng(4).standard_normal((3, 200, 2))
    steps[1] = np.cumsum(steps[1], axis=0)
    together = after_steps(steps).correlation()
    assert [bool(rho) for rho in together] == [False, True, False]
    for run in range(3):
        np.testing.assert_array_equal(together[run], after_steps(steps[run : run + 1]).correlation()[0])


# ---- the offset ----------------------------------------------------------------------------------------------------


def forecast(rho: float, n: int) -> Any:
    """Return the expected movement of v after 0..n-1 rounds in units of the last step: rho + ... + rho^k."""
    return np.concatenate([[0.0], np.cumsum(rho ** np.arange(1.0, n))])


def first_action(A: Any, x_prev: Any, v: Any) -> Any:
    """Return the first of n optimal actions for the expected v, shape (n, d), by a dense solve."""
    n, d = v.shape
    H = np.zeros((n, d, n, d))
    for t in range(n):
        H[t, :, t] = A + np.eye(d) * (1.0 if t == n - 1 else 2.0)
        if t:
            H[t, :, t - 1] = H[t - 1, :, t] = -np.eye(d)
    pull = v @ A
    pull[0] += x_prev
    return np.linalg.solve(H.reshape(n * d, n * d), pull.ravel())[:d]


@pytest.mark.parametrize("rho", [-0.9, -0.4, 0.3, 0.7, 0.95])
def test_the_offset_is_optimal_with_many_rounds_to_go(rho: float) -> None:
    # The slowest decay is that of the eigenvalue 0.05, a contraction of 0.8: rounds after the 200th have a weight below
    # 0.8^200 = 1e-19.
    A = random_curvature(3, 3, min_eigenvalue=0.05, max_eigenvalue=4.0, rng=np.random.default_rng(5))
    rng = np.random.default_rng(6)
    x_prev, v, step = rng.standard_normal((3, 3))
    spectrum = Spectrum.of(A[None])
    best = first_action(A, x_prev, v + forecast(rho, 200)[:, None] * step)
    for to_go in (200, math.inf):
        go = advance(spectrum.values, to_go)
        offset = with_correlation(rho, step[None]).target_offset(spectrum, go, to_go)
        x = towards(spectrum, go, x_prev[None], v + offset)
        np.testing.assert_allclose(x[0], best, rtol=0, atol=1e-8)
    # The offset is not small here: without it, the action is clearly different.
    assert np.abs(towards(spectrum, go, x_prev[None], v)[0] - best).max() > 1e-3


def test_in_the_last_round_the_offset_is_zero() -> None:
    A = random_curvature(3, 2, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(7))[None]
    spectrum = Spectrum.of(A)
    spectrum = Spectrum(np.maximum(spectrum.values, 0.0), spectrum.vectors)
    drift = with_correlation(0.9, np.ones((1, 3)))
    offset = drift.target_offset(spectrum, advance(spectrum.values, 1), 1)
    np.testing.assert_array_equal(offset, np.zeros((1, 3)))
    assert np.abs(drift.target_offset(spectrum, advance(spectrum.values, 2), 2)).max() > 0.1


def test_without_correlation_the_offset_is_zero() -> None:
    spectrum = Spectrum.of(np.stack([np.eye(2), 3.0 * np.eye(2)]))
    go = advance(spectrum.values, math.inf)
    uncorrelated = after_steps(np.random.default_rng(8).standard_normal((2, 50, 2)))
    np.testing.assert_array_equal(uncorrelated.target_offset(spectrum, go, math.inf), np.zeros((2, 2)))
    # A correlation in one run does not affect another.
    mixed = with_correlation(np.array([0.0, 0.5]), np.ones((2, 2)))
    offset = mixed.target_offset(spectrum, go, math.inf)
    np.testing.assert_array_equal(offset[0], [0.0, 0.0])
    # The sum of (rho C)^k, k = 1, 2, ..., term by term.
    ratio = 0.5 * contraction(3.0, math.inf)
    np.testing.assert_allclose(offset[1], sum(ratio**k for k in range(1, 60)))


def responses(a: float, rho: float, n: int) -> tuple[float, float]:
    """Return the coefficients of x_prev - v and of the last step in the optimal x - v, for one coordinate."""
    A = np.array([[a]])
    of_position = first_action(A, np.ones(1), np.zeros((n, 1)))[0]
    of_step = first_action(A, np.zeros(1), forecast(rho, n)[:, None])[0]
    return float(of_position), float(of_step)


def expected_cost(a: float, rho: float, plan: Any) -> float:
    """Return the expected cost from x_0 = v_0 for x - v = plan[t] @ (x_prev - v, step) and steps of variance one."""
    toward_v = np.array([[1.0, -1.0], [-1.0, 1.0]])  # the effect of a new step on (x_prev - v, step)
    second, total = toward_v, 0.0
    for row in plan:
        move = row - np.array([1.0, 0.0])
        total += 0.5 * (a * row @ second @ row + move @ second @ move)
        on = np.array([row - np.array([0.0, rho]), [0.0, rho]])
        second = on @ second @ on.T + (1.0 - rho * rho) * toward_v
    return total


@pytest.mark.parametrize(("rho", "most"), [(-0.5, 0.01), (0.3, 0.01), (0.5, 0.01), (0.7, 0.01), (0.95, 0.03)])
def test_with_few_rounds_to_go_the_offset_is_nearly_optimal(rho: float, most: float) -> None:
    # The sum has the right number of terms, but it uses the current gain instead of the future ones. This is not
    # optimal, but within 1 % of the best expected cost (3 % for the largest correlation), and better than aiming at v.
    for a in (0.01, 0.1, 0.2, 1.0, 5.0):
        spectrum = Spectrum(np.array([[a]]), np.ones((1, 1, 1)))
        best: list[Any] = []
        with_offset: list[Any] = []
        plain: list[Any] = []
        for n in range(1, 11):
            best.insert(0, np.array(responses(a, rho, n)))
            go = advance(spectrum.values, n)
            offset = with_correlation(rho, np.ones((1, 1))).target_offset(spectrum, go, n)
            # x - v for x_prev = v = 0 and a step of one.
            ahead = towards(spectrum, go, np.zeros((1, 1)), offset)[0, 0]
            with_offset.insert(0, np.array([best[0][0], ahead]))
            plain.insert(0, np.array([best[0][0], 0.0]))
            if n == 1:
                continue
            least = expected_cost(a, rho, best)
            assert least <= expected_cost(a, rho, with_offset) <= (1.0 + most) * least
            assert expected_cost(a, rho, with_offset) < expected_cost(a, rho, plain)
