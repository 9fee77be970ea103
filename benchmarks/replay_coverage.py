"""How often the interval of `soqo.replay` covers the true saving, in the building of examples/13_hvac.py.

    python benchmarks/replay_coverage.py            10 logs per row (four minutes)
    python benchmarks/replay_coverage.py --quick    3 logs per row, half of the draws
    python benchmarks/replay_coverage.py --noise .02 --seed 1

Each log is a week of half steps. A row is a base load; in the last one v has an error too. A cell has the number of
logs whose 95 % interval covers the true saving, and the medians of the width of the interval and of the error of the
estimated saving, both as shares of the cost of the log.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import soqo
from hvac_table import plant

LOGS, DRAWS = 10, 40


def policies() -> dict[str, soqo.Policy[Any]]:
    """Return the policies that are replayed."""
    return {"GLIDE": soqo.GLIDE(), "LAI": soqo.LAI.for_problem(plant.problem), "FTM": soqo.FTM()}


def settings() -> Iterator[tuple[str, soqo.Environment]]:
    """Yield the rows: the base loads, and one of them with an error of v."""
    for name, load in plant.BASE_LOADS.items():
        yield name, plant.environment(load)
    name = "1 kW, +-40 % over the day"
    yield f"{name}, v off", replace(plant.environment(plant.BASE_LOADS[name]), offset=soqo.Offset(scale=0.5))


def logs(environment: soqo.Environment, runs: int, seed: int) -> tuple[list[soqo.Log], dict[str, Any]]:
    """Return logs of half steps, and what each policy would truly have saved."""
    players = {"half steps": plant.HalfSteps(), **policies()}
    result = soqo.simulate(environment, players, horizon=plant.WEEK, runs=runs, seed=seed, record=True)
    paths = environment.draw(plant.WEEK, runs, seed=seed)
    load = sum(variates for _, variates in paths.meters)
    y = result["half steps"].hitting + plant.NOISE * paths.variates + load
    assert result.actions is not None
    options = {"x0": plant.START, "switching_weight": plant.WEIGHT, "horizon": plant.WEEK}
    x = result.actions["half steps"]
    cost = result.cost("half steps").sum(axis=1)
    true = {name: cost - result.cost(name).sum(axis=1) for name in policies()}
    return [soqo.Log(paths.told[k], x[k], y[k], **options) for k in range(runs)], true


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer logs and draws")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise", type=float, default=plant.NOISE, help="the deviation of the noise in kW")
    options = parser.parse_args()
    plant.NOISE = options.noise
    runs, draws = (3, DRAWS // 2) if options.quick else (LOGS, DRAWS)
    print("base load".ljust(34), *(name.rjust(22) for name in policies()))
    for name, environment in settings():
        recorded, true = logs(environment, runs, options.seed)
        cells = []
        for title, policy in policies().items():
            found = [soqo.replay(policy, log, draws=draws) for log in recorded]
            covered = sum(f.interval[0] <= t <= f.interval[1] for f, t in zip(found, true[title], strict=True))
            width = np.median([(f.interval[1] - f.interval[0]) / f.recorded.mean() for f in found])
            error = np.median([(f.saving - t) / f.recorded.mean() for f, t in zip(found, true[title], strict=True)])
            cells.append(f"{covered}/{runs} {width:.2f} {error:+.2f}".rjust(22))
        print(name.ljust(34), *cells, flush=True)


if __name__ == "__main__":
    main()
