"""Teaches: a live controller, in ten lines and in the plant's own units.

Two cooling units: set points in degrees, between 16 and 27, the second one 25 times as costly to move. Each minute the
best set points v are known (from the load), and one power meter tells what standing off them costs.
"""

import numpy as np

import soqo

rng = np.random.default_rng(0)
A = np.array([[3.0, 1.0], [1.0, 2.0]])  # kW per degree squared: known to nobody but this simulation


def power_meter(x: np.ndarray, v: np.ndarray) -> float:
    """What the plant would measure."""
    return float(0.5 * (x - v) @ A @ (x - v) + rng.uniform(-0.5, 0.5))


controller = soqo.Controller(soqo.GLIDE(), x0=[20.0, 20.0], low=16.0, high=27.0, switching_weight=[1.0, 25.0])
v = np.array([21.0, 22.0])
for minute in range(1, 241):
    v = np.clip(v + rng.standard_normal(2), 16.0, 27.0)
    x = controller.act(v)  # send this to the plant ...
    controller.observe(power_meter(x, v))  # ... and say what it measured
    if minute in (5, 240):
        print(controller.explain())

knows = controller.diagnostics()
print(f"A, in the plant's units: {knows['estimate'].round(2).tolist()}; noise {knows['noise']:.2f}")

# Real plants: an actuator stuck, a reading missed, one that is no number, one that comes too late.
x = controller.act(v)
controller.observe(0.4, applied=[x[0], 20.0])  # what was really done
controller.act(v)
controller.observe(np.nan)  # no reading in this round
controller.act(v)
controller.act(v)  # acting again says the same
for reading, number in (("0.4 kW", 244), (0.4, 243)):
    try:
        controller.observe(reading, round=number)
    except soqo.errors.SoqoError as error:
        print(f"refused: {error}")
print(f"{controller.round} rounds, {controller.diagnostics()['missed']} without a reading")
