"""Many live plants of one kind, steered as one batch.

A :class:`Fleet` does for many plants what a :class:`soqo.Controller` does for one, in the time of a few: a call for all
plants is one call of the policy for a batch. Each plant is on its own clock. Any of them act or observe in a call, and
plants join, leave and restart at any time.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from soqo._control.calls import Call, Name, Names
from soqo._control.descriptions import Limits, describe_round, detach, diagnose
from soqo._control.fleet_arguments import (
    check_horizon,
    check_limits,
    check_open,
    is_name,
    limits_of_new,
    new_names,
    plant_values,
    select,
    told_rows,
)
from soqo._control.journal_rounds import read_rounds
from soqo._control.log import Log
from soqo._control.own_limits import differ, limit_rows
from soqo._control.plants import Status
from soqo._control.settings import Options, check_settings
from soqo._control.snapshot import Snapshot
from soqo._control.steering import Steering, begin
from soqo._foundation.arguments import choice, file_path, finite_array
from soqo._storage.journal import Durability
from soqo.errors import ArgumentError
from soqo.policies import Policy
from soqo.typing import Array, ArrayLike, IntArray


class Fleet:
    """Steer many plants of one dimension, each on its own clock, as one batch.

    All plants have the same policy and weight, and the same limits or limits of their own. Each plant gets the actions
    that a :class:`soqo.Controller` with the same readings would return. The i-th plant to begin, counted from zero over
    the constructor, :meth:`join` and :meth:`restart`, draws its random numbers as ``Controller(seed=seed + i)`` does.

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
    low, high : float or array_like of shape (d,) or (n, d), optional
        The limits of the actuators, which no action exceeds: for all plants, or one row for each.
    rate : float or array_like of shape (d,) or (n, d), optional
        The largest step of each actuator in a round: for all plants, or one row for each.
    period : float or array_like of shape (d,), optional
        The period of positions that are angles, as in :class:`soqo.Controller`.
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
        rate: ArrayLike | None = None,
        period: ArrayLike | None = None,
        switching_weight: ArrayLike | None = None,
        max_delay: int = 0,
        journal: str | os.PathLike[str] | None = None,
        durability: Durability = "disk",
    ) -> None:
        start = finite_array("x0", x0)
        if start.ndim != 2 or not start.shape[1]:
            raise ArgumentError(f"x0 must have shape (n, d), one row per plant, got {start.shape}")
        given: dict[str, Any] = {"low": low, "high": high, "rate": rate}
        limits = limit_rows(given, *start.shape) if differ(given) else None
        options: Options = {"horizon": horizon, "seed": seed, "max_delay": max_delay, "period": period}
        options["switching_weight"] = switching_weight
        options["low"], options["high"], options["rate"] = (
            None if np.ndim(one) == 2 else one for one in given.values()
        )
        settings = check_settings(policy, start.shape[1], np.zeros(0, dtype=np.int64), options)
        choice("durability", durability, ("disk", "process"))
        fresh = new_names(names, len(start), (), 0)
        check_limits(start, fresh, low, high)
        self._assume(Steering(begin(settings, start, fresh, limits)))
        self._create_journal(journal, durability, stacklevel=2)

    # ---- a round -----------------------------------------------------------------------------------------------------

    def act(
        self,
        v: ArrayLike,
        plants: Names | None = None,
        *,
        forecast: ArrayLike | None = None,
        context: ArrayLike | None = None,
        factor: ArrayLike | None = None,
        active: ArrayLike | None = None,
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
            What multiplies the hitting cost of this round, at least 0.
        active : array_like of bool, shape (k, d), optional
            The actuators that can move; the others stay, and do not count in this round.

        Returns
        -------
        Array, shape (k, d)
            The actions.
        """
        given = {"v": v, "forecast": forecast, "context": context, "factor": factor, "active": active}
        with self._steering.lock:
            names, single = select(self._steering, plants)
            told = told_rows("act", given, names, self._settings.dim, single=single)
            if not names:
                return np.array(told["v"])
            numbers = self._steering.numbers_of(names)
            check_horizon(self._steering, names, numbers)
            x = self._steering.carry_out(Call("act", told, numbers)).x
        assert x is not None
        return x[0] if single else x

    def observe(
        self,
        y: ArrayLike,
        plants: Names | None = None,
        applied: ArrayLike | None = None,
        *,
        round: ArrayLike | None = None,  # noqa: A002  # the property of that name; the builtin is not used here
        at: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        covariates: ArrayLike | None = None,
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
        at : array_like, shape (k, d), optional
            Where each reading was felt, if the plant follows its actuators with a lag; a row of NaN for a plant that
            was felt at its position.
        unit : array_like, shape (k,), optional
            The size of noise and base load of each reading relative to others, above 0.
        covariates : array_like, shape (k, m), optional
            What is known about each reading, on which its base load may depend.
        """
        given = {"y": y, "applied": applied, "round": round, "at": at, "unit": unit, "covariates": covariates}
        with self._steering.lock:
            names, single = select(self._steering, plants)
            told = told_rows("observe", given, names, self._settings.dim, single=single)
            if names:
                numbers = self._steering.numbers_of(names)
                check_open(self._steering, names, numbers, told.get("round"))
                self._steering.carry_out(Call("observe", told, numbers))

    # ---- plants ------------------------------------------------------------------------------------------------------

    def join(
        self,
        x0: ArrayLike,
        names: Names | None = None,
        *,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        rate: ArrayLike | None = None,
    ) -> tuple[Name, ...]:
        """Add plants, which begin with their first round, and return their names.

        Parameters
        ----------
        x0 : array_like, shape (k, d)
            The positions of the plants.
        names : sequence of str or int, or one of them, optional
            Their names; the next unused integers by default.
        low, high, rate : float or array_like of shape (d,) or (k, d), optional
            Their own limits, if the fleet has limits; by default those that are common to all plants.

        Returns
        -------
        tuple of str or int
            The names.
        """
        with self._steering.lock:
            start, dim = finite_array("x0", x0), self._settings.dim
            single = is_name(names)
            expected = f"({dim},)" if single else f"(k, {dim}), one row per plant"
            if start.ndim != 2 - single or start.shape[-1] != dim:
                raise ArgumentError(f"x0 must have shape {expected}, got {start.shape}")
            start = start.reshape(-1, dim)
            given: Any = [names] if single else names
            fresh = new_names(given, len(start), self._steering.numbers, self._steering.begun)
            limits = limits_of_new(self._steering, {"low": low, "high": high, "rate": rate}, len(start))
            check_limits(start, fresh, *self._bounds(limits))
            told = {"names": fresh, "x0": start} | ({} if limits is None else {"limits": limits})
            if fresh:
                self._steering.carry_out(Call("join", told))
            return fresh

    def leave(self, names: Names) -> None:
        """Remove plants. Their names can be used again.

        Parameters
        ----------
        names : sequence of str or int, or one of them
            The names.
        """
        with self._steering.lock:
            self._steering.carry_out(Call("leave", {"names": select(self._steering, names)[0]}))

    def restart(self, names: Names, x0: ArrayLike | None = None) -> None:
        """Let plants begin anew: what was learned about them is forgotten, and their next round is their first.

        Parameters
        ----------
        names : sequence of str or int, or one of them
            The names.
        x0 : array_like, shape (k, d), optional
            The positions of the plants; by default where they are.
        """
        with self._steering.lock:
            chosen, single = select(self._steering, names)
            start = self._status(chosen).x
            if x0 is not None:
                start = plant_values("x0", x0, chosen, (self._settings.dim,), single=single)
                check_limits(start, chosen, *self._bounds(self._own_limits(chosen)))
            if chosen:
                self._steering.carry_out(Call("restart", {"names": chosen, "x0": start}))

    def _bounds(self, limits: Array | None) -> tuple[ArrayLike | None, ArrayLike | None]:
        """Return the lowest and the highest positions of some plants."""
        return (self._settings.low, self._settings.high) if limits is None else (limits[:, 0], limits[:, 1])

    def _own_limits(self, names: tuple[Name, ...]) -> Array | None:
        """Return the limits of some plants, shape (k, 3, d), if limits differ."""
        plants = self._steering.plants
        return None if plants.limits is None else plants.limits_of(self._steering.numbers_of(names), self._settings.dim)

    def _status(self, names: tuple[Name, ...]) -> Status:
        return self._steering.status(self._steering.numbers_of(names))

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the plants, in the order in which they joined."""
        with self._steering.lock:
            return tuple(self._steering.numbers)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._steering.numbers

    def __iter__(self) -> Iterator[Name]:
        return iter(self.names)

    @property
    def round(self) -> IntArray:
        """The number of completed rounds of each plant, shape (n,)."""
        with self._steering.lock:
            status = self._status(self.names)
        return status.rounds - status.pending

    @property
    def pending(self) -> tuple[Name, ...]:
        """The names of the plants whose current round waits for its reading."""
        with self._steering.lock:
            names = self.names
            waiting = self._status(names).pending
        return tuple(name for name, waits in zip(names, waiting, strict=True) if waits)

    @property
    def x(self) -> Array:
        """The positions of the plants, shape (n, d): the last actions, as applied if that was reported."""
        with self._steering.lock:
            return self._status(self.names).x

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
        steering = self._steering
        with steering.lock:
            names, single = select(steering, plants)
            status = self._status(names)
            found: dict[str, Any] = {"round": status.rounds - status.pending, "missed": status.missed}
            for part in steering.plants.select(steering.numbers_of(names)):
                _fill(found, diagnose(part.player, part.state), part.places, len(names))
        return detach(found, row=0) if single else found

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
        steering, settings = self._steering, self._settings
        with steering.lock:
            if not is_name(plant):
                raise ArgumentError(f"plant must be the name of one plant, got {plant!r}")
            names, _ = select(steering, plant)
            missed = int(self._status(names).missed[0])
            state = steering.plants.part_of(steering.numbers_of(names)).state
            own = self._own_limits(names)
        limits = Limits(settings.low, settings.high, settings.rate) if own is None else Limits(*own[0])
        return describe_round(steering.player, state, missed, settings.actuator_names(), limits)

    def __repr__(self) -> str:
        journal = "" if self._path is None else f", journal={str(self._path)!r}"
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
            As in the constructor. If the journal exists, its plants continue where they were, whatever ``x0``,
            ``names`` and limits that differ between plants are; everything else must be what it was.

        Raises
        ------
        ArgumentError
            If the journal exists and has another policy, dimension or option.
        """
        if not file_path("path", path).exists():
            return cls(policy, x0, journal=path, durability=durability, **options)
        wanted = cls(policy, x0, **options)._settings
        return cls._of(Steering.resume(path, durability, alone=False, expected=wanted), path)

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
        return cls._of(Steering.resume(path, durability, alone=False), path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the complete state of all plants to one file, atomically; a journal is never overwritten.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import soqo, tempfile
        >>> fleet = Fleet(soqo.FTM(), [[20.0], [21.0]])
        >>> x = fleet.act([[22.0], [22.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = Fleet.load(fleet.save(f"{folder}/plants"))
        >>> again.pending
        (0, 1)
        """
        return self._steering.save(path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        journal: str | os.PathLike[str] | None = None,
        *,
        durability: Durability = "disk",
    ) -> Self:
        """Continue all plants from a file that :meth:`save` wrote.

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
        choice("durability", durability, ("disk", "process"))
        fleet = cls._of(Steering.load(path, alone=False))
        fleet._create_journal(journal, durability, stacklevel=2)
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
        source = file_path("path", path)
        if not source.is_file():
            raise FileNotFoundError(f"there is no journal {source}")
        return Log(**read_rounds(source, plant))

    def close(self) -> None:
        """Release the journal, which keeps its contents, after a last snapshot."""
        self._steering.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def __copy__(self) -> Self:
        return deepcopy(self)

    # ---- internals ---------------------------------------------------------------------------------------------------

    @classmethod
    def _of(cls, steering: Steering, path: str | os.PathLike[str] | None = None) -> Self:
        fleet = cls.__new__(cls)
        fleet._assume(steering)
        fleet._path = None if path is None else Path(path)
        return fleet

    def _assume(self, steering: Steering) -> None:
        self._steering = steering
        self._path: Path | None = None

    def _create_journal(self, path: str | os.PathLike[str] | None, durability: Durability, *, stacklevel: int) -> None:
        if path is not None:
            self._steering.create_journal(path, durability, stacklevel=stacklevel + 1)
            self._path = Path(path)

    @property
    def _settings(self) -> Snapshot:
        return self._steering.settings


def _fill(found: dict[str, Any], known: dict[str, Any], places: Any, count: int) -> None:
    """Put what is known of some of the plants in its places in arrays of all of them."""
    for name, value in known.items():
        if isinstance(value, dict):
            _fill(found.setdefault(name, {}), value, places, count)
            continue
        rows = np.asarray(value)
        found.setdefault(name, np.zeros((count, *rows.shape[1:]), dtype=rows.dtype))[places] = rows
