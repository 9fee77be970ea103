"""The paper's claims that simulation can test, judged by stated rules from the numbers of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from soqo.experiments.outcome import Outcome

__all__ = ["Claim", "judge"]


@dataclass(frozen=True)
class Claim:
    """A claim and what became of it.

    Attributes
    ----------
    text, source : str
        What the paper says, in our words, and where.
    reading : str
        The settings and the reading of the text under which it was tested.
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


def judge(outcomes: Sequence[Outcome]) -> list[Claim]:
    """Judge every claim from what was simulated."""
    return []
