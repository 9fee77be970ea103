"""A posterior after A has changed: a multiple of A, without a direction, without all readings."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from dense_posterior import Dense, arrays, assert_close, covariance, fit, learn, learn_batch, mixed_runs, readings

from soqo.estimators._measurements import smat, svec
from soqo.estimators.bayes import (
    Posterior,
    ReadingModel,
    with_rescaled_curvature,
    without_direction,
    without_readings,
)
from soqo.typing import Array


def test_a_rescaled_posterior_is_that_of_readings_closer_to_the_minimizer() -> None:
    # 1/2 u'A u is the cost of 4 A at u / 2, so that the readings are those of 4 A there. The scale is kept.
    model = ReadingModel(3, "none")
    _, U, y = readings(80, 3, 60)
    posterior, _ = learn(model, U, y)
    rescaled = with_rescaled_curvature(posterior, model, np.array([4.0]), np.array([0.0]))
    start, s = Posterior.start(model, 1), float(posterior.scale[0])
    direct = replace(
        start,
        prior_mean=4.0 * s * start.prior_mean,
        prior_unit=4.0 * s * start.prior_unit,
        scale_deviation=np.array([1e-3]),
    )
    for k in range(60):
        direct = direct.update(model, U[k : k + 1] / 2.0, y[k : k + 1], fit=False)
    direct = fit(model, direct)
    # The weights of the rows, which depend on the noise at their time, differ by less than 1e-4.
    assert_close(rescaled.mean, direct.mean, 1e-4)
    # The noise is averaged over other points.
    assert_close(covariance(rescaled), covariance(direct), 0.02)
    assert_close(rescaled.mean, 4.0 * posterior.mean, 1e-3)
    np.testing.assert_allclose(rescaled.second_moment, direct.second_moment, rtol=1e-4)


def test_an_uncertain_factor_adds_variance_along_the_matrix_only() -> None:
    model, error = ReadingModel(3, "none"), 0.2
    _, U, y = readings(81, 3, 200)
    posterior, _ = learn(model, U, y)
    exact = with_rescaled_curvature(posterior, model, np.array([4.0]), np.array([0.0]))
    found = with_rescaled_curvature(posterior, model, np.array([4.0]), np.array([error]))
    a = 4.0 * posterior.mean[0]
    expected = covariance(exact)[0] + error**2 * np.outer(a, a)
    # The prior, whose deviation along A is of the size of A, reduces both by a few times error^2.
    assert_close(covariance(found)[0], expected, 0.2)
    assert_close(found.mean[0], exact.mean[0], 0.2)
    # A direction that is orthogonal to A in the metric of the readings keeps its precision.
    precision = np.linalg.inv(covariance(exact)[0])
    other = np.array([1.0, -1.0, 0.5, 0.0, 0.3, 0.0])
    other -= a * (a @ precision @ other) / (a @ precision @ a)
    ours, before = (float(other @ precision @ covariance(p)[0] @ precision @ other) for p in (found, exact))
    assert ours == pytest.approx(before, rel=0.05)


def test_without_a_direction_the_rest_is_known_as_well_as_before() -> None:
    # The information about the other unknowns is the Schur complement of that about all of them.
    model = ReadingModel(3, "none")
    _, U, y = readings(82, 3, 200)
    posterior = fit(model, learn(model, U, y)[0])
    w = np.array([1.0, 2.0, -1.0]) / math.sqrt(6.0)
    forgotten = without_direction(posterior, model, w[None])
    information = np.square(posterior.factor[0, :-1, :-1]).sum()  # the scale of what is left by round-off
    R = forgotten.factor[0, :, :-1]
    along = np.array([svec(0.5 * (np.outer(w, e) + np.outer(e, w))) for e in np.eye(3)])
    assert np.abs(R @ along.T).max() < 1e-12 * math.sqrt(information)
    rest = np.linalg.svd(along)[2][3:]  # a basis of the matrices Z with Z w = 0
    full = posterior.factor[0, :-1, :-1].T @ posterior.factor[0, :-1, :-1]
    schur = full - full @ along.T @ np.linalg.solve(along @ full @ along.T, along @ full)
    np.testing.assert_allclose(rest @ R.T @ R @ rest.T, rest @ schur @ rest.T, rtol=1e-9, atol=1e-9 * information)
    # Hence the marginal distribution of z'A z for z orthogonal to w stays as it is, up to the prior.
    z = np.linalg.svd(w[None])[2][1:]
    assert_close(forgotten.deviations(z[None]), posterior.deviations(z[None]), 0.1)
    A, before = smat(forgotten.mean[0]), smat(posterior.mean[0])
    assert_close(z @ A @ z.T, z @ before @ z.T, 0.01)
    assert forgotten.deviations(w[None, None]).item() > 20.0 * posterior.deviations(w[None, None]).item()


@pytest.mark.parametrize("n", [2, 6])
def test_without_readings_only_a_new_prior_counts(n: int, grids: list[Array]) -> None:
    model = ReadingModel(2, "direction")
    _, U, y = readings(22, 2, 25, size=5.0)
    old, _ = learn(model, U, y)
    matrix = np.array([[2.0, 0.3], [0.3, 0.1]])
    prior = {"prior_mean": matrix[None], "prior_unit": old.scale}
    restarted = replace(without_readings(old, np.array([True])), **prior)
    _, U, y = readings(23, 2, n)
    new, weights = learn(model, U, y, restarted)
    Dense(model, U, y, weights, grids[-1], center=matrix, unit=float(old.scale[0])).assert_agrees_with(new)
    # A posterior with the same prior that never had the old readings is bit-identical.
    fresh = replace(Posterior.start(model, 1), **prior)
    assert arrays(learn(model, U, y, fresh)[0], 0) == arrays(new, 0)


def test_readings_are_forgotten_in_some_runs_only() -> None:
    model = ReadingModel(2, "direction")
    U, y = mixed_runs(1, 3, 30)
    posterior = learn_batch(model, U, y)
    after = without_readings(posterior, np.array([False, True, False]))
    assert arrays(after, 0) == arrays(posterior, 0)
    assert arrays(after, 2) == arrays(posterior, 2)
    for name in ("factor", "buffer", "buffer_rows", "readings", "max_abs_reading", "second_moment"):
        np.testing.assert_array_equal(getattr(after, name)[1], 0.0, err_msg=name)
