"""Compiled fits against NumPy's, for the readings of whole runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from soqo.estimators import svec
from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.estimators.bayes._fits import fit_variants as numpy_fit
from soqo.estimators.bayes._row_algebra import merge_rows
from soqo.estimators.bayes.compiled import fit_variants, offset_deviation
from soqo.typing import Array


def compiled_fit(
    model: ReadingModel, posterior: Posterior, rows: Array, *, few: bool, review: bool, evidence_only: bool = False
) -> dict[str, Any]:
    """Fit the only run of a posterior by the compiled function."""
    d, m = model.dim, model.size
    known = posterior.noise[0] if posterior.readings[0] > 2 * model.unknowns else math.nan
    numbers = [
        *(posterior.readings[0], posterior.max_abs_reading[0], posterior.noise_cap[0], posterior.known_noise[0]),
        *(posterior.scale_deviation[0], known, posterior.prior_unit[0]),
        offset_deviation(posterior.log_sizes[0, 0], posterior.total_readings[0]),
    ]
    mean, root, variants = np.zeros(m), np.zeros((m, m)), posterior.variants[0].copy()
    finite, noise, scale, log_marginal = fit_variants(
        np.ascontiguousarray(rows[0]),
        rows.shape[1] if few else model.biases,
        np.array([d, model.unknowns, model.biases, model.extras, m]),
        float(model.kappa),
        model.optional_bias,
        np.array([i * (i + 3) // 2 for i in range(d)]),
        svec(posterior.prior_mean[0]),
        np.array(numbers),
        bool(posterior.level_variance[0] > 0.0) and model.extras > 0,
        review,
        evidence_only,
        variants,
        mean,
        root,
    )
    assert finite
    return {
        "mean": mean,
        "root": root,
        "noise": noise,
        "scale": scale,
        "log_marginal": log_marginal,
        "variants": variants,
    }


@pytest.mark.parametrize("base_load", [None, 0.0, 0.3])
@pytest.mark.parametrize(
    ("d", "options"),
    [
        (1, {"bias": "direction", "optional_bias": True, "offset": True}),
        (3, {"bias": "direction", "optional_bias": True, "offset": True}),
        (3, {"bias": "constant", "kappa": 3.0, "noise_cap": 2.0}),
        (2, {"bias": "none"}),
        (5, {"bias": "direction", "offset": True}),
    ],
)
def test_compiled_fits_are_those_of_numpy(d: int, options: dict[str, Any], base_load: float | None) -> None:
    model, rng = ReadingModel(d, **options), np.random.default_rng(d)
    posterior = Posterior.start(model, 1, base_load=base_load)
    A = np.diag(np.arange(1.0, d + 1.0))
    fits = 0
    for _ in range(6 * model.unknowns + 6):
        u = 5.0 * rng.standard_normal((1, d))
        posterior = posterior.update(model, u, 0.5 * np.vecdot(u @ A, u) + rng.uniform(-1.0, 1.0, 1))
        if not posterior.total_readings[0]:
            continue
        few = bool(posterior.buffer_rows[0] == posterior.total_readings[0])
        rows = posterior.buffer[:, : int(posterior.buffer_rows[0])]
        if not few:
            rows = merge_rows(posterior.factor, posterior.buffer, posterior.buffer_rows)
        review = fits % 3 == 0
        expected = numpy_fit(model, posterior.fit_input(), rows, triangular=not few, review=review)
        found = compiled_fit(model, posterior, rows, few=few, review=review)
        for name in ("noise", "scale", "log_marginal", "variants"):
            np.testing.assert_allclose(found[name], expected[name][0], rtol=1e-8, atol=1e-9)
        covariance = expected["root"][0] @ expected["root"][0].T
        size = np.sqrt(np.diagonal(covariance)) + 1e-100
        np.testing.assert_allclose(found["mean"] / size, expected["mean"][0] / size, rtol=1e-8, atol=1e-8)
        products = np.outer(size, size)
        np.testing.assert_allclose(found["root"] @ found["root"].T / products, covariance / products, atol=1e-8)
        fits += 1
    assert fits > 6 * model.unknowns


def test_the_evidence_alone_is_that_of_a_whole_fit() -> None:
    model, rng = ReadingModel(2, "direction", offset=True), np.random.default_rng(0)
    posterior = Posterior.start(model, 1, base_load=0.0)
    for _ in range(9):
        u = rng.standard_normal((1, 2))
        posterior = posterior.update(model, u, np.vecdot(u, u) + rng.uniform(-0.1, 0.1, 1))
    rows = posterior.buffer[:, : int(posterior.buffer_rows[0])]
    whole = compiled_fit(model, posterior, rows, few=True, review=True)
    alone = compiled_fit(model, posterior, rows, few=True, review=True, evidence_only=True)
    for name in ("noise", "scale", "log_marginal"):
        assert alone[name] == pytest.approx(whole[name], rel=1e-12)
    np.testing.assert_allclose(alone["variants"], whole["variants"], rtol=1e-12)
    assert whole["root"].any()
    assert not alone["mean"].any()
    assert not alone["root"].any()


def test_readings_that_overflow_are_reported() -> None:
    model = ReadingModel(1, "none")
    mean, root = np.empty(1), np.empty((1, 1))
    finite, *_ = fit_variants(
        np.array([[np.inf, 1.0]]),
        1,
        np.array([1, 1, 0, 0, 1]),
        float(model.kappa),
        False,
        np.array([0]),
        np.ones(1),
        np.array([1.0, 1.0, np.inf, np.nan, 2.3, np.nan, 1.0, 1.0]),
        False,
        True,
        False,
        np.array([1.0, 0.0, 0.0, 0.0]),
        mean,
        root,
    )
    assert not finite
