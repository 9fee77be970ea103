"""Teaches: readings that move with what moves v, how the check of a log finds this, and the remedy.

A chiller has two set points: chilled water and the flow of cooling water. Load and wet bulb move the best set points v,
and the load moves the power of the chiller, too. The set points lag behind v, so power that comes with load looks like
power that comes with being away from v.
"""

from dataclasses import replace

import numpy as np
from scipy.signal import lfilter

import soqo
from soqo.plants import Interpolation
from soqo.typing import Array

DAY = 288  # rounds of five minutes
problem = soqo.Problem([[6.0, 1.0], [1.0, 2.0]], switching_weight=[20.0, 8.0])  # kW per kelvin squared


def weather_and_load(seed: int, rounds: int = 3 * DAY) -> Array:
    """Return the cooling load, as a share of the largest, and the wet bulb in degrees."""
    rng = np.random.default_rng(seed)
    by_day = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(rounds) / DAY)
    walks = lfilter([1.0], [1.0, -0.9], rng.standard_normal((rounds, 2)), axis=0)
    return np.column_stack([0.5 + 0.3 * by_day + 0.05 * walks[:, 0], 16.0 + 4.0 * by_day + 2.0 * walks[:, 1]])


def best_set_points(driver: Array) -> Array:
    """Return v: colder water at a high load, more flow on a hot day."""
    load, wet_bulb = driver.T
    return np.column_stack([13.0 - 9.0 * load, 2.0 + 6.0 * load + 0.2 * wet_bulb])


def power_at_v(load: Array) -> Array:
    """Return the power of the chiller at its best set points, in kW; only this simulation knows it."""
    return 40.0 + 150.0 * load + 60.0 * load**2


def steer(policy: soqo.Policy[None] | soqo.GLIDE, driver: Array, expected: Array) -> tuple[float, soqo.Log]:
    """Steer for all rounds; observe the power less what is expected at v. Return the true cost, and the log."""
    v, noise = best_set_points(driver), 0.5 * np.random.default_rng(1).standard_normal(len(driver))
    power = power_at_v(driver[:, 0]) + noise
    controller = soqo.Controller(policy, v[0], switching_weight=problem.switching_weight)
    x, y, cost = np.empty_like(v), np.empty(len(v)), 0.0
    for t in range(len(v)):
        before, x[t] = controller.x, controller.act(v[t])
        lost = float(problem.hitting_cost(x[t], v[t]))
        y[t] = lost + power[t] - expected[t]
        controller.observe(y[t])
        cost += lost + float(problem.switching_cost(x[t], before))
    return cost, soqo.Log(v, x, y, x0=v[0], switching_weight=problem.switching_weight)


def main() -> None:
    """Check the log of half steps with raw power, and with power less a model; then steer."""
    driver = weather_and_load(seed=0)
    load = driver[:, 0]
    nothing = np.zeros(len(driver))
    _, log = steer(Interpolation(0.5), driver, nothing)
    found = soqo.check_log(log)
    print(f"raw power: {[one.topic for one in found.findings if one.level == 'stop']} is a stop")

    # The log tells the remedy: a curve of power by load. A model, or the data sheet of the chiller, does it too.
    known = ~np.isnan(log.y)
    curve = np.polynomial.Polynomial.fit(load[known], log.y[known], 2)
    less = soqo.check_log(replace(log, y=log.y - curve(load)))
    print(f"power less a curve of the load: {less.level}")

    # Next three days.
    later = weather_and_load(seed=5)
    half, _ = steer(Interpolation(0.5), later, nothing)
    raw, _ = steer(soqo.GLIDE(), later, nothing)
    glide, _ = steer(soqo.GLIDE(), later, curve(later[:, 0]))
    print(f"three days: {half:.0f} with half steps, {glide:.0f} with GLIDE, {raw:.0f} if GLIDE is told raw power")


if __name__ == "__main__":
    main()
