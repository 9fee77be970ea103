"""A controller for one live plant: give it v, apply the x that it returns, and give it the measured cost.

A :class:`Controller` wraps any policy. It works in the units of the plant: positions, limits and weights are those of
the plant, while the policy inside sees coordinates in which the switching cost is unweighted, and learns from the
action that was applied.
"""

from __future__ import annotations

import html
import logging
import math
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np

from soqo._control import timestamps as clock
from soqo._control.events import LOGGER, Callbacks, Event, EventKind
from soqo._control.journal_report import plot_journal, plot_state
from soqo._control.settings import check_same_settings, first_snapshot, warn_if_not_portable
from soqo._control.snapshot import Call, Snapshot, decode_call, decode_snapshot, encode_call, refusing_damage
from soqo._foundation.arguments import choice, file_path, finite_array, integer, numbers, vector
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

_DISTURBED = "another call was made in the middle of this one, by a signal handler; this one has no effect: repeat it"

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
    _counts: dict[str, float]
    _callbacks: Callbacks
    _last_guarded: int

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
            What multiplies the hitting cost of this round, such as a price, above 0; 1 if it is not given.
        time : datetime or str, optional
            The time of the action, with a time zone, for the journal: a datetime or an ISO 8601 text.
        """
        with self._lock:
            begun, before = perf_counter(), self._state
            stamp = None if time is None and not self._opening.timestamps else self._time_of(time)
            if forecast is not None:  # in the order of a journal, since the order decides how BLAS adds
                forecast = np.ascontiguousarray(finite_array("forecast", forecast))
            try:
                x, state = self._player.act(before, v, forecast=forecast, context=context, factor=factor)
            except ArgumentError:
                self._names.check_finite("v", v)
                raise
            if (limits := self._opening.v_limits) is not None:
                self._names.check_within("v", state.v, limits, what="v_limits")
                if forecast is not None:
                    self._names.check_within("forecast", forecast, limits, what="v_limits")
            if self._journal is not None:
                call = Call(state.v, x, None, forecast, state.context, state.factor, None, stamp)
                self._record(self._journal, call, begun, before)
            elif self._state is not before:
                raise ProtocolError(_DISTURBED)
            lost = _closed_rounds(before, state) if before.pending or before.open_rounds else _NONE
            self._state, self._missed = state, self._missed + len(lost)
            if self._journal is not None:
                self._conclude(self._journal, at_round=state.round)
            events = self._events("act", state.round, lost, v=state.v, x=x) if lost or self._has_events else _NONE
        if events:
            self._report(events)
        return x

    def observe(
        self,
        y: float,
        applied: ArrayLike | None = None,
        *,
        round: int | None = None,  # noqa: A002  # the property of that name; the builtin is not used here
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
        time : datetime or str, optional
            The time of the reading, with a time zone, for the journal: a datetime or an ISO 8601 text.
        """
        with self._lock:
            begun, before = perf_counter(), self._state
            stamp = None if time is None and not self._opening.timestamps else self._time_of(time)
            if round is not None and not before.max_delay:
                self._check_round(integer("round", round, least=1))
                round = None  # noqa: A001  # the argument; the builtin is not used here
            reading = _single_number(y)
            position = None if applied is None else vector("applied", applied, before.x.shape)
            state = self._player.observe(before, reading, applied=position, round=round)
            number = before.round if round is None else int(round)
            if self._journal is not None:
                late = None if number == before.round else number
                call = Call(None, position, reading, None, None, None, late, stamp)
                self._record(self._journal, call, begun, before)
            elif self._state is not before:
                raise ProtocolError(_DISTURBED)
            lost = (number,) if math.isnan(reading) and not before.max_delay else _NONE
            self._state, self._missed = state, self._missed + len(lost)
            if self._journal is not None:
                self._conclude(self._journal)
            events = self._events("observe", number, lost, x=position, y=reading) if lost or self._has_events else _NONE
        if events:
            self._report(events)

    @property
    def round(self) -> int:
        """The number of completed rounds: those begun whose reading was observed or missed."""
        state = self._state
        return state.round - state.pending - len(state.open_rounds)

    @property
    def open_rounds(self) -> tuple[int, ...]:
        """The numbers of the rounds that wait for their readings, oldest first; the current one is the last."""
        state = self._state
        return (*(one.round for one in state.open_rounds), *([state.round] if state.pending else []))

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

    def _check_round(self, number: int) -> None:
        current = self.state.round if self.state.pending else None
        if number == current:
            return
        if number <= self.round:
            raise ProtocolError(
                f"the reading of round {number} is late: {self.round} rounds are closed; it was not used"
            )
        now = "no round is pending" if current is None else f"round {current} is pending"
        raise ArgumentError(f"round must be the pending round, got {number} while {now}")

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
        self._callbacks.add(event, function)
        self._has_events = True
        return function

    def diagnostics(self) -> dict[str, Any]:
        """Return the policy's diagnostics, with ``round`` and the number of ``missed`` readings.

        An ``estimate`` of A and its ``uncertainty`` are in the units of the plant.
        """
        with self._lock:
            state, missed, completed = self._state, self._missed, self.round
        inner = self._player.diagnostics(state)
        own = {"round": completed, "missed": missed}
        return {**own, **{name: _detach(value) for name, value in inner.items()}}

    def explain(self) -> str:
        """Describe what the controller is doing and why, in a sentence or two."""
        with self._lock:
            state, missed = self._state, self._missed
        of = "" if state.horizon is None else f" of {state.horizon}"
        progress = "waits for its reading" if state.pending else "completed"
        begun = f"Round {state.round}{of} {progress}" if state.round else "No round played yet"
        plant = self._opening
        limits = self._names.reached_limits(state.x, state.x_prev, plant.low, plant.high, plant.rate)
        missing = f"{missed} readings were missed so far." if missed else ""
        return " ".join(filter(None, (f"{begun}: {self._player.explain(state)}", limits, missing)))

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
        state, names = self._state, self._names
        rows = {"policy": repr(self._opening.policy), "round": str(self.round), "status": self.explain()}
        cells = [f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in rows.items()]
        positions = [
            f"<tr><th>{html.escape(names.name(k))}</th>"
            + "".join(f"<td>{html.escape(names.value(k, position[k]))}</td>" for position in (state.x, state.v))
            + "</tr>"
            for k in range(names.dim)
        ]
        head = "<tr><th>actuator</th><th>x</th><th>v</th></tr>"
        return f"<table>{''.join(cells)}</table><table>{head}{''.join(positions)}</table>"

    def _events(
        self,
        call: Literal["act", "observe"],
        number: int,
        lost: Sequence[int],
        *,
        v: Array | None = None,
        x: Array | None = None,
        y: float | None = None,
    ) -> list[Event]:
        """Return what a call of a round has led to: missed readings, alarms, the guard, and the call itself."""
        events = [Event("missed", one, "the reading was missed") for one in lost]
        state = self._state
        counts = {name: float(count) for name, count in self._player.counts(state).items()}
        for name, kind in _COUNTED.items():
            if counts.get(name, 0.0) > self._counts.get(name, 0.0):
                events.append(Event(kind, state.round, self._player.explain(state)))
        self._counts = counts
        if self._callbacks.wants(call):
            v, x = (None if array is None else array.copy() for array in (v, x))
            events.append(Event(call, number, _MESSAGES[call], v=v, x=x, y=y))
        return events

    def _report(self, events: Sequence[Event]) -> None:
        """Log events, and call the functions of the user; the call that they are from has taken effect."""
        label = "controller" if self._journal is None else self._journal.path.name
        for event in events:
            level = _LEVELS[event.kind]
            if event.kind == "guard":
                if event.round == self._last_guarded + 1:
                    level = logging.DEBUG  # one warning for a sequence of rounds
                self._last_guarded = event.round
            LOGGER.log(level, "%s: round %d: %s", label, event.round, event.message)
        self._callbacks.call(events)

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
        contents = seal(_MAGIC, encode(self._snapshot))
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
        policy, x0, horizon, seed, low, high, rate, switching_weight, max_delay, v_limits, actuators, units
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
        every = _positive_or_none("snapshot_every", snapshot_every)
        if starts_with(path, _MAGIC[: _MAGIC.index(b" ")]):
            raise FileFormatError(f"{path} is a saved controller: use Controller.load")
        journal, contents = Journal.resume(path, durability, verify=verify)
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
            journal.add_replay_time(seconds)
            controller._events("observe", 0, _NONE)  # what was replayed was reported when it happened
        except BaseException:
            journal.close()
            raise
        controller._attach(journal, every)
        if contents.cut:
            LOGGER.warning("%s: %d bytes of an incomplete record were cut off", journal.path.name, contents.cut)
        LOGGER.info(
            "%s: resumed after round %d; %d calls were replayed in %.3f s",
            *(journal.path.name, controller.state.round, len(contents.records), seconds),
        )
        if seconds > _MAX_RESUME_SECONDS:
            controller._write_snapshot(journal)
        return controller

    def close(self) -> None:
        """Release the journal, which keeps its contents, with the complete state at its end."""
        with self._lock:
            journal = self._journal
            if journal is None:
                return
            if not self._interrupted:
                # The calls are in the journal already: without this record, a resume replays them.
                with suppress(OSError, ProtocolError, ArgumentError):
                    journal.write_closing(encode(self._snapshot))
            journal.close()

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
        self._counts = {name: float(count) for name, count in player.counts(snapshot.state).items()}
        # A call without a missed reading has events only if something counts them or is to be called.
        self._has_events = bool(self._counts)
        self._journal: Journal | None = None
        self._snapshot_every: int | None = None
        self._interrupted = False
        self._callbacks = Callbacks()
        self._last_guarded = -1
        # Calls of several threads are serialized. A signal handler may call a method in the middle of another one:
        # the lock lets it pass, and `_record` refuses the call that it disturbed.
        self._lock = threading.RLock()

    def _create_journal(
        self, path: str | os.PathLike[str] | None, durability: Durability, snapshot_every: int | None
    ) -> None:
        choice("durability", durability, ("disk", "process"))
        every = _positive_or_none("snapshot_every", snapshot_every)
        if path is not None:
            warn_if_not_portable(self._snapshot, stacklevel=3)
            self._attach(Journal.create(path, durability, encode(self._snapshot)), every)

    def _attach(self, journal: Journal, snapshot_every: int | None) -> None:
        self._journal, self._snapshot_every = journal, snapshot_every

    @property
    def _snapshot(self) -> Snapshot:
        """The complete state: that of the opening, with what has changed since."""
        with self._lock:
            return evolve(self._opening, state=self._state, missed=self._missed)

    def _record(self, journal: Journal, call: Call, begun: float, before: State[Any]) -> None:
        """Write a call to the journal before it takes effect."""
        if self._interrupted:
            raise ProtocolError(
                "the previous call was interrupted and may be in the journal: continue with Controller.resume"
            )
        self._interrupted = True
        try:
            if self._state is not before:
                raise ProtocolError(_DISTURBED)  # noqa: TRY301  # nothing was written, as for the errors of append
            journal.append(*encode_call(call), perf_counter() - begun)
        except (OSError, ProtocolError):
            self._interrupted = False  # nothing was written
            raise

    def _conclude(self, journal: Journal, *, at_round: int = 0) -> None:
        """Note that a recorded call has taken effect; from time to time, write a snapshot after it."""
        self._interrupted = False
        every = self._snapshot_every
        if journal.snapshot_is_due or (every is not None and at_round and at_round % every == 0):
            self._write_snapshot(journal)

    def _write_snapshot(self, journal: Journal) -> None:
        """Write a snapshot of the state, if possible: the calls are in the journal, and it is tried again later."""
        try:
            journal.snapshot(encode(self._snapshot))
        except (OSError, ArgumentError, ProtocolError) as error:
            LOGGER.warning("%s: no snapshot could be written: %s", journal.path.name, error)
        else:
            LOGGER.debug("%s: a snapshot after round %d", journal.path.name, self._state.round)

    def _replay(self, record: Record, source: str | os.PathLike[str]) -> None:
        """Repeat a recorded call, with the action that was returned then."""
        before = self._state
        call = decode_call(record, before.x.size, source)
        if call.v is not None and call.x is not None:
            x, state = self._player.act(
                before, call.v, forecast=call.forecast, context=call.context, factor=call.factor
            )
            # Another processor or version may compute an action that differs in the last digit.
            if not np.array_equal(x, call.x):
                state = evolve(state, x=call.x)
            lost = len(_closed_rounds(before, state))
        elif call.y is not None:
            state = self._player.observe(before, call.y, applied=call.x, round=call.round)
            lost = math.isnan(call.y) and not before.max_delay
        self._state, self._missed = state, self._missed + lost


_COUNTED: dict[str, EventKind] = {"alarms": "alarm", "interventions": "guard"}
"""The counts of a policy, and the events that they count."""

_MESSAGES = {"act": "the policy acted", "observe": "a reading was observed"}

_NONE: tuple[Any, ...] = ()

_LEVELS: dict[EventKind, int] = {
    "act": logging.DEBUG,
    "observe": logging.DEBUG,
    "missed": logging.INFO,
    "alarm": logging.WARNING,
    "guard": logging.WARNING,
}


def _closed_rounds(before: State[Any], after: State[Any]) -> Sequence[int]:
    """Return the rounds whose readings were missed because another round has begun."""
    rounds = [one.round for one in before.open_rounds] + ([before.round] if before.pending else [])
    still_open = {one.round for one in after.open_rounds}
    return [number for number in rounds if number not in still_open]


def _positive_or_none(name: str, value: Any) -> int | None:
    return None if value is None else integer(name, value, least=1)


def _single_number(y: ArrayLike) -> float:
    """Return a reading as a float; the policy refuses infinity."""
    if type(y) is float:
        return y
    try:
        value = numbers("y", y, copy=False)
    except ArgumentError:
        raise ArgumentError(f"y must be a number, or NaN for no reading, got {y!r}") from None
    if value.shape != ():
        raise ArgumentError(f"y must be one number, got an array of shape {value.shape}")
    return value.item()


def _detach(value: Any) -> Any:
    """Return a plain number, or a copy of an array, so that the caller cannot change the state."""
    if isinstance(value, np.ndarray | np.generic):
        return value.copy() if value.ndim else value.item()
    return value
