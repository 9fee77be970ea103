"""All claims judged: each part of the paper taken together, and the result in words and as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from soqo.experiments.judgment._claims import Claim, Kind
from soqo.experiments.judgment._verdicts import Number, Status
from soqo.experiments.settings import AXES, Reading

STATED = (Kind.EXPERIMENT, Kind.THEORY)
"""The kinds of claims that the paper states."""

KIND_NAMES = {
    Kind.EXPERIMENT: "about experiments",
    Kind.THEORY: "about theory",
    Kind.IMPLIED: "that the paper only implies",
}
"""The kinds of claims that are counted, in words."""


@dataclass(frozen=True)
class Section:
    """The claims of one part of the paper, taken together.

    Attributes
    ----------
    id, title : str
        A short name, and the heading of that part of the paper.
    claims : tuple of str
        The ids of its claims that were tested.
    stated : int
        The number of those that the paper states; the following is about them.
    readings : int
        The number of readings.
    all_hold : tuple of Reading
        The readings in which all its claims hold.
    best : Reading or None
        The reading in which most of them hold; of equals, the most literal.
    best_holds : int
        The number of its claims that hold in that reading.
    """

    id: str
    title: str
    claims: tuple[str, ...]
    stated: int
    readings: int
    all_hold: tuple[Reading, ...] = field(repr=False)
    best: Reading | None
    best_holds: int

    @property
    def summary(self) -> str:
        """Whether one reading makes all claims of the section hold, in words."""
        if self.best is None:
            return "its claims are only implied" if self.claims else Status.UNTESTED.value
        if self.stated == 1:
            held = len(self.all_hold)
            where = "no reading" if not held else "every reading" if held == self.readings else "some readings"
            return f"its one stated claim holds in all its settings in {where}"
        every = "both" if self.stated == 2 else f"all {self.stated}"
        if len(self.all_hold) == self.readings:
            return f"{every} stated claims hold in every reading"
        if self.all_hold:
            return (
                f"{every} stated claims hold together in {len(self.all_hold)} of {self.readings} readings, "
                f"for example: {self.best.describe()}"
            )
        return (
            f"no reading makes {every} stated claims hold; at most {self.best_holds} "
            f"{'does' if self.best_holds == 1 else 'do'}, for example: {self.best.describe()}"
        )


@dataclass(frozen=True)
class Judgment:
    """All claims, judged.

    Attributes
    ----------
    claims : tuple of Claim
        The claims in the order of the paper; those that were not tested have no verdicts.
    sections : tuple of Section
        The parts of the paper, in order.
    columns : mapping of str to Reading
        Readings that a table of claims shows, by their titles: the literal one, each that differs from it on one axis,
        and the best for experiments. All have the statistic "mean"; the same with "median" is a column too.
    headline : str
        The result of the primary evaluation in plain words; empty if it was not tested.
    finding : str
        The number of claims that hold to the letter, by kind, and in the best single reading.
    """

    claims: tuple[Claim, ...]
    sections: tuple[Section, ...]
    columns: Mapping[str, Reading]
    headline: str
    finding: str

    def claim(self, name: str) -> Claim:
        """Return the claim with this id.

        Parameters
        ----------
        name : str
            The id.
        """
        return next(claim for claim in self.claims if claim.id == name)

    @property
    def tested(self) -> tuple[Claim, ...]:
        """The claims that were tested."""
        return tuple(claim for claim in self.claims if claim.verdicts)

    def counts(self, kind: Kind) -> dict[str, int]:
        """Return how many tested claims of a kind hold, fail and so on, to the letter, by words.

        Parameters
        ----------
        kind : Kind
            The kind.
        """
        return count_words(self.tested, kind)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, for a JSON file."""
        return {
            "headline": self.headline,
            "finding": self.finding,
            "counts": {kind.value: self.counts(kind) for kind in KIND_NAMES},
            "axes": {axis: [[one.key, one.label, one.source] for one in values] for axis, values in AXES.items()},
            "columns": {title: reading.key for title, reading in self.columns.items()},
            "sections": [
                {
                    "id": section.id,
                    "title": section.title,
                    "claims": list(section.claims),
                    "summary": section.summary,
                    "all_hold": [reading.key for reading in section.all_hold],
                }
                for section in self.sections
            ],
            "claims": [_claim_to_dict(claim) for claim in self.claims],
        }


def _claim_to_dict(claim: Claim) -> dict[str, Any]:
    words = claim.words()
    del words["label"]
    return {
        **words,
        "runs": claim.runs,
        "settings": list(claim.settings),
        "summary": claim.summary,
        "counts": {status.value: count for status, count in claim.counts.items()},
        "charitable": claim.charitable.reading.key if claim.charitable else None,
        "verdicts": [
            {
                "reading": verdict.reading.key,
                "status": verdict.status.value,
                "cases": [
                    [case.setting, case.status.value, [_number_to_list(one) for one in case.numbers]]
                    for case in verdict.cases
                ],
            }
            for verdict in claim.verdicts
        ],
    }


def _number_to_list(number: Number) -> list[Any]:
    """Return the label and the three numbers; JSON has no NaN and no infinity."""
    values = (number.value, number.low, number.high)
    return [number.label, *(float(f"{value:.4g}") if math.isfinite(value) else None for value in values)]


def make_section(name: str, title: str, claims: Sequence[Claim], readings: Sequence[Reading]) -> Section:
    """Take the claims of a part of the paper together.

    Parameters
    ----------
    name, title : str
        Its short name and its heading.
    claims : sequence of Claim
        All claims; those of other sections and those that were not tested are ignored.
    readings : sequence of Reading
        The readings, the most literal first.

    Returns
    -------
    Section
        The section.
    """
    own = [claim for claim in claims if claim.section == name and claim.verdicts]
    stated = [claim for claim in own if claim.kind in STATED]
    held = count_held(stated, readings)
    best = choose_best(held) if stated and held else None
    return Section(
        id=name,
        title=title,
        claims=tuple(claim.id for claim in own),
        stated=len(stated),
        readings=len(readings),
        all_hold=tuple(reading for reading, count in held.items() if stated and count == len(stated)),
        best=best,
        best_holds=held[best] if best is not None else 0,
    )


_WORDS = {
    "holds": ("holds", "hold"),
    "not contradicted": ("is not contradicted", "are not contradicted"),
    "holds in part": ("holds in part", "hold in part"),
    "fails": ("fails", "fail"),
    "cannot be told": ("cannot be told", "cannot be told"),
}
"""The words for the status of one claim and of several claims, in the order in which they are told."""


def count_words(claims: Sequence[Claim], kind: Kind) -> dict[str, int]:
    """Return how many claims of a kind hold, are not contradicted, hold in part, fail and cannot be told.

    Parameters
    ----------
    claims : sequence of Claim
        The claims that were tested.
    kind : Kind
        The kind.

    Returns
    -------
    dict of str to int
        The counts that are not zero.
    """
    found = [claim.word(claim.status) for claim in claims if claim.kind is kind]
    return {words[found.count(word) > 1]: found.count(word) for word, words in _WORDS.items() if word in found}


def count_held(claims: Sequence[Claim], readings: Sequence[Reading]) -> dict[Reading, int]:
    """Return for each reading the number of claims that hold.

    Parameters
    ----------
    claims : sequence of Claim
        The claims.
    readings : sequence of Reading
        The readings.
    """
    return {
        reading: sum(v.status is Status.HOLDS for claim in claims if (v := claim.verdict(reading)) is not None)
        for reading in readings
    }


def choose_best(held: Mapping[Reading, int]) -> Reading:
    """Return the reading in which most claims hold; of equals, the most literal.

    Parameters
    ----------
    held : mapping of Reading to int
        The number of claims that hold, at least for one reading.
    """
    return max(held, key=lambda reading: (held[reading], -len(reading.changes())))
