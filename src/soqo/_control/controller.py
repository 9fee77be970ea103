"""A controller for one live plant: give it v, apply the x that it returns, and give it the measured cost.

A :class:`Controller` wraps any policy. It works in the units of the plant: positions, limits and weights are those of
the plant, while the policy inside sees coordinates in which the switching cost is unweighted, and learns from the
action that was applied.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

import numpy as np

from soqo._control import timestamps as clock
from soqo._control.calls import ALONE, Call
from soqo._control.descriptions import describe_round, detach, diagnose, render_html
from soqo._control.events import Event, EventKind, Reporter
from soqo._control.journal_report import plot_journal, plot_state
from soqo._control.settings import Options, check_settings
from soqo._control.snapshot import Snapshot
from soqo._control.steering import Steering, begin
from soqo._foundation.arguments import choice, file_path, finite_array, integer, numbers, vector
from soqo._foundation.figure_style import ThemeName
from soqo._storage.journal import Durability
from soqo.errors import ArgumentError, ProtocolError
from soqo.policies import Policy, State
from soqo.typing import Array, ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
        steering = _start(
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
        self._assume(steering)
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
        with self._steering.lock:
            before = self._batch.state
            if forecast is not None:  # in the order of a journal, since the order decides how BLAS adds
                forecast = np.ascontiguousarray(finite_array("forecast", forecast))
            mask = None if active is None else np.asarray(active)
            told = {"v": v, "forecast": forecast, "context": context, "factor": factor, "active": mask}
            given: dict[str, Any] = {name: value for name, value in told.items() if value is not None}
            try:
                change, version, begun = self._steering.compute(Call("act", given, time=self._time_of(time)))
            except ArgumentError:
                self._names.check_finite("v", v)
                raise
            state = change.parts[0].state
            given["v"] = state.v  # as it counts, for the journal
            if context is not None:
                given["context"] = state.context
            if factor is not None:
                given["factor"] = state.factor
            if (limits := self._settings.v_limits) is not None:
                self._names.check_within("v", state.v, limits, what="v_limits")
                if forecast is not None:
                    self._names.check_within("forecast", forecast, limits, what="v_limits")
            every = self._snapshot_every
            is_asked = every is not None and state.round % every == 0
            self._steering.commit(change, version, begun, snapshot=is_asked)
            lost = _open_rounds(before)[: int(change.missed)] if change.missed else ()
            events = self._reporter.events("act", state.round, state, lost, v=state.v, x=change.x)
        if events:
            self._reporter.report(events, self._label)
        assert change.x is not None
        return change.x

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
        with self._steering.lock:
            before = self._batch.state
            given: dict[str, Any] = {"y": _single_number(y)}
            for name, value in (("applied", applied), ("at", at), ("unit", unit), ("covariates", covariates)):
                if value is not None:
                    is_position = name in ("applied", "at")
                    given[name] = vector(name, value, before.x.shape) if is_position else numbers(name, value)
            number = before.round if round is None else integer("round", round, least=1)
            if round is not None and before.max_delay:
                given["round"] = np.array(number)
            elif round is not None:
                _check_pending_round(before, number)
            change = self._steering.carry_out(Call("observe", given, time=self._time_of(time)))
            lost = (number,) if change.missed else ()
            events = self._reporter.events(
                "observe", number, self._batch.state, lost, x=given.get("applied"), y=given["y"]
            )
        if events:
            self._reporter.report(events, self._label)

    @property
    def round(self) -> int:
        """The number of completed rounds: those begun whose reading was observed or missed."""
        return _completed_rounds(self.state)

    @property
    def open_rounds(self) -> tuple[int, ...]:
        """The numbers of the rounds that wait for their readings, oldest first; the current one is the last."""
        return _open_rounds(self.state)

    @property
    def pending(self) -> Array | None:
        """The action of the current round if it awaits its reading, or None."""
        state = self.state
        return state.x.copy() if state.pending else None

    @property
    def x(self) -> Array:
        """The position of the plant: the last action, as applied if that was reported."""
        return self.state.x.copy()

    @property
    def state(self) -> State[Any]:
        """The state of the policy within limits and weight. Its arrays must not be modified."""
        return self._batch.state

    def _time_of(self, time: datetime | str | None) -> int | None:
        """Return the time of a call for the journal."""
        if time is not None:
            return clock.to_microseconds(time)
        return clock.now() if self._settings.timestamps else None

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
        state, missed = self._now()
        known = detach(diagnose(self._steering.player, state))
        return {"round": _completed_rounds(state), "missed": missed, **known}

    def explain(self) -> str:
        """Describe what the controller is doing and why, in a sentence or two."""
        return describe_round(self._steering.player, *self._now(), self._names, self._settings)

    def _now(self) -> tuple[State[Any], int]:
        """Return the state, and the number of missed readings."""
        with self._steering.lock:
            return self.state, int(self._steering.plants.missed[ALONE])

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
        if self._path is None or not self.state.round:
            return plot_state(self._steering.player, self.state, theme=theme)
        return plot_journal(self._path, theme=theme)

    def __repr__(self) -> str:
        journal = "" if self._path is None else f", journal={str(self._path)!r}"
        return f"Controller({self._settings.policy!r}, round={self.round}{journal})"

    def _repr_html_(self) -> str:
        rows = {"policy": repr(self._settings.policy), "round": str(self.round), "status": self.explain()}
        return render_html(rows, self._names, self.state)

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
        return self._steering.save(path)

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
        controller = cls._of(Steering.load(path, alone=True))
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
        durability: Durability = "disk",
        snapshot_every: int | None = None,
        **options: Unpack[Options],
    ) -> Self:
        """Resume from a journal if there is one, and create it otherwise: a program calls this whenever it starts.

        Parameters
        ----------
        path : path
            The journal.
        policy, x0, durability, snapshot_every, **options
            As in the constructor. If the journal exists, policy and options must be those of the journal, except for
            timestamps; x0 is only where a new journal starts.

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
        steering = _start(policy, x0, **options)
        if file_path("path", path).exists():
            return cls._resume(path, durability, snapshot_every, expected=steering.settings)
        controller = cls._of(steering)
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
        every = _check_journal_options(durability, snapshot_every)
        controller = cls._of(Steering.resume(path, durability, alone=True, verify=verify, expected=expected))
        controller._path, controller._snapshot_every = Path(path), every
        return controller

    def close(self) -> None:
        """Release the journal, which keeps its contents, with the complete state at its end."""
        self._steering.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def __copy__(self) -> Self:
        return deepcopy(self)

    # ---- internals ---------------------------------------------------------------------------------------------------

    @classmethod
    def _of(cls, steering: Steering) -> Self:
        controller = cls.__new__(cls)
        controller._assume(steering)
        return controller

    def _assume(self, steering: Steering) -> None:
        self._steering, self._settings = steering, steering.settings
        self._batch = steering.plants.all()[0]  # of this plant, which no other ever joins
        self._names = steering.settings.actuator_names()
        self._reporter = Reporter(steering.player, self.state)  # what was replayed was reported when it happened
        self._path: Path | None = None
        self._snapshot_every: int | None = None

    def _create_journal(
        self, path: str | os.PathLike[str] | None, durability: Durability, snapshot_every: int | None
    ) -> None:
        self._snapshot_every = _check_journal_options(durability, snapshot_every)
        if path is not None:
            self._steering.create_journal(path, durability, stacklevel=3)
            self._path = Path(path)

    @property
    def _label(self) -> str:
        """The name of this controller for the logger."""
        return "controller" if self._path is None else self._path.name


def _start(policy: Policy[Any], x0: ArrayLike, **options: Unpack[Options]) -> Steering:
    """Return a plant before its first round."""
    start = finite_array("x0", x0)
    if start.ndim != 1 or not start.size:
        raise ArgumentError(f"x0 must have shape (d,), one plant, got {start.shape}")
    settings = check_settings(policy, start.size, ALONE, options)
    steering = Steering(begin(settings, start))
    low, high = (-np.inf if settings.low is None else settings.low, np.inf if settings.high is None else settings.high)
    settings.actuator_names().check_within("x0", start, (np.asarray(low), np.asarray(high)), what="low and high")
    return steering


def _check_journal_options(durability: Any, snapshot_every: Any) -> int | None:
    """Return how often a journal has a snapshot, after a check of both options."""
    choice("durability", durability, ("disk", "process"))
    return None if snapshot_every is None else integer("snapshot_every", snapshot_every, least=1)


def _single_number(y: ArrayLike) -> float:
    """Return a reading as a float; the policy refuses infinity."""
    if type(y) is float:
        return y
    try:
        value = numbers("y", y)
    except ArgumentError:
        raise ArgumentError(f"y must be a number, or NaN for no reading, got {y!r}") from None
    if value.shape != ():
        raise ArgumentError(f"y must be one number, got an array of shape {value.shape}")
    return value.item()


def _completed_rounds(state: State[Any]) -> int:
    """Return the number of rounds begun whose reading was observed or missed."""
    return state.round - state.pending - len(state.open_rounds)


def _open_rounds(state: State[Any]) -> tuple[int, ...]:
    """Return the numbers of the rounds that wait for their readings, oldest first."""
    return (*(one.round for one in state.open_rounds), *([state.round] if state.pending else []))


def _check_pending_round(state: State[Any], number: int) -> None:
    """Refuse the reading of a round other than the pending one, where readings cannot be late."""
    current = state.round if state.pending else None
    if number == current:
        return
    completed = _completed_rounds(state)
    if number <= completed:
        raise ProtocolError(f"the reading of round {number} is late: {completed} rounds are closed; it was not used")
    now = "no round is pending" if current is None else f"round {current} is pending"
    raise ArgumentError(f"round must be the pending round, got {number} while {now}")
