"""What is predictable in v's steps: the correlation against its error, the lead against dense quadratic programs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from soqo import random_curvature
from soqo._planner import advance, contraction, towards
from soqo._spectrum import Spectrum
from soqo.policies.glide._drift import LARGEST, SIGNIFICANT, Drift

RUNS = 400


def heard(steps: Any) -> Drift:
    """After all of these steps, shape (runs, rounds, d)."""
    drift = Drift.start(steps.shape[0], steps.shape[2])
    for step in steps.swapaxes(0, 1):
        drift = drift.seen(step)
    return drift


def believing(rho: Any, step: Any) -> Drift:
    """After many steps that told rho without a doubt, the last of them as given."""
    many = np.full(len(step), 1e6)
    return Drift(step, rho * many, many, np.zeros(len(step)))


# ---- the correlation -----------------------------------------------------------------------------------------------


def test_sums_are_those_of_a_plain_loop() -> None:
    steps = np.random.default_rng(0).standard_normal((2, 5, 3))
    drift = heard(steps)
    for run, d in enumerate(steps):
        inner = [d[t + 1] @ d[t] for t in range(4)]
        assert drift.product[run] == pytest.approx(sum(inner))
        assert drift.spread[run] == pytest.approx(sum(value * value for value in inner))
        # The last step has no successor yet, so it explains nothing so far.
        assert drift.square[run] == pytest.approx(sum(d[t] @ d[t] for t in range(4)))
        np.testing.assert_array_equal(drift.step[run], d[-1])


@pytest.mark.parametrize("rho", [-0.6, 0.3, 0.8])
def test_the_correlation_of_an_autoregression_is_found(rho: float) -> None:
    runs, rounds, dim = 60, 1000, 3
    rng = np.random.default_rng(1)
    new = rng.standard_normal((runs, rounds, dim))
    steps = np.empty_like(new)
    steps[:, 0] = new[:, 0] / math.sqrt(1.0 - rho * rho)
    for t in range(1, rounds):
        steps[:, t] = rho * steps[:, t - 1] + new[:, t]
    found = heard(steps).correlation()
    # The deviation of least squares, over the number of pairs; its bias, -2 rho over that number, is far below.
    deviation = math.sqrt((1.0 - rho * rho) / ((rounds - 1) * dim))
    assert abs(found.mean() - rho) < 4.0 * deviation / math.sqrt(runs)
    assert (np.abs(found - rho) < 4.0 * deviation).all()
    # Chi-square: the square of the scatter is the expected one within 4 of its own deviations.
    scatter = np.square((found - rho) / deviation).mean()
    assert abs(scatter - 1.0) < 4.0 * math.sqrt(2.0 / runs)


@pytest.mark.parametrize("dim", [1, 4])
def test_independent_gaussian_steps_are_seldom_taken_for_correlated(dim: int) -> None:
    steps = np.random.default_rng(2).standard_normal((RUNS, 300, dim))
    found = heard(steps).correlation()
    # The sum over its root mean square is all but normal: beyond three deviations in 0.27 % of runs.
    chance = math.erfc(SIGNIFICANT / math.sqrt(2.0))
    assert np.count_nonzero(found) <= binom.ppf(0.9999, RUNS, chance)


def test_independent_cauchy_steps_are_seldom_taken_for_correlated() -> None:
    steps = np.random.default_rng(3).standard_cauchy((RUNS, 300, 2))
    found = heard(steps).correlation()
    # With the sizes given, products of symmetric steps have independent random signs; so Hoeffding bounds the chance
    # that their sum is k roots of their sum of squares by 2 exp(-k^2 / 2), though there is no variance and no mean.
    chance = 2.0 * math.exp(-0.5 * SIGNIFICANT**2)
    assert np.count_nonzero(found) <= binom.ppf(0.9999, RUNS, chance)
    # Without the test for significance there would be something to believe in nearly every run.
    assert np.count_nonzero(heard(steps).product) == RUNS


def test_a_correlation_counts_from_three_deviations_on() -> None:
    # Steps of plus and minus one: 100 products of size one, whose sum has a deviation of 10.
    def steps(turns: int) -> Any:
        signs = np.ones(101)
        signs[1 : 2 * turns : 2] = -1.0  # each of them makes two products negative
        return signs[None, :, None]

    assert heard(steps(17)).product == pytest.approx([32.0])
    assert heard(steps(17)).correlation() == pytest.approx([0.32])
    assert heard(steps(18)).product == pytest.approx([28.0])
    assert heard(steps(18)).correlation() == [0.0]
    # And the same for steps that turn back.
    back = np.where(np.arange(101) % 2, -1.0, 1.0)[None, :, None]
    assert heard(back * steps(17)).correlation() == pytest.approx([-0.32])
    assert heard(back * steps(18)).correlation() == [0.0]


def test_steps_that_always_go_on_are_not_believed_to_go_on_for_ever() -> None:
    ever = np.ones((1, 40, 2))
    assert heard(ever).correlation() == [LARGEST]
    turning = np.where(np.arange(40) % 2, -1.0, 1.0)[None, :, None] * ever
    assert heard(turning).correlation() == [-LARGEST]


def test_before_there_are_steps_nothing_is_predictable() -> None:
    for steps in (np.zeros((3, 1, 2)), np.ones((3, 1, 2)), np.zeros((3, 30, 2))):
        np.testing.assert_array_equal(heard(steps).correlation(), np.zeros(3))


def test_runs_have_correlations_of_their_own() -> None:
    steps = np.random.default_rng(4).standard_normal((3, 200, 2))
    steps[1] = np.cumsum(steps[1], axis=0)
    together = heard(steps).correlation()
    assert [bool(rho) for rho in together] == [False, True, False]
    for run in range(3):
        np.testing.assert_array_equal(together[run], heard(steps[run : run + 1]).correlation()[0])


# ---- the lead ------------------------------------------------------------------------------------------------------


def forecast(rho: float, n: int) -> Any:
    """How many of the last step v is expected to go in 0..n-1 rounds: rho + ... + rho^k."""
    return np.concatenate([[0.0], np.cumsum(rho ** np.arange(1.0, n))])


def first_action(A: Any, x_prev: Any, v: Any) -> Any:
    """The first of n actions that cost least along the expected v, shape (n, d): certainty equivalence, dense."""
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
def test_the_lead_is_optimal_where_there_are_many_rounds_to_go(rho: float) -> None:
    # Slowest are an eigenvalue of 0.05 (a contraction of 0.8) and rho = 0.95: what comes after 200 rounds counts
    # less than 0.8^200 = 1e-19.
    A = random_curvature(3, 3, 0.05, 4.0, rng=np.random.default_rng(5))
    rng = np.random.default_rng(6)
    x_prev, v, step = rng.standard_normal((3, 3))
    spectrum = Spectrum.of(A[None])
    best = first_action(A, x_prev, v + forecast(rho, 200)[:, None] * step)
    for to_go in (200, math.inf):
        go = advance(spectrum.values, to_go)
        lead = believing(rho, step[None]).lead(spectrum, go, to_go)
        x = towards(spectrum, go, x_prev[None], v + lead)
        np.testing.assert_allclose(x[0], best, rtol=0, atol=1e-8)
    # The lead is no small thing here: who aims at v is far off.
    assert np.abs(towards(spectrum, go, x_prev[None], v)[0] - best).max() > 1e-3


def test_in_the_last_round_there_is_nothing_to_lead_for() -> None:
    A = random_curvature(3, 2, 0.5, 2.0, rng=np.random.default_rng(7))[None]
    spectrum = Spectrum.of(A)
    spectrum = Spectrum(np.maximum(spectrum.values, 0.0), spectrum.vectors)
    drift = believing(0.9, np.ones((1, 3)))
    lead = drift.lead(spectrum, advance(spectrum.values, 1), 1)
    np.testing.assert_array_equal(lead, np.zeros((1, 3)))
    assert np.abs(drift.lead(spectrum, advance(spectrum.values, 2), 2)).max() > 0.1


def test_without_correlation_there_is_no_lead() -> None:
    spectrum = Spectrum.of(np.stack([np.eye(2), 3.0 * np.eye(2)]))
    go = advance(spectrum.values, math.inf)
    unsure = heard(np.random.default_rng(8).standard_normal((2, 50, 2)))
    np.testing.assert_array_equal(unsure.lead(spectrum, go, math.inf), np.zeros((2, 2)))
    # One run that is sure does not make another so.
    mixed = believing(np.array([0.0, 0.5]), np.ones((2, 2)))
    lead = mixed.lead(spectrum, go, math.inf)
    np.testing.assert_array_equal(lead[0], [0.0, 0.0])
    # The sum of (rho C)^k, k = 1, 2, ..., term by term.
    fading = 0.5 * contraction(3.0, math.inf)
    np.testing.assert_allclose(lead[1], sum(fading**k for k in range(1, 60)))


def responses(a: float, rho: float, n: int) -> tuple[float, float]:
    """How much of x_prev - v and of the last step there is in the best x - v: dense, for one coordinate."""
    A = np.array([[a]])
    kept = first_action(A, np.ones(1), np.zeros((n, 1)))[0]
    led = first_action(A, np.zeros(1), forecast(rho, n)[:, None])[0]
    return float(kept), float(led)


def expected_cost(a: float, rho: float, plan: Any) -> float:
    """Of n rounds from x_0 = v_0, for x - v = plan[t] @ (x_prev - v, step) and stationary steps of variance one."""
    toward_v = np.array([[1.0, -1.0], [-1.0, 1.0]])  # what a new step does to (x_prev - v, step)
    second, total = toward_v, 0.0
    for row in plan:
        move = row - np.array([1.0, 0.0])
        total += 0.5 * (a * row @ second @ row + move @ second @ move)
        on = np.array([row - np.array([0.0, rho]), [0.0, rho]])
        second = on @ second @ on.T + (1.0 - rho * rho) * toward_v
    return total


@pytest.mark.parametrize(("rho", "most"), [(-0.5, 0.01), (0.3, 0.01), (0.5, 0.01), (0.7, 0.01), (0.95, 0.03)])
def test_with_few_rounds_to_go_the_lead_costs_little_more_than_the_best(rho: float, most: float) -> None:
    # Its sum has the right number of terms, but the gain of now in the place of all gains to come: no optimum, but
    # within 1 % of the best expected cost (3 % for the largest correlation), and better than to aim at v.
    for a in (0.01, 0.1, 0.2, 1.0, 5.0):
        spectrum = Spectrum(np.array([[a]]), np.ones((1, 1, 1)))
        best: list[Any] = []
        led: list[Any] = []
        plain: list[Any] = []
        for n in range(1, 11):
            best.insert(0, np.array(responses(a, rho, n)))
            go = advance(spectrum.values, n)
            lead = believing(rho, np.ones((1, 1))).lead(spectrum, go, n)
            # x - v for x_prev = v = 0 and a step of one.
            ahead = towards(spectrum, go, np.zeros((1, 1)), lead)[0, 0]
            led.insert(0, np.array([best[0][0], ahead]))
            plain.insert(0, np.array([best[0][0], 0.0]))
            if n == 1:
                continue
            least = expected_cost(a, rho, best)
            assert least <= expected_cost(a, rho, led) <= (1.0 + most) * least
            assert expected_cost(a, rho, led) < expected_cost(a, rho, plain)
