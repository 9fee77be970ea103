"""One row of a least-squares problem against dense algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dense_posterior import BIASES, Bias, arbitrary_posterior, assert_close, bayes, covariance, design
from scipy import stats

from soqo.estimators.bayes import ReadingModel


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
