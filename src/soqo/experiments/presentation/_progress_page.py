"""The page of a run in progress: what is done, and the first curves; it reloads until the report takes its place."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

from soqo.experiments.execution import Landed, Outcome
from soqo.experiments.presentation._figures import regret_figure
from soqo.experiments.presentation._html import plain, render_frame, render_title
from soqo.experiments.presentation._rendering import render_svg, write_atomically

_RELOAD = 3
"""Seconds between reloads of the page."""

_MAX_CHARTS = 4
"""Settings whose curves are drawn, so that the page costs little beside the simulation."""


def write_progress(folder: Path, landed: Landed, about: Mapping[str, Any]) -> None:
    """Write ``index.html`` for a run in progress (extra ``lab``).

    Parameters
    ----------
    folder : Path
        The folder of the report.
    landed : Landed
        What is done.
    about : mapping
        ``command``, as in ``about.json``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_progress(Path(folder), Landed(1, 2, {"mine": (1, 2)}, 3.0, list), {"command": ""})
    ...     [path.name for path in Path(folder).iterdir()]
    ['index.html']
    """
    write_atomically(folder / "index.html", render_progress(landed, about))


def render_progress(landed: Landed, about: Mapping[str, Any]) -> str:
    """Return the HTML of the page of a run in progress.

    Parameters
    ----------
    landed, about
        As in :func:`write_progress`.

    Returns
    -------
    str
        The HTML, which reloads itself.

    Examples
    --------
    >>> "1 of 2 tasks" in render_progress(Landed(1, 2, {"mine": (1, 2)}, 3.0, list), {"command": ""})
    True
    """
    outcomes = [outcome for outcome in landed.outcomes() if not outcome.setting.swept][:_MAX_CHARTS]
    command = f" of <code>{escape(about['command'])}</code>" if about.get("command") else ""
    share = f"{landed.done} of {landed.total}"
    body = (
        '<header class="top"><h1>A run in progress</h1></header>\n<main id="main">\n<section class="card">\n'
        f"<h2>{share} tasks{command}, after {landed.seconds:.0f} s</h2>\n"
        f'<progress max="{landed.total}" value="{landed.done}" aria-label="Tasks that are done">{share}</progress>\n'
        f"<p>Last update at {datetime.now().astimezone():%H:%M:%S}. This page reloads every {_RELOAD} seconds, and the "
        "report takes its place. After an interruption, the "
        f"same command resumes with what is done.</p>\n</section>\n{''.join(map(_render_curves, outcomes))}"
        f"{_render_settings(landed)}\n</main>"
    )
    reload = f'<meta http-equiv="refresh" content="{_RELOAD}">\n'
    return render_frame(f"{share}: a run in progress", body, refresh=reload)


def _render_settings(landed: Landed) -> str:
    """Return a list of the settings with the tasks that are done."""
    items = "\n".join(
        f"<li>{escape(name)} <small>{done} of {total}</small> "
        f'<progress max="{total}" value="{done}" aria-label="{escape(name, quote=True)}"></progress></li>'
        for name, (done, total) in landed.by_setting.items()
    )
    return f'<section class="card"><h2>Tasks of each setting</h2>\n<ul class="tasks">{items}</ul></section>'


def _render_curves(outcome: Outcome) -> str:
    """Return the picture of a setting that has runs already."""
    svg = render_svg(regret_figure(outcome))
    picture = base64.b64encode(svg.encode()).decode()
    return (
        f'<section class="card">\n<h2>{render_title(outcome.setting.title)} <span>first {outcome.runs} runs of '
        f'{len(outcome.policies)} policies</span></h2>\n<img class="picture" alt="{plain(outcome.setting.title)}" '
        f'src="data:image/svg+xml;base64,{picture}">\n</section>\n'
    )
