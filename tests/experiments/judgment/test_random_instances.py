"""Random instances have the rank, the spectrum and the error that they should."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.experiments.judgment._random_instances import near, random_curvature


@pytest.mark.parametrize(("rank", "sigma", "largest"), [(4, 1.0, 10.0), (3, 0.1, 1.0), (1, 0.01, 0.01)])
def test_a_curvature_has_the_eigenvalues_that_were_asked_for(rank: int, sigma: float, largest: float) -> None:
    values = np.linalg.eigvalsh(random_curvature(np.random.default_rng(0), rank, sigma))
    np.testing.assert_allclose(values[: 4 - rank], 0.0, atol=1e-12)
    np.testing.assert_allclose(values[4 - rank :], np.linspace(sigma, largest, rank) if rank > 1 else [sigma])


def test_estimates_are_positive_semidefinite_and_have_the_error_that_was_asked_for() -> None:
    full, deficient = (random_curvature(np.random.default_rng(0), rank, 0.5) for rank in (4, 2))
    errors = np.linalg.svd(near(np.random.default_rng(1), full, 0.2, 9) - full, compute_uv=False).sum(axis=1)
    np.testing.assert_allclose(errors, 0.2)
    # Where A is singular, estimates are projected, which changes the size of their errors a little.
    estimates = near(np.random.default_rng(1), deficient, 0.2, 9)
    assert np.linalg.eigvalsh(estimates).min() > -1e-12
    errors = np.linalg.svd(estimates - deficient, compute_uv=False).sum(axis=1)
    assert (np.abs(errors - 0.2) < 0.1).all()
