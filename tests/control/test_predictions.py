"""What a policy expects of a reading: before it is told, with a band that is calibrated, and in the plant's units."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plant_logs import curvature, half_steps
from soqo import FTM, GLIDE, RLS, Guarded, Log, Policy
from soqo._control.predictions import Predictions, predict, switching_costs
from soqo.policies import wrap_for_plant


def predictions(log: Log, policy: Policy[Any] | None = None) -> Predictions:
    player = wrap_for_plant(policy or GLIDE(), switching_weight=log.switching_weight, low=log.low, high=log.high)
    found = predict(player, player.start(log.x0, log.horizon, 0), log)
    assert found is not None
    return found


def test_the_band_holds_95_percent_of_the_readings_once_the_policy_has_learned() -> None:
    log = half_steps(2, 500, noise=0.5, switching_weight=[1.0, 4.0])
    found = predictions(log)
    inside = np.abs(log.y - found.expected)[100:] < 1.96 * found.deviation[100:]
    assert 0.92 < inside.mean() < 0.98  # 400 readings: 95 % with a standard error of 1.1 %
    assert found.deviation[100:].mean() == pytest.approx(0.5, rel=0.1)  # that of the noise


def test_estimate_and_its_deviation_are_in_plant_units() -> None:
    errors = []
    for seed in range(6):
        found = predictions(half_steps(3, 150, seed=seed, switching_weight=[1.0, 4.0, 9.0]))
        errors.append((found.estimate - curvature(3)) / found.estimate_deviation)
    ratio = np.array(errors)
    diagonal = ratio[:, np.arange(3), np.arange(3)]
    assert 0.5 < np.sqrt(np.mean(diagonal**2)) < 1.6  # 18 standardized errors, which are not independent
    assert np.sqrt(np.mean(ratio**2)) < 1.4  # off the diagonal the deviation is an upper bound


def test_a_reading_is_expected_before_it_is_told() -> None:
    log = half_steps(2, 60)
    changed = log.y.copy()
    changed[40] += 1000.0
    one, other = predictions(log), predictions(replace(log, y=changed))
    np.testing.assert_array_equal(one.expected[:41], other.expected[:41])
    assert other.outliers[40]
    assert not one.outliers[40]


def test_the_expected_reading_has_the_factor_and_the_unit() -> None:
    """A plant with a base load in the unit of the reading, a lag and outages: the band still holds 95 %."""
    plain = half_steps(2, 500, noise=0.0)
    rng = np.random.default_rng(3)
    factor, unit, active = rng.uniform(0.2, 2.0, 500), rng.uniform(0.5, 2.0, 500), rng.random((500, 2)) > 0.1
    x = plain.x.copy()
    for t in range(1, 500):
        x[t] = np.where(active[t], x[t], x[t - 1])
    at = x + 0.3 * rng.standard_normal((500, 2))
    u = np.where(active, at - plain.v, 0.0)
    hitting = 0.5 * factor * np.einsum("ti,ij,tj->t", u, curvature(2), u)
    y = hitting + unit * (3.0 + 0.5 * rng.standard_normal(500))
    log = Log(plain.v, x, y, x0=plain.x0, factor=factor, unit=unit, active=active, at=at)
    found = predictions(log)
    inside = np.abs(log.y - found.expected)[100:] < 1.96 * found.deviation[100:]
    assert 0.91 < inside.mean() < 0.98
    assert found.hitting.sum() == pytest.approx(hitting.sum(), rel=0.05)
    np.testing.assert_allclose(found.deviation[300:] / unit[300:], 0.5, rtol=0.25)


def test_costs_are_those_of_the_estimate_without_base_load() -> None:
    log = half_steps(2, 400, base=20.0)
    found = predictions(log)
    u = log.x - log.v
    true = 0.5 * np.einsum("ti,ij,tj->t", u, curvature(2), u)
    assert found.hitting.sum() == pytest.approx(true.sum(), rel=0.05)
    assert found.expected[200:].mean() == pytest.approx(true[200:].mean() + 20.0, rel=0.02)


def test_an_alarm_is_where_the_cost_changed_and_earlier_costs_keep_their_estimate() -> None:
    log = half_steps(2, 400)
    u = log.x - log.v
    true = 0.5 * np.einsum("ti,ij,tj->t", u, curvature(2), u)
    factor = np.where(np.arange(400) < 200, 1.0, 5.0)
    found = predictions(replace(log, y=log.y + (factor - 1.0) * true))
    assert found.alarms.size
    assert 195 <= found.alarms[-1] <= 215
    assert found.hitting[:190].sum() == pytest.approx(true[:190].sum(), rel=0.1)
    assert found.hitting[250:].sum() == pytest.approx(5.0 * true[250:].sum(), rel=0.1)


def test_readings_that_contain_the_switching_cost_are_expected_to() -> None:
    log = half_steps(2, 200, switching_weight=[2.0, 0.5])
    moved = switching_costs(log.x, log.x0, log.switching_weight)
    steps = np.diff(log.x, axis=0, prepend=log.x0[None])
    np.testing.assert_allclose(moved, 0.5 * (2.0 * steps[:, 0] ** 2 + 0.5 * steps[:, 1] ** 2))
    found = predictions(replace(log, y=log.y + moved), Guarded(GLIDE(switching_included=True)))
    assert np.abs(log.y + moved - found.expected)[100:].std() < 0.7


def test_the_rounds_of_the_guard_are_those_in_which_it_overruled_the_policy() -> None:
    log = half_steps(2, 80)
    meter = np.minimum(log.y, 0.5)  # saturated, so that the guard follows v
    player = Guarded(GLIDE())
    found = predictions(replace(log, y=meter), player)
    state = player.start(log.x0, None, 0)
    for t in range(80):
        _, state = player.act(state, log.v[t])
        assert found.guarded[t] == player.diagnostics(state)["guarding"]
        state = player.observe(state, meter[t], applied=log.x[t])
    assert found.guarded.any()


def test_a_policy_without_an_estimate_predicts_nothing_and_one_without_a_band_has_none() -> None:
    log = half_steps(2, 20)
    player = FTM()
    assert predict(player, player.start(log.x0, None, 0), log) is None
    found = predictions(log, RLS(noise=0.5))
    assert np.isnan(found.deviation).all()
    assert np.isnan(found.estimate_deviation).all()
    assert np.isfinite(found.expected).all()
