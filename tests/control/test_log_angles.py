"""Angles in a log: positions that are given modulo the period are those that are counted on."""

from __future__ import annotations

import numpy as np
import pytest

from soqo import Log
from soqo.errors import ArgumentError

V = 350.0 + np.cumsum(40.0 * np.random.default_rng(0).standard_normal((30, 2)), axis=0)
X = V + 20.0 * np.random.default_rng(1).uniform(-1.0, 1.0, (30, 2))
AT = X + 30.0 * np.random.default_rng(2).uniform(-1.0, 1.0, (30, 2))


def test_a_log_given_modulo_the_period_is_counted_on() -> None:
    assert np.abs(np.diff(X, axis=0)).max() < 180.0
    period = np.array([360.0, np.inf])
    turned = [np.stack([np.mod(one[:, 0], 360.0), one[:, 1]], axis=1) for one in (V, X, AT)]
    counted = Log(V, X, np.zeros(30), x0=X[0], at=AT)
    log = Log(turned[0], turned[1], np.zeros(30), x0=X[0], at=turned[2], period=period)
    for name in ("v", "x", "at"):
        np.testing.assert_allclose(getattr(log, name), getattr(counted, name), atol=1e-9)
    again = Log(log.v, log.x, log.y, x0=log.x0, at=log.at, period=period)
    np.testing.assert_allclose(again.x, log.x, atol=1e-9)


@pytest.mark.parametrize("period", [0.0, -1.0, [1.0], np.nan, [[1.0, 2.0]]])
def test_a_wrong_period_is_refused(period: object) -> None:
    with pytest.raises(ArgumentError, match="period must be above 0, a number or one for each of 2 actuators, got"):
        Log(V, X, np.zeros(30), x0=X[0], period=period)  # type: ignore[arg-type]
