"""Banks: what they learn, against least squares and repeated experiments, and how they start again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soqo._model.spectrum import Spectrum
from soqo.estimators import smat, svec_rows
from soqo.estimators.bayes import STRUCTURES, Bank, Expectation, Reading, Terms
from soqo.estimators.bayes._mixture import Mixture
from soqo.typing import Array

A = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])
TERMS = Terms(3)


def begun(terms: Terms, count: int, size: float = 1.0) -> Bank:
    index = np.arange(count)
    return Bank.start(terms, count).begun(terms, index, np.full(count, size), np.ones((count, terms.context)))


def learn(
    bank: Bank, u: Array, y: Array, terms: Terms = TERMS, r: Array | None = None
) -> tuple[Bank, list[Expectation]]:
    """Return the bank after readings y at u, shapes (n, rows) and (n, rows, d), and what it expected."""
    outcomes = []
    for t in range(len(u)):
        reading = Reading(u[t], y[t], None, None, np.ones(u.shape[1]) if r is None else r[t])
        bank, outcome = bank.learn(terms, reading)
        bank = bank.settled(terms)
        outcomes.append(outcome)
    return bank, outcomes


def readings(matrix: Array, n: int, rows: int, noise: float = 0.1, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((n, rows, len(matrix)))
    return u, 0.5 * np.vecdot(u, u @ matrix) + noise * rng.standard_normal((n, rows))


def estimate(bank: Bank) -> Array:
    return Spectrum(bank.values, bank.vectors).matrix()


def error(bank: Bank, matrix: Array) -> Array:
    """Return the largest error of the estimate of each row."""
    return np.asarray(np.abs(estimate(bank) - matrix).max(axis=(1, 2)))


def probability(bank: Bank, **traits: Any) -> Array:
    """Return the probability of structures with some traits in each row."""
    fits = np.array([all(bool(getattr(one, name)) == value for name, value in traits.items()) for one in STRUCTURES])
    return Mixture.of(bank.filters).mean(fits[bank.filters.kind].astype(np.float64))


# ---- many readings -------------------------------------------------------------------------------------------------


def test_after_many_readings_a_bank_agrees_with_least_squares() -> None:
    u, y = readings(A, 150, 2)
    r = np.random.default_rng(1).uniform(0.5, 2.0, y.shape)
    y += (np.sqrt(r) - 1.0) * (y - 0.5 * np.vecdot(u, u @ A))  # noise of these variances
    bank, _ = learn(begun(TERMS, 2), u, y, r=r)
    for k in range(2):
        rows = svec_rows(u[:, k]) / np.sqrt(r[:, k, None])
        theta, (square,), *_ = np.linalg.lstsq(rows, y[:, k] / np.sqrt(r[:, k]))
        sigma = np.sqrt(square / (150 - 6))
        inverse = np.linalg.inv(rows.T @ rows)
        # The weak prior weighs as much as a small part of a reading.
        deviation = sigma * np.sqrt(np.diag(inverse).max())
        np.testing.assert_allclose(estimate(bank)[k], smat(np.asarray(theta, dtype=np.float64)), atol=0.1 * deviation)
        assert bank.noise()[k] == pytest.approx(sigma, rel=0.05)
        W = np.random.default_rng(2).standard_normal((1, 4, 3))
        along = 2.0 * svec_rows(W[0])
        expected = sigma * np.sqrt(np.vecdot(along @ inverse, along))
        np.testing.assert_allclose(bank.deviations(TERMS, np.tile(W, (2, 1, 1)))[k], expected, rtol=0.05)


@pytest.mark.parametrize("n", [4, 10, 40])
def test_errors_are_as_large_as_the_deviations_in_repeated_experiments(n: int) -> None:
    # A is drawn from a distribution like the prior: the bank is a Bayesian learner and so is calibrated.
    rng, rows = np.random.default_rng(3), 100
    entries = rng.standard_normal((rows, 6))
    matrices = 2.0 * np.eye(3) + 0.5 * smat(entries)
    u = rng.standard_normal((n, rows, 3))
    y = 0.5 * np.vecdot(u, np.matvec(matrices, u)) + 0.5 * rng.standard_normal((n, rows))
    bank, outcomes = learn(begun(TERMS, rows), u, y)
    W = rng.standard_normal((rows, 1, 3))
    for scores in (
        np.vecdot(W, W @ (estimate(bank) - matrices))[:, 0] / bank.deviations(TERMS, W)[:, 0],
        outcomes[-1].error / np.sqrt(outcomes[-1].variance),
    ):
        # Half of the scores of a normal variable, and of a Student t variable nearly so, are below 0.67, and 95 % below
        # two. The share of 100 has a standard error of 0.05.
        assert 0.35 < np.mean(np.abs(scores) < 0.67) < 0.65
        assert np.mean(np.abs(scores) < 2.0) > 0.83


def test_log_densities_are_those_of_a_distribution() -> None:
    bank, _ = learn(begun(TERMS, 1), *readings(A, 8, 1))
    u = np.array([[1.0, -0.5, 2.0]])
    grid = np.sinh(np.linspace(-12.0, 12.0, 4001))
    tiled = bank.take(np.zeros(len(grid), dtype=np.intp))
    found = tiled.learn(TERMS, Reading(np.tile(u, (len(grid), 1)), grid, None, None, np.ones(len(grid))))[1]
    density = np.exp(found.log_density)
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=0.01)
    assert np.trapezoid(density * grid, grid) == pytest.approx((grid - found.error)[0], rel=0.05)


# ---- structures ----------------------------------------------------------------------------------------------------

B = np.array([1.0, -0.5, 2.0])


@pytest.mark.parametrize(
    ("level", "speed", "offset", "traits"),
    [
        (0.0, 0.0, 0.0, {"load": False, "offset": False}),
        (5.0, 0.0, 0.0, {"load": True, "offset": False, "load_step": False}),
        (5.0, 0.5, 0.0, {"load": True, "offset": False, "load_step": True}),
        (5.0, 0.0, 1.0, {"load": True, "offset": True}),
    ],
    ids=["plain", "constant load", "load that walks", "offset"],
)
def test_averaging_finds_the_structure_of_the_readings(
    level: float, speed: float, offset: float, traits: dict[str, bool]
) -> None:
    rng, n, rows = np.random.default_rng(4), 60, 4
    u = rng.standard_normal((n, rows, 3))
    load = level + speed * rng.standard_normal((n, rows)).cumsum(axis=0)
    z = u + offset * B
    y = 0.5 * np.vecdot(z, z @ A) + load + 0.1 * rng.standard_normal((n, rows))
    bank, _ = learn(begun(TERMS, rows), u, y)
    assert (probability(bank, **traits) > 0.9).all()
    np.testing.assert_allclose(bank.load(), load[-1] + 0.5 * offset**2 * B @ A @ B, atol=0.4)
    assert (error(bank, A) < 0.35).all()


def test_an_offset_that_walks_is_followed() -> None:
    rng, n, rows = np.random.default_rng(5), 200, 16
    u, b = 3.0 * rng.standard_normal((n, rows, 3)), B + 0.1 * rng.standard_normal((n, rows, 3)).cumsum(axis=0)
    z = u + b
    y = 0.5 * np.vecdot(z, z @ A) + 0.1 * rng.standard_normal((n, rows))
    bank, _ = learn(begun(TERMS, rows, size=3.0), u, y)
    assert np.median(probability(bank, offset_step=True)) > 0.9
    missed = np.linalg.norm((bank.shift[:, :, 0] - b[-1]) @ A, axis=1)
    assert np.median(missed) < 0.2 * np.median(np.linalg.norm((b[0] - b[-1]) @ A, axis=1))


def test_predictions_after_a_gap_are_calibrated_where_the_base_load_walks() -> None:
    terms, rng, n, rows = Terms(3, regressors=4), np.random.default_rng(11), 60, 60
    index, sizes, bank = np.arange(rows), np.tile([1.0, 1.0, 1.0, 1.0], (rows, 1)), Bank.start(terms, rows)
    bank, load, v = bank.begun(terms, index, np.ones(rows), sizes), np.zeros(rows), np.zeros((rows, 3))
    for t in [*range(n), n + 50]:
        elapsed = 1 if t < n else 51
        v = v + rng.standard_normal((rows, 3))
        load = load + 0.06 * np.sqrt(elapsed) * rng.standard_normal(rows)
        u = rng.standard_normal((rows, 3))
        y = 0.5 * np.vecdot(u, u @ A) + load + 0.1 * rng.standard_normal(rows)
        z = np.concatenate([v, np.full((rows, 1), float(t))], axis=1)
        bank, found = bank.learn(terms, Reading(u, y, None, None, np.ones(rows), None, z))
        bank = bank.settled(terms)
    scores = np.abs(found.error) / np.sqrt(found.variance)
    # The shares of 60 plants within 0.67 and 2 deviations, 0.5 and 0.95, have standard errors of 0.065 and 0.03.
    assert 0.3 < np.mean(scores < 0.67) < 0.7
    assert np.mean(scores < 2.0) > 0.85
    assert np.sqrt(np.mean(np.square(found.error))) > 0.3  # the base load has moved by 0.43
    np.testing.assert_allclose(np.median(bank.noise()), 0.1, rtol=0.3)


# ---- changes -------------------------------------------------------------------------------------------------------


def test_noise_that_grows_is_learned_from_the_last_readings() -> None:
    quiet, busy = readings(A, 300, 10), readings(A, 100, 10, noise=1.0, seed=1)
    u, y = (np.concatenate(pair) for pair in zip(quiet, busy, strict=True))
    bank, _ = learn(begun(TERMS, 10), u, y)
    assert np.median(bank.noise()) == pytest.approx(1.0, rel=0.2)  # the root of the mean square of all is 0.5


def test_a_bank_that_starts_again_keeps_its_estimate_as_a_prior() -> None:
    u, y = readings(A, 40, 8)
    old, _ = learn(begun(TERMS, 8), u, y)
    restarted = old.restarted(TERMS)
    np.testing.assert_allclose(estimate(restarted), estimate(old), atol=1e-12)
    again, _ = learn(restarted, *readings(A, 3, 8, seed=6))
    fresh, _ = learn(begun(TERMS, 8), *readings(A, 3, 8, seed=6))
    assert np.median(error(again, A)) < 0.5 * np.median(error(fresh, A))


def test_after_a_change_to_a_multiple_few_readings_show_the_factor() -> None:
    old, _ = learn(begun(TERMS, 8), *readings(A, 40, 8))
    for factor in (0.2, 1.0, 6.0):
        again, _ = learn(old.restarted(TERMS), *readings(factor * A, 4, 8, noise=0.02, seed=7))
        assert np.median(error(again, factor * A)) < 0.15 * factor * A.max()


def test_evidence_makes_a_bank_forget_what_it_knew_before_a_change() -> None:
    old, _ = learn(begun(TERMS, 8), *readings(A, 40, 8))
    other = np.diag([0.2, 3.0, 1.0])
    again, _ = learn(old.restarted(TERMS), *readings(other, 30, 8, seed=8))
    fresh, _ = learn(begun(TERMS, 8), *readings(other, 30, 8, seed=8))
    assert (error(again, other) < 0.2).all()
    np.testing.assert_allclose(estimate(again), estimate(fresh), atol=0.1)
    assert again.readings.tolist() == [30.0] * 8


def test_a_bank_that_starts_again_keeps_its_base_load() -> None:
    u, y = readings(A, 40, 4)
    old, _ = learn(begun(TERMS, 4), u, y + 5.0)
    u, y = readings(2.0 * A, 12, 4, seed=9)
    again, _ = learn(old.restarted(TERMS), u, y + 5.0)
    np.testing.assert_allclose(again.load(), 5.0, atol=0.3)


@pytest.mark.parametrize("factor", [0.1, 10.0, 30.0])
def test_a_bank_that_starts_again_keeps_its_offset(factor: float) -> None:
    """A is multiplied and b stays: g = A b is multiplied as well."""
    rng, b = np.random.default_rng(0), np.array([3.0, -1.0, 2.0])

    def shifted(matrix: Array, n: int) -> tuple[Array, Array]:
        u = 3.0 * rng.standard_normal((n, 8, 3))
        return u, 0.5 * np.vecdot(u + b, (u + b) @ matrix) + 0.1 * rng.standard_normal((n, 8))

    old, _ = learn(begun(TERMS, 8, size=3.0), *shifted(A, 60))
    again, _ = learn(old.restarted(TERMS), *shifted(factor * A, 8))
    # By the gradient at v: where A is small, b scarcely matters.
    missed = np.linalg.norm((again.shift[:, :, 0] - b) @ A, axis=1)
    assert np.median(missed) < 0.1 * np.linalg.norm(A @ b)


# ---- rows, units and extreme numbers -------------------------------------------------------------------------------


def test_rows_are_independent_and_can_be_taken_and_joined() -> None:
    u, y = readings(A, 14, 5)
    u, y = u * np.array([1.0, 0.1, 10.0, 1.0, 1.0])[:, None], y * np.array([1.0, 10.0, 1.0, -1.0, 1e3])
    middle, _ = learn(begun(TERMS, 5), u[:7], y[:7])
    together, _ = learn(middle, u[7:], y[7:])
    order = np.array([3, 0, 4, 1, 2])
    parts = [middle.take(order[:2]), middle.take(order[2:])]
    shuffled, _ = learn(Bank.join(parts), u[7:, order], y[7:, order])
    back = shuffled.take(np.argsort(order))
    assert {*together.__dict__} == {*back.__dict__}
    np.testing.assert_allclose(estimate(back), estimate(together), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(back.noise(), together.noise(), rtol=1e-9)
    for k in range(5):
        alone, _ = learn(begun(TERMS, 1), u[:, [k]], y[:, [k]])
        np.testing.assert_allclose(estimate(together)[k], estimate(alone)[0], rtol=1e-8, atol=1e-10)


def test_rows_without_a_size_wait() -> None:
    bank = Bank.start(TERMS, 3).begun(TERMS, np.array([1]), np.ones(1), np.zeros((1, 0)))
    np.testing.assert_array_equal(bank.started, [False, True, False])
    np.testing.assert_array_equal(np.isnan(bank.noise()), [True, False, True])
    W = np.ones((3, 1, 3))
    assert np.isfinite(bank.deviations(TERMS, W)).all()
    later = bank.begun(TERMS, np.array([2, 0]), np.ones(2), np.zeros((2, 0)))
    assert later.started.all()
    np.testing.assert_allclose(later.deviations(TERMS, W), np.tile(later.deviations(TERMS, W)[1], (3, 1)))


@pytest.mark.parametrize("unit", [2.0**-20, 2.0**20])
def test_what_is_learned_does_not_depend_on_the_units(unit: float) -> None:
    u, y = readings(A, 25, 3, noise=1.0)
    plain, expected = learn(begun(TERMS, 3), u, y)
    # Lengths times a unit are costs times its square, and A is the same.
    scaled, found = learn(begun(TERMS, 3, size=unit), unit * u, unit**2 * y)
    np.testing.assert_allclose(estimate(scaled), estimate(plain), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(scaled.noise(), unit**2 * plain.noise(), rtol=1e-9)
    shift = found[-1].log_density - expected[-1].log_density
    np.testing.assert_allclose(shift, -2.0 * np.log(unit), rtol=1e-9)


@pytest.mark.parametrize("unit", [2.0**-10, 2.0**10])
def test_what_is_learned_does_not_depend_on_the_units_of_the_context(unit: float) -> None:
    terms, rng, index = Terms(2, 1), np.random.default_rng(4), np.arange(3)
    u, w = rng.standard_normal((60, 3, 2)), rng.standard_normal((60, 3, 1))
    z = u + 0.3 * rng.standard_normal((60, 3, 2)).cumsum(axis=0)  # an offset that walks
    y, found = np.vecdot(z, z) + 0.1 * rng.standard_normal((60, 3)), []
    for size in (1.0, unit):
        bank = Bank.start(terms, 3).begun(terms, index, np.ones(3), np.full((3, 1), size))
        for t in range(60):
            bank, outcome = bank.learn(terms, Reading(u[t], y[t], size * w[t], None, np.ones(3)))
            bank = bank.settled(terms)
        found.append(outcome.log_density)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_what_is_learned_does_not_depend_on_the_axes() -> None:
    Q = np.linalg.qr(np.random.default_rng(10).standard_normal((3, 3)))[0]
    u, y = readings(A, 25, 3, noise=1.0)
    plain, expected = learn(begun(TERMS, 3), u, y)
    rotated, found = learn(begun(TERMS, 3), u @ Q.T, y)
    np.testing.assert_allclose(estimate(rotated), Q @ estimate(plain) @ Q.T, atol=1e-4)
    np.testing.assert_allclose(found[-1].log_density, expected[-1].log_density, rtol=1e-6)


EXTREME = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, 1.0, 1e-300, -1e308, 1e200, 1e-8])
)


@given(st.lists(st.tuples(EXTREME, EXTREME, EXTREME, EXTREME), min_size=1, max_size=6), st.booleans())
def test_any_finite_readings_leave_finite_numbers(values: list[tuple[float, float, float, float]], again: bool) -> None:
    terms = Terms(2, 1, True)
    bank = begun(terms, 1)
    for first, second, y, w in values:
        factor = np.array([min(abs(w), 1e300)])
        reading = Reading(np.array([[first, second]]), np.array([y]), np.array([[w]]), factor, np.ones(1)).clipped()
        bank, outcome = bank.learn(terms, reading)
        bank = bank.settled(terms)
        assert np.isfinite(np.concatenate(outcome)).all()
    if again:
        bank = bank.restarted(terms).settled(terms)
    for value in (bank.values, bank.vectors, bank.shift, bank.noise(), bank.deviations(terms, np.ones((1, 1, 2)))):
        assert np.isfinite(value).all()
    assert (bank.values >= 0.0).all()
    assert np.isfinite(bank.filters.log_weight).all()
