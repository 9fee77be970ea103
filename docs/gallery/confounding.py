"""A chiller whose load moves the best set points and its power, too: what the meter shows, and what it must show."""

import runpy

import matplotlib.pyplot as plt
import numpy as np

from soqo.plants import Interpolation

chiller = runpy.run_path("examples/19_confounded_chiller.py")
driver = chiller["weather_and_load"](seed=0)
_, log = chiller["steer"](Interpolation(0.5), driver, np.zeros(len(driver)))
cost = chiller["problem"].hitting_cost(log.x, log.v)
expected = chiller["power_at_v"](driver[:, 0])

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4))
left.plot(cost, log.y, ".", markersize=3)
left.set(xlabel="cost of being away from v (kW)", ylabel="reading (kW)", title="The power of the chiller")
right.plot(cost, log.y - expected, ".", markersize=3, color="C1")
right.plot([0.0, cost.max()], [0.0, cost.max()], color="C2", label="cost")
right.set(xlabel="cost of being away from v (kW)", title="Less the power that is expected at v")
right.legend(loc="upper left")
