"""Marks of verdicts: badges, and chips beside a figure that link to the claims that it tests."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from soqo.experiments.judgment import Claim, Judgment, Kind, Status
from soqo.experiments.presentation._curvature_figure import SURFACE
from soqo.experiments.presentation._numbers import render_text
from soqo.experiments.presentation._report_figures import ReportFigure
from soqo.experiments.presentation._style import typeset
from soqo.experiments.settings import PRIMARY

UNREFUTED = "not contradicted"
"""The word for a theorem that no check refutes, which has a mark of its own: it is less than that the theorem holds."""

SIGNS: dict[str, str] = {
    Status.HOLDS: "✓",
    UNREFUTED: "◇",
    Status.PARTLY: "◐",
    Status.FAILS: "✗",
    Status.UNKNOWN: "?",
    Status.UNTESTED: "\N{EN DASH}",
}
"""The sign of each status, by its word."""

CLASSES: dict[str, str] = {
    Status.HOLDS: "holds",
    UNREFUTED: "unrefuted",
    Status.PARTLY: "partly",
    Status.FAILS: "fails",
    Status.UNKNOWN: "unknown",
    Status.UNTESTED: "untested",
}
"""The style of each status, by its word."""

_WITHOUT_SETTINGS = {SURFACE: ("figure2-noise",), "rub": ("rub-learners", "remark2-inconsistent")}
"""The claims of figures that show no outcome."""


def render_badge(status: Status, word: str = "") -> str:
    """Return a status with its sign, so that it does not depend on color.

    Parameters
    ----------
    status : Status
        The status.
    word : str
        The status in words, if they are others than usual.

    Examples
    --------
    >>> render_badge(Status.HOLDS)
    '<span class="verdict holds"><span aria-hidden="true">✓</span> holds</span>'
    """
    told = word or status.value
    return f'<span class="verdict {CLASSES[told]}"><span aria-hidden="true">{SIGNS[told]}</span> {escape(told)}</span>'


def render_chips(judgment: Judgment | None, figure: ReportFigure) -> str:
    """Return a chip for each claim that a figure tests, with the verdict to the letter and a link to its numbers.

    Parameters
    ----------
    judgment : Judgment or None
        The claims, if there are any.
    figure : ReportFigure
        The figure. That of the introduction names no setting, and has the claims of the primary evaluation.
    """
    if judgment is None:
        return ""
    chips = "".join(_render_chip(claim, status) for claim, status in _find_claims(judgment, figure))
    return f'<span class="chips">{chips}</span>' if chips else ""


def _find_claims(judgment: Judgment, figure: ReportFigure) -> Iterator[tuple[Claim, Status]]:
    """Yield the claims of a figure, each with its status there."""
    names = {outcome.setting.name for outcome in figure.outcomes}
    if "intro" in names:  # it has the setting of the primary evaluation, and thus the same verdicts
        names.add(PRIMARY)
    own = _WITHOUT_SETTINGS.get(figure.name, ())
    for claim in judgment.tested:
        if claim.kind is Kind.PART or not (claim.id in own or names & set(claim.settings)):
            continue
        cases = [case for name in names if (case := claim.case(name)) is not None]
        yield claim, cases[0].status if len(cases) == 1 else claim.status


def _render_chip(claim: Claim, status: Status) -> str:
    label = claim.label or claim.id.replace("-", " ")
    implied = "implied: " if claim.kind is Kind.IMPLIED else ""
    held, total = claim.counts[Status.HOLDS], len(claim.verdicts)
    readings = f"; holds in {held} of {total} readings" if total > 1 else ""
    told = escape(typeset(f"{implied}{claim.text}: {claim.word(status)}, to the letter{readings}"), quote=True)
    shown, word = f"{escape(implied)}{render_text(label)}", claim.word(status)
    return (
        f'<a class="chip {CLASSES[word]}" href="#claim-{claim.id}" title="{told}"><span aria-hidden="true">'
        f'{SIGNS[word]}</span><span class="unseen">{word}: </span> {shown}</a>'
    )
