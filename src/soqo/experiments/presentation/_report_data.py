"""Everything that the page of a report shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from soqo.experiments.execution import Curves, Outcome
from soqo.experiments.judgment import Evidence, Judgment
from soqo.experiments.presentation._report_figures import ReportFigure


@dataclass(frozen=True, eq=False)
class ReportData:
    """Everything that the page of a report shows.

    Attributes
    ----------
    outcomes : tuple of Outcome
        One for each setting.
    curves : mapping of str to Curves
        The curves of each setting's figure, by the name of the setting.
    judgment : Judgment or None
        The claims; None if no setting is the paper's.
    evidence : Evidence
        Numbers beside regret.
    figures : tuple of ReportFigure
        The static figures.
    svgs : mapping of str to str
        The SVG text of each of them, by its name.
    about : mapping
        The contents of ``about.json``: ``command``, ``quick``, ``versions``, ``code`` and ``settings``.
    """

    outcomes: tuple[Outcome, ...] = field(repr=False)
    curves: Mapping[str, Curves] = field(repr=False)
    judgment: Judgment | None
    evidence: Evidence
    figures: tuple[ReportFigure, ...]
    svgs: Mapping[str, str] = field(repr=False)
    about: Mapping[str, Any] = field(repr=False)
