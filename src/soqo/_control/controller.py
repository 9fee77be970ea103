"""A controller for one live plant: give it v, apply the x that it returns, and give it the measured cost.

A :class:`Controller` wraps any policy. It works in the units of the plant: positions, limits and weights are those of
the plant, while the policy inside sees coordinates in which the switching cost is unweighted, and learns from the
action that was applied.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from soqo._control import timestamps as clock
from soqo._control.calls import Call, decode_call
from soqo._control.controller_journal import DISTURBED, ControllerJournal, check_options
from soqo._control.descriptions import describe_round, detach, diagnose, render_html
from soqo._control.events import LOGGER, Event, EventKind
from soqo._control.journal_report import plot_journal, plot_state
from soqo._control.reporter import Reporter
from soqo._control.rounds import (
    check_pending_round,
    closed_rounds,
    completed_rounds,
    numbers_of_open_rounds,
    repeat_call,
    single_number,
)
from soqo._control.settings import check_same_settings, first_snapshot, warn_if_not_portable
from soqo._control.snapshot import Snapshot, decode_snapshot, refusing_damage
from soqo._foundation.arguments import file_path, finite_array, integer, numbers, vector
from soqo._foundation.figure_style import ThemeName
from soqo._foundation.frozen_dataclasses import evolve
from soqo._storage.atomic import replacing
from soqo._storage.checksummed import seal, starts_with, unseal
from soqo._storage.codec import encode
from soqo._storage.journal import Durability, Journal
from soqo._storage.journal_format import is_journal
from soqo._storage.journal_records import Record
from soqo.errors import ArgumentError, FileFormatError, ProtocolError
from soqo.policies import Policy, State
from soqo.typing import Array, ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAGIC = b"soqo-controller 1\n"

_MAX_RESUME_SECONDS = 0.5
"""A resume that replayed calls for longer writes a snapshot, so that the next one need not replay them again."""

_Callback = TypeVar("_Callback", bound=Callable[[Event], object])


class Controller:
    """Steer one plant, round by round.

    Parameters
    ----------
    policy : Policy
        The policy that decides; :class:`soqo.GLIDE` needs no parameters.
    x0 : array_like, shape (d,)
        The position of the plant.
    horizon : int, optional
        The number of rounds; None for an infinite horizon.
    seed : int
        The seed of the random numbers that a policy may draw.
    low, high : float or array_like of shape (d,), optional
        The limits of the actuators, which no action exceeds. Use an infinite entry for an actuator without a limit.
    rate : float or array_like of shape (d,), optional
        The largest step of each actuator in a round. Use an infinite entry for an actuator without a limit.
    period : float or array_like of shape (d,), optional
        The period of positions that are angles, such as 360. Minimizers, and positions that are reported, may then be
        given modulo the period; actions count turns. Use an infinite entry for an actuator that is no angle.
    switching_weight : float or array_like of shape (d,) or (d, d), optional
        The cost of moving, 1/2 (x - x_prev)'W(x - x_prev), in the unit of the measured cost.
    max_delay : int
        The number of rounds by which a reading may be late: a round stays open for its reading until so many further
        rounds have been played.
    v_limits : pair of float or array_like of shape (d,), optional
        The lowest and the highest plausible minimizer; ``act`` refuses others, such as the -999 of a broken sensor.
    actuators : sequence of str, optional
        A name for each actuator, for reports and errors.
    units : str or sequence of str, optional
        The unit of all positions, or one for each actuator, for reports and errors.
    journal : path, optional
        A new file that records every call, so that :meth:`resume` continues after a crash.
    durability : {"disk", "process"}
        What a call that has returned survives: a power failure (``"disk"``, one fsync per call), or the end of this
        process but not of the system (``"process"``).
    snapshot_every : int, optional
        The journal receives a snapshot after every so many rounds, beside those that it receives by itself.
    timestamps : bool
        Whether the journal records the time of every call by the system's clock, where the call is not given one.

    See Also
    --------
    soqo.replay : Estimate on a log what another policy would have saved.

    Examples
    --------
    >>> import soqo
    >>> controller = Controller(soqo.GLIDE(), x0=[20.0, 20.0], low=18.0, high=27.0, switching_weight=[1.0, 4.0])
    >>> float(controller.act(v=[40.0, 21.0])[0])       # the first actuator is at its limit
    27.0
    >>> controller.pending is None, controller.round
    (False, 0)
    >>> controller.observe(85.0, applied=[27.0, 20.5])
    >>> controller.pending is None, controller.round
    (True, 1)
    """

    _state: State[Any]
    _missed: int

    def __init__(
        self,
        policy: Policy[Any],
        x0: ArrayLike,
        *,
        horizon: int | None = None,
        seed: int = 0,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        rate: ArrayLike | None = None,
        period: ArrayLike | None = None,
        switching_weight: ArrayLike | None = None,
        max_delay: int = 0,
        v_limits: tuple[ArrayLike, ArrayLike] | None = None,
        actuators: Sequence[str] | None = None,
        units: str | Sequence[str] | None = None,
        journal: str | os.PathLike[str] | None = None,
        durability: Durability = "disk",
        snapshot_every: int | None = None,
        timestamps: bool = False,
    ) -> None:
        snapshot, player = first_snapshot(
            policy,
            x0,
            horizon=horizon,
            seed=seed,
            low=low,
            high=high,
            rate=rate,
            period=period,
            switching_weight=switching_weight,
            max_delay=max_delay,
            v_limits=v_limits,
            actuators=actuators,
            units=units,
            timestamps=timestamps,
        )
        self._assume(snapshot, player)
        self._create_journal(journal, durability, snapshot_every)

    # ---- a round -----------------------------------------------------------------------------------------------------

    def act(
        self,
        v: ArrayLike,
        forecast: ArrayLike | None = None,
        context: ArrayLike | None = None,
        factor: float | None = None,
        *,
        active: ArrayLike | None = None,
        time: datetime | str | None = None,
    ) -> Array:
        """Return the action for this minimizer, shape (d,).

        If a round still waits for its reading when it ceases to be open, that reading counts as missed: at once if
        readings cannot be late, otherwise ``max_delay`` rounds later.

        Parameters
        ----------
        v : array_like, shape (d,)
            The minimizer of this round.
        forecast : array_like, shape (k, d), optional
            The expected minimizers of the next k rounds, in the units of the plant.
        context : array_like, shape (k,), optional
            What is known about this round beside v, such as the weather.
        factor : float, optional
            What multiplies the hitting cost of this round, such as a price, at least 0; 1 if it is not given.
        active : array_like of bool, shape (d,), optional
            The actuators that can move. The others stay where they are, and the hitting cost of this round does not
            depend on them; what v says about them is ignored. All can move if it is not given.
        time : datetime or str, optional
            The time of the action, with a time zone, for the journal: a datetime or an ISO 8601 text.
        """
        with self._lock:
            begun, before = perf_counter(), self._state
            stamp = None if time is None and not self._opening.timestamps else self._time_of(time)
            if forecast is not None:  # in the order of a journal, since the order decides how BLAS adds
                forecast = np.ascontiguousarray(finite_array("forecast", forecast))
            try:
                x, state = self._player.act(before, v, forecast=forecast, context=context, factor=factor, active=active)
            except ArgumentError:
                self._names.check_finite("v", v)
                raise
            if (limits := self._opening.v_limits) is not None:
                self._names.check_within("v", state.v, limits, what="v_limits")
                if forecast is not None:
                    self._names.check_within("forecast", forecast, limits, what="v_limits")
            if self._journal is not None:
                mask = None if active is None else np.asarray(active)
                call = Call(state.v, x, None, forecast, state.context, state.factor, None, stamp, mask)
                self._journal.record(call, begun, lambda: self._state is before)
            elif self._state is not before:
                raise ProtocolError(DISTURBED)
            lost = closed_rounds(before, state) if before.pending or before.open_rounds else _NONE
            self._state, self._missed = state, self._missed + len(lost)
            if self._journal is not None:
                self._journal.conclude(self._snapshot_now, at_round=state.round)
            reporter, events = self._reporter, _NONE
            if lost or reporter.is_needed:
                events = reporter.events("act", state.round, state, lost, v=state.v, x=x)
        if events:
            reporter.report(events, self._label)
        return x

    def observe(
        self,
        y: float,
        applied: ArrayLike | None = None,
        *,
        round: int | None = None,  # noqa: A002  # the property of that name; the builtin is not used here
        at: ArrayLike | None = None,
        unit: float | None = None,
        covariates: ArrayLike | None = None,
        time: datetime | str | None = None,
    ) -> None:
        """Learn from the measured cost of the pending action, or of that of an earlier round that is still open.

        Parameters
        ----------
        y : float
            The reading; NaN if there was none. If readings may be late, NaN means that it has not arrived yet.
        applied : array_like, shape (d,), optional
            The action that the plant applied, where it differs from the one it was given. In the current round this
            moves the plant; for an earlier round it only says to which action its reading belongs.
        round : int, optional
            The round that the reading belongs to, counted from 1. A reading whose round is already closed is then
            refused, and not mistaken for another's.
        at : array_like, shape (d,), optional
            Where the reading was felt, if the plant follows its actuators with a lag. It says to which point the
            reading belongs, and does not move the plant. Entries of actuators that are not active do not count.
        unit : float, optional
            The size of the noise and of the base load of this reading relative to others, above 0; 1 if it is not
            given.
        covariates : array_like, shape (k,), optional
            What is known about the reading, such as the load or the hour, on which its base load may depend. Their
            number is that of the first reading with some.
        time : datetime or str, optional
            The time of the reading, with a time zone, for the journal: a datetime or an ISO 8601 text.
        """
        with self._lock:
            begun, before = perf_counter(), self._state
            stamp = None if time is None and not self._opening.timestamps else self._time_of(time)
            if round is not None and not before.max_delay:
                check_pending_round(before, integer("round", round, least=1))
                round = None  # noqa: A001  # the argument; the builtin is not used here
            reading = single_number(y)
            position = None if applied is None else vector("applied", applied, before.x.shape)
            felt = None if at is None else vector("at", at, before.x.shape)
            size = None if unit is None else numbers("unit", unit)
            known = None if covariates is None else finite_array("covariates", covariates)
            told = {"at": felt, "unit": size, "covariates": known}
            state = self._player.observe(before, reading, applied=position, round=round, **told)
            number = before.round if round is None else int(round)
            if self._journal is not None:
                late = None if number == before.round else number
                call = Call(None, position, reading, None, None, None, late, stamp, None, felt, size, known)
                self._journal.record(call, begun, lambda: self._state is before)
            elif self._state is not before:
                raise ProtocolError(DISTURBED)
            lost = [number] if math.isnan(reading) and not before.max_delay else _NONE
            self._state, self._missed = state, self._missed + len(lost)
            if self._journal is not None:
                self._journal.conclude(self._snapshot_now)
            reporter, events = self._reporter, _NONE
            if lost or reporter.is_needed:
                events = reporter.events("observe", number, state, lost, x=position, y=reading)
        if events:
            reporter.report(events, self._label)

    @property
    def round(self) -> int:
        """The number of completed rounds: those begun whose reading was observed or missed."""
        return completed_rounds(self._state)

    @property
    def open_rounds(self) -> tuple[int, ...]:
        """The numbers of the rounds that wait for their readings, oldest first; the current one is the last."""
        return numbers_of_open_rounds(self._state)

    @property
    def pending(self) -> Array | None:
        """The action of the current round if it awaits its reading, or None."""
        state = self._state
        return state.x.copy() if state.pending else None

    @property
    def x(self) -> Array:
        """The position of the plant: the last action, as applied if that was reported."""
        return self._state.x.copy()

    @property
    def state(self) -> State[Any]:
        """The state of the policy within limits and weight. Its arrays must not be modified."""
        return self._state

    @staticmethod
    def _time_of(time: datetime | str | None) -> int:
        """Return the time of a call for the journal."""
        return clock.now() if time is None else clock.to_microseconds(time)

    # ---- reports -----------------------------------------------------------------------------------------------------

    def on(self, event: EventKind, function: _Callback) -> _Callback:
        """Call a function with every event of a kind, after the call of the controller has taken effect.

        The function is called in the thread of that call, with an object that has ``kind``, ``round``, ``message``,
        ``v``, ``x`` and ``y``. If it raises an exception, a :class:`soqo.errors.CallbackWarning` reports it, and the
        call of the controller returns as usual. Callbacks are not in files: set them again after :meth:`resume`.

        Parameters
        ----------
        event : {"act", "observe", "alarm", "guard", "missed"}
            An action, a reading, a suspected change of A, a round in which :class:`soqo.Guarded` overruled the policy,
            a missed reading.
        function : callable
            The function of one argument.

        Returns
        -------
        callable
            The function.

        Examples
        --------
        >>> import soqo
        >>> controller = Controller(soqo.FTM(), [20.0])
        >>> _ = controller.on("missed", lambda event: print(f"round {event.round}: {event.message}"))
        >>> x = controller.act([21.0])
        >>> x = controller.act([22.0])
        round 1: the reading was missed
        """
        self._reporter.add(event, function)
        return function

    def diagnostics(self) -> dict[str, Any]:
        """Return the policy's diagnostics, with ``round`` and the number of ``missed`` readings.

        An ``estimate`` of A, its ``uncertainty``, the ``offset`` and its ``offset_deviation`` are in the units of the
        plant. ``health`` is what :meth:`soqo.GLIDE.health` returns: whether what is told and measured fits together, in
        numbers, and as the text ``health["verdict"]``.
        """
        with self._lock:
            state, missed, completed = self._state, self._missed, self.round
        return {"round": completed, "missed": missed, **detach(diagnose(self._player, state))}

    def explain(self) -> str:
        """Describe what the controller is doing and why, in a sentence or two."""
        with self._lock:
            state, missed = self._state, self._missed
        return describe_round(self._player, state, missed, self._names, self._opening)

    def plot(self, *, theme: ThemeName = "light") -> Figure:
        """Draw the rounds in the journal, what the policy expected of each reading, and its estimate (extra ``lab``).

        :meth:`soqo.Log.plot` describes the panels. A controller without a journal keeps no record of its rounds: then
        only the estimate is drawn.

        Parameters
        ----------
        theme : {"light", "dark"}
            The colors.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which is independent of pyplot; ``figure.savefig("plant.png")`` writes it.

        Examples
        --------
        >>> import soqo
        >>> controller = Controller(soqo.GLIDE(), x0=[20.0, 20.0])
        >>> x = controller.act(v=[21.0, 22.0])
        >>> controller.observe(0.8)
        >>> [axes.get_title(loc="left") for axes in controller.plot().axes]
        ['Estimate of A ± standard deviation']
        """
        if self._journal is None or not self.state.round:
            return plot_state(self._player, self.state, theme=theme)
        return plot_journal(self._journal.path, theme=theme)

    def __repr__(self) -> str:
        journal = "" if self._journal is None else f", journal={str(self._journal.path)!r}"
        return f"Controller({self._opening.policy!r}, round={self.round}{journal})"

    def _repr_html_(self) -> str:
        rows = {"policy": repr(self._opening.policy), "round": str(self.round), "status": self.explain()}
        return render_html(rows, self._names, self._state)

    # ---- files -------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the complete state to one file, atomically; a journal is never overwritten.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Path
            The file.
        """
        if is_journal(path):
            raise ArgumentError(f"path must not be a journal, which has more in it, got {path}")
        contents = seal(_MAGIC, encode(self._snapshot_now()))
        with replacing(path) as temporary:
            temporary.write_bytes(contents)
        return Path(path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        journal: str | os.PathLike[str] | None = None,
        *,
        durability: Durability = "disk",
        snapshot_every: int | None = None,
    ) -> Self:
        """Continue from a file that :meth:`save` wrote, bit for bit.

        Parameters
        ----------
        path : path
            The file.
        journal, durability, snapshot_every
            As in the constructor.

        Raises
        ------
        FileFormatError
            If the file is damaged or of another kind.
        """
        source = file_path("path", path)
        if not source.is_file():
            raise FileNotFoundError(f"there is no saved controller {source}")
        if is_journal(source):
            raise FileFormatError(f"{source} is a journal: use Controller.resume")
        snapshot = decode_snapshot(unseal(_MAGIC, source.read_bytes(), source), source)
        controller = cls._from_snapshot(snapshot, source)
        controller._create_journal(journal, durability, snapshot_every)
        return controller

    @classmethod
    def resume(
        cls,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "disk",
        snapshot_every: int | None = None,
        verify: bool = False,
    ) -> Self:
        """Continue from a journal, bit for bit, even in the middle of a round.

        If ``pending`` is an action, the plant may not have received it: apply it (again), and observe. A record that a
        crash cut short belongs to a call that had not returned, and is cut off. A controller of this process that
        writes the same journal loses it.

        After a clean :meth:`close` the last record holds the complete state, and nothing else is read. After a crash
        the whole journal is verified.

        Parameters
        ----------
        path : path
            The journal.
        durability : {"disk", "process"}
            As in the constructor.
        snapshot_every : int, optional
            As in the constructor.
        verify : bool
            Whether to verify the whole journal after a clean close, too.

        Raises
        ------
        FileFormatError
            If the journal is damaged.
        BusyError
            If another process writes the journal.
        """
        return cls._resume(path, durability, snapshot_every, verify=verify)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        policy: Policy[Any],
        x0: ArrayLike,
        *,
        horizon: int | None = None,
        seed: int = 0,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        rate: ArrayLike | None = None,
        period: ArrayLike | None = None,
        switching_weight: ArrayLike | None = None,
        max_delay: int = 0,
        v_limits: tuple[ArrayLike, ArrayLike] | None = None,
        actuators: Sequence[str] | None = None,
        units: str | Sequence[str] | None = None,
        durability: Durability = "disk",
        snapshot_every: int | None = None,
        timestamps: bool = False,
    ) -> Self:
        """Resume from a journal if there is one, and create it otherwise: a program calls this whenever it starts.

        Parameters
        ----------
        path : path
            The journal.
        policy, x0, horizon, seed, low, high, rate, period, switching_weight, max_delay, v_limits, actuators, units
            As in the constructor. If the journal exists, they must be those of the journal, except for x0, which is
            only where a new journal starts.
        durability, snapshot_every, timestamps
            As in the constructor; they may differ from those of earlier programs.

        Raises
        ------
        ArgumentError
            If a setting is not that of the journal.
        FileFormatError
            If the journal is damaged.
        BusyError
            If another process writes the journal.

        Examples
        --------
        >>> import soqo, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for v in ([21.0], [22.0]):                      # a program that runs twice
        ...         with Controller.open(f"{folder}/plant.journal", soqo.FTM(), [20.0]) as controller:
        ...             x = controller.act(v)
        ...             controller.observe(0.1)
        >>> controller.round
        2
        """
        settings: dict[str, Any] = {
            "horizon": horizon,
            "seed": seed,
            "low": low,
            "high": high,
            "rate": rate,
            "period": period,
            "switching_weight": switching_weight,
            "max_delay": max_delay,
            "v_limits": v_limits,
            "actuators": actuators,
            "units": units,
            "timestamps": timestamps,
        }
        expected, player = first_snapshot(policy, x0, **settings)
        if file_path("path", path).exists():
            return cls._resume(path, durability, snapshot_every, expected=expected)
        controller = cls.__new__(cls)
        controller._assume(expected, player)
        controller._create_journal(path, durability, snapshot_every)
        return controller

    @classmethod
    def _resume(
        cls,
        path: str | os.PathLike[str],
        durability: Durability,
        snapshot_every: int | None,
        *,
        verify: bool = False,
        expected: Snapshot | None = None,
    ) -> Self:
        every = check_options(durability, snapshot_every)
        if starts_with(path, _MAGIC[: _MAGIC.index(b" ")]):
            raise FileFormatError(f"{path} is a saved controller: use Controller.load")
        file, contents = Journal.resume(path, durability, verify=verify)
        try:
            snapshot = decode_snapshot(contents.state, path)
            if expected is not None:
                check_same_settings(expected, snapshot, path)
                snapshot = evolve(snapshot, timestamps=expected.timestamps)
            controller = cls._from_snapshot(snapshot, path)
            begun = perf_counter()
            for record in contents.records:
                with refusing_damage(f"{path} holds a call at byte {record.start} that cannot be repeated"):
                    controller._replay(record, path)
            seconds = perf_counter() - begun
            file.add_replay_time(seconds)
            controller._reporter.skip_to(controller._state)  # what was replayed was reported when it happened
        except BaseException:
            file.close()
            raise
        journal = controller._journal = ControllerJournal(file, every)
        if contents.cut:
            LOGGER.warning("%s: %d bytes of an incomplete record were cut off", controller._label, contents.cut)
        LOGGER.info(
            "%s: resumed after round %d; %d calls were replayed in %.3f s",
            *(controller._label, controller.state.round, len(contents.records), seconds),
        )
        if seconds > _MAX_RESUME_SECONDS:
            journal.write_snapshot(controller._snapshot_now())
        return controller

    def close(self) -> None:
        """Release the journal, which keeps its contents, with the complete state at its end."""
        with self._lock:
            if self._journal is not None:
                self._journal.close(self._snapshot_now())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self._journal is not None:
            raise ProtocolError(
                "a controller with a journal cannot be copied, since a journal has one writer: use save"
            )
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        vars(self).update(attributes, _lock=threading.RLock())

    # ---- internals ---------------------------------------------------------------------------------------------------

    @classmethod
    def _from_snapshot(cls, snapshot: Snapshot, source: str | os.PathLike[str]) -> Self:
        controller = cls.__new__(cls)
        with refusing_damage(f"{source} holds a state that its policy cannot use"):
            try:
                controller._assume(snapshot, snapshot.player())
            except ArgumentError as error:
                raise FileFormatError(f"{source} holds settings that are not allowed: {error}") from error
        return controller

    def _assume(self, snapshot: Snapshot, player: Policy[Any]) -> None:
        self._opening, self._player, self._names = snapshot, player, snapshot.names()
        self._state, self._missed = snapshot.state, snapshot.missed
        self._reporter = Reporter(player, snapshot.state)
        self._journal: ControllerJournal | None = None
        # Calls of several threads are serialized. A signal handler may call a method in the middle of another one:
        # the lock lets it pass, and the journal refuses the call that it disturbed.
        self._lock = threading.RLock()

    def _create_journal(
        self, path: str | os.PathLike[str] | None, durability: Durability, snapshot_every: int | None
    ) -> None:
        every = check_options(durability, snapshot_every)
        if path is not None:
            snapshot = self._snapshot_now()
            warn_if_not_portable(snapshot, stacklevel=3)
            self._journal = ControllerJournal(Journal.create(path, durability, encode(snapshot)), every)

    @property
    def _label(self) -> str:
        """The name of this controller for the logger."""
        return "controller" if self._journal is None else self._journal.path.name

    def _snapshot_now(self) -> Snapshot:
        """Return the complete state: that of the opening, with what has changed since."""
        with self._lock:
            return evolve(self._opening, state=self._state, missed=self._missed)

    def _replay(self, record: Record, source: str | os.PathLike[str]) -> None:
        """Repeat a recorded call."""
        state, lost = repeat_call(self._player, self._state, decode_call(record, self._state.x.size, source))
        self._state, self._missed = state, self._missed + lost


_NONE: list[Any] = []
"""No events, or no rounds: never modified."""
