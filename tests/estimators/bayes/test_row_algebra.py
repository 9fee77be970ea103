"""One row of a least-squares problem against dense algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dense_posterior import BIASES, Bias, arbitrary_posterior, assert_close, bayes, covariance, design
from scipy import stats

from soqo.estimators.bayes import ReadingModel
from soqo.estimators.bayes._row_algebra import merge_rows, overwrite


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weight", [1.0, 0.2])
def test_a_potter_step_is_the_dense_update(bias: Bias, weight: float) -> None:
    model = ReadingModel(2, bias)
    posterior = arbitrary_posterior(model, 0)
    u, y = np.array([[0.4, -1.2]]), np.array([2.5])
    row = weight * np.concatenate(design(model, u), axis=1)
    whole = np.column_stack([model.features(u), y])
    after = posterior._potter_step(model, whole, np.array([weight]))
    mean, P = bayes(posterior.mean[0], covariance(posterior)[0], row, weight * y, 0.3)
    # One division by the variance: round-off only.
    assert_close(after.mean[0], mean, 1e-12)
    assert_close(covariance(after)[0], P, 1e-12)
    predicted = row[0] @ posterior.mean[0] / weight
    deviation = math.sqrt(row[0] @ covariance(posterior)[0] @ row[0] + 0.09) / weight
    assert after.log_evidence == pytest.approx(stats.norm.logpdf(y, predicted, deviation), rel=1e-12)


def test_a_step_before_a_fit_has_the_evidence_only() -> None:
    model = ReadingModel(2)
    posterior = arbitrary_posterior(model, 0).take(np.zeros(3, dtype=np.int64))
    u, y = np.array([[0.4, -1.2], [1.0, 0.5], [-2.0, 0.1]]), np.array([2.5, 0.3, 4.0])
    whole, weight = np.column_stack([model.features(u), y]), np.ones(3)
    every = posterior._potter_step(model, whole, weight)
    some = posterior._potter_step(model, whole, weight, np.array([0, 2]), np.array([False, False, True]))
    np.testing.assert_array_equal(some.mean, [every.mean[0], *posterior.mean[1:]])
    np.testing.assert_array_equal(some.root, [every.root[0], *posterior.root[1:]])
    expected = [every.log_evidence[0], posterior.log_evidence[1], every.log_evidence[2]]
    np.testing.assert_array_equal(some.log_evidence, expected)


def test_buffers_of_any_number_of_rows_become_part_of_the_factor() -> None:
    rng, counts = np.random.default_rng(5), np.array([0, 1, 2, 7, 8, 9, 16, 17, 20])
    factor = np.triu(rng.standard_normal((counts.size, 6, 6)))
    buffer = rng.standard_normal((counts.size, 20, 6)) * (np.arange(20) < counts[:, None])[:, :, None]
    merged = merge_rows(factor, buffer, counts)
    np.testing.assert_allclose(merged, np.triu(merged))
    gram = factor.mT @ factor + buffer.mT @ buffer
    np.testing.assert_allclose(merged.mT @ merged, gram, rtol=0.0, atol=1e-12 * np.abs(gram).max())
    for run in range(counts.size):  # a run does not depend on the others
        alone = merge_rows(factor[run : run + 1], buffer[run : run + 1], counts[run : run + 1])
        np.testing.assert_array_equal(alone[0], merged[run])


def test_only_arrays_that_are_used_elsewhere_are_copied() -> None:
    values, runs, new = np.zeros((3, 2)), np.array([1]), np.ones((1, 2))
    assert overwrite(values, runs, new) is not values
    assert not values.any()
    assert overwrite(values, runs, new, shared=values[1:]) is not values
    constant = np.broadcast_to(0.0, (3, 2))
    np.testing.assert_array_equal(overwrite(constant, runs, new, shared=values), [[0, 0], [1, 1], [0, 0]])
    assert overwrite(values, runs, new, shared=np.zeros((3, 2))) is values
    np.testing.assert_array_equal(values, [[0, 0], [1, 1], [0, 0]])
