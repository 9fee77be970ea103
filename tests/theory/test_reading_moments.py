"""Moments of readings: the quadrature against samples, and samples against closed forms, by kappa."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from soqo import processes
from soqo.processes import Process
from soqo.theory import learning_constant
from soqo.typing import Array

A = np.array([[1.0, 0.2], [0.2, 0.4]])
ROOT = np.array([[5.0, 0.0], [1.0, 3.0]])


@dataclass(frozen=True)
class Sampled(Process):
    """Normal steps that do not say so, so that moments are sampled."""

    @property
    def is_martingale(self) -> bool:
        return True

    def covariance(self, dim: int) -> Array:
        return np.asarray(ROOT @ ROOT.T)

    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        return np.asarray(rng.standard_normal((horizon, dim)) @ ROOT.T)


@pytest.mark.parametrize(
    "unknown", [(), ("base_load",), ("offset",), ("direction_bias",), ("offset", "direction_bias")], ids=str
)
def test_sampled_moments_agree_with_closed_forms(unknown: tuple[str, ...]) -> None:
    exact = learning_constant(A, processes.Gaussian(ROOT), 3.0, unknown=unknown)
    sampled = learning_constant(A, Sampled(), 3.0, unknown=unknown, samples=600_000)
    assert exact.standard_error == 0.0
    assert 0.0 < sampled.standard_error < 0.01 * sampled.kappa
    assert abs(sampled.kappa - exact.kappa) < 4.0 * sampled.standard_error
    np.testing.assert_allclose(sampled.information, exact.information, rtol=0.05, atol=0.02 * exact.information.max())


def test_the_standard_error_is_that_of_repetitions() -> None:
    found = [learning_constant(A, Sampled(), 3.0, samples=40_000, seed=seed) for seed in range(24)]
    spread = np.std([each.kappa for each in found], ddof=1)
    assert spread == pytest.approx(np.mean([each.standard_error for each in found]), rel=0.4)


def test_heavier_tails_carry_more_information_at_the_same_covariance() -> None:
    laplace = learning_constant(A, processes.Laplace(5.0 / np.sqrt(2.0)), 3.0)
    normal = learning_constant(A, processes.Gaussian(5.0), 3.0)
    assert laplace.kappa < 0.85 * normal.kappa


def test_nuisance_parameters_cost_what_the_schur_complement_says() -> None:
    # A constant: F - m m' with m = E[phi], by hand in one dimension: E[phi^2] - E[phi]^2 = 3/4 U^2 - 1/4 U^2.
    known, unknown = (learning_constant([[0.7]], 9.0, 1.0, unknown=terms).kappa for terms in ((), ("base_load",)))
    assert unknown == pytest.approx(1.5 * known, rel=1e-12)
    # In one dimension a bias of the direction is a constant.
    assert learning_constant([[0.7]], 9.0, 1.0, unknown=("direction_bias",)).kappa == pytest.approx(unknown, rel=1e-6)
