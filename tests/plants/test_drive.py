"""The drive: costs by an independent loop, and what policies are told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, LAI, Policy, State
from soqo.errors import ArgumentError
from soqo.plants import Contender, Interpolation, Quadratic, WindFarm, contenders, drive
from soqo.typing import Array

A = np.array([[2.0, 0.5], [0.5, 1.0]])
PAIR = np.array([[0.0, 0.0], [5.0, 0.0]])
FARM = WindFarm(layout=PAIR)


@dataclass(frozen=True)
class Witness(Policy[None]):
    """Follows v, and notes what it is told."""

    heard: list[dict[str, Any]]

    def decide(self, state: State[None], v: Array) -> tuple[Array, None]:
        self.heard.append({"v": v, "x": state.x, "factor": state.factor, "context": state.context})
        return v, None

    def learn(self, state: State[None], y: Array) -> None:
        self.heard.append({"y": y, "round": state.round, "felt": state.felt, "unit": state.unit})


def test_costs_are_those_of_a_plain_loop() -> None:
    plant = Quadratic(A, wear=3.0, noise=0.5)
    result = drive(plant, {"half": Interpolation(0.5), "LAI": LAI(A / 3.0)}, rounds=40, seeds=[4, 9])
    v = plant.draw(40, [9]).best[:, 0]
    x, lost, wear = v[0], 0.0, 0.0
    for t in range(40):
        moved = x + 0.5 * (v[t] - x)
        lost += 0.5 * (moved - v[t]) @ A @ (moved - v[t])
        wear += 1.5 * np.sum((moved - x) ** 2)
        x = moved
    np.testing.assert_allclose(result.lost[0, :, 1].sum(), lost)
    np.testing.assert_allclose(result.wear[0, :, 1].sum(), wear)
    assert result["LAI"].total < result["half"].total
    assert result.seeds == (4, 9)


def test_compass_directions_change_nothing() -> None:
    policies: dict[str, Policy[Any]] = {"half": Interpolation(0.5), "GLIDE": GLIDE()}
    compass = drive(FARM, policies, rounds=60, seeds=2)
    plain = drive(replace(FARM, compass=False), policies, rounds=60, seeds=2)
    np.testing.assert_allclose(compass.lost, plain.lost, rtol=1e-6, atol=1e-6)
    assert (np.abs(np.diff(compass.positions, axis=1)) < 180.0).all()


def test_a_contender_hears_factor_unit_and_mask_and_the_context_only_if_asked() -> None:
    heard: list[dict[str, Any]] = []
    deaf: list[dict[str, Any]] = []
    farm = replace(FARM, unavailability=0.3)
    policies = {
        "told": Contender(Witness(heard), context=True),
        "not told": Contender(Witness(deaf), factor=False),
    }
    result = drive(farm, policies, rounds=3, seeds=1)
    conditions = result.conditions
    assert conditions.factor is not None
    assert conditions.unit is not None
    np.testing.assert_allclose(heard[0]["factor"], conditions.factor[0])
    np.testing.assert_allclose(heard[0]["context"], conditions.context[0])  # type: ignore[index]  # it has a context
    np.testing.assert_allclose(heard[1]["unit"], conditions.unit[0])
    assert conditions.active is not None
    still = ~conditions.active[1]
    np.testing.assert_allclose(heard[2]["v"][still], heard[2]["x"][still])  # what cannot move is where it should be
    assert deaf[0]["factor"] is None
    assert deaf[0]["context"] is None


def test_late_readings_arrive_in_their_round_with_their_number() -> None:
    heard: list[dict[str, Any]] = []
    farm = replace(FARM, delays=(1, 3))
    result = drive(farm, {"witness": Witness(heard)}, rounds=30, seeds=1)
    got = {one["round"]: one["y"][0] for one in heard if "y" in one and not np.isnan(one["y"]).all()}
    delay = result.conditions.delay
    assert delay is not None
    arrived = [t for t in range(30) if t + delay[t, 0] < 30]
    assert sorted(got) == [t + 1 for t in arrived]
    unit = result.conditions.unit
    assert unit is not None
    np.testing.assert_allclose([got[t + 1] for t in arrived], (result.readings[0] / unit)[arrived, 0])


def test_a_reading_is_felt_where_a_slow_plant_is() -> None:
    heard: list[dict[str, Any]] = []
    farm = replace(FARM, lag=3.0, compass=False)
    result = drive(farm, {"witness": Witness(heard)}, rounds=12, seeds=1)
    keep = np.exp(-1.0 / 3.0)
    felt = result.conditions.best[0]
    for t in range(12):
        felt = result.positions[0, t] + keep * (felt - result.positions[0, t])
        root = np.sqrt(2.0)  # the policy is in coordinates where the switching cost is unweighted
        np.testing.assert_allclose(heard[2 * t + 1]["felt"], root * felt)


def test_actuators_in_an_outage_stay() -> None:
    farm = replace(FARM, unavailability=0.3)
    result = drive(farm, {"FTM": FTM()}, rounds=60, seeds=2)
    active = result.conditions.active
    assert active is not None
    steps = np.diff(result.positions[0], axis=0)
    assert (steps[~active[1:]] == 0.0).all()


def test_progress_is_reported_until_the_end() -> None:
    calls: list[tuple[int, int]] = []
    drive(Quadratic(A), {"FTM": FTM()}, rounds=45, seeds=1, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(20, 45), (40, 45), (45, 45)]


def test_glide_comes_near_the_benchmark_on_a_quadratic_plant() -> None:
    plant = Quadratic(A, wear=2.0, noise=5.0)
    chosen = contenders(plant, rounds=400, seeds=2)
    names = ("FTM", "LAI, fitted A", "GLIDE")
    result = drive(plant, {name: chosen[name] for name in names}, rounds=400, seeds=2)
    assert result["GLIDE"].total < 1.05 * result["LAI, fitted A"].total
    assert result["GLIDE"].total < 0.8 * result["FTM"].total


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"plant": 3}, "plant must be a Plant"),
        ({"policies": {}}, "policies must have at least one entry"),
        ({"policies": {"a": 3}}, "policy must be a Policy, got int"),
        ({"rounds": 0}, "rounds must be a positive integer"),
        ({"seeds": 0}, "seeds must be a positive integer"),
    ],
)
def test_drive_names_what_is_wrong(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"plant": Quadratic(A), "policies": {"FTM": FTM()}, "rounds": 5, **arguments}
    with pytest.raises(ArgumentError, match=message):
        drive(**given)
