"""The fit of A to a plant."""

from __future__ import annotations

import numpy as np

from soqo import random_curvature
from soqo.plants import DataCenter, Quadratic, fit_curvature


def test_fit_of_a_quadratic_plant_is_its_curvature() -> None:
    A = random_curvature(3, 3, min_eigenvalue=0.2, max_eigenvalue=2.0, rng=0)
    plant = Quadratic(A)
    fit = fit_curvature(plant, plant.draw(20, [0, 1]))
    np.testing.assert_allclose(fit.mean, A, rtol=1e-9)
    assert len(fit.levels) == 1
    assert fit.explained > 1.0 - 1e-12


def test_fit_of_a_data_center_is_near_the_mean_hessian_and_grows_with_the_load() -> None:
    center = DataCenter()
    conditions = center.draw(300, [0])
    fit = fit_curvature(center, conditions)
    power = conditions.physics["power"][:, 0]
    hessian = center.cost.derivatives(conditions.best[:, 0], power)[1].mean(axis=0)
    assert np.linalg.norm(fit.mean - hessian) < 0.35 * np.linalg.norm(hessian)  # the cost is not quadratic
    traces = np.trace(fit.tables, axis1=1, axis2=2)
    assert (np.diff(fit.levels) > 0.0).all()
    assert traces[-1] > 1.2 * traces[0]
