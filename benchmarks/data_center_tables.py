"""What policies cost in a data center: weights of wear, base loads and missing readings.

    python benchmarks/data_center_tables.py             two weeks, four runs (minutes)
    python benchmarks/data_center_tables.py --quick     a day, one run

Each entry is the mean cost in kW; in parentheses, relative to the oracle, which knows A for every load, and the share
of inlets above their limit.
"""

from __future__ import annotations

import argparse
from typing import Any

from soqo.plants import ORACLE, DataCenter, Drive, contenders, drive

NAMES = ("FTM", "deadband", "interpolation 0.5", "LAI, fitted A", ORACLE, "RLS", "GLIDE", "GLIDE, told nothing")

CASES: dict[str, dict[str, Any]] = {
    "W = 12": {},
    "W = 4": {"wear": 4.0},
    "W = 40": {"wear": 40.0},
    "no base load": {"base_swing": 0.0},
    "base load swings by 20 kW": {"base_swing": 20.0},
    "5 % of readings missing": {"missing": 0.05},
    "a steeper penalty": {"softness": 0.5},
}


def run(center: DataCenter, rounds: int, seeds: int) -> Drive:
    """Drive a data center with some of the policies."""
    chosen = {name: one for name, one in contenders(center, rounds=rounds, seeds=seeds).items() if name in NAMES}
    return drive(center, chosen, rounds=rounds, seeds=seeds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4032)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help="288 rounds and one run")
    options = parser.parse_args()
    rounds, seeds = (288, 1) if options.quick else (options.rounds, options.seeds)
    print("| case |", " | ".join(NAMES), "|")
    print("|---|" + "--:|" * len(NAMES))
    for case, change in CASES.items():
        result = run(DataCenter(**change), rounds, seeds)
        oracle = result[ORACLE].total
        cells = [
            f"{cost.total:.2f} ({100 * (cost.total / oracle - 1):+.0f} %; {100 * cost.violations:.2f} %)"
            for cost in (result[name] for name in NAMES)
        ]
        print(f"| {case} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
