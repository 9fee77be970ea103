"""One live plant: give it v, get x; give it the measured cost; stop and go on whenever.

A :class:`Controller` wraps any policy and adds no intelligence of its own. It speaks the plant's units: positions,
limits and the weights of the actuators are as the plant has them, while the policy inside sees coordinates in which
switching is plain l2, and is told the action that was really applied.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Self

import numpy as np

from soqo._arguments import choice, finite_array, horizon_or_none, integer, numbers
from soqo._storage.files import begins_with, decode, encode, replacing, sealed, unsealed
from soqo._storage.journal import DURABILITIES, Journal, Record, is_journal
from soqo._storage.registry import register, rename_fields
from soqo._streams import stream
from soqo.errors import ArgumentError, FileFormatError, ProtocolError
from soqo.policies._base import Policy, State
from soqo.policies._wrappers import Limited, in_plant_units
from soqo.typing import Array

__all__ = ["Controller", "Standing"]

MAGIC = b"soqo-controller 1\n"
ACT, OBSERVE = b"A", b"O"


@register("Controller", migrations={0: rename_fields(switching="switching_weight")})
@dataclass(frozen=True, eq=False)
class Standing:
    """All that a controller is, as a record: the plant's side of it, and where the policy stands.

    Attributes
    ----------
    policy : Policy
        As the user gave it.
    low, high, switching_weight
        The plant's limits and weights.
    state : State
        Of the policy within limits and weights.
    missed : int
        Rounds that were closed without a reading.
    """

    policy: Policy[Any]
    low: Any
    high: Any
    switching_weight: Any
    state: State[Any]
    missed: int


class Controller:
    """Steer one plant, round by round.

    Parameters
    ----------
    policy : Policy
        Who decides; :class:`soqo.GLIDE` needs to be told nothing.
    x0 : array_like, shape (d,)
        Where the plant stands.
    horizon : int, optional
        The number of rounds; None where there is no end in sight.
    seed : int
        For policies that draw random numbers.
    low, high : float or array_like of shape (d,), optional
        Limits of the actuators; no action is beyond them. Infinite for one that has none.
    switching_weight : float or array_like of shape (d,) or (d, d), optional
        What it costs to move: 1/2 (x - x_prev)'W(x - x_prev), in the unit of the measured cost.
    journal : path, optional
        A new file that keeps every call, so that :meth:`resume` goes on after a crash.
    durability : {"disk", "process"}
        What a call that has returned survives: a power cut (``"disk"``, one fsync a call), or the death of this process
        but not of the system (``"process"``).

    Examples
    --------
    >>> import soqo
    >>> controller = Controller(soqo.GLIDE(), x0=[20.0, 20.0], low=18.0, high=27.0, switching_weight=[1.0, 4.0])
    >>> float(controller.act(v=[40.0, 21.0])[0])       # the first actuator is asked for no more than it can do
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
        x0: Any,
        horizon: int | None = None,
        seed: int = 0,
        low: Any = None,
        high: Any = None,
        switching_weight: Any = None,
        journal: str | os.PathLike[str] | None = None,
        *,
        durability: str = "disk",
    ) -> None:
        start = finite_array("x0", x0)
        if start.ndim != 1 or not start.size:
            raise ArgumentError(f"x0 must have shape (d,), one plant, got {start.shape}")
        rounds = horizon_or_none(horizon)
        low, high, switching_weight = (
            None if value is None else numbers(name, value)
            for name, value in (("low", low), ("high", high), ("switching_weight", switching_weight))
        )
        player = on_plant(policy, low, high, switching_weight)
        state = player.start(start, rounds, stream(seed, run=0, purpose="policy"))
        self._stand(Standing(policy, low, high, switching_weight, state, 0), player)
        self._begin_journal(journal, durability)

    # ---- a round ---------------------------------------------------------------------------------------------------

    def act(self, v: Any) -> Array:
        """The action for this minimizer, shape (d,).

        If the round before still waits for its reading, that reading counts as missed.
        """
        begun, missed = perf_counter(), self._state.pending
        x, state = self._player.act(self._state, v)
        self._write(ACT, (state.v, x), begun)
        self._state = state
        self._missed += missed
        self._written()
        return x

    def observe(
        self,
        y: Any,
        applied: Any = None,
        *,
        round: int | None = None,  # noqa: A002  # what the property of that name counts; the builtin is not used here
    ) -> None:
        """Hear the measured cost of the action that waits for it.

        Parameters
        ----------
        y : float
            The reading; NaN says that there was none.
        applied : array_like, shape (d,), optional
            The action that the plant really made, where it differs from the one asked for.
        round : int, optional
            The round that the reading belongs to, counted from 1; a reading that comes late, when its round is already
            closed, is then refused instead of being taken for another's.
        """
        if round is not None:
            self._check_round(integer("round", round, least=1))
        begun, reading = perf_counter(), a_reading(y)
        state = self._player.observe(self._state, reading, applied)
        self._write(OBSERVE, (reading,) if applied is None else (reading, state.x), begun)
        self._state = state
        self._missed += math.isnan(reading)
        self._written()

    @property
    def round(self) -> int:
        """Rounds completed: begun, and their reading heard or missed."""
        return self._state.round - self._state.pending

    @property
    def pending(self) -> Array | None:
        """The action that awaits its reading, or None."""
        return self._state.x.copy() if self._state.pending else None

    @property
    def x(self) -> Array:
        """Where the plant stands: the last action, as far as is known the one really applied."""
        return self._state.x.copy()

    def _check_round(self, number: int) -> None:
        under_way = self._state.round if self._state.pending else None
        if number == under_way:
            return
        if number <= self.round:
            raise ProtocolError(
                f"the reading of round {number} is late: {self.round} rounds are closed; nothing was learned from it"
            )
        now = "none is" if under_way is None else f"round {under_way} is"
        raise ArgumentError(f"round must be the round under way, got {number} while {now} under way")

    # ---- what it says ----------------------------------------------------------------------------------------------

    def diagnostics(self) -> dict[str, Any]:
        """The policy's diagnostics, with ``round`` and ``missed``, the number of rounds without a reading.

        An ``estimate`` of A is in the plant's units.
        """
        inside = self._player.diagnostics(self._state)
        mine = {"round": self.round, "missed": self._missed}
        return {**mine, **{name: to_keep(value) for name, value in inside.items()}}

    def explain(self) -> str:
        """What it is doing and why, in a sentence or two."""
        state = self._state
        of = "" if state.horizon is None else f" of {state.horizon}"
        now = "waits for its reading" if state.pending else "completed"
        begun = f"Round {state.round}{of} {now}" if state.round else "Nothing played yet"
        missed = f" {self._missed} readings were missed so far." if self._missed else ""
        return f"{begun}: {self._player.explain(state)}{missed}"

    def __repr__(self) -> str:
        journal = "" if self._journal is None else f", journal={str(self._journal.path)!r}"
        return f"Controller({self._policy!r}, round={self.round}{journal})"

    # ---- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one file with everything in it, whole or not at all; a journal is never written over."""
        if is_journal(path):
            raise ArgumentError(f"path must not be a journal, which has more in it, got {path}")
        contents = sealed(MAGIC, encode(self._standing()))
        with replacing(path) as temporary:
            temporary.write_bytes(contents)
        return Path(path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        journal: str | os.PathLike[str] | None = None,
        *,
        durability: str = "disk",
    ) -> Self:
        """Go on from a file that :meth:`save` wrote, to the bit; a damaged or foreign one is refused."""
        source = Path(path)
        if not source.is_file():
            raise FileNotFoundError(f"there is no saved controller {source}")
        if is_journal(source):
            raise FileFormatError(f"{source} is a journal: Controller.resume goes on from it")
        controller = cls._from(decoded(unsealed(MAGIC, source.read_bytes(), source), source))
        controller._begin_journal(journal, durability)
        return controller

    @classmethod
    def resume(cls, path: str | os.PathLike[str], *, durability: str = "disk") -> Self:
        """Go on from a journal, to the bit, in the middle of a round too.

        If ``pending`` is an action, the plant may not have got it: apply it (again), and observe. A record that a crash
        cut short belongs to a call that had not returned; it is cut off. A damaged journal is refused, and so is one
        that another process writes; a controller of this process that writes it loses it.
        """
        if begins_with(path, MAGIC[: MAGIC.index(b" ")]):
            raise FileFormatError(f"{path} is a saved controller: Controller.load goes on from it")
        journal, contents = Journal.resume(path, durability)
        try:
            controller = cls._from(decoded(contents.state, path))
            begun = perf_counter()
            for record in contents.records:
                controller._replay(record, path)
            journal.spend(perf_counter() - begun)
        except BaseException:
            journal.close()
            raise
        controller._journal = journal
        return controller

    def close(self) -> None:
        """Let go of the journal; what is in it stays."""
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    # ---- inside ----------------------------------------------------------------------------------------------------

    @classmethod
    def _from(cls, standing: Standing) -> Self:
        controller = cls.__new__(cls)
        player = on_plant(standing.policy, standing.low, standing.high, standing.switching_weight)
        controller._stand(standing, player)
        return controller

    def _stand(self, standing: Standing, player: Policy[Any]) -> None:
        self._policy, self._player = standing.policy, player
        self._low, self._high, self._switching = standing.low, standing.high, standing.switching_weight
        self._state, self._missed = standing.state, standing.missed
        self._journal: Journal | None = None
        self._interrupted = False

    def _standing(self) -> Standing:
        return Standing(self._policy, self._low, self._high, self._switching, self._state, self._missed)

    def _begin_journal(self, path: str | os.PathLike[str] | None, durability: str) -> None:
        choice("durability", durability, DURABILITIES)
        if path is not None:
            self._journal = Journal.create(path, durability, encode(self._standing()))

    def _write(self, kind: bytes, parts: tuple[Any, ...], begun: float) -> None:
        """Put a call in the journal before it takes effect."""
        if self._journal is None:
            return
        if self._interrupted:
            raise ProtocolError(
                "the call before was interrupted, and may be in the journal: Controller.resume goes on from there"
            )
        self._interrupted = True
        try:
            self._journal.append(kind, floats(*parts), perf_counter() - begun)
        except (OSError, ProtocolError):
            self._interrupted = False  # nothing was written
            raise

    def _written(self) -> None:
        """The call has taken effect; from time to time, a snapshot follows it."""
        self._interrupted = False
        if self._journal is not None and self._journal.snapshot_is_due:
            # The call itself is in the journal already; a snapshot that finds no room is tried again at the next one.
            with suppress(OSError):
                self._journal.snapshot(encode(self._standing()))

    def _replay(self, record: Record, source: Any) -> None:
        """Make a recorded call again, with the action that was really returned then."""
        d = self._state.x.size
        if record.kind == ACT and len(record.payload) == 16 * d:
            v, x = numbers_in(record).reshape(2, d)
            self.act(v)
            self._state = moved(self._state, x)
        elif record.kind == OBSERVE and len(record.payload) in (8, 8 + 8 * d):
            y, *applied = numbers_in(record)
            self.observe(y, np.array(applied) if applied else None)
        else:
            raise FileFormatError(f"{source} holds a record of an unknown kind at byte {record.start}: {record.kind!r}")


def on_plant(policy: Any, low: Any, high: Any, switching_weight: Any) -> Policy[Any]:
    """A policy as it must be to steer a plant with these limits and weights."""
    if not isinstance(policy, Policy):
        raise ArgumentError(f"policy must be a Policy, got {type(policy).__name__}")
    if policy.in_plant_coordinates and not (low is None and high is None and switching_weight is None):
        raise ArgumentError(
            f"policy must play in plain coordinates where low, high or switching_weight is given, got a "
            f"{type(policy).__name__}: give the policy inside of it"
        )
    player = in_plant_units(policy, switching_weight)
    return player if low is None and high is None else Limited(player, low, high)


def a_reading(y: Any) -> float:
    """One number; infinity is left to the policy to refuse."""
    try:
        value = numbers("y", y, copy=False)
    except ArgumentError:
        raise ArgumentError(f"y must be a number, or NaN for no reading, got {y!r}") from None
    if value.shape != ():
        raise ArgumentError(f"y must be one number, got an array of shape {value.shape}")
    return value.item()


def moved(state: State[Any], x: Array) -> State[Any]:
    """The state of a plant that got this action, which another processor or version may compute a little otherwise."""
    return state if np.array_equal(state.x, x) else replace(state, x=x)


def decoded(data: bytes, source: Any) -> Standing:
    """The standing in a file."""
    try:
        standing = decode(data)
    except FileFormatError as error:
        raise FileFormatError(f"{source}: {error}") from error
    if not isinstance(standing, Standing):
        raise FileFormatError(f"{source} must hold a Standing, got {type(standing).__name__}")
    return standing


def to_keep(value: Any) -> Any:
    """What a caller may keep and change: a plain number, or an array that is no part of the state."""
    if isinstance(value, np.ndarray | np.generic):
        return value.copy() if value.ndim else value.item()
    return value


def floats(*parts: Any) -> bytes:
    """Numbers as the journal keeps them."""
    return b"".join([np.asarray(part, dtype="<f8").tobytes() for part in parts])


def numbers_in(record: Record) -> Array:
    """The numbers that :func:`floats` wrote."""
    return np.frombuffer(record.payload, dtype="<f8").astype(np.float64)
