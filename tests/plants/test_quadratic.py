"""The paper's model as a plant."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.errors import ArgumentError
from soqo.plants import Quadratic


def test_steps_of_v_have_the_stated_deviation_and_readings_the_stated_noise() -> None:
    plant = Quadratic(np.eye(3), step=4.0, noise=2.0)
    conditions = plant.draw(4000, [0])
    assert np.diff(conditions.best, axis=0).std() == pytest.approx(4.0, rel=0.03)
    readings = np.array([plant.read(conditions[t], np.zeros(1))[0] for t in range(4000)])
    assert readings.std() == pytest.approx(2.0, rel=0.05)
    assert "eigenvalues from 1 to 1" in plant.describe(conditions)


def test_quadratic_names_what_is_wrong() -> None:
    with pytest.raises(ArgumentError, match="A must have shape"):
        Quadratic(np.eye(2)[None])
    with pytest.raises(ArgumentError, match="step must be"):
        Quadratic(np.eye(2), step=0.0)
