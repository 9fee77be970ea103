"""Teaches: a fleet, many plants steered as one batch, each on its own clock, with one journal for all.

Forty rooms are cooled by three units each. Not every room is visited in every round: some report late, one joins, one
leaves, and one is rebuilt. Every room gets the actions that a controller of its own would return.
"""

import tempfile
from pathlib import Path

import numpy as np

import soqo

ROOMS, UNITS, ROUNDS = 40, 3, 120
rng = np.random.default_rng(0)
curvatures = {
    f"room {k}": soqo.random_curvature(UNITS, UNITS, min_eigenvalue=0.3, max_eigenvalue=3.0, rng=k)
    for k in range(ROOMS + 1)
}
best = {room: np.full(UNITS, 20.0) for room in curvatures}  # the minimizers, which wander


def measure(room: str, x: np.ndarray) -> float:
    """Return the measured cost of a room."""
    u = x - best[room]
    return float(0.5 * u @ curvatures[room] @ u + rng.uniform(-0.1, 0.1))


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "rooms.journal"
    rooms = [f"room {k}" for k in range(ROOMS)]
    fleet = soqo.Fleet(
        soqo.GLIDE(),
        np.full((ROOMS, UNITS), 20.0),
        names=rooms,
        low=10.0,
        high=30.0,
        journal=path,
        durability="process",
    )
    # A controller of its own for one of the rooms, to compare.
    alone = soqo.Controller(soqo.GLIDE(), np.full(UNITS, 20.0), low=10.0, high=30.0)
    same = True
    for t in range(ROUNDS):
        for v in best.values():
            v += 0.5 * rng.standard_normal(UNITS)
        if t == 30:
            fleet.join(np.full(UNITS, 21.0), "room 40")
        if t == 50:
            fleet.leave("room 5")
        if t == 60:
            fleet.restart("room 6")  # a new chiller: forget what was learned, begin where it is
        if t == 70:
            fleet = soqo.Fleet.resume(path, durability="process")  # as after a crash
        visited = [str(room) for room in fleet if rng.random() < 0.8]
        x = fleet.act(np.array([best[room] for room in visited]), visited)
        y = np.array([measure(room, x[row]) for row, room in enumerate(visited)])
        y[rng.random(len(y)) < 0.05] = np.nan  # no reading
        fleet.observe(y, visited)
        if "room 7" in visited:
            row = visited.index("room 7")
            same &= np.allclose(alone.act(best["room 7"]), x[row], rtol=1e-9, atol=1e-9)
            alone.observe(y[row])

    rounds = fleet.round
    print(f"{len(fleet)} rooms, {rounds.min()} to {rounds.max()} rounds each, {rounds.sum()} in total")
    print(f"room 7 acts as with a controller of its own: {bool(same)}")
    found = fleet.diagnostics()
    known = [np.abs(found["estimate"][k] - curvatures[str(room)]).max() < 0.5 for k, room in enumerate(fleet)]
    print(f"A is known to 0.5 in {sum(known)} of {len(fleet)} rooms")
    print(f"room 6: {fleet.diagnostics('room 6')['round']} rounds since it was rebuilt")
    print(f"room 0: {fleet.explain('room 0')}")

    # The log of one room, for shadow mode: what would following v have cost?
    fleet.close()
    log = soqo.Fleet.read_log(path, "room 0")
    print(f"room 0: {soqo.replay(soqo.FTM(), log)}")
