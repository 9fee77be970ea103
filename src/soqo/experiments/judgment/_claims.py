"""A claim of the paper: its sentence, and its verdicts under every reading, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import Any

from soqo.experiments.judgment._verdicts import Case, Status, Verdict
from soqo.experiments.settings import AXES, LITERAL, Reading


class Kind(StrEnum):
    """What the paper says, and how."""

    EXPERIMENT = "experiment"
    """A sentence of the paper about what its experiments show."""
    THEORY = "theory"
    """A theorem, proposition, corollary or remark, or a sentence about one."""
    IMPLIED = "implied"
    """No sentence states it: a figure is there to show it, or another claim suggests it. It is counted apart."""
    PART = "part"
    """A part of the claim before it, which is not counted again."""


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """What the paper claims, and where.

    Attributes
    ----------
    id : str
        A short name, which is also that of its anchor on the page.
    kind : Kind
        Whether the paper states it, of its experiments or of its theory, or only implies it.
    text, source : str
        The claim in our words, and its place in the paper.
    quote : str
        The paper's own words.
    section : str
        The id of its :class:`Section`.
    rule : str
        The condition under which it holds.
    settings : tuple of str
        The names of the settings in which it is tested; none for a claim about theory that needs no simulation.
    remark : str
        What a reader should know beside the numbers: contradictions in the paper, or why a statistic is used.
    note : str
        What limits the verdict, in a few words that belong beside it.
    untestable : str
        Why no number can test it; empty if numbers can.
    unproved : bool
        Whether a check that it passes is no proof: it is then not contradicted, which is less than that it holds.
    label : str
        The claim in two or three words.
    """

    id: str
    kind: Kind
    text: str
    source: str
    quote: str
    section: str
    rule: str = ""
    settings: tuple[str, ...] = ()
    remark: str = ""
    note: str = ""
    untestable: str = ""
    unproved: bool = False
    label: str = ""

    def words(self) -> dict[str, Any]:
        """Return the attributes of the sentence by name, without what is known of its test."""
        return {one.name: getattr(self, one.name) for one in fields(Sentence)}


@dataclass(frozen=True, kw_only=True)
class Claim(Sentence):
    """A claim of the paper, judged.

    Attributes
    ----------
    id, kind, text, source, quote, section, rule, settings, remark, note, untestable, unproved, label
        As in :class:`Sentence`.
    runs : int
        The number of runs.
    verdicts : tuple of Verdict
        The verdict under each reading that may change it, the most literal first; one verdict if none does, and none
        if the claim was not tested.
    trimmed : bool
        Whether the means in its numbers are trimmed, since means do not exist in its settings.
    aliases : mapping of Reading to Reading
        Readings that mean the same as another one in the claim's settings, which has the verdict.
    """

    runs: int
    verdicts: tuple[Verdict, ...] = field(repr=False)
    trimmed: bool = False
    aliases: Mapping[Reading, Reading] = field(default_factory=dict, repr=False)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The axes of readings that matter for the claim."""
        first = self.verdicts[0].reading if self.verdicts else LITERAL
        return tuple(axis for axis in AXES if getattr(first, axis) is not None)

    @property
    def counts(self) -> dict[Status, int]:
        """The number of readings for each status."""
        found = [verdict.status for verdict in self.verdicts]
        return {status: found.count(status) for status in Status}

    @property
    def literal(self) -> Verdict | None:
        """The verdict under the most literal reading."""
        return self.verdict(LITERAL)

    @property
    def charitable(self) -> Verdict | None:
        """The verdict under the most charitable reading.

        It is the one in which the claim holds in most settings, then fails in fewest; of equals, the most literal.
        """
        if not self.verdicts:
            return None
        return max(self.verdicts, key=_charity)

    @property
    def status(self) -> Status:
        """The claim's status under the most literal reading."""
        return Status.UNTESTED if self.literal is None else self.literal.status

    def word(self, status: Status) -> str:
        """Return a status in words, as it is told of this claim.

        Parameters
        ----------
        status : Status
            The status.
        """
        return "not contradicted" if self.unproved and status is Status.HOLDS else status.value

    @property
    def mean_name(self) -> str:
        """What the statistic "mean" is in the claim's settings."""
        return "mean (Cauchy: trimmed)" if self.trimmed else "mean"

    def case(self, setting: str) -> Case | None:
        """Return the test in one setting under the most literal reading, or None.

        Parameters
        ----------
        setting : str
            The name of the setting.
        """
        found = self.literal.cases if self.literal is not None else ()
        return next((case for case in found if case.setting == setting), None)

    @property
    def summary(self) -> str:
        """The verdict in words."""
        if self.literal is None or self.charitable is None:
            return f"{Status.UNTESTED.value}: {self.untestable}" if self.untestable else Status.UNTESTED.value
        total, counts = len(self.verdicts), self.counts
        told = self._phrase(self.literal)
        if total == 1:
            return told
        if counts[Status.HOLDS] == total:
            return f"{self.word(Status.HOLDS)} in every reading"
        listed = ", ".join(
            f"{self.word(status)} in {counts[status]}"
            for status in (Status.HOLDS, Status.PARTLY, Status.FAILS, Status.UNKNOWN)
            if counts[status]
        )
        best = self.charitable
        at_best = "" if best is self.literal else f"; at best ({best.reading.describe()}): {self._phrase(best)}"
        return f"to the letter: {told}; of {total} readings: {listed}{at_best}"

    def _phrase(self, verdict: Verdict) -> str:
        """Return a status in words: with the settings that decide it, and the number of runs if they do not suffice."""
        if verdict.status is Status.UNKNOWN:
            told = f"cannot be told with {self.runs} runs"
        else:
            told = self.word(verdict.status)
        decided = verdict.status is Status.HOLDS or not verdict.tally
        return told if decided else f"{told} ({verdict.tally})"

    def verdict(self, reading: Reading) -> Verdict | None:
        """Return the verdict under a reading, or None if it was not tested.

        Parameters
        ----------
        reading : Reading
            The reading; axes that do not matter for the claim are ignored.
        """
        return self._by_reading.get(reading.on(self.axes))

    @cached_property
    def _by_reading(self) -> dict[Reading, Verdict]:
        found = {verdict.reading: verdict for verdict in self.verdicts}
        return found | {alias: found[reading] for alias, reading in self.aliases.items()}


def _charity(verdict: Verdict) -> tuple[bool, int, int, int]:
    return verdict.status is Status.HOLDS, verdict.held, -verdict.count(Status.FAILS), -len(verdict.reading.changes())
