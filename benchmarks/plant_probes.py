"""What probing costs on plants: SCaLE and HySCaLE while they probe and after, with GLIDE beside them.

python benchmarks/plant_probes.py            1,000 rounds, two runs (a minute)
python benchmarks/plant_probes.py --quick    300 rounds, one run
"""

from __future__ import annotations

import argparse

import numpy as np

from soqo.plants import DataCenter, Plant, WindFarm, contenders, drive
from soqo.policies import SCaLE


def print_table(plant: Plant, rounds: int, seeds: int) -> None:
    """Print a row for each policy that probes, and one for GLIDE."""
    chosen = {
        name: one
        for name, one in contenders(plant, rounds=rounds, seeds=seeds).items()
        if "SCaLE" in name or name == "GLIDE"
    }
    result = drive(plant, chosen, rounds=rounds, seeds=seeds)
    print(f"{plant.title}, {rounds} rounds")
    print(
        "| policy | rounds with probes | size of a probe | kW while probing | kW after | eigenvalues of the estimate |"
    )
    print("|---|--:|--:|--:|--:|---|")
    for k, (name, one) in enumerate(chosen.items()):
        policy, estimate = one.policy, result.estimates[k]
        count, size = 0, 0.0
        if isinstance(policy, SCaLE):
            count = policy.exploration_rounds(plant.dim)
            size = float(np.sqrt(policy.probe_variance(plant.dim, rounds) / np.asarray(plant.switching_weight)))
        cost = (result.lost[k] + result.wear[k]).mean(axis=1)
        values = np.zeros(plant.dim) if estimate is None else np.linalg.eigvalsh(estimate)
        probing = f"{cost[:count].mean():,.1f}" if count else "-"
        print(
            f"| {name} | {count} | {size:.1f} {plant.position_unit} | {probing} | {cost[count:].mean():,.1f} | "
            f"{values[0]:.2g} .. {values[-1]:.2g} |"
        )
    print(flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="300 rounds and one run")
    quick = parser.parse_args().quick
    for one in (WindFarm(), DataCenter()):
        print_table(one, 300 if quick else 1000, 1 if quick else 2)
