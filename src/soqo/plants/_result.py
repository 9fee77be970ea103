"""The result of a drive: costs in kW and in money, as numbers and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from soqo._foundation.figure_style import ThemeName
from soqo._foundation.frozen_dataclasses import Value
from soqo.errors import UnknownNameError
from soqo.plants._plant import HOURS_PER_YEAR, Conditions, Plant
from soqo.typing import Array, BoolArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_FEW_KILOWATTS = 20.0
"""Costs below this are shown with two digits."""


@dataclass(frozen=True)
class Cost(Value):
    """What a policy costs, on average over rounds and runs.

    Attributes
    ----------
    lost, wear : float
        The hitting cost and the switching cost in kW.
    total : float
        Their sum.
    per_run : Array, shape (runs,)
        The total of each run.
    money : float
        The total in EUR per year.
    moves : float
        The share of the rounds in which an actuator moves, averaged over the actuators.
    violations : float
        The share of limits that are violated.
    milliseconds : float
        The processor time of a round of one run.
    diverged : int
        The number of runs in which the policy asked for a non-finite position.
    """

    lost: float
    wear: float
    total: float
    per_run: Array
    money: float
    moves: float
    violations: float
    milliseconds: float
    diverged: int


@dataclass(frozen=True)
class Drive(Value, Mapping[str, Cost]):
    """A mapping from each policy's name to its cost; printing it gives a table.

    Attributes
    ----------
    plant : Plant
        The plant.
    names : tuple of str
        The names of the policies.
    seeds : tuple of int
        The seeds of the runs.
    conditions : Conditions
        What all policies met, of the leading shape (rounds, runs).
    positions : Array, shape (policies, rounds, runs, d)
        The positions.
    lost, wear, violations, readings : Array, shape (policies, rounds, runs)
        Hitting costs and switching costs in kW, the share of violated limits, and the readings.
    seconds : Array, shape (policies,)
        The processor time of a round of one run.
    diverged : BoolArray, shape (policies, runs)
        The runs in which a policy asked for a non-finite position.
    explanations : tuple of str
        What each policy says about itself at the end of the first run.
    estimates : tuple of Array or None
        The estimate of A at the end of the first run, in kW and units of the plant; None for a policy without one.
    """

    _: KW_ONLY
    plant: Plant
    names: tuple[str, ...]
    seeds: tuple[int, ...]
    conditions: Conditions = field(repr=False)
    positions: Array = field(repr=False)
    lost: Array = field(repr=False)
    wear: Array = field(repr=False)
    violations: Array = field(repr=False)
    readings: Array = field(repr=False)
    seconds: Array = field(repr=False)
    diverged: BoolArray = field(repr=False)
    explanations: tuple[str, ...] = field(repr=False)
    estimates: tuple[Array | None, ...] = field(repr=False)

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return int(self.lost.shape[1])

    def index(self, name: str) -> int:
        """Return the place of a policy in the arrays.

        Parameters
        ----------
        name : str
            The name of the policy.
        """
        if name not in self.names:
            raise UnknownNameError(f"name must be one of {', '.join(map(repr, self.names))}, got {name!r}")
        return self.names.index(name)

    def __getitem__(self, name: str) -> Cost:
        k = self.index(name)
        total = self.lost[k] + self.wear[k]
        steps = np.diff(np.concatenate([self.conditions.best[:1], self.positions[k]]), axis=0)
        return Cost(
            lost=float(self.lost[k].mean()),
            wear=float(self.wear[k].mean()),
            total=float(total.mean()),
            per_run=total.mean(axis=0),
            money=float(total.mean()) * HOURS_PER_YEAR * self.plant.price / 1e3,
            moves=float((np.abs(steps) > 1e-9).mean()),
            violations=float(self.violations[k].mean()),
            milliseconds=1e3 * float(self.seconds[k]),
            diverged=int(self.diverged[k].sum()),
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows of the table as text."""
        limits = bool(self.violations.any())
        header = ["policy", "lost", "wear", "total [kW]", "EUR/year", "moves"]
        header += ["violations", "ms/round"] if limits else ["ms/round"]
        digits = 1 if min(cost.total for cost in self.values()) > _FEW_KILOWATTS else 2
        rows = []
        for name, cost in self.items():
            row = [name, *(f"{round(value, digits) + 0.0:.{digits}f}" for value in (cost.lost, cost.wear, cost.total))]
            row += [f"{cost.money:,.0f}", f"{100 * cost.moves:.0f} %"]
            row += [f"{100 * cost.violations:.2f} %"] if limits else []
            rows.append([*row, f"{cost.milliseconds:.2f}"])
        return header, rows

    def plot(self, *, theme: ThemeName = "light", focus: str = "GLIDE") -> Figure:
        """Draw the plant at a moment, the costs, and positions and costs over time (extra ``lab``).

        Parameters
        ----------
        theme : {"light", "dark"}
            The colors.
        focus : str
            The policy whose positions are shown; the first policy if there is none of this name.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, independent of pyplot.
        """
        from soqo.plants._figures import draw_drive  # Matplotlib is an extra

        return draw_drive(self, theme=theme, focus=focus)

    def __str__(self) -> str:
        header, rows = self.table()
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
            for row in [header, *rows]
        )

    def _repr_html_(self) -> str:
        """Return the table in HTML, for notebooks."""
        header, rows = self.table()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
