"""Everything that a plant does, at once, against a loop over single runs with the public calls of a policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import (
    POL,
    RLS,
    Actuation,
    Context,
    Covariates,
    Delay,
    Environment,
    Factor,
    Offset,
    Outages,
    Periodic,
    Policy,
    Problem,
    Weighted,
    play,
    simulate,
)
from soqo.errors import ArgumentError
from soqo.meters import BaseLoad, SwitchingIncluded
from soqo.noise import Uniform
from soqo.processes import Gaussian

A = np.array([[2.0, 0.5], [0.5, 1.0]])
W = [1.0, 4.0]
T, RUNS, PERIOD, LAG = 40, 3, 40.0, 2.0


def everything(**changed: Any) -> Environment:
    given: dict[str, Any] = {
        "x0": [39.0, 1.0],
        "v0": [39.0, 1.0],
        "offset": Offset([0.5, -0.5]),
        "meters": [BaseLoad(3.0), SwitchingIncluded()],
        "delay": Delay(0, jitter=3),
        "context": Context([[0.5], [1.0]]),
        "factor": Factor(0.5, period=7.0),
        "unit": Factor(0.4, period=5.0, deviation=0.2),
        "covariates": Covariates([1.0, -2.0]),
        "outages": Outages(0.3),
        "actuation": Actuation(rate=3.0, deadband=0.2, lag=LAG),
        "period": [PERIOD, np.inf],
        **changed,
    }
    return Environment(Problem(A, W), Gaussian(2.0), Uniform(0.5), **given)


def by_hand(policy: Policy[Any], environment: Environment, run: int) -> Any:
    """Return the positions of one run, with the definitions of the documentation written out."""
    paths = environment.draw(T, RUNS, seed=4)
    assert paths.delays is not None
    assert paths.factor is not None
    assert paths.unit is not None
    assert paths.covariates is not None
    assert paths.active is not None
    assert paths.context is not None
    assert paths.shift is not None
    assert paths.offset is not None
    x = felt = environment.x0
    state = policy.start(x, T, max_delay=paths.max_delay)
    positions, post = [], {}
    keep = np.exp(-1.0 / LAG)
    for t in range(T):
        active, factor, unit = paths.active[run, t], paths.factor[run, t], paths.unit[run, t]
        told = paths.v[run, t] + paths.offset[run, t] - paths.shift[run, t]
        told[0] = told[0] % PERIOD
        asked, state = policy.act(state, told, context=paths.context[run, t], factor=factor, active=active)
        step = np.clip(asked - x, -3.0, 3.0)
        step[(np.abs(asked - x) < 0.2) | ~active] = 0.0
        x = x + step
        felt = x + keep * (felt - x)
        u = felt - paths.v[run, t]
        u[0] = (u[0] + PERIOD / 2.0) % PERIOD - PERIOD / 2.0
        u[~active] = 0.0
        noise = 0.5 * paths.variates[run, t]
        switching = 0.5 * (step @ (W * step))
        load = paths.covariates[run, t] @ [1.0, -2.0]
        y = factor * 0.5 * u @ A @ u + unit * (noise + 3.0 + load) + switching
        positions.append(x)
        state = policy.observe(state, np.nan, applied=x)
        post[t] = (y, np.where(active, felt, x), unit)
        for k in list(post):
            if k + paths.delays[run, k] == t:
                late, at, of = post.pop(k)
                state = policy.observe(state, late, round=k + 1, at=at, unit=of, covariates=paths.covariates[run, k])
    return np.array(positions)


@pytest.mark.parametrize("inner", [RLS(0.5, offset=True), POL(0.01)], ids=["RLS", "POL"])
def test_a_plant_does_everything_as_documented(inner: Policy[Any]) -> None:
    policy = Periodic(Weighted(inner, W), [PERIOD, np.inf])
    environment = everything()
    found = play(policy, environment.draw(T, RUNS, seed=4)).x
    for run in range(RUNS):
        np.testing.assert_allclose(found[run], by_hand(policy, environment, run), rtol=1e-7, atol=1e-7)
    simulated = simulate(environment, {"policy": inner}, horizon=T, runs=RUNS, seed=4, record=True)
    assert simulated.actions is not None
    np.testing.assert_array_equal(simulated.actions["policy"], found)  # Weighted and Periodic by themselves


def test_angles_cross_north_as_if_they_were_counted_on() -> None:
    """Where v moves by less than half a turn, an angle is a number that is told modulo the period."""
    plain: dict[str, Any] = {"context": None, "offset": None, "delay": None, "outages": None, "meters": ()}
    angles, counted = (everything(period=period, **plain) for period in (PERIOD, None))
    v = angles.draw(T, RUNS, seed=4).told
    assert (np.abs(np.diff(v, axis=1)) > PERIOD / 2.0).any()  # it does cross
    one, other = (simulate(each, {"RLS": RLS(0.5)}, horizon=T, runs=RUNS, seed=4) for each in (angles, counted))
    np.testing.assert_allclose(one["RLS"].hitting, other["RLS"].hitting, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(one.regret("RLS"), other.regret("RLS"), rtol=1e-6, atol=1e-6)


def test_a_learner_that_is_told_the_unit_is_not_misled_by_a_base_load_in_it() -> None:
    class Deaf(RLS):
        def observe(self, state: Any, y: Any, **told: Any) -> Any:
            return super().observe(state, y)

    environment = Environment(
        Problem(A), Gaussian(3.0), Uniform(0.5), meters=BaseLoad(5.0), unit=Factor(0.8, period=9.0)
    )
    policies = {"told": RLS(0.3, offset=True), "not told": Deaf(0.3, offset=True)}
    result = simulate(environment, policies, horizon=300, runs=9)
    told, deaf = (np.abs(result[name].diagnostics["estimate"] - A).max(axis=(1, 2)) for name in policies)
    # The median: recursive least squares can take a base load for a large A at once, and never leave v again.
    assert np.median(told) < 0.05
    assert np.median(deaf) > 3.0 * np.median(told)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"covariates": [2.0]}, "covariates must be a Covariates, got list"),
        ({"unit": 2.0}, "unit must be a Factor, got float"),
        ({"period": -1.0}, "period must be a number above 0 or one for each of 2 actuators, got -1.0"),
        ({"period": [1.0, 2.0, 3.0]}, "period must be a number above 0 or one for each of 2"),
    ],
)
def test_bad_settings_are_refused(changed: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        everything(**changed)
