"""Claims that a check of theory decides, without a simulated setting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._rules import ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case, Kind
from soqo.experiments.settings import Reading


def checked_claim(
    name: str,
    text: str,
    source: str,
    quote: str,
    rule: str,
    remark: str = "",
    *,
    section: str = "theory",
    note: str = "",
    unproved: bool = False,
) -> ClaimRule:
    """Return the rule of a claim that :func:`check_theory` decides.

    Parameters
    ----------
    name, text, source, quote, rule, remark, section, note, unproved
        As in :class:`ClaimRule`, where the name is the id.
    """
    return ClaimRule(
        id=name,
        kind=Kind.THEORY,
        text=text,
        source=source,
        quote=quote,
        section=section,
        rule=rule,
        cases=partial(_find_cases, name=name),
        remark=remark,
        note=note,
        unproved=unproved,
        universal=True,
    )


def untestable_claim(
    name: str, text: str, source: str, quote: str, reason: str, *, section: str = "theory"
) -> ClaimRule:
    """Return the rule of a claim that no number can test.

    Parameters
    ----------
    name, text, source, quote, section
        As in :class:`ClaimRule`, where the name is the id.
    reason : str
        Why no number can test it.
    """
    return ClaimRule(
        id=name,
        kind=Kind.THEORY,
        text=text,
        source=source,
        quote=quote,
        section=section,
        rule="",
        untestable=reason,
    )


def _find_cases(_: Samples, evidence: Evidence, _reading: Reading, *, name: str) -> Sequence[Case]:
    return evidence.checks.get(name, ())
