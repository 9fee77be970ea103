"""The compiled mixture of the variants of a fit, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from dense_posterior import fit_variant

from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.estimators.bayes._fits import VARIANTS, without_bias
from soqo.estimators.bayes._mixture import mixture as numpy_mixture
from soqo.estimators.bayes.compiled._mixture import mixture


@pytest.mark.parametrize("kappa", [0.7, 0.0])
@pytest.mark.parametrize(
    "share",
    [(1.0, 0.0, 0.0, 0.0), (0.6, 0.4, 0.0, 0.0), (0.0, 0.0, 0.3, 0.7), (0.2, 0.3, 0.1, 0.4), (0.0, 0.5, 0.5, 0.0)],
)
def test_the_mixture_is_that_of_numpy(share: tuple[float, ...], kappa: float) -> None:
    model, rng = ReadingModel(3, "direction", kappa=kappa, offset=True), np.random.default_rng(5)
    U = rng.standard_normal((1, 8, 3))
    y = 0.5 * np.vecdot(U, U) + 0.1 * rng.standard_normal((1, 8))
    posterior = Posterior.start(model, 1, base_load=0.2).update_rows(model, U, y, model.features(U[0])[None])
    rows = posterior.buffer[:, :7]
    white = without_bias(model, rows, triangular=False) if kappa else None
    fits = []
    for offset, biased in VARIANTS:
        own = white if biased else None
        fits.append(
            fit_variant(model, posterior.fit_input(), rows if own is None else own.rows, offset=offset, white=own)
        )
    shares = np.array([share])
    expected = numpy_mixture(model, fits, np.ones((1, 4), dtype=np.bool_), shares, white)
    # What has no share is not read.
    means, roots, noises = (
        np.array([np.where(share[i] > 0.0, fit[name][0], np.nan) for i, fit in enumerate(fits)])
        for name in ("mean", "root", "noise")
    )
    noises[np.isnan(noises)] = 1.0
    mean, root = np.full(model.size, np.nan), np.full((model.size, model.size), np.nan)
    whitened = rows[0] if white is None else white.rows[0]
    L = np.eye(7) if white is None else white.L[0]
    mixture(
        shares[0],
        means,
        roots,
        noises,
        np.ascontiguousarray(rows[0]),
        np.ascontiguousarray(whitened),
        L,
        7,
        kappa,
        model.extras,
        mean,
        root,
    )
    covariance = expected["root"][0] @ expected["root"][0].T
    np.testing.assert_allclose(mean, expected["mean"][0], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(root @ root.T, covariance, rtol=0.0, atol=1e-10 * np.abs(covariance).max())
