"""The size of the noise from zero readings and from predictions."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.policies.glide._large._noise import noise_size


@pytest.mark.parametrize("first", [0.3, 6.0, 10.0])
def test_predictions_correct_an_unlucky_first_reading(first: float) -> None:
    rng = np.random.default_rng(0)
    q = rng.uniform(1.0, 40.0, 60)
    predictions = np.stack([q, 6.0 * rng.standard_normal(60) + 0.1 * q * rng.standard_normal(60)], axis=1)
    found = noise_size(np.array([1.0, first**2]), predictions, q)
    assert 3.0 < found < 12.0 or (first == 10.0 and found < 16.0)


def test_where_the_noise_does_not_matter_the_first_reading_stands() -> None:
    rng = np.random.default_rng(1)
    q = rng.uniform(1e4, 4e4, 60)
    predictions = np.stack([q, 0.3 * q * rng.standard_normal(60)], axis=1)
    assert noise_size(np.array([1.0, 16.0]), predictions, q) <= 2.0 * 1.5 * 4.0


def test_without_readings_there_is_no_noise() -> None:
    assert noise_size(np.zeros(2), np.full((5, 2), np.nan), np.zeros(0)) == 0.0
