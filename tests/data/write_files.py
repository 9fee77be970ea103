"""Write a saved controller and a journal for every public policy, and what each does next.

Each release keeps what this prints in a folder named after its version; tests/test_compatibility.py holds that the
files of all of them can still be loaded and resumed::

    python tests/data/write_files.py tests/data/0.1.0
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import soqo
from soqo._storage.files import encode

A = np.array([[2.0, 0.5], [0.5, 1.0]])
ROUNDS, MORE = 30, 12


def controllers() -> dict[str, dict]:
    """Arguments of a controller for each case."""
    plant = {"low": [-15.0, -9.0], "high": [15.0, np.inf], "switching_weight": [1.0, 4.0]}
    scale = {"noise_cap": 0.5, "rank": 2, "min_eigenvalue": 0.5}
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
        "GLIDE_options": {"policy": soqo.GLIDE(noise_cap=0.5, bias="constant", robust=True, window=50.0, drift=False)},
        "GLIDE_plant": {"policy": soqo.GLIDE(), **plant},
        "Weighted": {"policy": soqo.Weighted(soqo.POL(1e-5), [[2.0, 0.3], [0.3, 1.0]])},
        "Limited": {"policy": soqo.Limited(soqo.Weighted(soqo.LAI(A), 3.0), low=-10.0, high=[9.0, 8.0])},
    }


def go_on(controller: soqo.Controller, rng: np.random.Generator, v: np.ndarray, rounds: int) -> tuple:
    """Play rounds with a missed reading, an applied action and an outlier among them."""
    rows = []
    for k in range(rounds):
        v = v + 3.0 * rng.standard_normal(2)
        x = controller.act(v)
        y = 0.5 * (x - v) @ A @ (x - v) + rng.uniform(-0.5, 0.5) + (300.0 if k == 20 else 0.0)
        if k == 7:
            controller.observe(np.nan)
        elif k == 11:
            controller.observe(y, applied=x + 0.1)
        else:
            controller.observe(y)
        rows.append([*v, *x, y])
    return v, rows


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, arguments in controllers().items():
        rng = np.random.default_rng(1)
        journal, saved = folder / f"{name}.journal", folder / f"{name}.controller"
        journal.unlink(missing_ok=True)
        controller = soqo.Controller(x0=[1.0, -1.0], **arguments, seed=3, journal=journal, durability="process")
        v, _ = go_on(controller, rng, np.zeros(2), ROUNDS)
        if name == "GLIDE":  # a snapshot in the middle, as a long journal has
            controller._journal.snapshot(encode(controller._standing()))
            v, _ = go_on(controller, rng, v, 4)
        v = v + 1.0
        pending = controller.act(v)  # in the middle of a round
        controller.save(saved)
        controller.close()
        copy = soqo.Controller.load(saved)
        y = float(0.5 * (pending - v) @ A @ (pending - v))
        copy.observe(y)
        _, rows = go_on(copy, rng, v, MORE)
        expected = {"round": controller.round, "pending": pending.tolist(), "y": y, "rows": rows}
        (folder / f"{name}.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
