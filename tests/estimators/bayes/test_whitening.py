"""Rows without a base load, against generalized least squares with the covariance of a random walk."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dense_posterior import (
    BIASES,
    Bias,
    assert_close,
    contrasts,
    design,
    gram,
    learn,
    readings,
    walk_covariance,
)

from soqo.estimators.bayes import Posterior, ReadingModel


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("rho", [0.0, 0.05, 2.0])
def test_whitened_rows_have_the_normal_equations_of_generalized_least_squares(rho: float, bias: Bias) -> None:
    model = ReadingModel(2, bias)
    _, U, y = readings(51, 2, 40)
    missing = np.random.default_rng(52).random(40) < 0.3
    assert missing[:5].any()
    y[missing] = np.nan
    missing[0], y[0] = True, np.nan  # the level is still unknown after a missing reading
    # The base load takes a step with each reading.
    posterior, _ = learn(model, U, y, Posterior.start(model, 1, base_load=rho), fits=False)
    times = np.arange(float((~missing).sum()))
    X = np.column_stack([*design(model, U), y])[~missing]
    V = np.eye(len(times)) + walk_covariance(times, rho)
    ones = np.ones(len(times))
    inverse = np.linalg.inv(V)
    # The level at time zero is a coefficient with a flat prior; the best one is projected out.
    Q = inverse - inverse @ np.outer(ones, ones) @ inverse / (ones @ inverse @ ones)
    # The noise is that of the prior, one: weights differ from one by (1e-6 |u|^2)^2 / 2, at most 1e-9 here.
    assert_close(gram(posterior), X.T @ Q @ X, 1e-8)
    assert posterior.readings[0] == len(times) - 1
    # log det of the whitening is that of the contrasts.
    C = contrasts(len(times))
    assert posterior.log_jacobian[0] == pytest.approx(-0.5 * np.linalg.slogdet(C @ V @ C.T)[1], rel=1e-6)


def test_a_first_reading_near_zero_is_no_evidence_of_a_base_load() -> None:
    model = ReadingModel(2, "none")
    _, U, y = readings(53, 2, 12)
    evidence = []
    for first in (1e-3, 1e-12):
        y[0] = first  # both are far below the noise
        evidence.append(float(learn(model, U, y, Posterior.start(model, 1, base_load=0.0))[0].log_evidence[0]))
    assert evidence[1] == pytest.approx(evidence[0], abs=0.1)


@pytest.mark.parametrize("rho", [0.0, 0.4])
def test_the_level_is_the_best_linear_prediction_of_the_next_base_load(rho: float) -> None:
    model = ReadingModel(2, "none")
    _, U, y = readings(53, 2, 12)
    posterior, _ = learn(model, U, y + 7.0, Posterior.start(model, 1, base_load=rho), fits=False)
    times = np.arange(12.0)
    V, ones = np.eye(12) + walk_covariance(times, rho), np.ones(12)
    with_next = rho**2 * times  # the covariance of the walk at time 12 with those before
    inverse = np.linalg.inv(V)
    flat = 1.0 - ones @ inverse @ with_next
    best = inverse @ with_next + inverse @ ones * flat / (ones @ inverse @ ones)
    variance = rho**2 * 12.0 - with_next @ inverse @ with_next + flat**2 / (ones @ inverse @ ones)
    _, B = design(model, U)
    assert_close(posterior.level[0], best @ np.column_stack([B, y + 7.0]), 1e-8)
    assert posterior.level_variance[0] == pytest.approx(variance, rel=1e-8)
    # Given A, the base load is the level of the residuals.
    load = best @ (y + 7.0 - B @ posterior.mean[0])
    assert posterior.base_load()[0] == pytest.approx(load, rel=1e-8)
    u = np.array([[1.0, -0.5]])
    row = design(model, u)[1][0]
    expected, _, noise = posterior.predict(model.features(u))
    assert expected[0] == pytest.approx(row @ posterior.mean[0] + load, rel=1e-8)
    assert noise[0] == pytest.approx(posterior.noise[0] * math.sqrt(1.0 + variance), rel=1e-8)
