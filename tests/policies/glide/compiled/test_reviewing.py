"""Fits of the latest readings, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.policies.glide._compiled import engine
from soqo.policies.glide._compiled._base_loads import KINDS
from soqo.policies.glide._compiled._belief_update import least_noise
from soqo.policies.glide._compiled._layout import LOG_EVIDENCE, NOISE
from soqo.policies.glide._compiled._reviewing import fit_stored, start_belief, store_rows
from soqo.typing import Array


def latest_readings(d: int, count: int, load: float) -> Array:
    """Return rows of u, y and whether the reading was rejected."""
    rng = np.random.default_rng(0)
    rows = np.zeros((count, d + 2))
    rows[:, :d] = 3.0 * rng.standard_normal((count, d))
    rows[:, d] = np.square(rows[:, :d]).sum(axis=1) + load + rng.uniform(-0.5, 0.5, count)
    return rows


@pytest.mark.parametrize("kind", range(len(KINDS)))
@pytest.mark.parametrize("count", [6, 40])
def test_a_fit_of_several_readings_is_that_of_numpy(count: int, kind: int) -> None:
    d = 2
    model, recent, skip = ReadingModel(d, "direction", offset=True), latest_readings(d, count, 5.0), np.zeros(count)
    skip[2] = 1.0
    own, m = engine._constants(model), model.size
    row, root, factor = np.empty(own.fresh.size), np.empty((m, m)), np.empty((m + 1, m + 1))
    buffer, work = np.empty((min(m + 1, 32), m + 1)), np.empty((3, m + 1))
    start_belief(row, factor, buffer, own.fresh, KINDS[kind])
    assert store_rows(row, factor, buffer, recent, 0, count, skip, own, work)
    least = least_noise(row, factor, buffer, own)
    assert fit_stored(row, root, factor, buffer, False, own, work)
    speed = None if np.isnan(KINDS[kind]) else float(KINDS[kind])
    u, y = recent[None, :, :d], np.where(skip > 0.0, np.nan, recent[:, d])[None]
    posterior = Posterior.start(model, 1, base_load=speed)
    posterior = posterior.update_rows(model, u, y, model.features(u[0])[None])
    assert least == pytest.approx(posterior.least_noise(model)[0], rel=1e-8)
    posterior = posterior.fit_all(model)
    assert row[LOG_EVIDENCE] == pytest.approx(posterior.log_evidence[0], rel=1e-8)
    assert row[NOISE] == pytest.approx(posterior.noise[0], rel=1e-8)
    np.testing.assert_allclose(root @ root.T, posterior.root[0] @ posterior.root[0].T, rtol=1e-6, atol=1e-10)


def test_without_a_reading_there_is_no_fit() -> None:
    model = ReadingModel(1, "none")
    own, m = engine._constants(model), model.size
    row, factor = np.empty(own.fresh.size), np.empty((m + 1, m + 1))
    buffer, recent = np.empty((m + 1, m + 1)), latest_readings(1, 3, 0.0)
    start_belief(row, factor, buffer, own.fresh, np.nan)
    assert not store_rows(row, factor, buffer, recent, 0, 3, np.ones(3), own, np.empty((3, m + 1)))
