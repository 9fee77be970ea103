"""A claim before it is judged: where the paper makes it, and the test that decides it in one reading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case, Claim, Kind, Verdict
from soqo.experiments.settings import AXES, Reading, c1_values, canonical_spectrum

CasesOf = Callable[[Samples, Evidence, Reading], Sequence[Case]]
"""A function that tests a claim in each of its settings, under a reading."""

RemarkOf = Callable[[Samples, Evidence, Sequence[Reading]], str]
"""A function that returns a text with numbers, from all readings that a claim distinguishes."""

_COPIED = ("id", "kind", "text", "source", "quote", "section", "rule", "settings", "untestable", "unproved")
"""The attributes that a claim has from its rule."""


EVERY_AXIS = tuple(AXES)
NO_HYBRID = ("gamma2", "radius", "spectrum", "c1", "statistic")
"""The axes of a claim about SCaLE alone."""

R1_AXES = tuple(axis for axis in EVERY_AXIS if axis != "spectrum")
"""The axes of a claim about settings of rank 1, where A has one eigenvalue."""


@dataclass(frozen=True, kw_only=True)
class ClaimRule:
    """A claim, and how it is tested.

    Attributes
    ----------
    id, kind, text, source, quote, section, rule, untestable, unproved
        As in :class:`Claim`.
    settings : tuple of str
        The settings that it needs.
    axes : tuple of str
        The axes of readings that may change it.
    cases : callable, optional
        It takes the samples, the evidence and a reading, and returns a case for each setting; None if no number can
        test the claim.
    horizons : int
        The number of horizons that it needs.
    remark : str
        What a reader should know beside the numbers.
    note : str
        As in :class:`Claim`.
    universal : bool
        As in :class:`Verdict`.
    numbers_for_remark, numbers_for_note : callable, optional
        They take the same arguments with all readings, and return more text for the remark and for the note.
    """

    id: str
    kind: Kind
    text: str
    source: str
    quote: str
    section: str
    rule: str
    settings: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    cases: CasesOf | None = None
    horizons: int = 1
    remark: str = ""
    note: str = ""
    untestable: str = ""
    unproved: bool = False
    universal: bool = False
    numbers_for_remark: RemarkOf | None = None
    numbers_for_note: RemarkOf | None = None

    def judge(self, samples: Samples, evidence: Evidence, readings: Sequence[Reading]) -> Claim:
        """Judge the claim under every reading; it has no verdicts if its settings were not simulated.

        Parameters
        ----------
        samples : Samples
            The regret of policies.
        evidence : Evidence
            Numbers beside regret.
        readings : sequence of Reading
            The readings, the most literal first.

        Returns
        -------
        Claim
            The claim with its verdicts.
        """
        words = {key: getattr(self, key) for key in _COPIED}
        if (
            self.cases is None
            or not samples.has(self.settings)
            or any(
                len({*samples.settings[name].horizons, samples.settings[name].horizon}) < self.horizons
                for name in self.settings
            )
        ):
            return Claim(**words, runs=samples.runs, verdicts=(), remark=self.remark, note=self.note)
        verdicts: dict[tuple[object, ...], Verdict] = {}
        aliases: dict[Reading, Reading] = {}
        for reading in dict.fromkeys(reading.on(self.axes) for reading in readings):
            meaning = self._meaning(samples, reading)
            if meaning in verdicts:
                aliases[reading] = verdicts[meaning].reading
                continue
            cases = tuple(self.cases(samples, evidence, reading))
            if cases:
                verdicts[meaning] = Verdict(reading, cases, universal=self.universal)
        used = [verdict.reading for verdict in verdicts.values()]
        remark, note = (
            f"{text} {more(samples, evidence, used)}".strip() if more is not None and used else text
            for text, more in ((self.remark, self.numbers_for_remark), (self.note, self.numbers_for_note))
        )
        return Claim(
            **words,
            runs=samples.runs,
            verdicts=tuple(verdicts.values()),
            remark=remark,
            note=note,
            trimmed=any(samples.has_no_mean(name) for name in self.settings),
            aliases=aliases,
        )

    def _meaning(self, samples: Samples, reading: Reading) -> tuple[object, ...]:
        """Return what a reading means in the claim's settings: readings that mean the same are one."""
        parts: list[object] = [reading.gamma2, reading.radius, reading.gradient, reading.statistic]
        for name in self.settings:
            setting = samples.settings[name]
            parts.append(canonical_spectrum(setting, reading.spectrum) if reading.spectrum else None)
            if reading.c1 == "tuned":
                parts.append("tuned")
            elif reading.c1 and not setting.swept:
                parts.append(c1_values(setting, reading.c1))
        return tuple(parts)
