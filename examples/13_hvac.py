"""Teaches: a week of a building whose power meter also shows a base load, in the units of the plant.

Three zones have set points in degrees. Every five minutes the best set points v follow from schedule, weather and
occupancy; moving a set point wears its actuator, in proportion to the weights 1, 4 and 10. The meter shows the power
that is lost by not being at v, plus the base load of the building, plus noise.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr

import soqo
from soqo.typing import Array

DAY = 288  # rounds of five minutes
WEEK = 7 * DAY
WEIGHT = (1.0, 4.0, 10.0)
A = np.array(
    [[0.10, 0.05, 0.02], [0.05, 0.35, 0.15], [0.02, 0.15, 0.90]]
)  # kW per degree squared, unknown to the player
NOISE = 0.1  # kW, the standard deviation of a reading
START = np.array([20.0, 20.5, 21.0])
BASE_LOADS: dict[str, soqo.meters.BaseLoad] = {
    "none": soqo.meters.BaseLoad(0.0),
    "constant 1 kW": soqo.meters.BaseLoad(1.0),
    "constant 5 kW": soqo.meters.BaseLoad(5.0),
    "1 kW, +-40 % over the day": soqo.meters.BaseLoad(1.0, swing=0.4, period=DAY),
    "5 kW, +-40 % over the day": soqo.meters.BaseLoad(5.0, swing=0.4, period=DAY),
}

problem = soqo.Problem(A, switching_weight=WEIGHT)


@dataclass(frozen=True)
class SetPoints(soqo.processes.Process):
    """The best set points: one degree more by day than by night, the weather, and the occupancy of each zone."""

    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        weather, trigger, occupancy = rng.standard_normal((horizon, 3, dim)).swapaxes(0, 1)
        changed = ndtr(trigger) < 1.0 / 72.0  # the occupancy changes four times a day
        last_change = np.maximum.accumulate(np.where(changed, np.arange(1, horizon + 1)[:, None], 0), axis=0)
        held = np.take_along_axis(np.vstack([np.zeros(dim), 0.4 * occupancy]), last_change, axis=0)
        hour = (np.arange(horizon)[:, None] % DAY) / 12.0 - 0.5 * np.arange(dim)  # each zone half an hour later
        by_day = np.clip((hour - 6.0) / 2.0, 0.0, 1.0) - np.clip((hour - 19.0) / 2.0, 0.0, 1.0)
        level = lfilter([0.1], [1.0, -0.98], weather, axis=0) + held + by_day
        return np.diff(level, axis=0, prepend=np.zeros((1, dim)))


@dataclass(frozen=True)
class HalfSteps(soqo.Policy[None]):
    """What many plants do: move half of the way."""

    def decide(self, state: soqo.State[None], v: Array) -> tuple[Array, None]:
        return (state.x + v) / 2, None


def environment(load: soqo.meters.BaseLoad) -> soqo.Environment:
    """Return the building with a base load, for simulations of many weeks."""
    return soqo.Environment(problem, SetPoints(), soqo.noise.Gaussian(NOISE), x0=START, v0=START, meters=load)


def steer(policy: soqo.Policy[Any], load: soqo.meters.BaseLoad, seed: int = 0) -> tuple[float, soqo.Controller]:
    """Steer the building for a week, and return the total cost and the controller."""
    rng = np.random.default_rng(seed)
    v = START + np.cumsum(SetPoints().steps(rng, WEEK, 3), axis=0)
    noise, base = NOISE * rng.standard_normal(WEEK), load.variates(rng, WEEK)
    controller = soqo.Controller(policy, x0=START, switching_weight=WEIGHT)
    cost = 0.0
    for t in range(WEEK):
        before = controller.x
        x = controller.act(v[t])
        lost = float(problem.hitting_cost(x, v[t]))  # kW
        controller.observe(lost + base[t] + noise[t])
        cost += lost + float(problem.switching_cost(x, before))
    return cost, controller


def main() -> None:
    """Print the cost of a week with several policies, without a base load and with one that varies over the day."""
    for name in ("none", "1 kW, +-40 % over the day"):
        load = BASE_LOADS[name]
        policies: dict[str, soqo.Policy[Any]] = {
            "following v": soqo.FTM(),
            "half steps": HalfSteps(),
            "if A were known": soqo.LAI.for_problem(problem),
        }
        costs = {title: steer(policy, load)[0] for title, policy in policies.items()}
        cost, glide = steer(soqo.GLIDE(), load)
        others = ", ".join(f"{other:.1f} {title}" for title, other in costs.items())
        print(f"base load {name}: a week costs {cost:.1f} with GLIDE; {others}")
        print(glide.explain(), end="\n\n")


if __name__ == "__main__":
    main()
