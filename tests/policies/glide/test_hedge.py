"""The gain that minimizes the expected regret over hypotheses, against a numerical minimum."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from scipy.optimize import minimize

from soqo import Plan
from soqo._model.spectrum import Spectrum
from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._hedge import hedge
from soqo.typing import Array

MODEL = ReadingModel(2, "none")


class TwoEpochs:
    """Stands for beliefs of which a second epoch has some probability in run 1 of 2."""

    owner = np.array([0, 1, 1])

    def __init__(self, A: Array, probability: float) -> None:
        self.probability = probability
        start = Posterior.start(MODEL, 3)
        u = 40.0 * np.random.default_rng(0).standard_normal((60, 2))
        for row in u:
            tiled = np.tile(row, (3, 1))
            start = start.update(MODEL, tiled, np.full(3, 0.5 * row @ A @ row))
        self.posterior = start

    def later_epochs(self, round_number: int) -> tuple[Array, Array]:
        """Return the third belief."""
        return np.array([2]), np.array([self.probability])


def gain(A: Array) -> Array:
    """Return the gain of an infinite horizon, as the limit of a long one."""
    return Plan(A, horizon=4000).gain(t=1)


def test_the_matrix_minimizes_the_expected_regret() -> None:
    old, new = np.diag([1.0, 0.3]), np.array([[6.0, 2.0], [2.0, 9.0]])
    beliefs = cast(Any, TwoEpochs(new, 0.3))
    spectrum = Spectrum.of(np.stack([np.eye(2), old]))
    found = hedge(MODEL, beliefs, spectrum, 100)
    np.testing.assert_array_equal(found.values[0], spectrum.values[0])  # the other run has no alternative
    played = gain(found.matrix()[1])
    C_old, C_new = gain(old), gain(new)

    def expected_regret(x: Array, distance: Array) -> float:
        losses = [(x - C @ distance) @ np.linalg.solve(C, x - C @ distance) for C in (C_old, C_new)]
        return 0.5 * float(np.dot([0.7, 0.3], losses))

    for distance in (np.array([1.0, 0.0]), np.array([-0.3, 2.0])):
        best = minimize(expected_regret, np.zeros(2), args=(distance,), tol=1e-12).x
        # Finite differences find the minimum to about 1e-6, and the MAP estimate is within 1e-4 of the new A.
        np.testing.assert_allclose(played @ distance, best, atol=2e-4)


def test_without_an_alternative_the_estimate_is_played() -> None:
    beliefs = Beliefs.start(MODEL, 3, base_load=True)
    spectrum = Spectrum.of(np.tile(np.eye(2), (3, 1, 1)))
    assert hedge(MODEL, beliefs, spectrum, 5) is spectrum


def test_the_probability_decides_between_the_two() -> None:
    old, new = np.diag([1.0, 0.3]), np.diag([6.0, 9.0])
    spectrum = Spectrum.of(np.stack([np.eye(2), old]))
    sizes = [
        float(np.trace(hedge(MODEL, cast(Any, TwoEpochs(new, p)), spectrum, 9).matrix()[1]))
        for p in (1e-12, 0.1, 0.5, 1.0 - 1e-12)
    ]
    assert math.isclose(sizes[0], 1.3, rel_tol=1e-6)
    assert math.isclose(sizes[-1], 15.0, rel_tol=1e-4)
    assert sizes == sorted(sizes)
