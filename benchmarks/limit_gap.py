"""Print how far policies are from the least regret over a whole run, the first rounds included.

python benchmarks/limit_gap.py [--runs 48] [--rounds 1000]

The prior is that of the sixteen settings: uniform eigenvectors, and one of four sets of eigenvalues. The bound holds
for every policy and any noise (`soqo.theory.first_rounds_bound`). "Told" is the bound for a policy that is told which
of the four sets it is, "not told" for one that knows only the four. Regret has a mean for martingales with a variance.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import soqo
from sixteen_settings import Setting, settings
from soqo.theory import FirstRoundsBound, first_rounds_bound
from soqo.typing import Array

POLICIES = ("GLIDE", "RLS", "SCaLE")


def eigenvalues(setting: Setting) -> Array:
    """Return the eigenvalues of A in a setting, shape (4,)."""
    if setting.rank == 1:
        return np.array([setting.sigma, 0.0, 0.0, 0.0])
    return np.linspace(setting.sigma, 10.0, 4)


def mean_regret(setting: Setting, rounds: int, runs: int) -> dict[str, Array]:
    """Return the regret of each run by policy."""
    policies = {
        "GLIDE": soqo.GLIDE(),
        "RLS": soqo.RLS(setting.cap / math.sqrt(3.0)),
        "SCaLE": soqo.SCaLE(setting.cap, rank=setting.rank, min_eigenvalue=setting.sigma, c1=setting.c1),
    }
    result = soqo.simulate(setting.environment(), policies, horizon=rounds, runs=runs, seed=0)
    return {name: result.regret(name, form="low_variance")[:, -1] for name in policies}


def row(name: str, bound: FirstRoundsBound, regret: dict[str, Array]) -> str:
    """Return a row of the table: the bound, and each policy's mean, standard error and ratio to the bound."""
    cells = [f"{name:<25}{bound.total:>8.4g}"]
    for policy in POLICIES:
        mean, error = regret[policy].mean(), regret[policy].std(ddof=1) / math.sqrt(len(regret[policy]))
        cells.append(f"{mean:>10.3g} +- {error:<8.2g}{f'{mean / bound.total:.3g}x':>7}")
    return "".join(cells)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=1000)
    given = parser.parse_args()
    print(f"{'setting':<25}{'bound':>8}" + "".join(f"{name:>29}" for name in POLICIES))
    for process in ("Gaussian", "Laplace"):
        chosen = [setting for setting in settings() if setting.name.startswith(process)]
        covariance = chosen[0].process.covariance(4)
        assert covariance is not None
        variance = float(covariance[0, 0])
        regret = [mean_regret(setting, given.rounds, given.runs) for setting in chosen]
        for setting, found in zip(chosen, regret, strict=True):
            print(row(f"{setting.name}, told", first_rounds_bound(eigenvalues(setting), variance), found), flush=True)
        spectra = np.stack([eigenvalues(setting) for setting in chosen])
        together = {policy: np.concatenate([found[policy] for found in regret]) for policy in POLICIES}
        print(row(f"{process}, not told", first_rounds_bound(spectra, variance), together), flush=True)


if __name__ == "__main__":
    main()
