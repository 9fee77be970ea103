"""Compiled MAP estimates against NumPy's, for the readings of whole runs."""

from __future__ import annotations

import numpy as np
import pytest

from soqo._model.spectrum import Spectrum
from soqo.estimators import smat, svec
from soqo.estimators.bayes import Posterior, ReadingModel, directional_deviations
from soqo.estimators.bayes import map_estimate as numpy_estimate
from soqo.estimators.bayes.compiled import deviation, map_estimate, to_matrix, to_vector


@pytest.mark.parametrize(("d", "rank"), [(1, 1), (2, 1), (3, 3), (4, 1), (5, 2)])
def test_compiled_estimates_are_those_of_numpy(d: int, rank: int) -> None:
    model, rng = ReadingModel(d, "direction", optional_bias=True, offset=True), np.random.default_rng(d)
    p, posterior = model.unknowns, Posterior.start(model, 1)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0][:, :rank]
    A, last = Q @ Q.T, Spectrum.of(posterior.scale[:, None, None] * posterior.prior_mean)
    for _ in range(6 * p + 4):
        u = 5.0 * rng.standard_normal((1, d))
        posterior = posterior.update(model, u, 0.5 * np.vecdot(u @ A, u) + rng.uniform(-1.0, 1.0, 1))
        expected = numpy_estimate(model, posterior, last, np.array([True]))
        values, vectors = map_estimate(
            posterior.mean[0, -p:].copy(),
            np.ascontiguousarray(posterior.root[0, -p:]),
            float(posterior.readings[0]),
            float(posterior.scale[0]),
            last.values[0].copy(),
            np.ascontiguousarray(last.vectors[0]),
        )
        matrix = expected.matrix()[0]
        np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-9 * np.abs(matrix).max())
        last = expected


def test_symmetric_matrices_become_vectors_and_back() -> None:
    M = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    vector, back = np.empty(6), np.empty((3, 3))
    to_vector(M, vector)
    to_matrix(vector, back)
    np.testing.assert_allclose(vector, svec(M), rtol=1e-15)
    np.testing.assert_allclose(back, smat(svec(M)), rtol=1e-15)


def test_deviation_of_a_direction_is_that_of_numpy() -> None:
    rng = np.random.default_rng(0)
    root, w = rng.standard_normal((6, 8)), rng.standard_normal(3)
    assert deviation(root, w) == pytest.approx(directional_deviations(root, w[None])[0], rel=1e-13)
