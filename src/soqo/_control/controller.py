"""A controller for one live plant: give it v, apply the x that it returns, and give it the measured cost.

A :class:`Controller` wraps any policy. It works in the units of the plant: positions, limits and weights are those of
the plant, while the policy inside sees coordinates in which the switching cost is unweighted, and learns from the
action that was applied.
"""

from __future__ import annotations

import html
import math
import os
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from soqo._control.journal_report import plot_journal, plot_state
from soqo._control.snapshot import Call, Snapshot, decode_call, decode_snapshot, encode_call
from soqo._foundation.arguments import choice, finite_array, horizon_or_none, integer, numbers
from soqo._foundation.figure_style import ThemeName
from soqo._foundation.frozen_dataclasses import evolve
from soqo._foundation.random_streams import stream
from soqo._storage.atomic import replacing
from soqo._storage.checksummed import seal, starts_with, unseal
from soqo._storage.codec import encode
from soqo._storage.journal import Durability, Journal
from soqo._storage.journal_format import Record, is_journal
from soqo.errors import ArgumentError, FileFormatError, ProtocolError
from soqo.policies import Policy, State, wrap_for_plant
from soqo.typing import Array, ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAGIC = b"soqo-controller 1\n"


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
    switching_weight : float or array_like of shape (d,) or (d, d), optional
        The cost of moving, 1/2 (x - x_prev)'W(x - x_prev), in the unit of the measured cost.
    journal : path, optional
        A new file that records every call, so that :meth:`resume` continues after a crash.
    durability : {"disk", "process"}
        What a call that has returned survives: a power failure (``"disk"``, one fsync per call), or the end of this
        process but not of the system (``"process"``).

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
        switching_weight: ArrayLike | None = None,
        journal: str | os.PathLike[str] | None = None,
        durability: Durability = "disk",
    ) -> None:
        start = finite_array("x0", x0)
        if start.ndim != 1 or not start.size:
            raise ArgumentError(f"x0 must have shape (d,), one plant, got {start.shape}")
        rounds = horizon_or_none(horizon)
        low, high, switching_weight = (
            None if value is None else numbers(name, value)
            for name, value in (("low", low), ("high", high), ("switching_weight", switching_weight))
        )
        player = wrap_for_plant(policy, switching_weight=switching_weight, low=low, high=high)
        state = player.start(start, rounds, stream(seed, run=0, purpose="policy"))
        self._assume(Snapshot(policy, low, high, switching_weight, state, 0), player)
        self._create_journal(journal, durability)

    # ---- a round -----------------------------------------------------------------------------------------------------

    def act(self, v: ArrayLike) -> Array:
        """Return the action for this minimizer, shape (d,).

        If the previous round still waits for its reading, that reading counts as missed.

        Parameters
        ----------
        v : array_like, shape (d,)
            The minimizer of this round.
        """
        begun, before = perf_counter(), self._state
        x, state = self._player.act(before, v)
        if self._journal is not None:
            self._record(self._journal, Call(v=state.v, x=x), begun)
        self._state, self._missed = state, self._missed + before.pending
        if self._journal is not None:
            self._conclude(self._journal)
        return x

    def observe(
        self,
        y: float,
        applied: ArrayLike | None = None,
        *,
        round: int | None = None,  # noqa: A002  # the property of that name; the builtin is not used here
    ) -> None:
        """Learn from the measured cost of the pending action.

        Parameters
        ----------
        y : float
            The reading; NaN if there was none.
        applied : array_like, shape (d,), optional
            The action that the plant applied, where it differs from the one it was given.
        round : int, optional
            The round that the reading belongs to, counted from 1. A reading whose round is already closed is then
            refused, and not mistaken for another's.
        """
        if round is not None:
            self._check_round(integer("round", round, least=1))
        begun, reading = perf_counter(), _single_number(y)
        state = self._player.observe(self._state, reading, applied=applied)
        if self._journal is not None:
            self._record(self._journal, Call(y=reading, x=None if applied is None else state.x), begun)
        self._state, self._missed = state, self._missed + math.isnan(reading)
        if self._journal is not None:
            self._conclude(self._journal)

    @property
    def round(self) -> int:
        """The number of completed rounds: those begun whose reading was observed or missed."""
        return self.state.round - self.state.pending

    @property
    def pending(self) -> Array | None:
        """The action that awaits its reading, or None."""
        return self.state.x.copy() if self.state.pending else None

    @property
    def x(self) -> Array:
        """The position of the plant: the last action, as applied if that was reported."""
        return self.state.x.copy()

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

    # ---- reports -----------------------------------------------------------------------------------------------------

    def diagnostics(self) -> dict[str, Any]:
        """Return the policy's diagnostics, with ``round`` and the number of ``missed`` readings.

        An ``estimate`` of A and its ``uncertainty`` are in the units of the plant.
        """
        inner = self._player.diagnostics(self.state)
        own = {"round": self.round, "missed": self._missed}
        return {**own, **{name: _detach(value) for name, value in inner.items()}}

    def explain(self) -> str:
        """Describe what the controller is doing and why, in a sentence or two."""
        state = self.state
        of = "" if state.horizon is None else f" of {state.horizon}"
        progress = "waits for its reading" if state.pending else "completed"
        begun = f"Round {state.round}{of} {progress}" if state.round else "No round played yet"
        missed = f" {self._missed} readings were missed so far." if self._missed else ""
        return f"{begun}: {self._player.explain(state)}{missed}"

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
        rows = {
            "policy": repr(self._opening.policy),
            "round": str(self.round),
            "x": str(self.state.x),
            "v": str(self.state.v),
            "status": self.explain(),
        }
        cells = [f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in rows.items()]
        return f"<table>{''.join(cells)}</table>"

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
    ) -> Self:
        """Continue from a file that :meth:`save` wrote, bit for bit.

        Parameters
        ----------
        path : path
            The file.
        journal, durability
            As in the constructor.

        Raises
        ------
        FileFormatError
            If the file is damaged or of another kind.
        """
        source = Path(path)
        if not source.is_file():
            raise FileNotFoundError(f"there is no saved controller {source}")
        if is_journal(source):
            raise FileFormatError(f"{source} is a journal: use Controller.resume")
        controller = cls._from_snapshot(decode_snapshot(unseal(_MAGIC, source.read_bytes(), source), source))
        controller._create_journal(journal, durability)
        return controller

    @classmethod
    def resume(cls, path: str | os.PathLike[str], *, durability: Durability = "disk") -> Self:
        """Continue from a journal, bit for bit, even in the middle of a round.

        If ``pending`` is an action, the plant may not have received it: apply it (again), and observe. A record that a
        crash cut short belongs to a call that had not returned, and is cut off. A controller of this process that
        writes the same journal loses it.

        Parameters
        ----------
        path : path
            The journal.
        durability : {"disk", "process"}
            As in the constructor.

        Raises
        ------
        FileFormatError
            If the journal is damaged.
        BusyError
            If another process writes the journal.
        """
        if starts_with(path, _MAGIC[: _MAGIC.index(b" ")]):
            raise FileFormatError(f"{path} is a saved controller: use Controller.load")
        journal, contents = Journal.resume(path, durability)
        try:
            controller = cls._from_snapshot(decode_snapshot(contents.state, path))
            begun = perf_counter()
            for record in contents.records:
                controller._replay(record, path)
            journal.add_replay_time(perf_counter() - begun)
        except BaseException:
            journal.close()
            raise
        controller._journal = journal
        return controller

    def close(self) -> None:
        """Release the journal, which keeps its contents."""
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    # ---- internals ---------------------------------------------------------------------------------------------------

    @classmethod
    def _from_snapshot(cls, snapshot: Snapshot) -> Self:
        controller = cls.__new__(cls)
        controller._assume(snapshot, snapshot.player())
        return controller

    def _assume(self, snapshot: Snapshot, player: Policy[Any]) -> None:
        self._opening, self._player = snapshot, player
        self._state, self._missed = snapshot.state, snapshot.missed
        self._journal: Journal | None = None
        self._interrupted = False

    def _create_journal(self, path: str | os.PathLike[str] | None, durability: Durability) -> None:
        choice("durability", durability, ("disk", "process"))
        if path is not None:
            self._journal = Journal.create(path, durability, encode(self._snapshot))

    @property
    def _snapshot(self) -> Snapshot:
        """The complete state: that of the opening, with what has changed since."""
        return evolve(self._opening, state=self._state, missed=self._missed)

    def _record(self, journal: Journal, call: Call, begun: float) -> None:
        """Write a call to the journal before it takes effect."""
        if self._interrupted:
            raise ProtocolError(
                "the previous call was interrupted and may be in the journal: continue with Controller.resume"
            )
        self._interrupted = True
        try:
            journal.append(*encode_call(call), perf_counter() - begun)
        except (OSError, ProtocolError):
            self._interrupted = False  # nothing was written
            raise

    def _conclude(self, journal: Journal) -> None:
        """Note that a recorded call has taken effect; from time to time, write a snapshot after it."""
        self._interrupted = False
        if journal.snapshot_is_due:
            # The call is in the journal already; a snapshot that fails for lack of space is tried again later.
            with suppress(OSError):
                journal.snapshot(encode(self._snapshot))

    def _replay(self, record: Record, source: str | os.PathLike[str]) -> None:
        """Repeat a recorded call, with the action that was returned then."""
        call = decode_call(record, self.state.x.size, source)
        if call.v is not None and call.x is not None:
            self.act(call.v)
            # Another processor or version may compute an action that differs in the last digit.
            if not np.array_equal(self.state.x, call.x):
                self._state = evolve(self.state, x=call.x)
        elif call.y is not None:
            self.observe(call.y, call.x)


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
