"""A claim before it is judged: where the paper makes it, and the test that decides it in one reading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from soqo._simulation.summary import format_short
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case, Claim, Kind, Status, Verdict
from soqo.experiments.settings import (
    AXES,
    SLOW_HYSCALE,
    SLOW_LEARNERS,
    SLOW_SCALE,
    Reading,
    c1_values,
    canonical_spectrum,
)

CasesOf = Callable[[Samples, Evidence, Reading], Sequence[Case]]
"""A function that tests a claim in each of its settings, under a reading."""

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
    id, kind, text, source, quote, section, rule
        As in :class:`Claim`.
    settings : tuple of str
        The settings that it needs.
    axes : tuple of str
        The axes of readings that may change it.
    cases : callable
        It takes the samples, the evidence and a reading, and returns a case for each setting.
    horizons : int
        The number of horizons that it needs.
    remark : str
        What a reader should know beside the numbers.
    against_slower : callable, optional
        The same test against learners of ours too, for the remark.
    """

    id: str
    kind: Kind
    text: str
    source: str
    quote: str
    section: str
    rule: str
    settings: tuple[str, ...]
    axes: tuple[str, ...]
    cases: CasesOf
    horizons: int = 1
    remark: str = ""
    against_slower: CasesOf | None = None

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
        words = {
            key: getattr(self, key) for key in ("id", "kind", "text", "source", "quote", "section", "rule", "settings")
        }
        if not samples.has(self.settings) or any(
            len({*samples.settings[name].horizons, samples.settings[name].horizon}) < self.horizons
            for name in self.settings
        ):
            return Claim(**words, runs=samples.runs, verdicts=(), remark=self.remark)
        verdicts: dict[tuple[object, ...], Verdict] = {}
        aliases: dict[Reading, Reading] = {}
        slower = 0
        for reading in dict.fromkeys(reading.on(self.axes) for reading in readings):
            meaning = self._meaning(samples, reading)
            if meaning in verdicts:
                aliases[reading] = verdicts[meaning].reading
                continue
            cases = tuple(self.cases(samples, evidence, reading))
            if not cases:
                continue
            verdicts[meaning] = Verdict(reading, cases)
            if self.against_slower is not None:
                again = self.against_slower(samples, evidence, reading)
                slower += Status.all(case.status for case in again) is Status.HOLDS
        remark = self.remark
        if self.against_slower is not None:
            remark = (
                f"{remark} With learners of the rate 1e-8 among the baselines, which are not in the paper, it holds in "
                f"{slower} of {len(verdicts)} readings.{self._slower_numbers(samples, readings)}"
            ).strip()
        return Claim(**words, runs=samples.runs, verdicts=tuple(verdicts.values()), remark=remark, aliases=aliases)

    def _slower_numbers(self, samples: Samples, readings: Sequence[Reading]) -> str:
        """Return what SCaLE and HySCaLE do with soqo's defaults and that rate, for each spectrum."""
        parts = []
        for name in self.settings:
            spectra = dict.fromkeys(canonical_spectrum(samples.settings[name], r.spectrum) for r in readings)
            for spectrum in spectra:
                reading = Reading(spectrum=spectrum, statistic="median")
                found = samples.of(name, reading, None)
                if found is None or SLOW_HYSCALE not in found.policies:
                    continue
                shown = [
                    format_short(samples.statistic(name, reading, policy)[0]) for policy in (SLOW_SCALE, SLOW_HYSCALE)
                ]
                others = ("FTM", "POL", "OAL", *SLOW_LEARNERS)
                best = min(samples.statistic(name, reading, other)[0] for other in others)
                place = name if len(spectra) == 1 else f"{name}, spectrum {spectrum}"
                parts.append(f"{place}: {shown[0]} and {shown[1]}, best baseline {format_short(best)}")
        if not parts:
            return ""
        return f" With soqo's defaults and that rate, the medians of SCaLE and HySCaLE are, in {'; in '.join(parts)}."

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
