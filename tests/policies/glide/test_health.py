"""Health: every mistake has a verdict, which goes away when it is mended; plants without one are in order.

The plants have saturating costs and minimizers that swing, unlike those on which the limits were looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from soqo import GLIDE, Controller, Environment, Fleet, Limited, Problem, Weighted, noise, processes, simulate

MIX = np.array([[1.0, 0.5], [-0.3, 0.8]])
ROUNDS = 250


class Site:
    """Two valves between 0 and 60 bar: the cost saturates, the best pressures swing with two periods."""

    def __init__(self, seed: int = 0, **settings: Any) -> None:
        self.rng = np.random.default_rng(seed)
        self.phase = self.rng.uniform(0.0, 6.0, (2, 2))
        self.t, self.last = 0, 0.0
        given = {"low": 0.0, "high": 60.0, "switching_weight": 1.5, **settings}
        self.controller = Controller(GLIDE(), [30.0, 30.0], units="bar", actuators=["inlet", "outlet"], **given)

    def best(self) -> np.ndarray:
        swings = np.sin(2.0 * np.pi * self.t / np.array([[17.0], [7.3]]) + self.phase).sum(axis=0)
        return np.asarray(30.0 + 3.0 * swings + self.rng.normal(size=2))

    def cost(self, u: np.ndarray) -> float:
        s = np.square(MIX @ u)
        return float((s / (1.0 + 0.0003 * s)).sum() + 3.0 + 0.1 * self.rng.laplace())

    def play(self, rounds: int = ROUNDS, told: Any = None, meter: Callable[[float], float] | None = None) -> Controller:
        """Play rounds in which v and the reading are told with a mistake."""
        for _ in range(rounds):
            self.t += 1
            v = self.best()
            x = self.controller.act(v if told is None else told(v))
            y = self.cost(x - v)
            self.last = y if meter is None else meter(y)
            self.controller.observe(self.last)
        return self.controller


def verdict(controller: Controller) -> str:
    text: str = controller.diagnostics()["health"]["verdict"]
    return text


def another_plant(seed: int) -> Callable[[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(100 + seed)
    return lambda _: np.asarray(30.0 + 4.0 * rng.normal(size=2))


MISTAKES: dict[str, tuple[str, Callable[[Site, int], Controller]]] = {
    "sign": ("sign of the reading", lambda site, _: site.play(meter=lambda y: -y)),
    "unit of the reading": ("W instead of kW", lambda site, _: site.play(meter=lambda y: 1000.0 * y)),
    "unit of v": ("outside of the limits", lambda site, _: site.play(told=lambda v: 14.5 * v)),
    "zero of v": ("whole range in which v has moved", lambda site, _: site.play(told=lambda v: v - 100.0)),
    "stuck": ("the meter is stuck", lambda site, _: (site.play(60), site.play(meter=lambda _: site.last))[1]),
    "limit": ("give it as y_max", lambda site, _: site.play(meter=lambda y: min(y, 5.0))),
    "another plant": ("belong", lambda site, seed: site.play(told=another_plant(seed))),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_and_never_called_confident(mistake: str, seed: int) -> None:
    words, play = MISTAKES[mistake]
    controller = play(Site(seed), seed)
    assert words in verdict(controller)
    assert verdict(controller).startswith(("Wrong since round ", "To check since round "))
    assert verdict(controller) in controller.explain()
    assert "confident" not in controller.explain()
    assert not controller.diagnostics()["health"]["confident"]


@pytest.mark.parametrize("seed", range(6))
def test_a_plant_without_a_mistake_is_in_order(seed: int) -> None:
    site = Site(seed)
    for _ in range(6):
        controller = site.play(60)
        assert verdict(controller) == "In order."
        assert "To check" not in controller.explain()
    assert "GLIDE is confident (readings: 360 of 360 rounds)" in controller.explain()


def test_false_verdicts_are_rare() -> None:
    """Of 200 plants none may have one: then fewer than 1.5 % have, with a probability of 95 %."""
    problem = Problem([[2.0, 0.3, 0.0], [0.3, 0.7, 0.1], [0.0, 0.1, 0.2]])
    for wander in (processes.Gaussian(3.0), processes.Gaussian(30.0)):
        environment = Environment(problem, wander, noise.Uniform(2.0))
        state = _last_state(environment, runs=100)
        assert not GLIDE().health(state)["wrong"].any()


def _last_state(environment: Environment, runs: int) -> Any:
    """The state of GLIDE after 250 rounds."""

    class Kept(GLIDE):
        states: ClassVar[list[Any]] = []

        def learn(self, state: Any, y: Any) -> Any:
            memory = super().learn(state, y)
            self.states[:] = [type(state)(**{**_fields(state), "memory": memory})]
            return memory

    simulate(environment, {"G": Kept()}, horizon=ROUNDS, runs=runs, seed=5)
    return Kept.states[0]


def _fields(state: Any) -> dict[str, Any]:
    names = ("x", "v", "round", "pending", "horizon", "diverged", "x_prev")
    return {name: getattr(state, name) for name in names}


def test_a_verdict_goes_away_when_the_mistake_is_mended() -> None:
    stuck = Site(1)
    stuck.play(60)
    assert "stuck" in verdict(stuck.play(60, meter=lambda _: stuck.last))
    assert verdict(stuck.play(5)) == "In order."

    outside = Site(2)
    assert "outside of the limits" in verdict(outside.play(120, told=lambda v: v + 45.0))
    assert "outside of the limits" not in verdict(outside.play(60))

    missing = Site(3)
    missing.play(60)
    spikes = iter([1.0, 40.0, -30.0] * 100)
    assert "rejected" in verdict(missing.play(60, meter=lambda y: y + 100.0 * next(spikes) * (missing.t % 3 == 0)))
    assert "rejected" not in verdict(missing.play(250))


def test_it_is_known_since_when() -> None:
    site = Site(4)
    assert site.play(125).diagnostics()["health"]["since"] == 0.0
    controller = site.play(30, meter=lambda _: site.last)
    assert verdict(controller).startswith("Wrong since round 150: the meter is stuck")
    assert controller.diagnostics()["health"]["since"] == 150.0
    assert "since round 150" in verdict(site.play(100, meter=lambda _: site.last))


def test_what_is_not_known_is_never_called_confident() -> None:
    controller = Controller(GLIDE(), np.zeros(14))
    rng, v = np.random.default_rng(0), np.zeros(14)
    for _ in range(5):
        assert "nan" not in controller.explain()
        assert not controller.diagnostics()["health"]["confident"]
        v = v + rng.normal(size=14)
        u = controller.act(v) - v
        controller.observe(0.5 * float(u @ u))


def test_limits_that_always_stop_a_step_are_to_be_checked() -> None:
    controller = Site(5, rate=0.01).play()
    assert "limits have stopped the step in" in verdict(controller)
    assert controller.diagnostics()["health"]["limited"] > 0.9


def test_a_minimizer_out_of_the_limits_is_told_at_once() -> None:
    controller = Site(0, high=[31.0, np.inf]).controller
    assert "out of the limits" not in controller.explain()
    controller.act([70.0, -1.0])
    assert "v is out of the limits: outlet (-1 bar, low 0 bar), inlet (70 bar, high 31 bar)." in controller.explain()


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_readings_are_those_of_all_rounds() -> None:
    site = Site(6)
    readings = iter(range(1, 1000))
    text = site.play(100, meter=lambda y: np.nan if next(readings) % 10 == 0 else y).explain()
    assert "(readings: 90 of 100 rounds)" in text
    assert text.endswith("10 readings were missed so far.")


def test_the_deviation_of_an_offset_is_that_of_its_errors() -> None:
    """The errors of 150 plants, in deviations, have a mean square of one."""
    b, rng, v = np.array([4.0, -2.0]), np.random.default_rng(0), np.zeros((150, 2))
    fleet = Fleet(GLIDE(), v, switching_weight=[[2.0, 0.5], [0.5, 1.0]])
    for _ in range(40):
        v = v + 5.0 * rng.normal(size=v.shape)
        u = fleet.act(v) - v + b
        fleet.observe(0.5 * np.vecdot(u, u * [3.0, 1.0]) + rng.normal(scale=2.0, size=150))
    found = fleet.diagnostics()
    assert 0.6 < np.square((found["offset"] - b) / found["offset_deviation"]).mean() < 1.6


def test_the_offset_is_told_in_the_units_of_the_plant() -> None:
    controller = Site(7).play(told=lambda v: v + np.array([4.0, 0.0]))
    found = controller.diagnostics()
    shown = f"inlet {-found['offset'][0]:+.3g} ± {found['offset_deviation'][0]:.2g} bar"
    assert shown in controller.explain()
    assert found["offset"][0] == pytest.approx(4.0, abs=0.5)


@pytest.mark.parametrize("batch", [(), (2, 3)], ids=str)
def test_numbers_have_the_batch_shape(batch: tuple[int, ...]) -> None:
    policy = Limited(Weighted(GLIDE(), 2.0), high=1.0)
    state = policy.start(np.zeros((*batch, 4)))
    for _ in range(3):
        _, state = policy.act(state, np.full((*batch, 4), 2.0))
        state = policy.observe(state, np.ones(batch))
    found = policy.health(state)
    assert found.pop("offset_covariance").shape == (*batch, 4, 4)
    assert all(value.shape == batch for value in found.values())


def test_a_plant_of_a_fleet_has_the_verdict_that_it_has_alone() -> None:
    site = Site(8)
    settings: dict[str, Any] = {"low": 0.0, "high": 60.0, "switching_weight": 1.5}
    fleet = Fleet(GLIDE(), np.full((2, 2), 30.0), names=["a", "b"], **settings)
    fleet.act([[30.0, 30.0]], ["b"])  # b is a round ahead
    fleet.observe([3.0], ["b"])
    for _ in range(120):
        site.play(1, meter=lambda y: -y)
        v = site.controller.state.v
        fleet.act([v, v], ["a", "b"])
        fleet.observe([site.last, -site.last], ["a", "b"])
    found = fleet.diagnostics()["health"]
    assert found["verdict"][0] == fleet.diagnostics("a")["health"]["verdict"] == verdict(site.controller)
    assert "sign" in found["verdict"][0]
    assert "sign" not in found["verdict"][1]
