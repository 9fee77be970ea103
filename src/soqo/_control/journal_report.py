"""Reports on a journal without resuming it: its contents, whether it is complete, and its picture."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from soqo._control.calls import ALONE
from soqo._control.earlier_calls import read_call
from soqo._control.log import Log
from soqo._control.log_figure import add_title, count_rounds, draw_estimate, draw_with_predictions, new_figure
from soqo._control.predictions import entry_deviations
from soqo._control.snapshot import Snapshot, decode_snapshot
from soqo._control.steering import Steering
from soqo._foundation.arguments import file_path
from soqo._foundation.figure_style import ThemeName, find_theme, theme_context
from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.journal_format import read, read_all
from soqo.errors import ProtocolError
from soqo.policies import Policy, State

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class JournalReport(Value):
    """What a journal holds.

    Attributes
    ----------
    opening : Snapshot
        The state with which it begins.
    calls, rounds, readings : int
        The numbers of recorded calls, of rounds, and of readings that are not NaN.
    size, incomplete : int
        The number of bytes, and of those after the last complete record, which a crash can leave.
    since_snapshot : int
        The number of calls after the last snapshot, which a resume replays.
    """

    opening: Snapshot
    calls: int
    rounds: int
    readings: int
    size: int
    incomplete: int
    since_snapshot: int


def inspect_journal(path: str | os.PathLike[str]) -> JournalReport:
    """Verify every record of a journal, which may be in use, and report what it holds.

    Raises
    ------
    FileFormatError
        If the journal is damaged, or holds a class that cannot be imported.
    """
    source = file_path("path", path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no journal {source}")
    data = source.read_bytes()
    first, records = read_all(data, source)
    opening = decode_snapshot(first, source, alone=True)
    calls = [read_call(record, opening.dim, source, alone=True) for record in records]
    contents = read(data, source)
    return JournalReport(
        opening=opening,
        calls=len(calls),
        rounds=sum(call.kind == "act" for call in calls),
        readings=sum(call.kind == "observe" and not np.isnan(call.given["y"]) for call in calls),
        size=len(data),
        incomplete=contents.cut,
        since_snapshot=len(contents.records),
    )


def plot_journal(path: str | os.PathLike[str], *, theme: ThemeName, title: str | None = None) -> Figure:
    """Draw the rounds of a journal, with what its own policy expected of each reading."""
    source = file_path("path", path)
    log = Log.read(source)
    first, _ = read_all(source.read_bytes(), source)
    opening = Steering.from_snapshot(decode_snapshot(first, source, alone=True), source)
    heading = title if title is not None else f"{source.name}: {count_rounds(len(log))}"
    return draw_with_predictions(log, opening.player, opening.plants.part_of(ALONE).state, theme=theme, title=heading)


def plot_state(player: Policy[Any], state: State[Any], *, theme: ThemeName) -> Figure:
    """Draw what is known without a record of the rounds: the estimate of A.

    Raises
    ------
    ProtocolError
        If the policy does not estimate A.
    """
    estimate = player.diagnostics(state).get("estimate")
    if estimate is None:
        raise ProtocolError(
            "there is nothing to draw: the controller has no journal, which would hold its rounds, and its policy does "
            "not estimate A"
        )
    colors = find_theme(theme)
    with theme_context(colors):
        figure = new_figure(5.0, 4.6)
        deviation = entry_deviations(player, state, state.x.size)
        draw_estimate(figure.add_subplot(), np.asarray(estimate), deviation, None, colors)
        add_title(figure, f"Round {state.round}")
        return figure
