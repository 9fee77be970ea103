"""Teaches: a controller in an asyncio program, whose meter answers late and out of order.

One task steers two cooling units ten times a second (here: a hundred times). The meter needs one to three rounds for a
reading, so each reading arrives in a task of its own and says to which round it belongs. A call computes and waits for
the disk, so it runs in a thread (`asyncio.to_thread`): the event loop stays free, and the lock of the controller puts
the calls in order.
"""

import asyncio
import tempfile
from pathlib import Path

import numpy as np

import soqo

A = np.array([[3.0, 1.0], [1.0, 2.0]])  # kW per degree squared; only this simulation knows it
PERIOD = 0.01  # seconds
ROUNDS = 120


async def measure(x: np.ndarray, v: np.ndarray, rng: np.random.Generator) -> float:
    """Return the power that the meter reads, some time later."""
    await asyncio.sleep(PERIOD * rng.uniform(1.0, 3.0))
    return float(0.5 * (x - v) @ A @ (x - v) + rng.uniform(-0.1, 0.1))


async def report(controller: soqo.Controller, number: int, reading: asyncio.Task[float]) -> None:
    """Give a reading to the controller when it arrives; one that comes too late is refused, and counts as missed."""
    try:
        await asyncio.to_thread(controller.observe, await reading, round=number)
    except soqo.errors.ProtocolError as error:
        print(f"refused: {error}")


async def steer(path: Path) -> soqo.Controller:
    """Steer the plant, and return the controller."""
    rng, v = np.random.default_rng(0), np.array([21.0, 22.0])
    controller = soqo.Controller.open(
        path, soqo.GLIDE(), [20.0, 20.0], low=16.0, high=27.0, rate=2.0, max_delay=50, durability="process"
    )
    with controller:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(ROUNDS):
                v = np.clip(v + 0.5 * rng.standard_normal(2), 16.0, 27.0)
                x = await asyncio.to_thread(controller.act, v)  # send x to the plant
                number = controller.open_rounds[-1]  # a journal goes on counting after a restart
                reading = tasks.create_task(measure(x, v, rng))
                tasks.create_task(report(controller, number, reading))
                await asyncio.sleep(PERIOD)
    return controller


with tempfile.TemporaryDirectory() as folder:
    journal = Path(folder) / "plant.journal"
    controller = asyncio.run(steer(journal))
    print(
        f"{controller.round} rounds, open: {len(controller.open_rounds)}, missed: {controller.diagnostics()['missed']}"
    )
    again = soqo.Controller.resume(journal)
    print(f"resumed: {again.round} rounds, the same state: {again.state == controller.state}")
    again.close()
