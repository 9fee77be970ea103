"""Teaches: a live controller in the units of the plant, and what it saves.

Two cooling units have set points between 16 and 27 degrees; the second one is 25 times as expensive to move. Each
minute the best set points v are known from the load, and one power meter measures the cost of not being there.
"""

from typing import Any

import numpy as np

import soqo

A = np.array([[3.0, 1.0], [1.0, 2.0]])  # kW per degree squared; only this simulation knows it
problem = soqo.Problem(A, switching_weight=[1.0, 25.0])


def connect(policy: soqo.Policy[Any]) -> soqo.Controller:
    """Connect a policy to the plant."""
    return soqo.Controller(policy, x0=[20.0, 20.0], low=16.0, high=27.0, switching_weight=[1.0, 25.0])


def steer(controller: soqo.Controller, minutes: int = 240) -> float:
    """Steer the plant, and return the total cost."""
    rng = np.random.default_rng(0)
    v, cost = np.array([21.0, 22.0]), 0.0
    for _ in range(minutes):
        v = np.clip(v + rng.standard_normal(2), 16.0, 27.0)
        before = controller.x
        x = controller.act(v)  # send this to the plant ...
        power = float(problem.hitting_cost(x, v))
        controller.observe(power + rng.uniform(-0.5, 0.5))  # ... and report what it measured
        cost += power + float(problem.switching_cost(x, before))
    return cost


glide = connect(soqo.GLIDE())
follow = steer(connect(soqo.FTM()))
best = steer(connect(soqo.LAI.for_problem(problem)))
cost = steer(glide)
print(f"cost in 240 minutes: {cost:.0f} with GLIDE, {follow:.0f} when following v, {best:.0f} if A were known")
print(
    f"GLIDE saves {1 - cost / follow:.0%} of the cost of following v, and {(follow - cost) / (follow - best):.0%} "
    "of what could be saved"
)
print(glide.explain())

# Disturbances at real plants: an actuator is stuck, a reading is missed, is not a number, or is late.
x = glide.act([22.0, 20.0])
glide.observe(0.4, applied=[x[0], 20.0])  # the action that was applied
glide.act([22.0, 20.5])
glide.observe(np.nan)  # no reading in this round
glide.act([22.5, 20.0])
glide.act([22.0, 20.0])  # acting again also means that there was no reading
for reading, number in (("0.4 kW", 244), (0.4, 243)):
    try:
        glide.observe(reading, round=number)  # type: ignore[arg-type]  # one of them is not a number, on purpose
    except soqo.errors.SoqoError as error:
        print(f"refused: {error}")
print(f"{glide.round} rounds, {glide.diagnostics()['missed']} without a reading")
