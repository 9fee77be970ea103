"""A simulated plant beside the server, so that a newcomer sees a live page at once."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import numpy as np

from soqo.policies import GLIDE
from soqo.typing import Array

if TYPE_CHECKING:
    from soqo.service._async_client import AsyncClient

_LOGGER = logging.getLogger("soqo.service")

NAME = "demo-cooling"
_SECONDS = 0.25
"""The time of a round: quick, so that there is something to see."""

_DAY = 240
"""The number of rounds of a day."""

_A = np.array([[0.6, 0.15, 0.0], [0.15, 0.9, 0.1], [0.0, 0.1, 0.4]])
_OFFSET = np.array([0.5, 0.0, -0.3])
_BASE_LOAD = 1.2


async def run_demo(client: AsyncClient, *, rounds: int | None = None, seconds: float = _SECONDS) -> None:
    """Steer three simulated cooling units: their best supply temperatures follow the load of the day.

    Parameters
    ----------
    client : AsyncClient
        A client of the server.
    rounds : int, optional
        The number of rounds; without it, until it is cancelled.
    seconds : float
        The time of a round.
    """
    plant = await client.create(
        NAME,
        GLIDE(),
        x0=[20.0, 20.0, 20.0],
        low=16.0,
        high=27.0,
        switching_weight=[2.0, 4.0, 8.0],
        actuators=["north aisle", "middle aisle", "south aisle"],
        units="degC",
    )
    status = await plant.status()
    rng = np.random.default_rng(status["round"])
    if status["round"] in status["open_rounds"]:  # the server stopped in the middle of a round
        await plant.observe(_reading(np.array(status["x"]), np.array(status["v"]), rng))
    walk = np.zeros(3)
    first = int(status["round"])
    number = first
    while rounds is None or number - first < rounds:
        number += 1
        walk = 0.97 * walk + rng.normal(scale=0.35, size=3)
        v = np.clip(21.0 + 2.5 * np.sin(2 * np.pi * number / _DAY + np.array([0.0, 0.4, 0.8])) + walk, 16.0, 27.0)
        x = await plant.act(v)
        await plant.observe(_reading(x, v, rng))
        await asyncio.sleep(seconds)


def _reading(x: Array, v: Array, rng: np.random.Generator) -> float:
    """Return the measured power: the hitting cost around a minimizer that is off by a little, a base load and noise."""
    u = x - v + _OFFSET
    return float(0.5 * u @ _A @ u + _BASE_LOAD + rng.normal(scale=0.08))
