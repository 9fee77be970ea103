"""Claims, the outcomes that they are judged from, and the function that judges them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from soqo.experiments.execution import Outcome
from soqo.experiments.settings import Setting, catalogue
from soqo.theory import Growth, growth_exponent

UNTESTED = "not tested"
"""The verdict on a claim whose settings were not run."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and its verdict.

    Attributes
    ----------
    text, source : str
        The claim in our words, and its place in the paper.
    variant : str
        The settings, and the variants of the paper's text, for which it was tested.
    rule : str
        The condition under which it holds.
    number : str
        The measured numbers.
    verdict : str
        "holds", "holds only if ...", "does not hold", or "not tested" if the settings that it needs were not run.
    """

    text: str
    source: str
    variant: str
    rule: str
    number: str
    verdict: str


class PaperOutcomes:
    """The outcomes of the paper's settings by name; outcomes of other settings, or with other policies, are ignored.

    Parameters
    ----------
    outcomes : sequence of Outcome
        The outcomes of a run.

    Examples
    --------
    >>> PaperOutcomes([]).has(["primary"])
    False
    """

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        known = {setting.name: set(setting.policies) for setting in catalogue()}
        self._outcomes = {
            outcome.setting.name: outcome
            for outcome in outcomes
            if known.get(outcome.setting.name) == set(outcome.policies)
        }

    def __getitem__(self, name: str) -> Outcome:
        return self._outcomes[name]

    def has(self, names: Sequence[str], horizons: int = 1) -> bool:
        """Return whether all these settings were run, each with at least this number of horizons.

        Parameters
        ----------
        names : sequence of str
            The names of the settings.
        horizons : int
            The number of horizons.
        """
        return all(name in self._outcomes and len(self[name].horizons) >= horizons for name in names)

    def settings(self, names: Sequence[str]) -> dict[str, Setting]:
        """Return the settings with these names.

        Parameters
        ----------
        names : sequence of str
            The names.
        """
        return {name: self[name].setting for name in names}

    def median(self, name: str, policy: str, horizon: int | None = None) -> float:
        """Return the median regret of a policy after the last round.

        Parameters
        ----------
        name : str
            The setting's name.
        policy : str
            The policy's name.
        horizon : int, optional
            The setting's own horizon by default.
        """
        return self[name].median(policy, horizon)

    def lowest_median(self, name: str, policies: Sequence[str], horizon: int | None = None) -> float:
        """Return the lowest median regret of several policies.

        Parameters
        ----------
        name : str
            The setting's name.
        policies : sequence of str
            The names of the policies.
        horizon : int, optional
            The setting's own horizon by default.
        """
        return min(self.median(name, policy, horizon) for policy in policies)

    def growth(self, name: str, policy: str) -> Growth:
        """Return the exponent of a policy's regret in T.

        Parameters
        ----------
        name : str
            The setting's name.
        policy : str
            The policy's name.
        """
        outcome = self[name]
        horizons = np.array(outcome.horizons, dtype=float)
        return growth_exponent(horizons, np.stack([outcome.regret(policy, h) for h in outcome.horizons]))


_Judge = Callable[[PaperOutcomes], Claim]

_JUDGES: list[_Judge] = []


def claim(function: _Judge) -> _Judge:
    """Add a function that judges one claim to those that :func:`judge` calls.

    Parameters
    ----------
    function : callable
        It takes the :class:`PaperOutcomes` of a run and returns a :class:`Claim`.

    Returns
    -------
    callable
        The function, unchanged.

    Examples
    --------
    >>> @claim                                                                               # doctest: +SKIP
    ... def scale_beats_ftm(outcomes):
    ...     holds = outcomes.median("primary", "SCaLE") < outcomes.median("primary", "FTM")
    ...     verdict = "holds" if holds else "does not hold"
    ...     return Claim("SCaLE has less regret than FTM", "Section 4.2", "in primary", "lower median", "", verdict)
    """
    _JUDGES.append(function)
    return function


def judge(outcomes: Sequence[Outcome]) -> list[Claim]:
    """Judge every claim from the outcomes of a run; claims that they do not test come last.

    Parameters
    ----------
    outcomes : sequence of Outcome
        The outcomes, as returned by :func:`soqo.experiments.run`.

    Returns
    -------
    list of Claim
        The claims and their verdicts.

    Examples
    --------
    >>> {claim.verdict for claim in judge([])}
    {'not tested'}
    """
    paper = PaperOutcomes(outcomes)
    return sorted((function(paper) for function in _JUDGES), key=lambda claim: claim.verdict == UNTESTED)
