"""Write the files with which ``tests/test_compatibility.py`` checks that later versions can read those of this version.

For every public policy this writes a saved controller, a journal that ends in the middle of a round, and the actions
that follow (JSON). Run it once for each release, before the version number changes, and commit the folder::

    python tests/data/write_files.py tests/data/VERSION

The files of a released version are never written again: a later version would write its own format. An existing folder
is therefore refused.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import soqo
from soqo.typing import Array

A = np.array([[2.0, 0.5], [0.5, 1.0]])
ROUNDS, LATER_ROUNDS = 30, 12
LONG_ROUNDS = 1200
"""Enough rounds for a journal of more than 64 KiB, which has a snapshot in the middle."""


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
        "GLIDE_options": {"policy": soqo.GLIDE(noise_cap=0.5, bias="constant", robust=True, window=50.0, drift=False)},
        "GLIDE_plant": {"policy": soqo.GLIDE(), **plant},
        "Weighted": {"policy": soqo.Weighted(soqo.POL(1e-5), [[2.0, 0.3], [0.3, 1.0]])},
        "Limited": {"policy": soqo.Limited(soqo.Weighted(soqo.LAI(A), 3.0), low=-10.0, high=[9.0, 8.0])},
    }


def play(
    controller: soqo.Controller, rng: np.random.Generator, v: Array, rounds: int
) -> tuple[Array, list[list[float]]]:
    """Play rounds, one with a missing reading, one with an applied action, and one with an outlier.

    Return the last minimizer, and a row of v, x and y for each round.
    """
    rows = []
    for k in range(rounds):
        v = v + 3.0 * rng.standard_normal(2)
        x = controller.act(v)
        y = float(0.5 * (x - v) @ A @ (x - v) + rng.uniform(-0.5, 0.5) + (300.0 if k == 20 else 0.0))
        if k == 7:
            controller.observe(np.nan)
        elif k == 11:
            controller.observe(y, applied=x + 0.1)
        else:
            controller.observe(y)
        rows.append([*v.tolist(), *x.tolist(), y])
    return v, rows


def write_files(folder: Path) -> None:
    """Write the files of every case to a new folder."""
    folder.mkdir(parents=True)
    for name, arguments in controllers().items():
        rng = np.random.default_rng(1)
        journal, saved = folder / f"{name}.journal", folder / f"{name}.controller"
        controller = soqo.Controller(x0=[1.0, -1.0], **arguments, seed=3, journal=journal, durability="process")
        v, _ = play(controller, rng, np.zeros(2), LONG_ROUNDS if name.endswith("_long") else ROUNDS)
        v = v + 1.0
        pending = controller.act(v)  # the files end in the middle of a round
        controller.save(saved)
        controller.close()
        loaded = soqo.Controller.load(saved)
        y = float(0.5 * (pending - v) @ A @ (pending - v))
        loaded.observe(y)
        _, rows = play(loaded, rng, v, LATER_ROUNDS)
        expected = {"round": controller.round, "pending": pending.tolist(), "y": y, "rows": rows}
        (folder / f"{name}.json").write_text(json.dumps(expected) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_files(Path(sys.argv[1]))
