"""A table of bounds as a figure, as text and as CSV.

The figure shows simulated regret, exact regret and bounds over the horizon. The color of a line shows the statement and
the line style shows the variant.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from soqo._foundation.bootstrap_intervals import quantiles_over_runs
from soqo._simulation.summary import format_short
from soqo.experiments.execution import Band, BoundName, BoundsTable
from soqo.experiments.presentation._charts import Chart, Curve, Panel, drawable
from soqo.experiments.presentation._figures import draw_chart
from soqo.experiments.presentation._rendering import save_figure, write_csv
from soqo.experiments.presentation._style import POLICY_COLORS
from soqo.theory import Growth
from soqo.typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BOUND_COLORS = {
    "Theorem 1": "#6FB7E0",
    "Theorem 2": "#888888",
    "Theorem 3": "#3FA796",
    "Theorem 4": "#117733",
    "Theorem 5": "#117733",
    "Corollary 1": "#882255",
    "Second order": "#AA4499",
}
"""Colors by statement of the theory: muted, distinct from the policies, and darker for lines drawn on top of others."""

_VARIANT_LINES = {"corrected": "--", "as_printed": ":", "appendix": "-."}
"""The line style of a bound, by variant."""

_BAR = 2.0
"""The length of an error bar on either side, in standard errors."""

_MIN_RUNS = 5
"""With fewer runs, a standard error is not meaningful."""

_Rows = dict[str, list[str]]
"""Cells by the label of their row."""


def format_bounds(table: BoundsTable) -> str:
    """Format a table of bounds as text, with a column for each horizon and the conclusions below.

    Parameters
    ----------
    table : BoundsTable
        The table, as returned by :func:`soqo.experiments.bound_setting`.

    Returns
    -------
    str
        The text, of several lines.

    Examples
    --------
    >>> from soqo.experiments import bound_setting, find
    >>> print(format_bounds(bound_setting(find("gaussian_r4_1")[0], horizons=[100], runs=1)).splitlines()[0])
    SCaLE as printed of the setting: m = 48 exploration rounds, gamma^2 by the rule 'algorithm', virtual handover
    """
    about = f"{table.policy}: m = {table.m} exploration rounds, gamma^2 {table.probe_rule}, {table.handover} handover"
    return "\n".join([about, "", *_lines(table), "", *_conclusions(table)])


def save_bounds(table: BoundsTable, folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``SETTING_bounds.csv``, ``.png`` and ``.svg`` into a folder, which is created if necessary.

    Parameters
    ----------
    table : BoundsTable
        The table, as returned by :func:`soqo.experiments.bound_setting`.
    folder : path
        The folder.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> from soqo.experiments import bound_setting, find
    >>> table = bound_setting(find("cauchy_r4_1")[0], horizons=[100], runs=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.suffix for path in save_bounds(table, folder)]
    ['.csv', '.png', '.svg']
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    header = ["quantity", "variant", "horizon", "run", "value"]
    path = write_csv(place / f"{table.setting}_bounds.csv", [header, *_csv_rows(table)])
    figure = bounds_figure(table)
    return [path, *(save_figure(figure, path.with_suffix(suffix)) for suffix in (".png", ".svg"))]


# ---- the figure ----------------------------------------------------------------------------------------------------


def bounds_figure(table: BoundsTable) -> Figure:
    """Draw simulated regret, exact regret and bounds against the horizon T (extra ``lab``).

    The first panel shows the regret of all rounds, the second that of exploitation. Points are means, because exact
    regret and bounds concern means. Where neither exists, a mean need not exist: then the points are medians, and the
    second panel is omitted.

    Parameters
    ----------
    table : BoundsTable
        The table, as returned by :func:`soqo.experiments.bound_setting`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    See Also
    --------
    save_bounds : Write the figure and the numbers to files.

    Examples
    --------
    >>> from soqo.experiments import bound_setting, find
    >>> table = bound_setting(find("cauchy_r4_1")[0], horizons=[100], runs=1)      # there are no bounds for its steps
    >>> [axes.get_title(loc="left") for axes in bounds_figure(table).axes]
    ['Regret of all rounds']
    """
    parts = [("Regret of all rounds", table.exact, table.whole_names, [_simulated_curve(table)])]
    if later := [*table.exploitation_names, *table.lower_names]:
        parts.append(("Regret of exploitation, from v on", table.exploitation, later, []))
    panels = []
    for title, exact, names, curves in parts:
        curves += [_bound_curve(table, name) for name in names]
        if np.isfinite(exact).any():
            curves.append(_curve(table, "exact", "#000000", "-", exact.mean(axis=1)))
        positive = all((curve.bands[_statistic(table)].value > 0.0).all() for curve in curves)
        ticks = tuple(map(float, table.horizons))
        panels.append(Panel(title, "horizon T", "regret", tuple(curves), ticks=ticks, log=positive))
    title = f"{table.title}: SCaLE's regret{' and its bounds' if table.bounds else ''}"
    band = "quartiles" if table.no_exact else f"{_BAR:g} standard errors on either side"
    return draw_chart(Chart(table.setting, title, tuple(panels), _statistic(table), table.runs, band, areas=True))


def _statistic(table: BoundsTable) -> Literal["mean", "median"]:
    return "median" if table.no_exact else "mean"


def _simulated_curve(table: BoundsTable) -> Curve:
    """Return the mean with standard errors, or the median with quartiles where a mean need not exist."""
    if table.no_exact:
        low, middle, high = quantiles_over_runs(table.simulated, [0.25, 0.5, 0.75], axis=1)
    else:
        middle, half = table.mean, _BAR * np.nan_to_num(table.standard_error)
        low, high = middle - half, middle + half
    return _curve(table, "simulated", POLICY_COLORS["SCaLE"], ".", middle, low, high)


def _bound_curve(table: BoundsTable, name: BoundName) -> Curve:
    statement, variant = name
    label = f"{statement}{' (lower bound, A = 0)' if statement == table.LOWER else ''}, {_words(variant)}"
    return _curve(table, label, _BOUND_COLORS[statement], _VARIANT_LINES[variant], table.bounds[name])


def _curve(table: BoundsTable, label: str, color: str, dash: str, value: Array, *ends: Array) -> Curve:
    there = np.isfinite(value)
    low, high = ends or (value, value)
    band = drawable(Band(value[there], low[there], high[there]))
    return Curve(label, color, dash, np.array(table.horizons, float)[there], {_statistic(table): band})


# ---- the numbers as CSV --------------------------------------------------------------------------------------------


def _csv_rows(table: BoundsTable) -> Iterator[list[object]]:
    """Yield all numbers, one per row, with 17 digits; those that do not exist are left out."""
    quantities = [
        ("simulated", "", table.simulated),
        ("exact", "", table.exact),
        ("exact exploitation", "", table.exploitation),
        ("nuclear error", "", table.error),
        ("epsilon", "", table.epsilon),
        ("gamma2", "played", table.gamma2),
        *(("gamma2", variant, values) for variant, values in table.schedules.items()),
        *((statement, variant, values) for (statement, variant), values in table.bounds.items()),
    ]
    for index, T in enumerate(table.horizons):
        for quantity, variant, values in quantities:
            for run, value in enumerate(np.atleast_1d(values[index]).tolist()):
                if not math.isnan(value):
                    yield [quantity, variant, T, run if values.ndim == 2 else "", f"{value:.17g}"]


# ---- the table -----------------------------------------------------------------------------------------------------


def _lines(table: BoundsTable) -> Iterator[str]:
    sections = list(_sections(table))
    label = max(len(row) for _, rows in sections for row in rows) + 2
    cells = [cell for _, rows in sections for row in rows.values() for cell in row]
    width = max(map(len, [*cells, *map(str, table.horizons)])) + 2
    first, *others = table.horizons
    yield f"T = {first}".rjust(label + 2 + width) + "".join(f"{T:>{width}}" for T in others)
    for head, rows in sections:
        yield head
        for row, values in rows.items():
            yield f"  {row:<{label}}" + "".join(value.rjust(width) for value in values)


def _sections(table: BoundsTable) -> Iterator[tuple[str, _Rows]]:
    """Yield the sections of the table, each with its rows."""
    median = np.median(table.simulated, axis=1)
    simulated = _format_rows({"mean": table.mean, "standard error": table.standard_error, "median": median})
    yield f"simulated regret, {table.runs} run{'s' * (table.runs > 1)}", simulated
    if not table.no_exact:
        few = table.runs < _MIN_RUNS
        off = ["-" if few or math.isnan(z) else f"{z:.2f}" for z in table.discrepancy.tolist()]
        exact = _format_rows({"of all rounds": table.mean_exact(table.WHOLE[0])})
        if table.handover == "virtual":
            exact |= _format_rows({"of all rounds, had it gone on from the last probe": table.direct.mean(axis=1)})
        exact["simulated minus exact, in standard errors"] = off
        exact |= _format_rows({"of exploitation alone, started at v": table.mean_exact(table.LOWER)})
        yield "exact regret, mean over the same runs", exact
    for head, names in (
        ("upper bounds on the regret of all rounds", table.whole_names),
        ("upper bounds on the regret of exploitation", table.exploitation_names),
        ("lower bound on the regret of exploitation for A = 0", table.lower_names),
    ):
        if names:
            yield head, _format_rows({f"{s}, {_words(variant)}": table.bounds[s, variant] for s, variant in names})
    yield "the estimate and its probes", _estimate_rows(table)


def _estimate_rows(table: BoundsTable) -> _Rows:
    rows = _format_rows({"nuclear error, mean": table.error.mean(axis=1), "gamma^2 in these runs": table.gamma2})
    if table.bounds:
        rows |= _format_rows({"epsilon of the proof, which the bounds assume": table.epsilon.mean(axis=1)})
        rows["runs with a nuclear error of at most epsilon"] = [
            "-" if np.isnan(row).any() else f"{count}/{table.runs}"
            for row, count in zip(table.epsilon, table.accurate_runs.tolist(), strict=True)
        ]
        for variant in ("corrected", "as_printed"):  # the appendix has that of the printed one
            rows |= _format_rows({f"gamma^2 of the proof, {_words(variant)}": table.schedules[variant]})
    return rows


def _format_rows(rows: Mapping[str, Array]) -> _Rows:
    """Format numbers, with a dash for NaN."""
    return {name: ["-" if math.isnan(x) else format_short(x) for x in row.tolist()] for name, row in rows.items()}


def _words(variant: str) -> str:
    return variant.replace("_", " ")


# ---- the conclusions -----------------------------------------------------------------------------------------------


def _conclusions(table: BoundsTable) -> Iterator[str]:
    """Yield how regret grows, and which bounds hold."""
    yield f"simulated regret {_describe_growth(table.growth(table.simulated))}"
    if table.no_exact:
        yield f"no exact regret and no bounds: {table.no_exact}"
        return
    yield f"exact regret {_describe_growth(table.growth(table.exact))}"
    if table.no_bounds:
        yield f"no bounds: {table.no_bounds}"
    elif not table.bounds:
        yield f"no bounds: exploration takes all of the {table.horizons[-1]} rounds"
    else:
        yield from _verdicts(table)


def _verdicts(table: BoundsTable) -> Iterator[str]:
    """Yield which bounds hold for these runs, and which do not."""
    upper = _group(table, [*table.whole_names, *table.exploitation_names])
    if good := [_title(names) for names, wrong in upper if not wrong]:
        yield f"at or above the exact regret at every T: {'; '.join(good)}"
    for names, wrong in upper:
        if wrong:
            part = "" if _is_whole(table, names) else " of exploitation"
            where = _list_horizons(table, wrong)
            yield f"{_title(names)}: below the exact regret{part} at {where}{_cause(table, names, wrong)}"
    for names, wrong in _group(table, table.lower_names):
        if wrong:
            yield (
                f"{_title(names)}: above the exact regret of exploitation at {_list_horizons(table, wrong)}, "
                "which is not a contradiction: the bound is for A = 0"
            )


def _group(table: BoundsTable, names: Sequence[BoundName]) -> list[tuple[list[BoundName], list[int]]]:
    """Return bounds with the horizons at which they fail; variants that fail at the same horizons are one group."""
    groups: dict[tuple[str, tuple[int, ...]], list[BoundName]] = {}
    for name in names:
        groups.setdefault((name[0], tuple(table.violations(name))), []).append(name)
    return [(members, list(wrong)) for (_, wrong), members in groups.items()]


def _title(names: Sequence[BoundName]) -> str:
    return f"{names[0][0]} ({', '.join(_words(variant) for _, variant in names)})"


def _is_whole(table: BoundsTable, names: Sequence[BoundName]) -> bool:
    return names[0][0] in table.WHOLE


def _cause(table: BoundsTable, names: Sequence[BoundName], wrong: Sequence[int]) -> str:
    """Return why bounds are violated: the handover, or the error of the estimates."""
    handed = [T for T in wrong if all(T in table.caused_by_handover(name) for name in names)]
    rest = [T for T in wrong if T not in handed]
    if not handed:
        added = ", and from the last probe too" if table.handover == "virtual" and _is_whole(table, names) else ""
        return f"{_premise(table, wrong)}{added}"
    text = (
        f", because of the virtual handover at {_list_horizons(table, handed)}: from the last probe, as the proof "
        "assumes, the regret would be below the bound"
    )
    return text if not rest else f"{text}; at {_list_horizons(table, rest)}{_premise(table, rest)}"


def _premise(table: BoundsTable, horizons: Sequence[int]) -> str:
    """Return whether the estimates are as accurate as the bounds assume at some horizons."""
    accurate = [T for T in horizons if table.accurate_runs[table.horizons.index(T)] == table.runs]
    if accurate:
        return f", although every nuclear error is at most epsilon at {_list_horizons(table, accurate)}"
    return ", where not every nuclear error is at most epsilon"


def _list_horizons(table: BoundsTable, horizons: Sequence[int]) -> str:
    with_bounds = np.isfinite(table.epsilon).all(axis=1).sum()
    return "every T" if len(horizons) == with_bounds else f"T = {', '.join(map(str, horizons))}"


def _describe_growth(growth: Growth) -> str:
    visible = not math.isnan(growth.exponent)
    return f"grows as T^{growth}, by medians" if visible else "does not grow visibly as a power of T"
