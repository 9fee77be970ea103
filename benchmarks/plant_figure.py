"""Draw docs/plant.svg: two cooling units that follow v, that GLIDE steers, and that a player steers who knows A.

The plant is that of examples/08_steer_a_plant.py::

    python benchmarks/plant_figure.py [PATH]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import soqo
from soqo.experiments.presentation import house_style, new_figure, policy_styles, save_figure
from soqo.typing import Array

MINUTES = 240
PROBLEM = soqo.Problem([[3.0, 1.0], [1.0, 2.0]], switching_weight=[1.0, 25.0])
PLAYERS: dict[str, tuple[soqo.Policy[Any], str]] = {
    "FTM": (soqo.FTM(), "follow v"),
    "GLIDE": (soqo.GLIDE(), "GLIDE"),
    "LAI": (soqo.LAI.for_problem(PROBLEM), "knows A"),
}


def steer(policy: soqo.Policy[Any]) -> tuple[Array, Array, Array]:
    """Steer the plant; return v and x of the second unit, and the cost up to each minute."""
    controller = soqo.Controller(policy, [20.0, 20.0], low=16.0, high=27.0, switching_weight=[1.0, 25.0])
    rng = np.random.default_rng(0)
    v, rows = np.array([21.0, 22.0]), []
    for _ in range(MINUTES):
        v = np.clip(v + rng.standard_normal(2), 16.0, 27.0)
        before, x = controller.x, controller.act(v)
        power = float(PROBLEM.hitting_cost(x, v))
        controller.observe(power + rng.uniform(-0.5, 0.5))
        rows.append([v[1], x[1], power + float(PROBLEM.switching_cost(x, before))])
    minimizer, position, cost = np.array(rows).T
    return minimizer, position, np.cumsum(cost)


def main() -> None:
    """Draw the position of the expensive unit, and the cost."""
    minutes = np.arange(1, MINUTES + 1)
    with house_style():
        figure = new_figure(10.0, 3.6)
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        for name, (color, _) in policy_styles(PLAYERS).items():
            policy, label = PLAYERS[name]
            v, x, cost = steer(policy)
            if name == "FTM":
                left.plot(minutes, v, color="#bbbbbb", linewidth=1.0, label="minimizer v")
            else:
                left.plot(minutes, x, "-" if name == "GLIDE" else "--", color=color, label=label)
            right.plot(minutes, cost, color=color)
            offset = {"FTM": 0, "GLIDE": 9, "LAI": -9}[name]
            right.annotate(
                f"{label}: {cost[-1]:,.0f}",
                (MINUTES, cost[-1]),
                xytext=(4, offset),
                textcoords="offset points",
                va="center",
                color=color,
            )
        left.set(xlabel="minute", ylabel="set point", title="The unit that is expensive to move", xlim=(0, MINUTES))
        left.legend(loc="upper center", ncols=3)
        left.margins(y=0.18)
        right.set(xlabel="minute", title="Total cost so far", xlim=(0, MINUTES), ylim=(0, None))
        save_figure(figure, sys.argv[1] if len(sys.argv) > 1 else "docs/plant.svg")


if __name__ == "__main__":
    main()
