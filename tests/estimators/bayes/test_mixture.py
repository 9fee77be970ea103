"""The mixture of the variants, against dense mixtures of all unknowns."""

from __future__ import annotations

import numpy as np
import pytest
from dense_posterior import fit_variant, learn, only_variant, readings

from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.estimators.bayes._fits import VARIANTS, without_bias
from soqo.estimators.bayes._mixture import mixture
from soqo.typing import Array

SHARES = [
    [1.0, 0.0, 0.0, 0.0],
    [0.6, 0.4, 0.0, 0.0],
    [0.0, 0.0, 0.3, 0.7],
    [0.2, 0.3, 0.1, 0.4],
    [0.0, 0.5, 0.5, 0.0],
    [0.0, 1.0, 0.0, 0.0],
]


def posterior_and_rows(model: ReadingModel) -> tuple[Posterior, Array]:
    """Return a posterior after some readings without a fit, and its rows."""
    _, U, y = readings(60, model.dim, 9)
    posterior, _ = learn(model, U, y, Posterior.start(model, 1, base_load=0.2), fits=False)
    return posterior, posterior.buffer[:, : int(posterior.buffer_rows[0])]


@pytest.mark.parametrize("wanted", ["all", "those with a share"])
def test_the_mixture_has_the_moments_of_all_variants(wanted: str) -> None:
    model = ReadingModel(2, "direction", kappa=0.7, offset=True)
    posterior, rows = posterior_and_rows(model)
    dense = [
        only_variant(model, posterior, rows, triangular=False, offset=offset, biased=biased)
        for offset, biased in VARIANTS
    ]
    means = np.array([found["mean"][0] for found in dense])
    covariances = np.array([(found["root"] @ found["root"].mT)[0] for found in dense])
    scales = np.array([found["scale"][0] for found in dense])
    # One batch for all cases: a run must not depend on the others.
    shares = np.array(SHARES)
    chosen = shares > 0.0 if wanted == "those with a share" else np.ones(shares.shape, dtype=np.bool_)
    white = without_bias(model, rows, triangular=False).take(np.zeros(len(shares), dtype=np.int64))
    fits = []
    for index, (offset, biased) in enumerate(VARIANTS):
        runs = np.zeros(chosen[:, index].sum(), dtype=np.int64)
        own = white.take(runs) if biased else None
        part = posterior.take(runs)
        fits.append(
            fit_variant(model, part.fit_input(), rows[runs] if own is None else own.rows, offset=offset, white=own)
        )
    found = mixture(model, fits, chosen, shares, white)
    for k, share in enumerate(shares):
        mean = share @ means
        covariance = np.tensordot(share, covariances, 1) + np.einsum("v,vi,vj", share, means - mean, means - mean)
        size = np.abs(covariance).max()
        np.testing.assert_allclose(found["mean"][k], mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found["root"][k] @ found["root"][k].T, covariance, rtol=0.0, atol=1e-9 * size)
        assert found["scale"][k] == pytest.approx(share @ scales, rel=1e-12)


def test_a_model_without_bias_has_the_mixture_of_offsets_alone() -> None:
    model = ReadingModel(2, "none", offset=True)
    posterior, rows = posterior_and_rows(model)
    fits = [fit_variant(model, posterior.fit_input(), rows, offset=offset) for offset in (False, True)]
    share = np.array([[0.25, 0.75, 0.0, 0.0]])
    found = mixture(model, [*fits, {}, {}], share > 0.0, share, None)
    np.testing.assert_allclose(found["mean"], 0.25 * fits[0]["mean"] + 0.75 * fits[1]["mean"], rtol=1e-12)
    assert found["root"].shape == (1, model.size, model.size)
