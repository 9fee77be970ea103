"""Invented outcomes of the paper's settings, for which the verdict of every claim is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from soqo import PolicyResult, Result
from soqo.experiments import Claim, Outcome, Setting, catalogue, judge

Regret = Callable[[Setting, str, int], float]
"""The regret of a policy in a setting at a horizon."""

SETTINGS = {setting.name: setting for setting in catalogue()}


def invented(setting: Setting, regret: Regret, paid_in_rounds: int = 10) -> Outcome:
    """Return an outcome in which every run has this regret, and pays all of it in the first rounds."""
    results = {}
    for T in {setting.horizon, *setting.horizons}:
        shares = (
            np.where(np.arange(T) < paid_in_rounds, 1.0 / paid_in_rounds, 0.0) if setting.horizon == T else np.ones(1)
        )
        zeros = np.zeros((3, shares.size))
        results[T] = Result(
            records={
                name: PolicyResult(zeros + regret(setting, name, T) * shares, zeros, zeros, np.zeros(3, np.bool_))
                for name in setting.policies
            },
            benchmark_hitting=zeros,
            benchmark_switching=zeros,
            first_run=0,
            configuration={},
        )
    return Outcome(setting, results)


def as_the_paper_says(setting: Setting, name: str, T: int) -> float:
    """Return regret for which every claim of the paper is true."""
    if setting.swept:
        return float(1.0 + np.log(setting.swept[name].value / 3.0) ** 2)
    deficient = "_r1_" in setting.name or setting.figure in ("heavy_tails", "rank_deficient")
    growth = math.pow(T, 0.66 if deficient else 0.5)
    if name.startswith("HySCaLE"):
        return (3.0 if "Cauchy" in setting.title else 0.9) * growth
    if name.startswith(("SCaLE", "GLIDE")):
        return growth
    # Everyone else pays in proportion to the horizon, and more where sigma_r is small.
    return (20.0 if "0.01" in setting.name else 10.0) * float(T)


def claims(regret: Regret, names: list[str] | None = None) -> dict[str, Claim]:
    """Return the claims by text, judged from this regret in some settings or in all."""
    chosen = [SETTINGS[name] for name in names] if names is not None else list(SETTINGS.values())
    return {claim.text: claim for claim in judge([invented(setting, regret) for setting in chosen])}
