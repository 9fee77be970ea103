"""What policies cost on a wind farm: weights of wear, disturbances, FLORIS as the plant, and many turbines.

    python benchmarks/wind_farm_tables.py                     synthetic wind, all tables but FLORIS (ten minutes)
    python benchmarks/wind_farm_tables.py wear --quick        one table, few rounds
    python benchmarks/wind_farm_tables.py --trace wind.csv    recorded wind, such as benchmarks/la_haute_borne.py writes
    python benchmarks/wind_farm_tables.py floris              needs the extra wind

Each entry is the mean cost in kW; in parentheses, relative to the oracle, which knows A for every wind speed.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

from soqo.plants import ORACLE, Drive, FlorisWake, Wind, WindFarm, contenders, drive

NAMES = ("FTM", "deadband", "interpolation 0.5", "LAI, fitted A", ORACLE, "RLS", "GLIDE", "GLIDE, told nothing")

DISTURBANCES: dict[str, dict[str, Any]] = {
    "undisturbed": {},
    "continuous directions": {"compass": False},
    "5 % of readings missing": {"missing": 0.05},
    "5 % unavailability of turbines": {"unavailability": 0.05},
    "readings 1 to 6 rounds late": {"delays": (1, 6)},
    "vane bias of 4 deg": {"vane_bias": 4.0},
    "lag of 3 rounds": {"lag": 3.0},
}


def run(farm: WindFarm, rounds: int, seeds: int, names: tuple[str, ...] = NAMES) -> Drive:
    """Drive a farm with some of the policies."""
    chosen = {name: one for name, one in contenders(farm, rounds=rounds, seeds=seeds).items() if name in names}
    return drive(farm, chosen, rounds=rounds, seeds=seeds)


def print_rows(results: Mapping[str, Drive]) -> None:
    """Print a table with a row for each case."""
    names = next(iter(results.values())).names
    print("| case |", " | ".join(names), "|")
    print("|---|" + "--:|" * len(names))
    for case, result in results.items():
        oracle = result[ORACLE].total
        cells = [f"{result[name].total:.0f} ({100 * (result[name].total / oracle - 1):+.1f} %)" for name in names]
        print(f"| {case} |", " | ".join(cells), "|", flush=True)
    print()


def print_wear(wind: Wind | None, rounds: int, seeds: int) -> None:
    """Print the costs for three weights of wear, at a constant speed and at that of the wind."""
    print_rows(
        {
            f"{name}, W = {wear:g}": run(WindFarm(wind=wind, wear=wear, constant_speed=speed), rounds, seeds)
            for name, speed in (("8 m/s", 8.0), ("varying speed", None))
            for wear in (0.5, 2.0, 8.0)
        }
    )


def print_disturbances(wind: Wind | None, rounds: int, seeds: int) -> None:
    """Print the costs under disturbances, at the speed of the wind."""
    print_rows({name: run(WindFarm(wind=wind, **change), rounds, seeds) for name, change in DISTURBANCES.items()})


def print_floris(wind: Wind | None, rounds: int, seeds: int) -> None:
    """Print the costs with FLORIS and its GCH model as the plant."""
    farm = WindFarm(wind=wind, model=FlorisWake())
    print_rows(
        {"FLORIS, GCH": run(farm, rounds, seeds, ("FTM", "interpolation 0.5", ORACLE, "GLIDE", "GLIDE, told nothing"))}
    )


def print_size(wind: Wind | None, rounds: int, seeds: int) -> None:
    """Print costs and the time of a round with 36 turbines."""
    places = [(5.0 * k, 5.0 * j) for j in range(6) for k in range(6)]
    result = run(WindFarm(layout=np.array(places), wind=wind), rounds, seeds, ("interpolation 0.5", ORACLE, "GLIDE"))
    print_rows({"36 turbines": result})
    print(f"GLIDE with 36 turbines: {result['GLIDE'].milliseconds:.0f} ms of processor time per round\n")


TABLES = {"wear": print_wear, "disturbances": print_disturbances, "size": print_size, "floris": print_floris}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], help="which tables")
    parser.add_argument("--trace", help="a CSV file with the columns direction and speed")
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help="300 rounds and one run")
    options = parser.parse_args()
    trace = None if options.trace is None else Wind.read(options.trace)
    length, runs = (300, 1) if options.quick else (options.rounds, options.seeds)
    for table in options.tables or ("wear", "disturbances", "size"):
        TABLES[table](trace, length, runs)
