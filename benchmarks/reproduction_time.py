"""Estimate where the processor time of `soqo reproduce` goes, from a sample of its tasks of each kind.

python benchmarks/reproduction_time.py            the complete reproduction
python benchmarks/reproduction_time.py --quick    the first look
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterable

from soqo import GLIDE, HySCaLE
from soqo.experiments import catalogue, quick_setting
from soqo.experiments.execution import Cell, compute_cell, make_cells, split_into_cells
from soqo.experiments.settings import all_readings, few_readings, plan_first_stage, plan_second_stage

SAMPLE = 16
"""Tasks of each kind that are timed."""


def kind_of(task: Cell) -> str:
    """Return what a task computes."""
    policies = list(task.policies.values())
    if all(isinstance(policy, GLIDE) for policy in policies):
        return "GLIDE"
    if task.kept != "regrets":
        return "the paper's policies in its figures"
    hybrid = any(isinstance(policy, HySCaLE) for policy in policies)
    return "readings, with HySCaLE" if hybrid else "readings, SCaLE and baselines"


def tasks(quick: bool) -> Iterable[Cell]:
    """Yield the tasks of both stages; the second is that of a line search that always chooses c1 = 2 or 15."""
    settings = [quick_setting(setting) if quick else setting for setting in catalogue()]
    readings = few_readings() if quick else all_readings()
    for setting in settings:
        for cell in split_into_cells(setting):
            yield from cell.split()
    judged = [setting for setting in settings if setting.name != "intro"]
    first = plan_first_stage(judged, readings)
    tuned = {
        (plan.setting, plan.spectrum, str(reading.gamma2), str(reading.radius)): {
            "mean": 15.0 if "_r1_" in plan.setting else 2.0,
            "median": 15.0 if "_r1_" in plan.setting else 2.0,
        }
        for plan in first
        for reading in readings
    }
    for plan in [*first, *plan_second_stage(judged, readings, tuned)]:
        for horizon, policies in plan.policies.items():
            cells = make_cells(
                plan.environment, policies.values(), horizon=horizon, seed=plan.seed, runs=plan.runs, kept="regrets"
            )
            for cell in cells:
                yield from cell.split()


def main() -> None:
    """Print the estimates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    kinds: dict[str, list[Cell]] = {}
    for task in tasks(parser.parse_args().quick):
        kinds.setdefault(kind_of(task), []).append(task)
    print("| tasks | number | processor time, estimated |")
    print("|---|---|---|")
    for kind, found in kinds.items():
        sample = random.Random(0).sample(found, min(SAMPLE, len(found)))
        start = time.process_time()
        for task in sample:
            compute_cell(task)
        seconds = (time.process_time() - start) / len(sample) * len(found)
        print(f"| {kind} | {len(found)} | {seconds:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
