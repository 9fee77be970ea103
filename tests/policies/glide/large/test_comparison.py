"""Weights of estimates by their errors."""

from __future__ import annotations

import math

import numpy as np

from soqo.policies.glide._large._comparison import forget, luck, mean_square, median_square, predictions, push, weight
from soqo.policies.glide._large._stream import ESTIMATES


def errors(**sizes: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    found = np.full((20, len(ESTIMATES) + 1), np.nan)
    for _ in range(6):
        found = push(found, sizes)
    return found


def test_a_weight_is_the_ratio_of_the_errors_to_a_power() -> None:
    found = errors(soft=2.0, sharp=1.0)
    odds = (4.0 / 1.0) ** (6 / 2)
    assert math.isclose(weight(found, "sharp", "soft", 12), odds / (1.0 + odds))
    assert math.isclose(weight(found, "sharp", "soft", 12, handicap=math.log(odds)), 0.5)
    assert weight(errors(soft=2.0), "sharp", "soft", 12) == 0.5


def test_errors_are_counted_and_forgotten() -> None:
    found = push(errors(soft=2.0, sharp=1.0), {"soft": 10.0})
    assert predictions(found, "soft") == 7
    assert predictions(found, "sharp") == 6
    assert math.isclose(mean_square(found, "soft", 20), (6 * 4.0 + 100.0) / 7)
    assert median_square(found, "soft", 20) == 4.0
    assert predictions(forget(found, "soft"), "soft") == 0
    assert math.isnan(mean_square(forget(found, "soft"), "soft", 20))


def test_an_error_below_the_noise_is_luck() -> None:
    empty = np.full((20, len(ESTIMATES) + 1), np.nan)
    new = {"sharp": 0.01, "soft": 3.0}
    assert weight(push(empty, new), "sharp", "soft", 12, handicap=3.0) > 0.9
    assert weight(push(empty, new), "sharp", "soft", 12, noise=6.0) == 0.5


def test_a_flat_estimate_that_predicts_most_readings_far_worse_is_refuted() -> None:
    assert luck(errors(flat=3.0, soft=2.0), 6.0) == 6.0
    assert luck(errors(flat=9.0, soft=2.0), 6.0) is None
    assert luck(errors(soft=2.0), 6.0) == 6.0
