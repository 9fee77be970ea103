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
    np.testing.assert_allclose(model.features(u) @ np.concatenate([N, svec(A)]), measure(u, A) + bias_terms, rtol=1e-12)


def test_an_offset_of_the_minimizer_is_linear_in_the_features() -> None:
    model = ReadingModel(2, "constant", offset=True)
    assert (model.biases, model.extras, model.size) == (1, 2, 6)
    rng = np.random.default_rng(8)
    u, A, b = rng.standard_normal((5, 2)), smat(rng.standard_normal(3)), rng.standard_normal(2)
    # The cost of the minimizer's offset at u = 0 is part of the base load, here of the constant bias.
    unknowns = np.concatenate([[measure(b, A)], A @ b, svec(A)])
    np.testing.assert_allclose(model.features(u) @ unknowns, measure(u + b, A), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_minimizer_that_depends_on_the_context_is_linear_in_the_features(k: int) -> None:
    model = ReadingModel(2, "constant", context=k)
    assert model.extras == 2 + 2 * k + k + k * (k + 1) // 2
    rng = np.random.default_rng([9, k])
    u, w = rng.standard_normal((6, 2)), rng.standard_normal((6, k))
    A, b, G = smat(rng.standard_normal(3)), rng.standard_normal(2), rng.standard_normal((2, k))
    constant = np.atleast_1d(measure(b, A))
    terms = [constant, A @ b, (A @ G).ravel(), G.T @ A @ b, svec(G.T @ A @ G), svec(A)]
    readings = measure(u + b + w @ G.T, A)
    np.testing.assert_allclose(model.features(u, w) @ np.concatenate(terms), readings, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_deviations_of_offset_and_context_are_those_of_minimizers_three_sizes_away(k: int) -> None:
    d = 2
    model = ReadingModel(d, "none", offset=True, context=k)
    sizes = np.array([[0.7, *np.arange(2.0, 2.0 + k)], [5.0, *np.full(k, 0.1)]])
    found = model.extra_deviations(sizes)
    assert found.shape == (2, model.extras)
    for run, (size, *contexts) in enumerate(sizes):
        # For A = I the offset b has entries of three sizes of u, and G_ij w_j, for a typical w_j, as well.
        b = 3.0 * size
        G = [b / omega for omega in contexts]
        linear = [d * b * g for g in G]
        square = [d * G[i] * G[j] for i in range(k) for j in range(i + 1)]
        np.testing.assert_allclose(found[run], [*[b] * d, *G * d, *linear, *square], rtol=1e-12)


def test_without_offset_and_context_there_are_no_extra_deviations() -> None:
    assert ReadingModel(2).extra_deviations(np.ones((3, 1))).shape == (3, 0)


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
