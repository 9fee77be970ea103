"""The paper's claims that simulation can test, judged by stated rules from the numbers of a run.

A claim is tested in three readings: *as printed* (SCaLE and HySCaLE to the letter, learners with the rate of 1e-6 that
the text names); *calibrated* (soqo's defaults, against learners with that rate and with 1e-8, which suits steps of this
size better); and calibrated against learners with the rate of 1e-6 alone. The verdict is what passed:

    holds                          in every setting, as printed
    holds only if calibrated       in every setting, but not as printed
    holds only if calibrated and   in some settings, which are named by what they have in common, or one by one; or with
                                   the learners' rate at 1e-6
    does not hold                  in none
    not tested                     the settings that it needs were not run
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from soqo._problem import RandomProblem
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.settings._catalogue import catalogue
from soqo.experiments.settings._spec import Setting
from soqo.theory._growth import Growth, growth_exponent

__all__ = ["SIXTEEN", "UNTESTED", "VARIANTS", "Book", "Claim", "Variant", "judged", "verdict"]

UNTESTED = "not tested"
"""The verdict on a claim whose settings were not run."""


@dataclass(frozen=True)
class Claim:
    """A claim and what became of it.

    Attributes
    ----------
    text, source : str
        What the paper says, in our words, and where.
    variant : str
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
    variant: str
    rule: str
    number: str
    verdict: str


@dataclass(frozen=True)
class Variant:
    """Which policies stand for the paper's."""

    name: str
    scale: str
    hyscale: str
    learners: tuple[str, ...]

    @property
    def baselines(self) -> tuple[str, ...]:
        """Whom SCaLE is to beat."""
        return ("FTM", *self.learners)


VARIANTS = (
    Variant(
        "as printed",
        "SCaLE as printed",
        "HySCaLE as printed",
        ("POL, rate 1e-6", "OAL, rate 1e-6"),
    ),
    Variant(
        "calibrated",
        "SCaLE",
        "HySCaLE",
        ("POL, rate 1e-6", "POL, rate 1e-8", "OAL, rate 1e-6", "OAL, rate 1e-8"),
    ),
    Variant(
        "calibrated and the learners' rate is 1e-6",
        "SCaLE",
        "HySCaLE",
        ("POL, rate 1e-6", "OAL, rate 1e-6"),
    ),
)

SIXTEEN = [
    f"{process}_r{rank}_{sigma}"
    for rank in (4, 1)
    for process in ("gaussian", "correlated", "cauchy", "laplace")
    for sigma in ("1", "0.01")
]
"""The settings of the appendix."""

Passed = dict[str, dict[str, bool]]
"""For each variant, for each setting: whether the rule is kept."""


class Book:
    """The outcomes by the names of their settings, as far as these are the paper's."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        known = {setting.name: set(setting.policies) for setting in catalogue()}
        self.outcomes = {
            outcome.setting.name: outcome
            for outcome in outcomes
            if known.get(outcome.setting.name) == set(outcome.policies)
        }

    def __getitem__(self, name: str) -> Outcome:
        return self.outcomes[name]

    def has(self, names: Sequence[str], horizons: int = 1) -> bool:
        """Whether every one of these was run, with so many horizons."""
        return all(name in self.outcomes and len(self[name].horizons) >= horizons for name in names)

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
    """The words for what passed, for each variant and each setting; the readings come in the order of their rank."""
    for rank, (variant, kept) in enumerate(passed.items()):
        if all(kept.values()):
            return "holds" if rank == 0 else f"holds only if {variant}"
    # The variant that passes in most settings; of equals, the first.
    rank, (variant, kept) = max(enumerate(passed.items()), key=lambda one: sum(one[1][1].values()))
    if not any(kept.values()):
        return "does not hold"
    where = condition(kept, settings)
    return f"holds only if {where}" if rank == 0 else f"holds only if {variant} and {where}"


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


def traits(settings: Iterable[Setting]) -> dict[str, Callable[[Setting], bool]]:
    """Properties that tell settings apart, with their words."""
    every = list(settings)
    found: dict[str, Callable[[Setting], bool]] = {}
    for words, of in PROPERTIES.items():
        for value in sorted({of(setting) for setting in every}):
            shown = f"{value:g}" if isinstance(value, float) else value
            found[f"{words} {shown}"] = partial(equals, of, value)
            if isinstance(value, str):
                found[f"{words} not {shown}"] = partial(differs, of, value)
    for cap in sorted({cap_of(setting) for setting in every}):
        found[f"eta is at most {cap:g}"] = partial(has_cap, 0.0, cap)
        found[f"eta is at least {cap:g}"] = partial(has_cap, cap, np.inf)
    return found


def equals(of: Callable[[Setting], Any], value: Any, setting: Setting) -> bool:
    """Whether a property has this value."""
    return bool(of(setting) == value)


def differs(of: Callable[[Setting], Any], value: Any, setting: Setting) -> bool:
    """Whether a property has another value."""
    return not equals(of, value, setting)


def has_cap(low: float, high: float, setting: Setting) -> bool:
    """Whether the bound of the noise is in a range."""
    return low <= cap_of(setting) <= high


def rank_of(setting: Setting) -> int:
    """The rank of A."""
    problem = setting.environment.problem
    return problem.rank if isinstance(problem, RandomProblem) else int(np.max(problem.rank))


def smallest_of(setting: Setting) -> float:
    """The smallest nonzero eigenvalue that A may have."""
    problem = setting.environment.problem
    return float(problem.min_eigenvalue) if isinstance(problem, RandomProblem) else float("nan")


def kind_of(setting: Setting) -> str:
    """How v moves, in a word."""
    return type(setting.environment.process).__name__


def cap_of(setting: Setting) -> float:
    """The bound of the noise."""
    return float(setting.environment.noise.cap)


PROPERTIES: dict[str, Callable[[Setting], Any]] = {
    "r =": rank_of,
    "sigma_r =": smallest_of,
    "steps are": kind_of,
    "eta =": cap_of,
}


# ---- a claim in every variant ----------------------------------------------------------------------------------------


def in_every_reading(names: Sequence[str], test: Callable[[str, Variant], bool]) -> Passed:
    """The outcome of a test for each variant and setting."""
    return {variant.name: {name: test(name, variant) for name in names} for variant in VARIANTS}


def shares(passed: Passed) -> str:
    """In how many settings each variant passed."""
    return "; ".join(f"{variant}: in {sum(kept.values())} of {len(kept)}" for variant, kept in passed.items())


def judged(
    book: Book,
    text: str,
    source: str,
    rule: str,
    names: Sequence[str],
    test: Callable[[str, Variant], bool],
    number: Callable[[], str] | None = None,
    horizons: int = 1,
) -> Claim:
    """A claim that is tested in every variant, in each of some settings, which need so many horizons."""
    where = f"in {', '.join(names)}" if len(names) <= 2 else f"in {len(names)} settings"
    if not book.has(names, horizons):
        return Claim(text, source, where, rule, "", UNTESTED)
    passed = in_every_reading(names, test)
    measured = shares(passed) if len(names) > 1 else ""
    if number is not None:
        measured = "; ".join(part for part in (number(), measured) if part)
    return Claim(
        text,
        source,
        f"every variant, {where}",
        rule,
        measured,
        verdict(passed, book.settings(names)),
    )
