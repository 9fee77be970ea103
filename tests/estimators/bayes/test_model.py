"""The linear model of a reading, and the clipping of inputs whose fourth powers would overflow."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from soqo.estimators._measurements import measure, smat, svec
from soqo.estimators.bayes import ReadingModel, clip_inputs


@pytest.mark.parametrize(("bias", "q"), [("direction", 6), ("constant", 1), ("none", 0)])
def test_features_times_the_unknowns_are_the_reading(bias: Literal["direction", "constant", "none"], q: int) -> None:
    model = ReadingModel(3, bias)
    assert (model.unknowns, model.biases) == (6, q)
    rng = np.random.default_rng(7)
    u, A, N = rng.standard_normal((5, 3)), smat(rng.standard_normal(6)), rng.standard_normal(q)
    bias_terms = {
        "direction": 2.0 * measure(u, smat(np.resize(N, 6))) / np.vecdot(u, u),
        "constant": np.full(5, N.sum()),
        "none": np.zeros(5),
    }[bias]
    # Products of numbers near one lose the last few digits only.
    np.testing.assert_allclose(model.features(u) @ np.concatenate([svec(A), N]), measure(u, A) + bias_terms, rtol=1e-12)


def test_the_features_of_u_zero_are_zero() -> None:
    np.testing.assert_array_equal(ReadingModel(3).features(np.zeros((1, 3))), 0.0)


def test_ordinary_readings_are_not_clipped() -> None:
    u, y = np.array([[3.0, -1e20], [0.0, 1e-300]]), np.array([1e40, np.nan])
    scaled, reading = clip_inputs(u, y)
    np.testing.assert_array_equal(scaled, u)
    np.testing.assert_array_equal(reading, y)


def test_readings_at_huge_u_are_scaled_along_the_parabola() -> None:
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    u = np.array([[1e150, -3e150], [1e40, 1e30]])
    scaled, reading = clip_inputs(u, measure(u, A))
    np.testing.assert_allclose(scaled[:, 0] / scaled[:, 1], u[:, 0] / u[:, 1], rtol=1e-12)
    np.testing.assert_allclose(reading, measure(scaled, A), rtol=1e-12)
    assert np.isfinite(np.vecdot(scaled, scaled) ** 2).all()
    _, clipped = clip_inputs(np.ones((2, 1)), np.array([1e300, -1e300]))
    np.testing.assert_array_equal(clipped, [1e60, -1e60])
