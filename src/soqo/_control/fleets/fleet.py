"""Many live plants of one kind, steered as one batch.

A :class:`Fleet` does for many plants what a :class:`soqo.Controller` does for one, in the time of a few: a call for all
plants is one call of the policy for a batch. Each plant is on its own clock. Any of them act or observe in a call, and
plants join, leave and restart at any time.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from threading import RLock
from time import perf_counter
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from soqo._control.actuators import check_names as check_actuators
from soqo._control.fleets.arguments import (
    check_limits,
    check_names,
    check_whole_rows,
    is_name,
    new_names,
    optional_rows,
    plant_rounds,
    plant_values,
)
from soqo._control.fleets.journal import FleetJournal
from soqo._control.fleets.log import read_fleet_log
from soqo._control.fleets.plants import Plants
from soqo._control.fleets.records import ActCall, FleetCall, JoinCall, LeaveCall, Name, Names, ObserveCall, RestartCall
from soqo._control.fleets.snapshot import FleetSnapshot
from soqo._control.log import Log
from soqo._foundation.arguments import choice, file_path, finite_array, horizon_or_none, integer, numbers
from soqo._foundation.frozen_dataclasses import evolve
from soqo._storage.journal import Durability
from soqo.errors import ArgumentError, ProtocolError, UnknownNameError
from soqo.policies import Limited, Policy
from soqo.typing import Array, ArrayLike, IntArray

_SHOWN_NAMES = 5
"""Messages list this many names of plants."""


class Fleet:
    """Steer many plants of one dimension, each on its own clock, as one batch.

    All plants have the same policy, limits and weight. Each plant gets the actions that a :class:`soqo.Controller`
    with the same readings would return. The i-th plant to begin, counted from zero over the constructor, :meth:`join`
    and :meth:`restart`, draws its random numbers as ``Controller(seed=seed + i)`` does.

    A call is for all of its plants or for none: if an argument is refused for one plant, nothing changes. Calls from
    several threads are serialized.

    Parameters
    ----------
    policy : Policy
        The policy that decides; :class:`soqo.GLIDE` needs no parameters.
    x0 : array_like, shape (n, d)
        The positions of the plants.
    names : sequence of str or int, optional
        The names of the plants; 0, 1, ... by default.
    horizon : int, optional
        The number of rounds of each plant; None for an infinite horizon.
    seed : int
        The seed of the random numbers that a policy may draw.
    low, high : float or array_like of shape (d,), optional
        The limits of the actuators, which no action exceeds.
    switching_weight : float or array_like of shape (d,) or (d, d), optional
        The cost of moving, 1/2 (x - x_prev)'W(x - x_prev), in the unit of the measured cost.
    max_delay : int
        The number of rounds by which a reading may be late: a round of a plant stays open for its reading until the
        plant has played so many further rounds.
    journal : path, optional
        A new file that records every call of every plant, so that :meth:`resume` continues after a crash.
    durability : {"disk", "process"}
        What a call that has returned survives: a power failure (``"disk"``, one fsync per call), or the end of this
        process but not of the system (``"process"``).

    See Also
    --------
    soqo.Controller : Steer one plant.

    Examples
    --------
    >>> import soqo
    >>> fleet = Fleet(soqo.GLIDE(), x0=[[20.0], [21.0], [19.0]], names=["north", "south", "west"])
    >>> fleet.act(v=[[22.0], [22.0], [18.0]]).shape        # all plants, in the order of their names
    (3, 1)
    >>> fleet.observe([0.8, 0.5], plants=["south", "north"])
    >>> fleet.pending
    ('west',)
    >>> fleet.round
    array([1, 1, 0])
    """

    def __init__(
        self,
        policy: Policy[Any],
        x0: ArrayLike,
        *,
        names: Collection[Name] | npt.NDArray[Any] | None = None,
        horizon: int | None = None,
        seed: int = 0,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        switching_weight: ArrayLike | None = None,
        max_delay: int = 0,
        journal: str | os.PathLike[str] | None = None,
        durability: Durability = "disk",
    ) -> None:
        start = finite_array("x0", x0)
        if start.ndim != 2 or not start.shape[1]:
            raise ArgumentError(f"x0 must have shape (n, d), one row per plant, got {start.shape}")
        low, high, switching_weight = (
            None if value is None else numbers(name, value)
            for name, value in (("low", low), ("high", high), ("switching_weight", switching_weight))
        )
        nothing = np.zeros(0, dtype=np.int64)
        empty = FleetSnapshot(
            policy=policy,
            dim=start.shape[1],
            horizon=horizon_or_none(horizon),
            seed=integer("seed", seed, least=0),
            max_delay=integer("max_delay", max_delay, least=0),
            low=low,
            high=high,
            switching_weight=switching_weight,
            names=(),
            numbers=nothing,
            missed=nothing,
            begun=0,
            batches=(),
        )
        choice("durability", durability, ("disk", "process"))
        fresh = new_names(names, len(start), (), 0)
        plants = Plants(empty)
        check_limits(start, fresh, low, high)
        plants.begin(fresh, start)
        self._assume(plants, None if journal is None else FleetJournal.create(journal, durability, plants.snapshot))

    # ---- a round -----------------------------------------------------------------------------------------------------

    def act(
        self,
        v: ArrayLike,
        plants: Names | None = None,
        *,
        forecast: ArrayLike | None = None,
        context: ArrayLike | None = None,
        factor: ArrayLike | None = None,
    ) -> Array:
        """Return the actions of some plants for these minimizers.

        If a plant still waits for the reading of a round that ceases to be open, that reading counts as missed.

        Parameters
        ----------
        v : array_like, shape (k, d)
            The minimizer of each plant, in the order of ``plants``.
        plants : sequence of str or int, or one of them, optional
            The names of the plants; all by default. For a single name, arguments and result have no axis of plants.
        forecast : array_like, shape (k, m, d), optional
            The expected minimizers of the next m rounds.
        context : array_like, shape (k, c), optional
            What is known about this round beside v.
        factor : array_like, shape (k,), optional
            What multiplies the hitting cost of this round, above 0.

        Returns
        -------
        Array, shape (k, d)
            The actions.
        """
        with self._lock:
            names, single = self._select(plants)
            target = plant_values("v", v, names, (self._settings.dim,), single=single)
            given = {
                name: optional_rows(name, value, len(names), single=single)
                for name, value in (("forecast", forecast), ("context", context), ("factor", factor))
            }
            if not names:
                return target
            self._check_horizon(names)
            begun, selected = perf_counter(), self._plants.numbers_of(names)
            x, change = self._plants.act(selected, target, given)
            self._record(ActCall(selected, target, x, **given), perf_counter() - begun)
            self._plants.store(change)
            self._conclude()
            return x[0] if single else x

    def observe(
        self,
        y: ArrayLike,
        plants: Names | None = None,
        applied: ArrayLike | None = None,
        *,
        round: ArrayLike | None = None,  # noqa: A002  # the property of that name; the builtin is not used here
    ) -> None:
        """Learn from the measured costs of the pending actions of some plants.

        Parameters
        ----------
        y : array_like, shape (k,)
            The reading of each plant, in the order of ``plants``; NaN if there was none.
        plants : sequence of str or int, or one of them, optional
            The names of the plants; all by default. For a single name, arguments have no axis of plants.
        applied : array_like, shape (k, d), optional
            The actions that the plants applied; a row of NaN for a plant that applied the action it was given.
        round : int or array_like of int, shape (k,), optional
            The round that each reading belongs to, counted from 1 by each plant; the current one by default. A reading
            whose round is not open is refused.
        """
        with self._lock:
            names, single = self._select(plants)
            reading = plant_values("y", y, names, (), single=single, missing=True)
            moved = None
            if applied is not None:
                shape = (self._settings.dim,)
                moved = plant_values("applied", applied, names, shape, single=single, missing=True)
                check_whole_rows("applied", moved, names)
            rounds = None if round is None else plant_rounds(round, names)
            if not names:
                return
            self._check_open(names, rounds)
            begun, selected = perf_counter(), self._plants.numbers_of(names)
            change = self._plants.observe(selected, reading, moved, rounds)
            self._record(ObserveCall(selected, reading, moved, rounds), perf_counter() - begun)
            self._plants.store(change)
            self._conclude()

    # ---- plants ------------------------------------------------------------------------------------------------------

    def join(self, x0: ArrayLike, names: Names | None = None) -> tuple[Name, ...]:
        """Add plants, which begin with their first round, and return their names.

        Parameters
        ----------
        x0 : array_like, shape (k, d)
            The positions of the plants.
        names : sequence of str or int, or one of them, optional
            Their names; the next unused integers by default.

        Returns
        -------
        tuple of str or int
            The names.
        """
        with self._lock:
            start, dim = finite_array("x0", x0), self._settings.dim
            single = is_name(names)
            expected = f"({dim},)" if single else f"(k, {dim}), one row per plant"
            if start.ndim != 2 - single or start.shape[-1] != dim:
                raise ArgumentError(f"x0 must have shape {expected}, got {start.shape}")
            start = start.reshape(-1, dim)
            given: Any = [names] if single else names
            fresh = new_names(given, len(start), self._plants.numbers, self._plants.begun)
            check_limits(start, fresh, self._settings.low, self._settings.high)
            self._begin(JoinCall(fresh, start))
            return fresh

    def leave(self, names: Names) -> None:
        """Remove plants. Their names can be used again.

        Parameters
        ----------
        names : sequence of str or int, or one of them
            The names.
        """
        with self._lock:
            call = LeaveCall(self._select(names)[0])
            self._record(call, 0.0)
            self._plants.leave(call.names)
            self._conclude()

    def restart(self, names: Names, x0: ArrayLike | None = None) -> None:
        """Let plants begin anew: what was learned about them is forgotten, and their next round is their first.

        Parameters
        ----------
        names : sequence of str or int, or one of them
            The names.
        x0 : array_like, shape (k, d), optional
            The positions of the plants; by default where they are.
        """
        with self._lock:
            chosen, single = self._select(names)
            shape = (self._settings.dim,)
            if x0 is None:
                start = self._plants.status(chosen).x
            else:
                start = plant_values("x0", x0, chosen, shape, single=single)
                check_limits(start, chosen, self._settings.low, self._settings.high)
            self._begin(RestartCall(chosen, start))

    def _begin(self, call: JoinCall | RestartCall) -> None:
        """Let plants begin."""
        if call.names:
            begun = perf_counter()
            self._plants.start(range(len(call.names)), call.x0)  # a policy may refuse x0: before it is recorded
            self._record(call, perf_counter() - begun)
            self._plants.begin(call.names, call.x0)
            self._conclude()

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the plants, in the order in which they joined."""
        with self._lock:
            return tuple(self._plants.numbers)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._plants.numbers

    def __iter__(self) -> Iterator[Name]:
        return iter(self.names)

    @property
    def round(self) -> IntArray:
        """The number of completed rounds of each plant, shape (n,)."""
        with self._lock:
            status = self._plants.status(self.names)
        return status.rounds - status.pending

    @property
    def pending(self) -> tuple[Name, ...]:
        """The names of the plants whose current round waits for its reading."""
        with self._lock:
            names = self.names
            waiting = self._plants.status(names).pending
        return tuple(name for name, waits in zip(names, waiting, strict=True) if waits)

    @property
    def x(self) -> Array:
        """The positions of the plants, shape (n, d): the last actions, as applied if that was reported."""
        with self._lock:
            return self._plants.status(self.names).x

    # ---- reports -----------------------------------------------------------------------------------------------------

    def diagnostics(self, plants: Names | None = None) -> dict[str, Any]:
        """Return the policy's diagnostics of some plants, with ``round`` and the number of ``missed`` readings.

        Parameters
        ----------
        plants : sequence of str or int, or one of them, optional
            The names of the plants; all by default.

        Returns
        -------
        dict of str to Array
            For each name an array whose first axis is that of the plants; for a single plant, what
            :meth:`soqo.Controller.diagnostics` returns.
        """
        with self._lock:
            names, single = self._select(plants)
            status = self._plants.status(names)
            found: dict[str, Any] = {"round": status.rounds - status.pending, "missed": status.missed}
            for state, places in self._plants.batches.select(self._plants.numbers_of(names).tolist()):
                for name, value in self._plants.player.diagnostics(state).items():
                    rows = np.asarray(value)
                    if name not in found:
                        found[name] = np.zeros((len(names), *rows.shape[1:]), dtype=rows.dtype)
                    found[name][places] = rows
        if not single:
            return found
        return {name: value[0].copy() if value.ndim > 1 else value[0].item() for name, value in found.items()}

    def explain(self, plant: Name) -> str:
        """Describe what one plant is doing and why, in a sentence or two.

        Parameters
        ----------
        plant : str or int
            The name of the plant.

        Returns
        -------
        str
            The sentences.
        """
        with self._lock:
            if not is_name(plant):
                raise ArgumentError(f"plant must be the name of one plant, got {plant!r}")
            names, _ = self._select(plant)
            missed = int(self._plants.status(names).missed[0])
            state = self._plants.batches.state_of(self._plants.numbers[names[0]])
        of = "" if state.horizon is None else f" of {state.horizon}"
        progress = "waits for its reading" if state.pending else "completed"
        begun = f"Round {state.round}{of} {progress}" if state.round else "No round played yet"
        names_of = check_actuators(None, None, state.x.shape[-1])
        player = self._plants.player
        low, high = (player.low, player.high) if isinstance(player, Limited) else (None, None)
        limits = names_of.reached_limits(state.x.reshape(-1), None, low, high, None)
        note = f"{missed} readings were missed so far." if missed else ""
        return " ".join(filter(None, (f"{begun}: {player.explain(state)}", limits, note)))

    def __repr__(self) -> str:
        journal = "" if self._journal is None else f", journal={str(self._journal.path)!r}"
        return f"Fleet({self._settings.policy!r}, {len(self)} plants of {self._settings.dim} actuators{journal})"

    # ---- files -------------------------------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        policy: Policy[Any],
        x0: ArrayLike,
        *,
        durability: Durability = "disk",
        **options: Any,
    ) -> Self:
        """Resume the journal at this path, or create it if there is none.

        Parameters
        ----------
        path : path
            The journal.
        policy, x0, durability, **options
            As in the constructor. If the journal exists, its plants continue where they were, whatever ``x0`` and
            ``names`` are; everything else must be what it was.

        Raises
        ------
        ArgumentError
            If the journal exists and has another policy, dimension or option.
        """
        if not file_path("path", path).exists():
            return cls(policy, x0, journal=path, durability=durability, **options)
        wanted = cls(policy, x0, **options)._settings
        fleet = cls.resume(path, durability=durability)
        for name in ("policy", "dim", "horizon", "seed", "max_delay", "low", "high", "switching_weight"):
            there, given = getattr(fleet._settings, name), getattr(wanted, name)
            if evolve(wanted, **{name: there}) != wanted:
                fleet.close()
                shown = "the number of columns of x0" if name == "dim" else name
                raise ArgumentError(f"{shown} must be that of the journal {path}, {there!r}, got {given!r}")
        return fleet

    @classmethod
    def resume(cls, path: str | os.PathLike[str], *, durability: Durability = "disk") -> Self:
        """Continue all plants from a journal, even in the middle of a round.

        The actions of plants in ``pending`` may not have been applied: apply their ``x`` (again), and observe. A record
        that a crash cut short belongs to a call that had not returned, and is cut off. A fleet of this process that
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
            If the journal is damaged, or is that of a controller.
        BusyError
            If another process writes the journal.
        """
        journal, plants = FleetJournal.resume(path, durability)
        fleet = cls.__new__(cls)
        fleet._assume(plants, journal)
        return fleet

    @staticmethod
    def read_log(path: str | os.PathLike[str], plant: Name) -> Log:
        """Read the rounds of one plant from a journal, which may be in use.

        Parameters
        ----------
        path : path
            The journal.
        plant : str or int
            The name of the plant. If it has restarted, the log has the rounds since the last restart.

        Returns
        -------
        Log
            The rounds, as :func:`soqo.replay` takes them.
        """
        return read_fleet_log(path, plant)

    def close(self) -> None:
        """Release the journal, which keeps its contents, after a last snapshot."""
        with self._lock:
            if self._journal is not None:
                self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    # ---- internals ---------------------------------------------------------------------------------------------------

    def _assume(self, plants: Plants, journal: FleetJournal | None) -> None:
        self._lock = RLock()
        self._plants, self._journal = plants, journal

    @property
    def _settings(self) -> FleetSnapshot:
        return self._plants.settings

    def _select(self, plants: Names | None) -> tuple[tuple[Name, ...], bool]:
        """Return the names of plants, and whether a single one was given by its name."""
        known = self._plants.numbers
        if plants is None:
            return tuple(known), False
        single = is_name(plants)
        names = check_names([plants] if single else plants)
        for name in names:
            if name not in known:
                shown = ", ".join(repr(one) for one in list(known)[:_SHOWN_NAMES]) or "none"
                more = ", ..." if len(known) > _SHOWN_NAMES else ""
                raise UnknownNameError(f"plants must be in the fleet, got {name!r}; it has {shown}{more}")
        return names, single

    def _check_horizon(self, names: tuple[Name, ...]) -> None:
        horizon = self._settings.horizon
        if horizon is None:
            return
        over = np.flatnonzero(self._plants.status(names).rounds >= horizon)
        if over.size:
            raise ProtocolError(
                f"act was called after the last round of plant {names[over[0]]!r}, horizon = {horizon}; no plant acted"
            )

    def _check_open(self, names: tuple[Name, ...], rounds: IntArray | None) -> None:
        """Refuse readings of rounds that are not open."""
        current = self._plants.status(names).rounds
        when = current if rounds is None else rounds
        closed = np.flatnonzero(~self._plants.is_open(names, when))
        if not closed.size:
            return
        name, number, played = names[closed[0]], int(when[closed[0]]), int(current[closed[0]])
        if rounds is None and not played:
            raise ProtocolError(f"observe was called before act for plant {name!r}; no reading of this call was used")
        if number > played:
            raise ArgumentError(f"round must have been played, got {number} for plant {name!r}, which is in {played}")
        raise ProtocolError(
            f"round {number} of plant {name!r} is not open: it has had its reading, or is closed; no reading of this "
            "call was used"
        )

    def _record(self, call: FleetCall, seconds: float) -> None:
        if self._journal is not None:
            self._journal.record(call, seconds)

    def _conclude(self) -> None:
        if self._journal is not None:
            self._journal.conclude()
