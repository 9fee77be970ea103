"""The features of a reading: which readings are linear in them, and how they change with the units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo.estimators import smat
from soqo.estimators.bayes import PLAIN, STRUCTURES, Reading, Terms
from soqo.typing import Array

N = 400


class Plant:
    """A plant whose minimizer is v - b - M w, with a base load that is not multiplied by the factor."""

    def __init__(self, d: int, context: int, *, load: bool = True, offset: bool = True) -> None:
        rng = np.random.default_rng([d, context])
        F = rng.standard_normal((d, d))
        self.A, self.load = F @ F.T, 3.0 * load
        self.b, self.M = offset * rng.standard_normal(d), offset * rng.standard_normal((d, context))
        self.u, self.w = rng.standard_normal((N, d)), rng.standard_normal((N, context))
        self.factor = rng.uniform(0.5, 2.0, N)

    def reading(self, terms: Terms) -> Reading:
        """Return readings without noise."""
        w, factor = (self.w if terms.context else None), (self.factor if terms.factor else None)
        z = self.u + self.b + self.w @ self.M.T
        hitting = 0.5 * np.vecdot(z, z @ self.A) * (1.0 if factor is None else factor)
        return Reading(self.u, self.load + hitting, w, factor, np.ones(N))


def solve(features: Array, y: Array) -> tuple[Array, float]:
    """Return the coefficients of readings, and the largest error."""
    theta, *_, rank, _ = np.linalg.lstsq(features, y)
    assert rank == features.shape[1]
    return np.asarray(theta, dtype=np.float64), float(np.abs(features @ theta - y).max())


@pytest.mark.parametrize("factor", [False, True])
@pytest.mark.parametrize("context", [0, 1, 2])
@pytest.mark.parametrize("d", [1, 3])
def test_readings_with_an_offset_a_context_and_a_factor_are_linear_in_their_features(
    d: int, context: int, factor: bool
) -> None:
    terms, plant = Terms(d, context, factor), Plant(d, context)
    reading = plant.reading(terms)
    features = terms.features(reading)
    assert features.shape == (N, terms.size)
    theta, error = solve(features, reading.y)
    assert error < 1e-10
    np.testing.assert_allclose(smat(theta[terms.extras :]), plant.A, atol=1e-9)
    # The linear terms are g = A b, and A M for a minimizer that depends on the context.
    g = theta[terms.extras - d * (1 + context) : terms.extras]
    np.testing.assert_allclose(g[terms.offset_columns(0)], plant.A @ plant.b, atol=1e-9)
    for entry in range(context):
        np.testing.assert_allclose(g[terms.offset_columns(entry + 1)], plant.A @ plant.M[:, entry], atol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
def test_a_structure_has_the_columns_that_its_plants_need(structure: Any) -> None:
    terms = Terms(3, 0, True)
    exist = np.append(terms.exist(structure) > 0.0, np.ones(terms.size - terms.extras, dtype=np.bool_))
    needed, more = Plant(3, 0, load=structure.load, offset=structure.offset), Plant(3, 0)
    _, error = solve(terms.features(needed.reading(terms))[:, exist], needed.reading(terms).y)
    assert error < 1e-10
    _, error = solve(terms.features(more.reading(terms))[:, exist], more.reading(terms).y)
    assert (error < 1e-10) == structure.offset  # those with an offset explain everything


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
def test_a_base_load_depends_on_the_regressors_in_the_structures_that_say_so(structure: Any) -> None:
    terms, plain = Terms(3, 1, True, regressors=4), Terms(3, 1, True)
    deviations = terms.exist(structure)
    assert (deviations[terms.walking :] > 0.0).tolist() == 4 * [structure.regressors]
    np.testing.assert_array_equal(deviations[: terms.walking], plain.exist(structure))
    # What the regressors do is no feature of a reading: the base load itself moves between two readings.
    reading = Plant(3, 1).reading(terms)
    features = terms.features(reading._replace(z=np.ones((N, 4))))
    assert not features[:, terms.walking : terms.extras].any()


def test_without_offsets_no_hypothesis_has_one() -> None:
    found = Terms(2, offset=False, regressors=3).structures
    assert all(not one.offset and one == STRUCTURES[k] for k, one in found)
    assert sum(one.load for _, one in found) > 1
    assert len(Terms(2, regressors=3).structures) == len(STRUCTURES) > len(found)
    assert PLAIN in dict(found).values()


def test_without_regressors_no_hypothesis_has_a_base_load_that_depends_on_them() -> None:
    found = dict(Terms(2).structures)
    assert found == {k: one for k, one in enumerate(STRUCTURES) if not one.regressors}
    assert 0 < len(found) < len(STRUCTURES)


def test_the_prior_of_each_term_of_a_reading_does_not_depend_on_the_units() -> None:
    terms, plant = Terms(3, 2, True), Plant(3, 2)
    reading = plant.reading(terms)
    other = reading._replace(u=8.0 * reading.u, w=plant.w * [4.0, 0.5])
    size, context = np.array([1.5]), np.array([[1.0, 3.0]])
    contribution = terms.features(reading)[:, : terms.extras] * terms.deviations(size, context)
    scaled = terms.features(other)[:, : terms.extras] * terms.deviations(8.0 * size, context * [4.0, 0.5])
    np.testing.assert_allclose(scaled, 64.0 * contribution, rtol=1e-12)  # costs are squares of lengths


def test_a_round_without_a_context_has_the_context_zero() -> None:
    terms, reading = Terms(2, 2), Plant(2, 2).reading(Terms(2))
    zero = reading._replace(w=np.zeros((N, 2)))
    np.testing.assert_array_equal(terms.features(reading), terms.features(zero))


def test_readings_are_scaled_down_before_their_squares_overflow_and_keep_their_matrix() -> None:
    A = np.diag([2.0, 0.5])
    u = np.array([[1e30, -1e29], [1e2, 3.0], [1e80, 0.0]])
    reading = Reading(
        u, 0.5 * np.vecdot(u, u @ A), np.array([[1e300]] * 3), np.array([1.0, 2.0, 1e300]), np.full(3, 1.0)
    )
    found = reading.clipped()
    np.testing.assert_allclose(found.y, 0.5 * np.vecdot(found.u, found.u @ A), rtol=1e-12)
    np.testing.assert_array_equal(found.u[1], u[1])
    assert np.isfinite(np.square(Terms(2, 1, True).features(found))).all()
