"""What base loads do to the policies in the building of examples/13_hvac.py.

    python benchmarks/hvac_table.py            16 weeks per row (half a minute)
    python benchmarks/hvac_table.py --quick    4 weeks per row

Each entry is the median of the total cost of a week, and in parentheses that of its excess over LAI, which knows A.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np

import soqo
from soqo.typing import Array

RUNS = 16


def load_plant() -> Any:
    """Return the module of the example, whose name is not an identifier."""
    path = Path(__file__).resolve().parent.parent / "examples" / "13_hvac.py"
    spec = importlib.util.spec_from_file_location("hvac_plant", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


plant = load_plant()


def policies() -> dict[str, Any]:
    """Return the policies of the table."""
    return {
        "FTM": soqo.FTM(),
        "half steps": plant.HalfSteps(),
        "RLS": soqo.RLS(plant.NOISE),
        "RLS with offset": soqo.RLS(plant.NOISE, offset=True),
        "GLIDE": soqo.GLIDE(),
        "LAI": soqo.LAI.for_problem,
    }


def costs(load: soqo.meters.BaseLoad, runs: int, seed: int = 0) -> dict[str, Array]:
    """Return the total cost of each week, by policy."""
    result = soqo.simulate(plant.environment(load), policies(), horizon=plant.WEEK, runs=runs, seed=seed)
    return {name: result.cost(name).sum(axis=1) for name in result}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer weeks")
    runs = 4 if parser.parse_args().quick else RUNS
    print("base load".ljust(26), *(name.rjust(17) for name in policies()), "GLIDE < half steps".rjust(20))
    for name, load in plant.BASE_LOADS.items():
        found = costs(load, runs)
        excess = {policy: float(np.median(cost / found["LAI"])) - 1.0 for policy, cost in found.items()}
        cells = (f"{np.median(cost):.1f} ({excess[policy]:+.0%})".rjust(17) for policy, cost in found.items())
        better = int((found["GLIDE"] < found["half steps"]).sum())
        print(name.ljust(26), *cells, f"{better} of {runs}".rjust(20), flush=True)


if __name__ == "__main__":
    main()
