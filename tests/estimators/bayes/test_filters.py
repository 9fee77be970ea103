"""Filters against the regression on all readings at once, and their updates against numerical integrals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.bayes._filters import Filters, Step, learn
from soqo.typing import Array

M, WALKING = 4, 2
STEPS = {
    "none": (0.0, 0.0),
    "first": (0.4, 0.0),
    "both": (0.4, 0.3),
    "second": (0.0, 0.3),
}
KEEP = 0.9
"""The share that stays of the second unknown from one round to the next, where it walks."""


class Data(NamedTuple):
    """Readings, shape (n,), with their features, the variances of the noise, and what happened before each of them.

    ``elapsed`` is the number of rounds, and ``change`` what the second unknown adds to the first one.
    """

    phi: Array
    y: Array
    r: Array
    elapsed: Array
    change: Array


def draw(n: int, seed: int = 0, *, gaps: bool = False) -> Data:
    rng = np.random.default_rng(seed)
    phi, y, r = rng.standard_normal((n, M)), 2.0 * rng.standard_normal(n), rng.uniform(0.3, 3.0, n)
    elapsed = rng.integers(1, 6, n).astype(float) if gaps else np.ones(n)
    return Data(phi, y, r, elapsed, gaps * rng.standard_normal(n))


def prior(*steps: tuple[float, float], growth: float = 1.0, seed: int = 1) -> Filters:
    """Return a filter of one group for each pair of steps, with a full covariance."""
    rng, n = np.random.default_rng(seed), len(steps)
    return Filters(
        group=np.zeros(n, dtype=np.intp),
        kind=np.arange(n),
        root=np.triu(rng.standard_normal((n, M, M))) + np.eye(M),
        mean=rng.standard_normal((n, M)),
        a=rng.uniform(0.5, 2.0, n),
        b=rng.uniform(0.5, 2.0, n),
        log_weight=np.log(rng.uniform(0.1, 1.0, n)),
        keep=np.array([[1.0, KEEP if second else 1.0] for _, second in steps]),
        steps=np.array(steps),
        growth=np.full(n, growth),
    )


def learn_all(filters: Filters, data: Data, noise_cap: float | None = None) -> Filters:
    for phi, y, r, elapsed, change in zip(*data, strict=True):
        step = Step(np.array([elapsed]), 1, np.array([[change]]))
        filters, _ = learn(filters, phi[None], np.array([y]), np.array([r]), step=step, noise_cap=noise_cap)
    return filters


def covariance(filters: Filters, k: int = 0) -> Array:
    """Return the covariance of theta in units of sigma^2."""
    return np.asarray(filters.root[k] @ filters.root[k].T)


class Joint(NamedTuple):
    """The normal distribution of all readings and of theta after them, in units of sigma^2."""

    mean: Array
    covariance: Array
    expected_readings: Array
    readings: Array
    cross: Array


def joint(first: Filters, k: int, data: Data) -> Joint:
    """Return the distribution from theta as a linear function of standard normal numbers, round by round."""
    n, rounds = len(data.y), int(data.elapsed.sum())
    mean, theta = first.mean[k].copy(), np.zeros((M, M + M * rounds + n))
    theta[:, :M] = first.root[k]
    keep, steps = np.ones(M), np.zeros(M)
    keep[:WALKING], steps[:WALKING] = first.keep[k], first.steps[k]
    expected, rows, used = np.empty(n), np.empty((n, theta.shape[1])), M
    for t in range(n):
        mean[0] += data.change[t] * mean[1]
        theta[0] += data.change[t] * theta[1]
        for _ in range(int(data.elapsed[t])):
            mean, theta = keep * mean, keep[:, None] * theta
            theta[:, used : used + M] += np.diag(steps)
            used += M
        expected[t], rows[t] = data.phi[t] @ mean, data.phi[t] @ theta
        rows[t, M + M * rounds + t] = np.sqrt(data.r[t])
    return Joint(mean, theta @ theta.T, expected, rows @ rows.T, theta @ rows.T)


# ---- all readings at once ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n", [1, 3, 30])
def test_a_filter_has_the_posterior_and_the_evidence_of_all_readings_at_once(n: int, gaps: bool) -> None:
    data, first = draw(n, gaps=gaps), prior(*STEPS.values())
    last = learn_all(first, data)
    for k in range(len(STEPS)):
        dense = joint(first, k, data)
        error = data.y - dense.expected_readings
        gain = np.linalg.solve(dense.readings, dense.cross.T).T
        np.testing.assert_allclose(last.mean[k], dense.mean + gain @ error, atol=1e-9)
        np.testing.assert_allclose(covariance(last, k), dense.covariance - gain @ dense.cross.T, atol=1e-9)
        assert last.a[k] == pytest.approx(first.a[k] + 0.5 * n)
        assert last.b[k] == pytest.approx(first.b[k] + 0.5 * error @ np.linalg.solve(dense.readings, error))
        a, b = first.a[k], first.b[k]
        evidence = stats.multivariate_t(dense.expected_readings, b / a * dense.readings, df=2.0 * a).logpdf(data.y)
        assert last.log_weight[k] - first.log_weight[k] == pytest.approx(evidence)


def test_after_a_long_gap_what_is_autoregressive_has_its_prior_again() -> None:
    first = prior((0.0, 0.3))
    size = 0.3 / np.sqrt(1.0 - KEEP**2)  # the deviation that stays as it is
    data = draw(1)._replace(phi=np.array([[0.0, 1.0, 0.0, 0.0]]), elapsed=np.array([1000.0]))
    step = Step(data.elapsed, 1, np.zeros((1, 1)))
    _, found = learn(first, data.phi, data.y, data.r, step=step)
    assert found.mean[0] == pytest.approx(0.0, abs=1e-9)
    assert found.scale2[0] == pytest.approx((size**2 + data.r[0]) * first.b[0] / first.a[0])


def test_without_steps_a_filter_solves_the_normal_equations_with_the_prior() -> None:
    data, first = draw(20), prior((0.0, 0.0))
    last = learn_all(first, data)
    P = np.linalg.inv(covariance(first))
    precision = P + data.phi.T @ (data.phi / data.r[:, None])
    mean = np.linalg.solve(precision, P @ first.mean[0] + data.phi.T @ (data.y / data.r))
    np.testing.assert_allclose(np.linalg.inv(covariance(last)), precision, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(last.mean[0], mean, atol=1e-10)


def test_a_growing_filter_is_the_exponentially_weighted_regression() -> None:
    data, share = draw(25, gaps=True)._replace(change=np.zeros(25)), 0.9
    first = prior((0.0, 0.0), growth=share**-0.5)
    last = learn_all(first, data)
    precision = np.linalg.inv(covariance(first))
    target = precision @ first.mean[0]
    a, b, evidence = first.a[0], first.b[0], 0.0
    for phi, y, r, elapsed, _ in zip(*data, strict=True):
        precision, target = share**elapsed * precision, share**elapsed * target
        mean, alpha = phi @ np.linalg.solve(precision, target), r + phi @ np.linalg.solve(precision, phi)
        evidence += stats.t.logpdf(y, 2.0 * a, loc=mean, scale=np.sqrt(alpha * b / a))
        a, b = a + 0.5, b + 0.5 * (y - mean) ** 2 / alpha
        precision, target = precision + np.outer(phi, phi) / r, target + phi * y / r
    np.testing.assert_allclose(last.mean[0], np.linalg.solve(precision, target), atol=1e-10)
    np.testing.assert_allclose(np.linalg.inv(covariance(last)), precision, rtol=1e-9, atol=1e-9)
    assert last.log_weight[0] - first.log_weight[0] == pytest.approx(evidence)


def test_a_reading_is_predicted_from_those_before() -> None:
    data, first = draw(8), prior(*STEPS.values())
    before = learn_all(first, Data(*(part[:-1] for part in data)))
    _, found = learn(before, data.phi[-1:], data.y[-1:], data.r[-1:])
    for k in range(len(STEPS)):
        dense = joint(first, k, data)
        K, error = dense.readings, data.y - dense.expected_readings
        gain = np.linalg.solve(K[:-1, :-1], K[:-1, -1])
        assert data.y[-1] - found.mean[k] == pytest.approx(error[-1] - gain @ error[:-1])
        expected = (K[-1, -1] - gain @ K[:-1, -1]) * before.b[k] / before.a[k]
        assert found.scale2[k] == pytest.approx(expected)


def test_covariances_of_very_different_sizes_keep_their_digits() -> None:
    # The difference of covariances, P - P phi phi' P / alpha, would have no correct digit left.
    first = evolve(prior((0.0, 0.0)), root=np.diag([1e9, 1.0, 1.0, 1e-9])[None], mean=np.zeros((1, M)))
    data = draw(40)
    data = data._replace(y=data.phi @ [3.0, 2.0, 1.0, 0.0], r=np.full(40, 1e-6))
    last = learn_all(first, data)
    scaled = data.phi * [1e9, 1.0, 1.0, 1e-9]
    _, singular, V = np.linalg.svd(np.concatenate([scaled / 1e-3, np.eye(M)]))
    expected = (V.T / np.square(singular)) @ V * np.outer([1e9, 1, 1, 1e-9], [1e9, 1, 1, 1e-9])
    np.testing.assert_allclose(np.diag(covariance(last)), np.diag(expected), rtol=1e-6)
    np.testing.assert_allclose(last.mean[0, :3], [3.0, 2.0, 1.0], atol=1e-5)


# ---- readings at the limit of a meter, and a bound on the noise ----------------------------------------------------


@pytest.mark.parametrize("deviations", [-3.0, -0.5, 0.0, 2.0, 6.0])
def test_a_reading_that_says_at_least_gives_the_moments_of_the_truncated_posterior(deviations: float) -> None:
    first, phi, r = prior((0.0, 0.0)), draw(1).phi[0], 0.7
    P, m, sigma2 = covariance(first), first.mean[0], first.b[0] / first.a[0]
    mean, spread = float(phi @ m), float(phi @ P @ phi)
    limit = mean + deviations * np.sqrt((spread + r) * sigma2)
    width = np.sqrt(spread * sigma2)

    def weight(f: float, power: int) -> float:
        density = stats.norm.pdf(f, mean, width) * stats.norm.sf(limit, f, np.sqrt(r * sigma2))
        return float(density * (f - mean) ** power)

    total, away, square = (
        quad(weight, mean - 9.0 * width, mean + 12.0 * width, args=(k,), limit=200, epsabs=1e-16)[0] for k in range(3)
    )
    last, _ = learn(first, phi[None], np.array([limit]), np.array([r]), censored=np.array([True]))
    along = P @ phi / spread  # the regression of theta on phi'theta
    variance = square / total - (away / total) ** 2
    np.testing.assert_allclose(last.mean[0], m + along * away / total, atol=1e-6)
    expected = sigma2 * (P - np.outer(along, along) * spread) + np.outer(along, along) * variance
    np.testing.assert_allclose(covariance(last) * last.b[0] / last.a[0], expected, atol=1e-6)
    assert (last.a, last.b) == (first.a, first.b)  # what is not seen says nothing about the noise


@pytest.mark.parametrize("deviations", [-3.0, 0.0, 2.0, 6.0, 1e4])
def test_the_evidence_of_a_reading_at_the_limit_is_its_probability(deviations: float) -> None:
    first, phi, r = prior((0.0, 0.0)), draw(1).phi[0], 0.7
    a, b, mean, alpha = first.a[0], first.b[0], phi @ first.mean[0], phi @ covariance(first) @ phi + r
    limit = mean + deviations * np.sqrt(alpha * b / a)

    def probability(log_sigma2: float) -> float:
        sigma2 = np.exp(log_sigma2)  # the noise that is not known: the prior's first reading may be at the limit
        tail = stats.norm.sf(limit, mean, np.sqrt(alpha * sigma2))
        return float(stats.invgamma.pdf(sigma2, a, scale=b) * sigma2 * tail)

    center = np.log(b * max(1.0, deviations**2))
    total = quad(probability, center - 40.0, center + 40.0, points=[center], limit=400, epsabs=0.0)[0]
    last, _ = learn(first, phi[None], np.array([limit]), np.array([r]), censored=np.array([True]))
    assert last.log_weight[0] - first.log_weight[0] == pytest.approx(np.log(total), rel=1e-5)


@pytest.mark.parametrize("limit", [-1e6, 1e6])
def test_a_limit_far_from_what_was_expected_leaves_finite_numbers(limit: float) -> None:
    first = prior(*STEPS.values())
    last, _ = learn(first, draw(1).phi, np.array([limit]), np.ones(1), censored=np.array([True]))
    assert all(np.isfinite(value).all() for value in last.__dict__.values())
    if limit < 0.0:  # which was certain
        expected = first.mean.copy()
        expected[:, :WALKING] *= first.keep
        np.testing.assert_allclose(last.mean, expected, atol=1e-6)
        np.testing.assert_allclose(last.log_weight, first.log_weight, atol=1e-6)


@pytest.mark.parametrize("cap", [0.4, 1.0, 5.0])
def test_a_bound_on_the_noise_bounds_its_estimate_before_and_after_a_reading(cap: float) -> None:
    data, last = draw(6), prior(*STEPS.values())
    for phi, y, r, *_ in zip(*data, strict=True):
        bounded = evolve(last, b=np.minimum(last.b, last.a * cap**2))
        reading = phi[None], np.array([y]), np.array([r])
        (last, found), (free, expected) = learn(last, *reading, noise_cap=cap), learn(bounded, *reading)
        assert (last.noise_variance <= cap**2 * (1.0 + 1e-12)).all()
        np.testing.assert_array_equal(found, expected)
        # All else is that of a reading without a bound.
        assert last == evolve(free, b=np.minimum(free.b, free.a * cap**2))


def test_a_bound_above_the_estimate_of_the_noise_changes_nothing() -> None:
    data, first = draw(6), prior(*STEPS.values())
    largest, filters = first.noise_variance.max(), first
    for k in range(6):
        filters = learn_all(filters, Data(*(part[k : k + 1] for part in data)))
        largest = max(largest, filters.noise_variance.max())
    assert learn_all(first, data, noise_cap=1.01 * float(np.sqrt(largest))) == filters
    assert learn_all(first, data, noise_cap=0.9 * float(np.sqrt(largest))) != filters


@pytest.mark.parametrize("cap", [0.0, 1e-200, 1e200])
def test_an_extreme_bound_on_the_noise_leaves_finite_numbers(cap: float) -> None:
    data, first = draw(6), prior(*STEPS.values())
    bounded, free = learn_all(first, data, noise_cap=cap), learn_all(first, data)
    assert all(np.isfinite(value).all() for value in bounded.__dict__.values())
    if cap > 1.0:  # no bound at all
        assert bounded == free


# ---- lists ---------------------------------------------------------------------------------------------------------


def test_the_filters_of_a_group_learn_its_reading() -> None:
    some = prior(*STEPS.values())
    filters = evolve(some, group=np.array([0, 0, 1, 1]))
    data = draw(2)
    together, predicted = learn(filters, data.phi, data.y, data.r, censored=np.array([False, True]), noise_cap=3.0)
    for k, group in enumerate(filters.group):
        one = some.take(np.array([k]))
        alone, expected = learn(
            one, data.phi[[group]], data.y[[group]], data.r[[group]], censored=np.array([group == 1]), noise_cap=3.0
        )
        for name, value in alone.__dict__.items():
            if name != "group":
                np.testing.assert_allclose(together.__dict__[name][[k]], value, rtol=1e-12, atol=1e-14, err_msg=name)
        np.testing.assert_allclose(predicted.mean[k], expected.mean[0], rtol=1e-12)


def test_the_filters_of_several_lists_are_joined_by_group() -> None:
    filters = evolve(prior(*STEPS.values()), group=np.array([0, 0, 1, 2]))
    parts = [filters.take(np.array([2])), filters.take(np.array([0, 3])), filters.take(slice(1, 2))]
    assert Filters.join(parts) == filters
    assert Filters.join([Filters.none(M, WALKING), filters]) == filters


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_an_unknown_that_does_not_exist_changes_nothing(missing: int) -> None:
    data, three = draw(12, seed=9), np.array([[0.4, 0.3, 0.2]])
    full = evolve(prior((0.4, 0.3), seed=9), keep=np.array([[1.0, KEEP, KEEP]]), steps=three)
    root, mean, steps = full.root.copy(), full.mean.copy(), full.steps.copy()
    root[:, missing], root[:, :, missing], mean[:, missing], steps[:, missing] = 0.0, 0.0, 0.0, 0.0
    without = evolve(full, root=root, mean=mean, steps=steps)
    left = np.delete(np.arange(M), missing)
    small = evolve(
        without,
        root=root[:, left[:, None], left],
        mean=mean[:, left],
        steps=np.delete(steps, missing, axis=1),
        keep=np.delete(full.keep, missing, axis=1),
    )
    beside = Filters.join([full, without])
    for phi, y, r in zip(data.phi, data.y, data.r, strict=True):
        told = np.array([y]), np.array([r])
        beside, without = learn(beside, phi[None], *told)[0], learn(without, phi[None], *told)[0]
        small, _ = learn(small, phi[None, left], *told)
    np.testing.assert_array_equal(beside.root[1], without.root[0])
    np.testing.assert_allclose(covariance(without)[left[:, None], left], covariance(small), atol=1e-12)
    np.testing.assert_allclose(without.mean[:, left], small.mean, atol=1e-12)
