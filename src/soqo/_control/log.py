"""Logs: the minimizers, actions and readings of a plant, from a journal or from the user's own records."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from soqo._control.journal_rounds import read_rounds
from soqo._control.log_columns import COLUMNS, check_fields
from soqo._control.log_figure import count_rounds, draw_log, draw_with_predictions
from soqo._control.log_files import Settings, from_frame, read_fields, read_table, to_frame, write_table
from soqo._control.predictions import player_on
from soqo._control.timestamps import TimeArray
from soqo._foundation.arguments import file_path
from soqo._foundation.figure_style import ThemeName
from soqo._foundation.frozen_dataclasses import Value, set_fields
from soqo._storage.checksummed import starts_with
from soqo._storage.journal_format import is_journal
from soqo.errors import ArgumentError, FileFormatError
from soqo.policies import GLIDE, Policy
from soqo.typing import Array, ArrayLike, BoolArray

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Log(Value):
    """A recorded sequence of rounds of a plant, in the units of the plant.

    Parameters
    ----------
    v : array_like, shape (T, d)
        The minimizers.
    x : array_like, shape (T, d)
        The actions, as they were applied.
    y : array_like, shape (T,)
        The measured costs; NaN where there was no reading.
    x0 : array_like, shape (d,)
        The position before the first round.
    low, high, switching_weight
        The limits of the plant and its switching weight, as in :class:`soqo.Controller`.
    horizon : int, optional
        The number of rounds that a policy may assume; None for an infinite horizon.
    rate
        The largest step of a round, as in :class:`soqo.Controller`.
    time : array_like, shape (T,), optional
        When the rounds were played: an array of ``datetime64`` in UTC, or ``datetime`` or ISO 8601 texts with a zone;
        NaT where the time is unknown.
    actuators : sequence of str, optional
        The names of the actuators.
    units : str or sequence of str, optional
        The unit of the positions, one for all actuators or one for each.
    factor : array_like, shape (T,), optional
        What multiplied the hitting cost of each round, at least 0; NaN for 1.
    unit : array_like, shape (T,), optional
        The size of the noise and of the base load of each reading relative to others, above 0; NaN for 1.
    active : array_like of bool, shape (T, d), optional
        The actuators that could move. The others did not count, and what v says about them is replaced by x.
    at : array_like, shape (T, d), optional
        Where each reading was felt, if the plant follows its actuators with a lag; NaN for x.
    period : float or array_like of shape (d,), optional
        The period of positions that are angles; infinite entries for none. All positions may be given modulo the
        period: the log counts turns, and has v at the turn nearest to where the reading was felt.
    covariates : array_like, shape (T, k), optional
        What was known about each reading, on which its base load may depend; a row of NaN where nothing was.

    See Also
    --------
    soqo.replay : Estimate on a log what another policy would have saved.

    Examples
    --------
    >>> log = Log(v=[[1.0], [2.0]], x=[[0.5], [1.25]], y=[0.2, 0.3], x0=[0.0])
    >>> len(log), log.dim
    (2, 1)
    >>> log[1:].x0                          # a slice begins where the rounds before it ended
    array([0.5])
    """

    v: Array
    x: Array
    y: Array
    _: KW_ONLY
    x0: Array
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    switching_weight: ArrayLike | None = None
    horizon: int | None = None
    rate: ArrayLike | None = None
    time: TimeArray | None = None
    actuators: Sequence[str] | None = None
    units: str | Sequence[str] | None = None
    factor: Array | None = None
    unit: Array | None = None
    active: BoolArray | None = None
    at: Array | None = None
    period: ArrayLike | None = None
    covariates: Array | None = None

    def __post_init__(self) -> None:
        set_fields(self, **check_fields(self._fields))

    def __repr__(self) -> str:
        return f"Log({count_rounds(len(self))}, {self.dim} actuator{'' if self.dim == 1 else 's'})"

    def __getitem__(self, rounds: slice[int | None, int | None, None]) -> Self:
        """Return some consecutive rounds as a log; it begins where the rounds before it ended."""
        given: object = rounds
        if not isinstance(given, slice) or given.step not in (None, 1):
            raise ArgumentError(f"rounds must be a slice without a step, such as log[-100:], got {rounds!r}")
        start, stop, _ = rounds.indices(len(self))
        if start >= stop:
            raise ArgumentError(f"rounds must hold at least one of the {len(self)} rounds, got [{start}:{stop}]")
        columns = {name: getattr(self, name) for name in ("time", *COLUMNS)}
        parts: dict[str, Any] = {
            name: None if values is None else values[start:stop] for name, values in columns.items()
        }
        return replace(
            self,
            x0=self.x[start - 1] if start else self.x0,
            horizon=None if self.horizon is None else self.horizon - start,
            **parts,
        )

    def __len__(self) -> int:
        return len(self.v)

    @property
    def dim(self) -> int:
        """The number d of actuators."""
        return int(self.v.shape[1])

    # ---- pictures --------------------------------------------------------------------------------------------------

    def plot(
        self,
        *,
        policy: Policy[Any] | None = None,
        learn: bool = True,
        theme: ThemeName = "light",
        title: str | None = None,
    ) -> Figure:
        """Draw the log (extra ``lab``).

        The panels show the position of each actuator, its minimizer and its limits; the readings, and what a policy
        that learns from the log expected of each of them before it was told, with a band of 95 %; the total cost so
        far, and that of following v; and the estimate of A after the last round, with its uncertainty. Alarms,
        outliers, missed readings and interventions of a guard are marked. Costs are those of the estimate, so base load
        and noise do not enter; if an alarm restarted the estimate, those of the last one before.

        Parameters
        ----------
        policy : Policy, optional
            The policy that learns from the log, without steering; :class:`soqo.GLIDE` by default, which takes about a
            millisecond per round.
        learn : bool
            Whether a policy learns from the log. Otherwise only what the log holds is drawn, and the cost is that of
            the readings.
        theme : {"light", "dark"}
            The colors.
        title : str, optional
            The title.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which is independent of pyplot; ``figure.savefig("plant.png")`` writes it.

        Examples
        --------
        >>> log = Log([[1.0], [2.0], [0.0]], [[0.5], [1.25], [0.6]], [0.2, 0.3, 0.2], x0=[0.0])
        >>> [axes.get_title(loc="left") for axes in log.plot().axes][:2]
        ['Actuator 1', 'Readings, and what GLIDE expected']
        """
        heading = count_rounds(len(self)) if title is None else title
        if not learn:
            if policy is not None:
                raise ArgumentError(f"policy must be None if learn is False, got {policy!r}")
            return draw_log(self, None, theme=theme, title=heading)
        player = player_on(self, GLIDE() if policy is None else policy)
        return draw_with_predictions(self, player, player.start(self.x0, self.horizon, 0), theme=theme, title=heading)

    # ---- files and tables ------------------------------------------------------------------------------------------

    @classmethod
    def read(cls, path: str | os.PathLike[str], **settings: Unpack[Settings]) -> Self:
        r"""Read the journal of a controller, which may be in use, or a CSV or Parquet file.

        A table has the columns v_1, ..., v_d, x_1, ..., x_d and y, and optionally ``time`` (ISO 8601 with a zone),
        applied_1, ..., applied_d, which replace x where they are not empty, ``factor``, ``unit``, active_1, ...,
        active_d (0 or 1), at_1, ..., at_d and covariate_1, ..., covariate_k, as for a log. Names of actuators may take
        the place of the numbers. An empty cell of y means that there was no reading. Other columns are ignored.

        Parameters
        ----------
        path : path
            The file. Parquet needs the extra ``lab``.
        **settings
            In place of what the file holds: ``x0``, ``low``, ``high``, ``rate``, ``period``, ``switching_weight``,
            ``horizon``, ``actuators`` and ``units``, as for a log. If neither gives x0, it is the position of the first
            round, as if the plant had not moved in it. ``actuators`` can also select columns of a table.

        Raises
        ------
        FileFormatError
            If the file is damaged or of another kind. For a table, the message names the line and the column.

        See Also
        --------
        Log.write : Write a CSV or Parquet file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "log.csv").write_text("v_1,x_1,y\n1.0,0.5,0.2\n2.0,1.25,\n")
        ...     log = Log.read(f"{folder}/log.csv", x0=[0.0], switching_weight=4.0)
        >>> log.y
        array([0.2, nan])
        """
        source = file_path("path", path)
        if not source.is_file():
            raise FileNotFoundError(f"there is no log {source}")
        if is_journal(source):
            return cls(**read_rounds(source))._with(settings)
        if starts_with(source, b"soqo-controller"):
            raise FileFormatError(f"{source} is a saved controller, which holds no rounds: use its journal")
        try:
            log = cls(**read_fields(read_table(source), settings))
        except ArgumentError as error:
            raise FileFormatError(f"{source}: {error}") from None
        return log._with(settings)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write a CSV file or, with the extra ``lab``, a Parquet file; :meth:`read` returns the same log.

        A CSV file begins with comments that hold x0, limits, period, weight, names and units.

        Parameters
        ----------
        path : path
            The file; its suffix, ``.csv`` or ``.parquet``, selects the format.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> log = Log([[1.0], [2.0]], [[0.5], [1.25]], [0.2, np.nan], x0=[0.0], units="degC")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(log.write(f"{folder}/log.csv").read_text())
        # soqo log
        # x0 = [0.0]
        # units = "degC"
        v_1,x_1,y
        1.0,0.5,0.2
        2.0,1.25,
        <BLANKLINE>
        """
        target = file_path("path", path)
        write_table(target, self._fields)
        return target

    @classmethod
    def from_dataframe(cls, frame: pandas.DataFrame, **settings: Unpack[Settings]) -> Self:
        """Make a log from a data frame of pandas with the columns of :meth:`read` (extra ``lab``).

        Timestamps are in the column ``time`` or in the index, and must have a zone (``tz_localize``). A cell of y that
        is NaN or missing means that there was no reading.

        Parameters
        ----------
        frame : pandas.DataFrame
            The rounds, one in each row.
        **settings
            As in :meth:`read`; by default those of the log that the frame was made from (:meth:`to_dataframe`).

        Raises
        ------
        ArgumentError
            The message names the column and the row.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"v_1": [1.0, 2.0], "x_1": [0.5, 1.25], "y": [0.2, None]})
        >>> Log.from_dataframe(frame, x0=[0.0], switching_weight=4.0)
        Log(2 rounds, 1 actuator)
        """
        table = from_frame(frame)
        try:
            log = cls(**read_fields(table, settings))
        except ArgumentError as error:
            raise ArgumentError(f"frame: {error}") from None
        return log._with(settings)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return a data frame of pandas with the columns of :meth:`read`, indexed by round (extra ``lab``).

        What has no column (x0, limits, period, weight, horizon, names, units) is in its ``attrs``, where
        :meth:`from_dataframe` finds it.

        Returns
        -------
        pandas.DataFrame
            The rounds, one in each row.

        Examples
        --------
        >>> log = Log([[1.0], [2.0]], [[0.5], [1.25]], [0.2, 0.3], x0=[0.0])
        >>> log.to_dataframe()
               v_1   x_1    y
        round
        1      1.0  0.50  0.2
        2      2.0  1.25  0.3
        """
        return to_frame(self._fields)

    @property
    def _fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _with(self, settings: Settings) -> Self:
        """Return the log with what was given in place of what a file holds."""
        given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
        return replace(self, **given)
