"""Shapes and scales of A from readings."""

from __future__ import annotations

import numpy as np

from soqo.estimators.lowrank import PRIOR_SCALE, bases


def test_shapes_are_large_where_the_places_are_small() -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((400, 3)) * [1.0, 1.0, 10.0]
    shapes = bases(Z, np.ones(400), 1.0)
    for shape in (shapes.cautious, shapes.bold):
        np.testing.assert_allclose(np.trace(shape), 3.0)
        assert shape[0, 0] > shape[2, 2] > 0.0
    assert shapes.bold[2, 2] < shapes.cautious[2, 2]


def test_the_scale_of_a_multiple_of_the_shape_is_found() -> None:
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((300, 4))
    shape = bases(Z, np.ones(300), 1e-3).cautious
    y = 0.5 * 0.7 * np.einsum("ij,jk,ik->i", Z, shape, Z)
    found = bases(Z, y, 1e-3)
    np.testing.assert_allclose(found.cautious_scale, 0.7, rtol=1e-3)


def test_readings_that_are_noise_leave_the_prior_scale() -> None:
    rng = np.random.default_rng(2)
    Z = 1e-3 * rng.standard_normal((20, 4))
    np.testing.assert_allclose(bases(Z, rng.standard_normal(20), 1.0).cautious_scale, PRIOR_SCALE, rtol=1e-3)
