"""The paper's claims that simulation can test, judged by stated rules from the numbers of a run.

A claim is tested in two readings: *as printed* (SCaLE and HySCaLE to the letter, learners with the rate of 1e-6 that the
text names) and *calibrated* (soqo's defaults, against learners with either rate). The verdict is made of what passed:

    holds                          in every setting, as printed
    holds only if calibrated       in every setting, but not as printed
    holds only if calibrated and   in some settings, which are named by what they have in common, or one by one
    does not hold                  in none
    not tested                     the settings that it needs were not run
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from soqo.experiments.growth import Growth, growth_exponent
from soqo.experiments.outcome import Outcome
from soqo.experiments.spec import Setting
from soqo.problem import RandomProblem

__all__ = ["READINGS", "Book", "Claim", "Reading", "judge", "verdict"]


@dataclass(frozen=True)
class Claim:
    """A claim and what became of it.

    Attributes
    ----------
    text, source : str
        What the paper says, in our words, and where.
    reading : str
        The settings and the readings of the text under which it was tested.
    rule : str
        When it would hold.
    number : str
        What was measured.
    verdict : str
        "holds", "holds only if ...", "does not hold", or "not tested" where the settings it needs were not run.
    """

    text: str
    source: str
    reading: str
    rule: str
    number: str
    verdict: str


@dataclass(frozen=True)
class Reading:
    """Which policies stand for the paper's."""

    name: str
    scale: str
    hyscale: str
    learners: tuple[str, ...]

    @property
    def baselines(self) -> tuple[str, ...]:
        """Whom SCaLE is to beat."""
        return ("FTM", *self.learners)


READINGS = (
    Reading(
        "as printed",
        "SCaLE as printed",
        "HySCaLE as printed",
        ("POL, rate 1e-6", "OAL, rate 1e-6"),
    ),
    Reading(
        "calibrated",
        "SCaLE",
        "HySCaLE",
        ("POL, rate 1e-6", "POL, rate 1e-8", "OAL, rate 1e-6", "OAL, rate 1e-8"),
    ),
)

Passed = dict[str, dict[str, bool]]
"""For each reading, for each setting: whether the rule is kept."""


class Book:
    """The outcomes by the names of their settings."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = {outcome.setting.name: outcome for outcome in outcomes}

    def __getitem__(self, name: str) -> Outcome:
        return self.outcomes[name]

    def has(self, names: Sequence[str]) -> bool:
        """Whether every one of these was run."""
        return all(name in self.outcomes for name in names)

    def median(self, name: str, policy: str, horizon: int | None = None) -> float:
        """The median regret of a policy at the end."""
        return self[name].median(policy, horizon)

    def growth(self, name: str, policy: str) -> Growth:
        """The exponent of a policy's regret in T."""
        outcome = self[name]
        horizons = np.array(outcome.horizons, dtype=float)
        regret = np.stack([outcome.regret(policy, h) for h in outcome.horizons])
        return growth_exponent(horizons, regret)

    def settings(self, names: Sequence[str]) -> dict[str, Setting]:
        """The settings of these names."""
        return {name: self[name].setting for name in names}


# ---- verdicts ------------------------------------------------------------------------------------------------------


def verdict(passed: Mapping[str, Mapping[str, bool]], settings: Mapping[str, Setting]) -> str:
    """The words for what passed, for each reading and each setting; the readings come in the order of their rank."""
    for rank, (reading, kept) in enumerate(passed.items()):
        if all(kept.values()):
            return "holds" if rank == 0 else f"holds only if {reading}"
    for rank, (reading, kept) in reversed(list(enumerate(passed.items()))):
        if any(kept.values()):
            where = condition(kept, settings)
            return f"holds only if {where}" if rank == 0 else f"holds only if {reading} and {where}"
    return "does not hold"


def condition(kept: Mapping[str, bool], settings: Mapping[str, Setting]) -> str:
    """What the settings that passed have in common and no other has; or their names, if there is no such thing."""
    for words, test in traits(settings.values()).items():
        if all(test(settings[name]) == good for name, good in kept.items()):
            return words
    bad = [name for name, good in kept.items() if not good]
    good = [name for name, good in kept.items() if good]
    if len(bad) <= len(good):
        return f"not in {', '.join(bad)}"
    return f"in {', '.join(good)}"


def traits(settings: object) -> dict[str, Callable[[Setting], bool]]:
    """Properties that tell settings apart, with their words."""
    found: dict[str, Callable[[Setting], bool]] = {}
    every: list[Setting] = list(settings)  # type: ignore[call-overload]
    for rank in sorted({rank_of(setting) for setting in every}):
        found[f"r = {rank}"] = lambda setting, rank=rank: rank_of(setting) == rank  # type: ignore[misc]
    for sigma in sorted({smallest_of(setting) for setting in every}):
        found[f"sigma_r = {sigma:g}"] = lambda s, sigma=sigma: smallest_of(s) == sigma  # type: ignore[misc]
    for kind in sorted({kind_of(setting) for setting in every}):
        found[f"steps are {kind}"] = lambda setting, kind=kind: kind_of(setting) == kind  # type: ignore[misc]
        found[f"steps are not {kind}"] = lambda setting, kind=kind: kind_of(setting) != kind  # type: ignore[misc]
    return found


def rank_of(setting: Setting) -> int:
    """The rank of A."""
    problem = setting.environment.problem
    return problem.rank if isinstance(problem, RandomProblem) else int(np.max(problem.rank))


def smallest_of(setting: Setting) -> float:
    """The smallest nonzero eigenvalue that A may have."""
    problem = setting.environment.problem
    return float(problem.smallest) if isinstance(problem, RandomProblem) else float("nan")


def kind_of(setting: Setting) -> str:
    """How v moves, in a word."""
    return type(setting.environment.process).__name__


def judge(outcomes: Sequence[Outcome]) -> list[Claim]:
    """Judge every claim from what was simulated."""
    from soqo.experiments.claim_rules import RULES

    book = Book(outcomes)
    return [rule(book) for rule in RULES]
