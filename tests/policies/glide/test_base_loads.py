"""Which base loads are compared by fits, and what residuals say before that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import soqo.policies.glide._base_loads as base_loads
from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.policies.glide._base_loads import SPEEDS, add_base_loads, residual_gain
from soqo.policies.glide._beliefs import Beliefs, Rows
from soqo.typing import Array

MODEL = ReadingModel(2, "direction", offset=True, optional_bias=True)
CURVATURE = np.diag([2.0, 0.5])


def readings(load: Array, offset: tuple[float, float] = (0.0, 0.0), seed: int = 0, size: float = 5.0) -> Rows:
    """Return readings of one run with this base load in each, noise of deviation one, and a minimizer at -offset."""
    rng, n = np.random.default_rng(seed), load.size
    u = size * rng.standard_normal((1, n, 2))
    z = u + np.array(offset)
    y = 0.5 * np.einsum("rni,ij,rnj->rn", z, CURVATURE, z) + load + rng.standard_normal((1, n))
    return Rows(u, np.zeros((1, n, 0)), np.ones((1, n)), y)


def fitted(rows: Rows, base_load: float | None = None) -> Posterior:
    """Return the posterior of all readings with this base load."""
    return rows.learned(MODEL, Posterior.start(MODEL, 1, base_load=base_load)).fit_all(MODEL)


def walk(size: float, n: int, seed: int = 1) -> Array:
    return size * np.random.default_rng(seed).standard_normal(n).cumsum()


@pytest.mark.parametrize("seed", range(4))
def test_residuals_without_a_base_load_exclude_one(seed: int) -> None:
    rows = readings(np.zeros(60), seed=seed)
    assert residual_gain(MODEL, fitted(rows), rows)[0] < base_loads.RESIDUAL_NATS


@pytest.mark.parametrize(
    ("load", "offset"),
    [
        (np.full(60, 12.0), (0.0, 0.0)),
        (np.full(60, 12.0), (2.0, -1.0)),  # without the columns of an offset, the constant would be hidden
        (walk(1.5, 60), (0.0, 0.0)),
        (walk(8.0, 60), (1.0, 1.0)),
    ],
)
def test_residuals_show_base_loads_that_the_fits_support(load: Array, offset: tuple[float, float]) -> None:
    rows = readings(load, offset)
    evidence = {rho: fitted(rows, rho).log_evidence[0] for rho in (None, 0.0, *SPEEDS)}
    assert max(value for rho, value in evidence.items() if rho is not None) > evidence[None] + 8.0
    assert residual_gain(MODEL, fitted(rows), rows)[0] > base_loads.RESIDUAL_NATS


def test_the_gain_of_residuals_is_that_of_dense_covariances() -> None:
    # With A as it is, the likelihood of each base load by its covariance matrix, for the columns that fit best.
    rows = readings(walk(1.0, 20))
    posterior = fitted(rows)
    u, y, n = rows.u[0], rows.y[0], 20
    features = MODEL.features(u)
    signal, bias = features[:, -3:] @ posterior.mean[0, -3:], features[:, :3] @ posterior.mean[0, :3]
    length, sigma = np.square(u).sum(axis=1), posterior.noise[0]
    square = np.square(y - signal - bias).sum() + np.square(posterior.mean[0, :3]).sum()
    none = -0.5 * n * math.log(2.0 * math.pi * sigma**2) - 0.5 * square / sigma**2 + math.log(0.9)
    likelihoods = []
    for rho in (0.0, *SPEEDS):
        time = np.arange(1, n)
        # Differences to the first reading, in which a constant base load is gone.
        covariance = np.eye(n - 1) + 1.0 + rho**2 * np.minimum(time[:, None], time)
        for columns in ([], [signal, length], [signal, length, *u.T]):
            X, r = np.array([c[1:] - c[0] for c in columns]).T, (y - signal)[1:] - (y - signal)[0]
            L = np.linalg.cholesky(covariance)
            white = np.linalg.solve(L, r)
            if columns:
                design = np.linalg.solve(L, X)
                white = white - design @ np.linalg.lstsq(design, white)[0]
            k, logdet = len(columns), 2.0 * np.log(np.diag(L)).sum()
            value = -0.5 * ((n - 1) * (math.log(2.0 * math.pi * white @ white / (n - 1)) + 1.0) + logdet)
            prior = math.log(0.08 if rho == 0.0 else 0.02)
            first = -math.log(40.0) - math.log(max(abs(y[0]), sigma))
            likelihoods.append(value - 0.5 * k * math.log(n - 1) + prior + first)
    assert residual_gain(MODEL, posterior, rows)[0] == pytest.approx(max(likelihoods) - none, abs=1e-4)


def test_a_reading_that_is_missing_has_no_effect_on_residuals_but_time() -> None:
    rows = readings(np.full(40, 5.0))
    posterior, y, u = fitted(rows), rows.y.copy(), rows.u.copy()
    y[0, 7] = np.nan
    missing = residual_gain(MODEL, posterior, replace(rows, y=y))
    u[0, 7] = 1e3  # whatever it was
    assert residual_gain(MODEL, posterior, replace(rows, u=u, y=y))[0] == pytest.approx(missing[0], rel=1e-9)


def test_few_or_enormous_readings_are_left_to_the_fits() -> None:
    rows = readings(np.zeros(60))
    posterior, y = fitted(rows), rows.y.copy()
    y[0, 4:] = np.nan
    assert residual_gain(MODEL, posterior, replace(rows, y=y))[0] == np.inf
    enormous = replace(rows, u=1e25 * rows.u, y=1e59 * np.sign(rows.y))
    assert not np.isnan(residual_gain(MODEL, posterior, enormous)[0])


def review(load: Array, size: float, monkeypatch: pytest.MonkeyPatch) -> tuple[Beliefs, list[float | None]]:
    """Return the beliefs after a review of as many readings, and the base loads that were fitted."""
    rows, count = readings(load, size=size), load.size
    beliefs = Beliefs.around(fitted(rows))
    kept = beliefs.recent_y.shape[1]
    padded: dict[str, Any] = {"recent_u": np.zeros((1, kept, 2)), "recent_y": np.full((1, kept), np.nan)}
    last = min(count, kept)
    padded["recent_u"][:, -last:], padded["recent_y"][:, -last:] = rows.u[:, -last:], rows.y[:, -last:]
    beliefs = replace(beliefs, age=np.array([float(count)]), **padded)
    tried: list[float | None] = []
    marginals = base_loads._marginals

    def note(model: ReadingModel, rows: Rows, kinds: Sequence[float | None]) -> Array:
        tried.extend(kinds)
        return marginals(model, rows, kinds)

    monkeypatch.setattr(base_loads, "_marginals", note)
    return add_base_loads(beliefs, MODEL, np.array([0]), np.array([0])), tried


def test_without_a_base_load_a_first_review_fits_none_that_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    after, tried = review(np.zeros(12), 50.0, monkeypatch)
    assert tried == [None, 0.0]
    assert after.owner.size == 1


def test_a_later_review_without_a_base_load_fits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    after, tried = review(np.zeros(48), 5.0, monkeypatch)
    assert tried == []
    assert after.owner.size == 1


@pytest.mark.parametrize("count", [25, 60])
def test_a_base_load_that_walks_becomes_a_belief(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    after, tried = review(walk(20.0, count), 5.0, monkeypatch)
    assert tried[:4] == [None, 0.0, 0.05, 0.3]
    assert set(after.posterior.level_speed[1:]) <= {2.0, 10.0}
    assert after.owner.size == 2
    assert after.age[1] == count
