"""The table of claims: what the paper says, from ``claims.toml``, and the test that decides it in one reading."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import Any

from soqo.experiments.judgment import _tests_of_evidence, _tests_of_regret
from soqo.experiments.judgment._claims import Claim, Kind, Sentence
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case, Verdict
from soqo.experiments.settings import Reading, c1_values, canonical_spectrum, catalogue


@dataclass(frozen=True, kw_only=True)
class ClaimRule(Sentence):
    """A claim, and how it is tested.

    Attributes
    ----------
    id, kind, text, source, quote, section, rule, settings, remark, note, untestable, unproved, label
        As in :class:`Sentence`.
    axes : tuple of str
        The axes of readings that may change it.
    test : callable, optional
        It takes the samples, a reading, the settings and the options, and returns a case for each setting; None if no
        number can test the claim.
    options : mapping
        More arguments of the test.
    horizons : int
        The number of horizons that it needs.
    universal : bool
        As in :class:`Verdict`.
    tell_remark, tell_note : callable, optional
        They take the same arguments with all readings, and return more text for the remark and for the note.
    """

    axes: tuple[str, ...] = ()
    test: Callable[..., Sequence[Case]] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    horizons: int = 1
    universal: bool = False
    tell_remark: Callable[..., str] | None = None
    tell_note: Callable[..., str] | None = None

    def judge(self, samples: Samples, readings: Sequence[Reading]) -> Claim:
        """Judge the claim under every reading; it has no verdicts if its settings were not simulated.

        Parameters
        ----------
        samples : Samples
            The regret of policies, and evidence beside it.
        readings : sequence of Reading
            The readings, the most literal first.

        Returns
        -------
        Claim
            The claim with its verdicts.
        """
        verdicts: dict[tuple[object, ...], Verdict] = {}
        aliases: dict[Reading, Reading] = {}
        testable = self.test is not None and samples.has(self.settings, self.horizons)
        for reading in dict.fromkeys(reading.on(self.axes) for reading in readings if testable):
            meaning = self._meaning(samples, reading)
            if meaning in verdicts:
                aliases[reading] = verdicts[meaning].reading
                continue
            assert self.test is not None
            cases = tuple(self.test(samples, reading, self.settings, **self.options))
            if cases:
                verdicts[meaning] = Verdict(reading, cases, universal=self.universal)
        used = [verdict.reading for verdict in verdicts.values()]
        remark, note = (
            f"{text} {tell(samples, used, self.settings, **self.options)}".strip() if tell and used else text
            for text, tell in ((self.remark, self.tell_remark), (self.note, self.tell_note))
        )
        return Claim(
            **self.words() | {"remark": remark, "note": note},
            runs=samples.runs,
            verdicts=tuple(verdicts.values()),
            trimmed=testable and any(samples.has_no_mean(name) for name in self.settings),
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


def _read_rule(table: Mapping[str, Any]) -> ClaimRule:
    """Return the rule in a table of the file, which names functions and patterns of settings."""
    functions = {
        key: getattr(_tests_of_regret, table[key], None) or getattr(_tests_of_evidence, table[key])
        for key in ("test", "tell_remark", "tell_note")
        if key in table
    }
    patterns, known = table.get("settings", ()), [setting.name for setting in catalogue()]
    settings = tuple(name for pattern in patterns for name in known if fnmatchcase(name, pattern))
    words = {"kind": Kind(table["kind"]), "axes": tuple(table.get("axes", ())), "settings": settings}
    return ClaimRule(**{**table, **words, **functions})


_TABLE = tomllib.loads(files("soqo.experiments.judgment").joinpath("claims.toml").read_text(encoding="utf-8"))

SECTIONS: Mapping[str, str] = _TABLE["sections"]
"""The parts of the paper, by id."""

RULES = tuple(_read_rule(table) for table in _TABLE["claim"])
"""The paper's claims: those that numbers can test, and those that they cannot."""
