"""The variants of the paper's text in which a claim is tested, and the words of its verdict.

The variants are *as printed* (SCaLE and HySCaLE to the letter, learners with the rate of 1e-6 that the text names);
*calibrated* (soqo's defaults, against learners with that rate and with 1e-8, which suits steps of this size); and
calibrated against learners with the rate of 1e-6 alone. The verdict depends on which tests pass:

    holds                          in every setting, as printed
    holds only if calibrated       in every setting, but not as printed
    holds only if calibrated and   in some settings, which are described by a common property or listed; or with the
                                   learners' rate at 1e-6
    does not hold                  in none
    not tested                     the settings that it needs were not run
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._model.problem import RandomProblem
from soqo.experiments.judgment._claims import UNTESTED, Claim, PaperOutcomes
from soqo.experiments.settings import Setting


@dataclass(frozen=True)
class Variant:
    """The policies that represent the paper's in one variant of its text.

    Attributes
    ----------
    name : str
        The variant in the words of a verdict.
    scale, hyscale : str
        The names of SCaLE and HySCaLE.
    learners : tuple of str
        The names of the learners.
    """

    name: str
    scale: str
    hyscale: str
    learners: tuple[str, ...]

    @property
    def baselines(self) -> tuple[str, ...]:
        """The policies that SCaLE is compared with."""
        return ("FTM", *self.learners)


_SLOW = ("POL, rate 1e-8", "OAL, rate 1e-8")
_PRINTED = ("POL, rate 1e-6", "OAL, rate 1e-6")

VARIANTS = (
    Variant("as printed", "SCaLE as printed", "HySCaLE as printed", _PRINTED),
    Variant("calibrated", "SCaLE", "HySCaLE", (*_PRINTED, *_SLOW)),
    Variant("calibrated and the learners' rate is 1e-6", "SCaLE", "HySCaLE", _PRINTED),
)
"""The variants in which claims are tested, the most literal first."""

SIXTEEN = [
    f"{process}_r{rank}_{sigma}"
    for rank in (4, 1)
    for process in ("gaussian", "correlated", "cauchy", "laplace")
    for sigma in ("1", "0.01")
]
"""The settings of the appendix."""


@dataclass(frozen=True, kw_only=True)
class VariantClaim:
    """A claim that a test decides for each variant and setting; call it with the outcomes to judge it.

    Attributes
    ----------
    text, source, rule : str
        As in :class:`Claim`.
    names : sequence of str
        The settings.
    test : callable
        It takes the outcomes, the name of a setting and a variant.
    number : callable, optional
        It takes the outcomes and returns the measured numbers.
    horizons : int
        The number of horizons that each setting needs.
    """

    text: str
    source: str
    rule: str
    names: Sequence[str]
    test: Callable[[PaperOutcomes, str, Variant], bool]
    number: Callable[[PaperOutcomes], str] = lambda _: ""
    horizons: int = 1

    def __call__(self, outcomes: PaperOutcomes) -> Claim:
        names = self.names
        where = f"in {', '.join(names)}" if len(names) <= 2 else f"in {len(names)} settings"
        if not outcomes.has(names, self.horizons):
            return Claim(self.text, self.source, where, self.rule, "", UNTESTED)
        passed = {v.name: {name: self.test(outcomes, name, v) for name in names} for v in VARIANTS}
        measured = [self.number(outcomes)]
        if len(names) > 1:
            measured += [f"{variant}: in {sum(kept.values())} of {len(kept)}" for variant, kept in passed.items()]
        number, verdict = "; ".join(filter(None, measured)), decide_verdict(passed, outcomes.settings(names))
        return Claim(self.text, self.source, f"every variant, {where}", self.rule, number, verdict)


def decide_verdict(passed: Mapping[str, Mapping[str, bool]], settings: Mapping[str, Setting]) -> str:
    """Return the verdict for tests that passed or failed.

    Parameters
    ----------
    passed : mapping of str to mapping of str to bool
        For each variant, the most literal first, and for each setting: whether the test passed.
    settings : mapping of str to Setting
        The settings by name.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> settings = {setting.name: setting for setting in find("heavy_tails")}
    >>> printed, calibrated = dict.fromkeys(settings, False), dict.fromkeys(settings, True)
    >>> decide_verdict({"as printed": printed, "calibrated": calibrated}, settings)
    'holds only if calibrated'
    """
    for rank, (variant, kept) in enumerate(passed.items()):
        if all(kept.values()):
            return "holds" if rank == 0 else f"holds only if {variant}"
    # The variant that passes in most settings, and the first of equals.
    rank, (variant, kept) = max(enumerate(passed.items()), key=lambda one: sum(one[1][1].values()))
    if not any(kept.values()):
        return "does not hold"
    where = _describe_settings(kept, settings)
    return f"holds only if {where}" if rank == 0 else f"holds only if {variant} and {where}"


def _describe_settings(kept: Mapping[str, bool], settings: Mapping[str, Setting]) -> str:
    """Return a property that exactly the settings that passed have, or their names if there is none."""
    for words, members in _properties(settings.values()).items():
        if all((settings[name].name in members) == good for name, good in kept.items()):
            return words
    bad = [name for name, good in kept.items() if not good]
    good = [name for name, good in kept.items() if good]
    return f"not in {', '.join(bad)}" if len(bad) <= len(good) else f"in {', '.join(good)}"


def _properties(settings: Iterable[Setting]) -> dict[str, set[str]]:
    """Return descriptions of properties, each with the names of the settings that have it."""
    every = list(settings)
    found: dict[str, set[str]] = {}
    for words, of in _QUANTITIES.items():
        values = {setting.name: of(setting) for setting in every}
        for value in sorted(set(values.values())):
            shown = f"{value:g}" if isinstance(value, float) else value
            found[f"{words} {shown}"] = {name for name, other in values.items() if other == value}
            if isinstance(value, str):
                found[f"{words} not {shown}"] = {name for name, other in values.items() if other != value}
    caps = {setting.name: _noise_cap(setting) for setting in every}
    for cap in sorted(set(caps.values())):
        found[f"eta is at most {cap:g}"] = {name for name, other in caps.items() if other <= cap}
        found[f"eta is at least {cap:g}"] = {name for name, other in caps.items() if other >= cap}
    return found


def _rank(setting: Setting) -> int:
    problem = setting.environment.problem
    return problem.rank if isinstance(problem, RandomProblem) else int(np.max(problem.rank))


def _min_eigenvalue(setting: Setting) -> float:
    problem = setting.environment.problem
    return float(problem.min_eigenvalue) if isinstance(problem, RandomProblem) else float("nan")


def _noise_cap(setting: Setting) -> float:
    return float(setting.environment.noise.bound)


_QUANTITIES: dict[str, Callable[[Setting], Any]] = {
    "r =": _rank,
    "sigma_r =": _min_eigenvalue,
    "steps are": lambda setting: type(setting.environment.process).__name__,
    "eta =": _noise_cap,
}
