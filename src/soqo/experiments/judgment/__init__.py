"""The paper's claims that simulation can test, judged by stated rules from the numbers of a run."""

from __future__ import annotations

from collections.abc import Sequence

from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.judgment._base import UNTESTED, Book, Claim
from soqo.experiments.judgment._order import ORDER
from soqo.experiments.judgment._rates import RATES
from soqo.experiments.judgment._tuning import TUNING

__all__ = ["UNTESTED", "Claim", "judge"]


def judge(outcomes: Sequence[Outcome]) -> list[Claim]:
    """Judge every claim from what was simulated; those that it does not test come last."""
    book = Book(outcomes)
    found = [rule(book) for rule in (*ORDER, *RATES, *TUNING)]
    return sorted(found, key=lambda claim: claim.verdict == UNTESTED)
