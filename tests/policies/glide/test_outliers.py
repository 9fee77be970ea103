"""Densities of wrong, negative and one-sided readings against numerical integrals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.policies.glide._outliers import (
    gain_of_readings,
    log_correct_again,
    log_first_wrong,
    log_next_wrong,
    log_rarity,
    log_tail,
    negative_penalty,
    one_sided,
)


@pytest.mark.parametrize(("mean", "variance", "noise", "limit"), [(1.0, 4.0, 0.5, 2.0), (0.2, 0.3, 1.0, 0.1)])
def test_a_one_sided_reading_has_the_moments_of_the_truncated_posterior(
    mean: float, variance: float, noise: float, limit: float
) -> None:
    arrays = (np.array([value]) for value in (limit, mean, variance, noise))
    reading, precision, log_probability = one_sided(*arrays)

    def weight(f: float) -> float:
        return float(stats.norm.pdf(f, mean, np.sqrt(variance)) * stats.norm.sf(limit, f, noise))

    low, high = mean - 12.0 * np.sqrt(variance), mean + 12.0 * np.sqrt(variance)
    total, first, second = (quad(lambda f, k=k: f**k * weight(f), low, high, limit=200)[0] for k in (0, 1, 2))
    assert np.exp(log_probability[0]) == pytest.approx(total, rel=1e-6)
    # The update by a normal reading of this value and precision.
    gain = variance / (variance + noise**2 / precision[0])
    assert mean + gain * (reading[0] - mean) == pytest.approx(first / total, rel=1e-6)
    assert variance * (1.0 - gain) == pytest.approx(second / total - (first / total) ** 2, rel=1e-6)


def test_the_gain_is_known_where_the_expected_reading_is() -> None:
    y, mean = np.array([50.0, 50.0, -5.0, np.nan]), np.array([5.0, 0.1, 5.0, 5.0])
    gain, error = gain_of_readings(y, mean, np.full(4, 0.5), np.array([False, False, False, False]))
    np.testing.assert_array_equal(gain, [10.0, np.nan, -1.0, np.nan])
    np.testing.assert_allclose(error[[0, 2]], 0.1)
    diffuse = gain_of_readings(y[:1], mean[:1], np.ones(1), np.array([True]))
    assert np.isnan(diffuse[0][0])


def test_only_negative_readings_are_penalized() -> None:
    model = ReadingModel(1, "none")
    posterior = Posterior.start(model, 1)
    for u in (1.0, 2.0, 3.0, 4.0):
        posterior = posterior.update(model, np.array([[u]]), np.array([0.5 * u * u + 0.1]))
    density = np.array([0.0])
    assert negative_penalty(model, posterior, np.array([5.0]), density)[0] == 0.0
    small, large = (negative_penalty(model, posterior, np.array([y]), density)[0] for y in (-1.0, -1e3))
    assert large < small <= 0.0


def test_the_rate_of_wrong_readings_is_learned() -> None:
    age, rejected = np.array([3.0, 1e5, 1e5, 1e6]), np.array([0.0, 0.0, 200.0, 20_000.0])
    rate = np.exp(log_first_wrong(age, age, rejected, 3))
    assert rate[1] < rate[0] / 20.0
    np.testing.assert_allclose(rate[2:], rejected[2:] / age[2:], rtol=0.05)


def test_bursts_become_rarer_as_changes_do_whatever_single_readings_were_rejected() -> None:
    # So the odds of a change against a burst by the same factor do not depend on the length of a quiet run.
    age, rejected = (grid.ravel() for grid in np.meshgrid([10.0, 1e3, 1e5], [0.0, 5.0, 200.0]))
    burst = log_first_wrong(age, age, rejected, 3) + log_next_wrong(np.ones(9), rejected + 1.0)
    odds = log_rarity(age) - burst
    np.testing.assert_allclose(odds, odds[0], rtol=1e-12)
    longer = log_next_wrong(np.full(9, 2.0), rejected + 2.0)
    np.testing.assert_allclose(longer, longer[0])  # the third reading of a burst


def test_after_many_single_wrong_readings_the_next_one_is_correct() -> None:
    few, many = (log_correct_again(log_next_wrong(np.ones(1), np.full(1, n)))[0] for n in (1.0, 1e4))
    assert few < -0.5
    assert many == pytest.approx(0.0, abs=1e-3)


def test_rejected_readings_say_how_probable_the_tails_of_the_noise_are() -> None:
    def more(z: float, rejected: float) -> float:
        return float(log_tail(np.array([z * z]), np.array([rejected]))[0])

    assert more(6.0, 0.0) == 0.0
    assert more(3.9, 1e9) == 0.0
    assert 0.0 < more(5.0, 3.0) < more(5.0, 300.0)
    # The density of wrong readings of any size is 1 / (40 |z|). What is added to it is a density too, and as good as
    # none where a change of A is what one looks for.
    added = quad(lambda z: 2.0 * np.expm1(more(z, 1e12)) / (40.0 * z), 4.0 + 1e-9, np.inf)[0]
    assert added == pytest.approx(1.0, rel=1e-6)
    assert more(50.0, 1e12) < 1e-3
