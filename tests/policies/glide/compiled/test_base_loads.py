"""Base loads of one run, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.policies.glide._base_loads import residual_gain as numpy_gain
from soqo.policies.glide._beliefs import Rows
from soqo.policies.glide._compiled import engine
from soqo.policies.glide._compiled._base_loads import KINDS, _own_kind, residual_gain
from soqo.policies.glide._compiled._layout import (
    BELIEF_NUMBERS,
    LEVEL_SPEED,
    LEVEL_VARIANCE,
    MAX_ABS_READING,
    NOISE,
)


@pytest.mark.parametrize("trusted", [None, 6.0])
@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_the_gain_of_residuals_is_that_of_numpy(kind: int, trusted: float | None) -> None:
    d, n, rng = 2, 40, np.random.default_rng(kind)
    model = ReadingModel(d, "direction", offset=True, trusted_distance=trusted)
    u = 3.0 * rng.standard_normal((1, n, d))
    y = np.square(u).sum(axis=2) + rng.standard_normal((1, n)).cumsum(axis=1) + rng.standard_normal((1, n))
    skip = np.zeros(n)
    skip[[0, 11]] = 1.0
    y = np.where(skip > 0.0, np.nan, y)
    speed = None if np.isnan(KINDS[kind]) else float(KINDS[kind])
    rows = Rows(u, np.zeros((1, n, 0)), np.ones((1, n)), y)
    posterior = rows.learned(model, Posterior.start(model, 1, base_load=speed)).fit_all(model)
    constants = engine._constants(model)
    leader = constants.fresh.copy()
    leader[NOISE], leader[MAX_ABS_READING] = posterior.noise[0], posterior.max_abs_reading[0]
    leader[LEVEL_VARIANCE], leader[LEVEL_SPEED] = posterior.level_variance[0], posterior.level_speed[0]
    leader[BELIEF_NUMBERS : BELIEF_NUMBERS + model.size] = posterior.mean[0]
    assert _own_kind(leader) == kind
    recent = np.column_stack([u[0], y[0], skip])
    gain = residual_gain(leader, recent, 0, skip, kind, constants)
    assert gain == pytest.approx(numpy_gain(model, posterior, rows)[0], rel=1e-8)


def test_a_speed_that_is_not_compared_is_left_to_numpy() -> None:
    leader = engine._constants(ReadingModel(1, "none")).fresh.copy()
    leader[LEVEL_VARIANCE], leader[LEVEL_SPEED] = 1.0, 0.7
    assert _own_kind(leader) == -1
