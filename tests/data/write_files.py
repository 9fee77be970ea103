"""Write the files with which ``tests/test_compatibility.py`` checks that later versions can read those of this version.

For every public policy this writes a saved controller, a journal that ends in the middle of a round, and the actions
that follow (JSON); the same for GLIDE with many dimensions; and with GLIDE the journal of a fleet and the store of a
server (as SQL). Run it once for each release, before the version number changes, and commit the folder::

    python tests/data/write_files.py tests/data/VERSION

The files of a released version are never written again: a later version would write its own format. An existing folder
is therefore refused.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import soqo
from soqo.typing import Array

A = np.array([[2.0, 0.5], [0.5, 1.0]])
ROUNDS, LATER_ROUNDS = 30, 12
LONG_ROUNDS = 1200
"""Enough rounds for a journal of more than 64 KiB, which has a snapshot in the middle."""

MANY_DIM, MANY_ROUNDS = 14, 60
KILLED = ("GLIDE_options", "GLIDE_many")
"""The journals that end as after a crash, without the complete state that closing writes."""


def controllers() -> dict[str, dict[str, Any]]:
    """Return the arguments of a controller for each case; the part of a name before ``_`` is the policy."""
    plant = {"low": [-15.0, -9.0], "high": [15.0, np.inf], "switching_weight": [1.0, 4.0]}
    scale: dict[str, Any] = {"noise_cap": 0.5, "rank": 2, "min_eigenvalue": 0.5}
    return {
        "FTM": {"policy": soqo.FTM()},
        "LAI": {"policy": soqo.LAI(A), "horizon": 100},
        "ROBD": {"policy": soqo.ROBD(A, lambda1=2.0, lambda2=0.5)},
        "POL": {"policy": soqo.POL(1e-5, initial=2.0 * np.eye(2), gradient="as_printed")},
        "OAL": {"policy": soqo.OAL(1e-5)},
        "SCaLE": {"policy": soqo.SCaLE(**scale), "horizon": 100},
        "SCaLE_exploring": {"policy": soqo.SCaLE.as_printed(**scale, c1=10.0, gamma2=4.0, probe_limit=[3.0, 2.0])},
        "SCaLE_optimal": {
            "policy": soqo.SCaLE(**scale, gamma2="optimal", covariance=soqo.processes.Gaussian(5.0), prior=A),
            "horizon": 100,
        },
        "HySCaLE": {"policy": soqo.HySCaLE(**scale, learning_rate=1e-6, handover="virtual"), "horizon": 100},
        "GLIDE": {"policy": soqo.GLIDE()},
        "GLIDE_long": {"policy": soqo.GLIDE()},
        "GLIDE_many": {"policy": soqo.GLIDE(), "x0": np.ones(MANY_DIM)},
        "GLIDE_options": {"policy": soqo.GLIDE(offset=False, noise_cap=0.5, y_max=500.0)},
        "GLIDE_plant": {"policy": soqo.GLIDE(), **plant},
        "Guarded_plant": {"policy": soqo.Guarded(soqo.GLIDE()), **plant},
        "Weighted": {"policy": soqo.Weighted(soqo.POL(1e-5), [[2.0, 0.3], [0.3, 1.0]])},
        "Limited": {"policy": soqo.Limited(soqo.Weighted(soqo.LAI(A), 3.0), low=-10.0, high=[9.0, 8.0])},
    }


def curvature(dim: int) -> Array:
    """Return A, which has rank 2."""
    B = np.random.default_rng(dim).standard_normal((dim, 2))
    return A if dim == 2 else B @ B.T / dim


def play(
    controller: soqo.Controller, rng: np.random.Generator, v: Array, rounds: int
) -> tuple[Array, list[list[float]]]:
    """Play rounds, one with a missing reading, one with an applied action, and one with an outlier.

    Return the last minimizer, and a row of v, x and y for each round.
    """
    rows, B = [], curvature(v.size)
    for k in range(rounds):
        v = v + 3.0 * rng.standard_normal(v.size)
        x = controller.act(v)
        y = float(0.5 * (x - v) @ B @ (x - v) + rng.uniform(-0.5, 0.5) + (300.0 if k == 20 else 0.0))
        if k == 7:
            controller.observe(np.nan)
        elif k == 11:
            controller.observe(y, applied=x + 0.1)
        else:
            controller.observe(y)
        rows.append([*v.tolist(), *x.tolist(), y])
    return v, rows


def write_controller(folder: Path, name: str, arguments: dict[str, Any]) -> None:
    """Write a saved controller, its journal and what follows."""
    rng = np.random.default_rng(1)
    journal, saved = folder / f"{name}.journal", folder / f"{name}.controller"
    controller = soqo.Controller(**{"x0": [1.0, -1.0], "seed": 3, **arguments}, journal=journal, durability="process")
    rounds = {"GLIDE_long": LONG_ROUNDS, "GLIDE_many": MANY_ROUNDS}.get(name, ROUNDS)
    v, _ = play(controller, rng, np.zeros(controller.x.size), rounds)
    v = v + 1.0
    pending = controller.act(v)  # the files end in the middle of a round
    controller.save(saved)
    if name in KILLED:
        left = journal.read_bytes()
        controller.close()
        journal.write_bytes(left)
    controller.close()
    loaded = soqo.Controller.load(saved)
    y = float(0.5 * (pending - v) @ curvature(v.size) @ (pending - v))
    loaded.observe(y)
    _, rows = play(loaded, rng, v, LATER_ROUNDS)
    expected = {"round": controller.round, "pending": pending.tolist(), "y": y, "rows": rows}
    (folder / f"{name}.json").write_text(json.dumps(expected) + "\n", encoding="utf-8")


def write_fleet(folder: Path) -> None:
    """Write the journal of a fleet of which one plant waits for its reading, and the next actions."""
    rng, v = np.random.default_rng(2), np.zeros((3, 2))
    folder.mkdir()
    fleet = soqo.Fleet(soqo.GLIDE(), v, names=["a", "b", "c"], journal=folder / "journal", durability="process")
    for t in range(ROUNDS):
        v = v + 3.0 * rng.standard_normal(v.shape)
        plants = ["a", "b", "c"][: 3 if t % 3 else 2]
        x = fleet.act(v[: len(plants)], plants)
        u = x - v[: len(plants)]
        fleet.observe(0.5 * np.vecdot(u, u @ A) + rng.uniform(-0.5, 0.5, len(u)), plants)
    fleet.act(v[:1] + 1.0, ["a"])
    rounds, pending = fleet.round.tolist(), fleet.x[0].tolist()
    fleet.close()
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(folder, scratch, dirs_exist_ok=True)
        with soqo.Fleet.resume(Path(scratch) / "journal", durability="process") as following:
            x = following.act(v[1:] + 1.0, ["b", "c"])
    expected = {"round": rounds, "pending": pending, "v": (v[1:] + 1.0).tolist(), "x": x.tolist()}
    (folder / "expected.json").write_text(json.dumps(expected) + "\n", encoding="utf-8")


def write_store(folder: Path) -> None:
    """Write the store of a server with one plant that waits for its reading, and the next action."""
    from starlette.testclient import TestClient  # it warns, and only writing needs it

    folder.mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        path, rng, v = Path(scratch) / "store.sqlite", np.random.default_rng(3), np.zeros(2)
        with TestClient(soqo.service.create_app(path, require_token=False), base_url="http://127.0.0.1") as client:
            client.post("/plants", json={"name": "roof", "policy": {"kind": "GLIDE"}, "x0": [0.0, 0.0]})
            for t in range(1, ROUNDS + 2):
                v = v + 3.0 * rng.standard_normal(2)
                answer = client.post("/plants/roof/rounds", json={"round": t, "v": v.tolist()})
                pending = np.array(answer.json()["x"])
                y = float(0.5 * (pending - v) @ A @ (pending - v) + rng.uniform(-0.5, 0.5))
                if t <= ROUNDS:
                    client.post(f"/plants/roof/rounds/{t}/reading", json={"y": y})
        with sqlite3.connect(path) as store:
            dump = "\n".join(store.iterdump())
        version = store.execute("PRAGMA user_version").fetchone()[0]
        store.close()
    (folder / "store.sql").write_text(f"PRAGMA user_version = {version};\n{dump}\n", encoding="utf-8")
    expected = {"round": ROUNDS, "pending": pending.tolist(), "y": y}
    (folder / "expected.json").write_text(json.dumps(expected) + "\n", encoding="utf-8")


def write_files(folder: Path) -> None:
    """Write the files of every case to a new folder."""
    folder.mkdir(parents=True)
    for name, arguments in controllers().items():
        write_controller(folder, name, arguments)
    write_fleet(folder / "fleet")
    write_store(folder / "store")


if __name__ == "__main__":
    write_files(Path(sys.argv[1]))
