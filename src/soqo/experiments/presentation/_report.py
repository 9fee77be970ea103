"""What a report shows: its figures, each a chart with texts, and all numbers around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from soqo.errors import ArgumentError
from soqo.experiments.execution import Outcome
from soqo.experiments.judgment import Evidence, Judgment
from soqo.experiments.presentation._charts import Chart
from soqo.experiments.presentation._evidence_page import CURVATURE_TEXTS, RUB_TEXTS, curvature_chart, rub_chart
from soqo.experiments.presentation._figures import draw_chart, regret_figure, sweep_figure
from soqo.experiments.presentation._outcome_charts import beside_chart, regret_chart, split_titles, sweep_chart
from soqo.experiments.settings import Setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class ReportFigure:
    """A figure of a report, with its texts and the outcomes that it shows.

    Attributes
    ----------
    name : str
        The name of its files, without the suffix.
    group : str
        The figure of the paper that it belongs to. The figures of a group share a section of the report.
    title, source, note : str
    chart : Chart
        What is drawn.
    outcomes : tuple of Outcome
        One outcome, or those of all settings of a sweep. Figures of something else have none.
    """

    name: str
    group: str
    title: str
    source: str
    note: str
    chart: Chart = field(repr=False)
    outcomes: tuple[Outcome, ...] = ()

    @property
    def is_sweep(self) -> bool:
        """Whether the figure shows regret against a swept parameter."""
        return any(outcome.setting.swept for outcome in self.outcomes)

    @property
    def beside(self) -> Chart | None:
        """The chart of the policies that are not in the paper, if there are any."""
        if self.is_sweep or not self.outcomes:
            return None
        return beside_chart(*self.outcomes)

    def draw(self) -> Figure:
        """Draw the figure (extra ``lab``)."""
        if self.is_sweep:
            return sweep_figure(self.outcomes)
        return regret_figure(*self.outcomes) if self.outcomes else draw_chart(self.chart)


@dataclass(frozen=True, eq=False)
class ReportData:
    """Everything that the page of a report shows.

    Attributes
    ----------
    outcomes : tuple of Outcome
        One for each setting.
    judgment : Judgment or None
        The claims; None if no setting is the paper's.
    evidence : Evidence
        Numbers beside regret.
    figures : tuple of ReportFigure
        The figures.
    about : mapping
        The contents of ``about.json``: ``command``, ``quick``, ``versions``, ``code`` and ``settings``.
    """

    outcomes: tuple[Outcome, ...] = field(repr=False)
    judgment: Judgment | None
    evidence: Evidence
    figures: tuple[ReportFigure, ...]
    about: Mapping[str, Any] = field(repr=False)


def report_figures(outcomes: Sequence[Outcome], evidence: Evidence | None = None) -> list[ReportFigure]:
    """Return the figures of a report on some outcomes, in the order of the outcomes.

    Settings that sweep a parameter and have the same ``figure`` share one. The figure of the curvature follows that of
    the introduction, since both belong to Section 1.

    Parameters
    ----------
    outcomes : sequence of Outcome
        The outcomes, as returned by :func:`soqo.experiments.run`.
    evidence : Evidence, optional
        Numbers beside regret. If there are some on restricted uniform boundedness, their figure follows those on
        heavy tails.

    Returns
    -------
    list of ReportFigure
        The figures, which are not drawn yet.

    Examples
    --------
    >>> import tempfile
    >>> from soqo.experiments.execution import run
    >>> from soqo.experiments.settings import find
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcomes = run(find("intro"), folder, runs=1, workers=1)
    >>> [figure.name for figure in report_figures(outcomes)]
    ['intro', 'curvature']
    """
    parts: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        parts.setdefault(_figure_name(outcome.setting), []).append(outcome)
    figures = []
    for name, members in parts.items():
        settings = [outcome.setting for outcome in members]
        title, _ = split_titles([setting.title for setting in settings])
        source, note = (_join_unique(getattr(one, key) for one in settings) for key in ("source", "note"))
        chart = sweep_chart(members) if settings[0].swept else regret_chart(members[0])
        figures.append(ReportFigure(name, settings[0].figure, title, source, note, chart, tuple(members)))
        if settings[0].figure == "intro":
            figures.append(ReportFigure("curvature", "curvature", *CURVATURE_TEXTS, curvature_chart()))
    if evidence is not None and evidence.rub:
        after = [k for k, figure in enumerate(figures) if figure.group == "heavy_tails"]
        found = ReportFigure("rub", "rub", *RUB_TEXTS, rub_chart(evidence.rub))
        figures.insert(after[-1] + 1 if after else len(figures), found)
    return figures


def figure_names(settings: Sequence[Setting]) -> list[str]:
    """Return the names of the figures of some settings, and check that no two settings write to the same file.

    Parameters
    ----------
    settings : sequence of Setting
        The settings.

    Returns
    -------
    list of str
        The names, in the order of the settings.

    Raises
    ------
    ArgumentError
        If a name cannot be that of a file, or if two settings have the same one.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> figure_names(find("heavy_tails"))
    ['heavy_tails_0.01', 'heavy_tails_1']
    """
    owners: dict[str, Setting] = {}
    seen = set()
    for setting in settings:
        for name in (setting.name, setting.figure):
            if not name.strip(" .") or any(sign in '/\\:*?"<>|' or sign < " " for sign in name):
                raise ArgumentError(f'name must be a valid file name, without / \\ : * ? " < > |, got {name!r}')
        if setting.name in seen:
            raise ArgumentError(f"settings must have different names, got {setting.name!r} twice")
        seen.add(setting.name)
        figure = _figure_name(setting)
        owner = owners.setdefault(figure, setting)
        if owner is not setting and not (owner.swept and setting.swept):
            raise ArgumentError(
                f"settings must have different names, got {setting.name!r} and a sweep with figure {figure!r}"
            )
    return list(owners)


def _figure_name(setting: Setting) -> str:
    return setting.figure if setting.swept else setting.name


def _join_unique(texts: Iterable[str]) -> str:
    """Join the texts that are not empty, each of them once."""
    return " ".join(dict.fromkeys(text for text in texts if text))
