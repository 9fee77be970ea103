"""The contract of a policy: ``start``, then ``act`` and ``observe`` each round.

A policy object is configuration and never changes. Everything that changes is in the state, which each call takes and
returns. Arrays carry any leading batch shape: one plant is the batch ``()``, a simulation of 1,000 runs is ``(1000,)``.

Callers use ``start``, ``act`` and ``observe``, which validate their arguments. To write a policy, implement ``decide``,
and ``begin`` and ``learn`` if the policy has a memory.

A reading may come late. With ``start(..., max_delay=D)``, a round stays open for D further rounds, and
``observe(..., round=k)`` gives the reading of round k. ``learn`` then sees the position, the minimizer, the context and
the factor of that round, so a policy needs to do nothing for it.

``take`` and ``join`` split and merge batches, for plants that act together one time and apart the next (`_runs`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import numpy as np

from soqo._foundation.arguments import finite_array, horizon_or_none, integer, numbers, vector
from soqo._foundation.blas import is_finite_quick
from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._model.problem import Problem
from soqo._storage.registry import add_fields, register
from soqo.errors import ArgumentError, ProtocolError
from soqo.policies._open_rounds import OpenRound, find_open, keep_open, replace_open
from soqo.policies._runs import join_rows, join_states, rows_key, shift_state, take_rows, take_state
from soqo.typing import Array, ArrayLike, BoolArray, IntArray, Rng, RngLike

_M = TypeVar("_M")

_LARGEST = float(np.finfo(np.float64).max)

Reach = Callable[[Array, Array], tuple[Array, Array]]
"""A function of a position and a minimizer: the position after the round, and the minimizer as it counts for it."""


def _with_one_level(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a state of version 3, where the memory of a wrapper was the state of the policy inside."""
    inner = fields["memory"]
    if not isinstance(inner, State):
        return fields
    return {**fields, "memory": inner.memory, "diverged": np.asarray(fields["diverged"] | inner.diverged)}


@register(
    "State",
    version=4,
    migrations={
        1: add_fields(context=None, factor=None, x_prev=None, max_delay=0, awaiting=None, open_rounds=()),
        2: add_fields(began=None),
        3: _with_one_level,
    },
)
@dataclass(frozen=True)
class State(Value, Generic[_M]):
    """The state of a policy between two calls. Read it, but build it only through the policy's methods.

    Attributes
    ----------
    x : Array, shape (*batch, d)
        The position of the plant: the last action, as it was applied.
    v : Array, shape (*batch, d)
        The minimizer of the current round (x0 before the first round).
    round : int
        The number of rounds begun; the current round has this number.
    pending : bool
        Whether the current round still waits for its reading.
    horizon : int or None
        The number of rounds T; None for an infinite horizon.
    diverged : BoolArray, shape (*batch,)
        The runs in which the policy asked for a non-finite action; they kept their position instead.
    memory
        The policy's own part of the state: a frozen dataclass of arrays and numbers.
    context : Array of shape (*batch, k), or None
        What is known about the current round beside v, such as the weather.
    factor : Array of shape (*batch,), or None
        What multiplies the hitting cost of the current round, such as a price; None for 1.
    x_prev : Array of shape (*batch, d), or None
        The position before the action of the current round; None before the first round.
    max_delay : int
        The number of rounds for which a round stays open after its own.
    awaiting : BoolArray of shape (*batch,), or None
        The runs that wait for the reading of the current round; None if ``max_delay`` is 0.
    open_rounds : tuple of OpenRound
        The earlier rounds that wait for a reading, oldest first.
    began : IntArray of shape (*batch,), or None
        The value of ``round`` before the first round of each run, where runs that began in different rounds were
        joined; None for zero.
    forecast : Array of shape (*batch, k, d), or None
        The expected minimizers of the next k rounds, while the policy decides; None between two calls.
    felt : Array of shape (*batch, d), or None
        Where the reading was felt, if that is not the position, while the policy learns; None between two calls.
    unit : Array of shape (*batch,), or None
        What the reading was divided by, while the policy learns; ``factor`` then contains it. None between two calls.
    covariates : Array of shape (*batch, k), or None
        What is known about the reading, on which its base load may depend, while the policy learns; None between two
        calls.
    reach : callable, or None
        While the policy decides: where a plant gets within its limits, its rates and its active actuators, from a
        position that is told to go to a minimizer, and the minimizer as it counts for it. None if it gets anywhere, and
        between two calls.
    """

    x: Array
    v: Array
    round: int
    pending: bool
    horizon: int | None
    diverged: BoolArray
    memory: _M = field(repr=False)
    context: Array | None = field(default=None, repr=False)
    factor: Array | None = field(default=None, repr=False)
    x_prev: Array | None = field(default=None, repr=False)
    max_delay: int = 0
    awaiting: BoolArray | None = field(default=None, repr=False)
    open_rounds: tuple[OpenRound, ...] = field(default=(), repr=False)
    began: IntArray | None = field(default=None, repr=False)
    forecast: Array | None = field(default=None, init=False, repr=False)
    felt: Array | None = field(default=None, init=False, repr=False)
    unit: Array | None = field(default=None, init=False, repr=False)
    covariates: Array | None = field(default=None, init=False, repr=False)
    reach: Reach | None = field(default=None, init=False, repr=False)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading shape of x: ``()`` for one plant."""
        return self.x.shape[:-1]

    @property
    def u(self) -> Array:
        """The displacement that causes the hitting cost: x - v, or that of the point where the reading was felt."""
        return (self.x if self.felt is None else self.felt) - self.v

    @property
    def z(self) -> Array:
        """The vector at which the reading measures A, 1/2 z'Az: u, times the root of the factor if there is one."""
        u = self.u
        return u if self.factor is None else np.sqrt(self.factor)[..., None] * u

    @property
    def rounds_to_go(self) -> float:
        """The number of rounds that have not begun: n of the next gain; infinite for an infinite horizon."""
        return math.inf if self.horizon is None else self.horizon - self.round

    @property
    def own_round(self) -> int | IntArray:
        """The number of rounds that each run has begun: ``round``, or an array if the runs began in different ones."""
        return self.round if self.began is None else self.round - self.began

    def runs_key(self) -> tuple[Any, ...]:
        """Return what states must have in common to be joined, beside the round and whether a reading is pending."""
        kinds = {(rows_key(self.context), rows_key(self.factor))}
        kinds |= {(rows_key(one.context), rows_key(one.factor)) for one in self.open_rounds}
        # Where only some of the open rounds have a context, those with the same number must be alike.
        ages = [] if len(kinds) == 1 else [self.round - one.round for one in self.open_rounds]
        return (
            self.x.shape[1:],
            self.horizon,
            self.max_delay,
            rows_key(self.context),
            rows_key(self.factor),
            frozenset(kinds),
            tuple(ages),
            rows_key(self.memory),
        )


class Policy(Value, ABC, Generic[_M]):
    """Base class of policies. Subclass it as a frozen dataclass, and implement ``decide`` (and ``begin``, ``learn``).

    Do not override ``start``, ``act`` and ``observe``: simulations bypass them through ``act_unchecked``
    and ``observe_unchecked``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Halfway(Policy[None]):
    ...     '''Move half of the way to v each round.'''
    ...     def decide(self, state, v):
    ...         return (state.x + v) / 2, None
    >>> policy = Halfway()
    >>> state = policy.start(x0=np.zeros(2), horizon=10)
    >>> x, state = policy.act(state, v=np.array([4.0, 2.0]))
    >>> x
    array([2., 1.])
    >>> state = policy.observe(state, y=0.7)
    >>> state.round, state.pending
    (1, False)
    """

    # ---- what a policy implements ------------------------------------------------------------------------------------

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> _M:
        """Return the memory before the first round.

        Draw random numbers here, so that ``act`` and ``observe`` stay pure: :func:`soqo.policies.draw_per_run` draws
        from a generator or from a sequence of one per run, and raises an error that names ``rng`` if it is None. A
        policy that needs random numbers in every round draws a seed per run here, and makes a generator from seed and
        round.

        Parameters
        ----------
        x0 : Array, shape (*batch, d)
            The position before the first round.
        horizon : int or None
            The number of rounds T; None for an infinite horizon.
        rng : numpy.random.Generator, sequence of one per run, or None
            The source of random numbers, as the caller gave it.
        """
        return cast(_M, None)  # right for Policy[None]; a policy with a memory overrides this method

    @abstractmethod
    def decide(self, state: State[_M], v: Array) -> tuple[Array, _M]:
        """Return the action for this minimizer, and the new memory.

        Parameters
        ----------
        state : State
            The state; ``state.x`` is the current position, ``state.context`` and ``state.factor`` are those of this
            round.
        v : Array, shape (*batch, d)
            The minimizer of this round.
        """

    def learn(self, state: State[_M], y: Array) -> _M:
        """Return the memory after the reading y of the action ``state.x`` with the minimizer ``state.v``.

        If the reading is late, ``x``, ``v``, ``round``, ``context``, ``factor`` and ``x_prev`` of the state are those
        of its round, and ``memory`` is the current one.

        Parameters
        ----------
        state : State
            The state after ``act``.
        y : Array, shape (*batch,)
            The reading; NaN for the runs that had none, whose memory must not change.
        """
        return state.memory

    def take_runs(self, memory: _M, index: IntArray) -> _M:
        """Return the memory of some of the runs of a batch of shape (n,).

        By default, arrays anywhere in the memory have the runs as their first axis. Override it together with
        ``join_runs`` if yours do not.

        Parameters
        ----------
        memory
            The memory.
        index : IntArray, shape (k,)
            The runs.
        """
        return cast(_M, take_rows(memory, index))

    def join_runs(self, memories: Sequence[_M]) -> _M:
        """Return one memory for the runs of several, in their order.

        Parameters
        ----------
        memories : sequence
            The memories, whose arrays have the same shape but for the number of runs.
        """
        return cast(_M, join_rows(memories))

    def shift_rounds(self, memory: _M, by: int) -> _M:
        """Return the memory with round numbers that are larger by some number.

        Override it if ``mixes_rounds`` and the memory has numbers of rounds.

        Parameters
        ----------
        memory
            The memory.
        by : int
            What is added to every number of a round; it may be negative.
        """
        return memory

    def nearest(self, position: Array, x: Array) -> Array:
        """Return the position that is the same for the plant and nearest to x: another one only if it is an angle.

        Parameters
        ----------
        position, x : Array, shape (*batch, d)
            The position, and where the plant is thought to be.
        """
        return position

    # ---- what a policy may declare -----------------------------------------------------------------------------------

    @property
    def exact_feedback(self) -> bool:
        """Whether a simulation gives this policy the hitting cost without noise; True for an oracle."""
        return False

    def for_simulation(self, problem: Problem) -> Policy[_M]:
        """Return the policy as a simulation plays it: an oracle is told what no player knows.

        Parameters
        ----------
        problem : Problem
            The problem that the simulation drew.
        """
        return self

    @property
    def in_plant_coordinates(self) -> bool:
        """Whether the policy acts in the plant's own coordinates; if not, it needs an unweighted switching cost."""
        return False

    @property
    def state_grows(self) -> bool:
        """Whether the size of the memory grows with the rounds."""
        return False

    @property
    def mixes_rounds(self) -> bool:
        """Whether runs that began in different rounds can be one batch, if there is no horizon.

        A policy that returns True uses ``state.own_round``, where it needs the number of rounds that a run has played.
        """
        return False

    def diverged(self, state: State[_M]) -> BoolArray:
        """Return which runs have diverged, shape (*batch,).

        Parameters
        ----------
        state : State
            The state.
        """
        return state.diverged

    def diagnostics(self, state: State[_M]) -> dict[str, Any]:
        """Return what is known about the policy's internals, by name.

        Parameters
        ----------
        state : State
            The state.
        """
        return {"diverged": self.diverged(state)}

    def model(self, state: State[_M]) -> dict[str, Any]:
        """Return what readings are expected by: ``estimate``, ``offset`` and ``base_load``, as far as it has them.

        They are those of ``diagnostics``. Override it if they are quicker to return alone.

        Parameters
        ----------
        state : State
            The state.
        """
        return self.diagnostics(state)

    def health(self, state: State[_M]) -> dict[str, Any]:
        """Return whether what the policy is told and measures fits together, by name; nothing if it does not know.

        Parameters
        ----------
        state : State
            The state.
        """
        return {}

    def uncertainty_of(self, state: State[_M], directions: Array) -> Array | None:
        """Return the standard deviation of w'Aw for some directions w, shape (*batch, k); None if it is not estimated.

        Parameters
        ----------
        state : State
            The state.
        directions : Array, shape (*batch, k, d)
            The directions.
        """
        return None

    def counts(self, state: State[_M]) -> dict[str, Array]:
        """Return how often something happened that an operator should know, by name, each of shape (*batch,).

        A controller looks at them after every call, and reports one that grew; so they must be quick to return. It
        knows ``"alarms"`` (suspected changes of A) and ``"interventions"`` (rounds in which a guard overruled the
        policy).

        Parameters
        ----------
        state : State
            The state.
        """
        return {}

    def explain(self, state: State[_M]) -> str:
        """Describe what the policy is doing and why, in a sentence or two, for one plant.

        Parameters
        ----------
        state : State
            The state of one plant, of the batch ``()`` or ``(1,)``.

        Returns
        -------
        str
            The sentences.
        """
        return f"{type(self).__name__} follows its rule and does not report what it has learned."

    # ---- what callers use --------------------------------------------------------------------------------------------

    def start(
        self, x0: ArrayLike, horizon: int | None = None, rng: RngLike | None = None, *, max_delay: int = 0
    ) -> State[_M]:
        """Begin a run, or a batch of runs.

        Parameters
        ----------
        x0 : array_like, shape (*batch, d)
            The position before the first round.
        horizon : int, optional
            The number of rounds T; None for an infinite horizon.
        rng : int, numpy.random.Generator or sequence of one generator per run, optional
            The source of random numbers, for policies that draw any.
        max_delay : int
            The number of rounds by which a reading may be late: a round stays open for its reading until so many
            further rounds have been played.

        Returns
        -------
        State
            The state before the first round.
        """
        start = finite_array("x0", x0)
        if start.ndim == 0 or start.shape[-1] == 0:
            raise ArgumentError(f"x0 must have shape (*batch, d), got {start.shape}")
        rounds = horizon_or_none(horizon)
        delay = integer("max_delay", max_delay, least=0)
        generators = np.random.default_rng(rng) if isinstance(rng, int | np.integer) else rng
        memory = self.begin(start, rounds, generators)
        diverged = np.zeros(start.shape[:-1], dtype=np.bool_)
        return State(start, start.copy(), 0, False, rounds, diverged, memory, max_delay=delay)

    def act(
        self,
        state: State[_M],
        v: ArrayLike,
        *,
        forecast: ArrayLike | None = None,
        context: ArrayLike | None = None,
        factor: ArrayLike | None = None,
        active: ArrayLike | None = None,
    ) -> tuple[Array, State[_M]]:
        """Play a round.

        If a round still waits for its reading when it ceases to be open, that reading counts as missed: at once if
        readings cannot be late, otherwise ``max_delay`` rounds later.

        Parameters
        ----------
        state : State
            The state after the previous round.
        v : array_like, shape (*batch, d)
            The minimizer of this round.
        forecast : array_like, shape (*batch, k, d), optional
            The expected minimizers of the next k rounds. A policy that does not plan ahead ignores them.
        context : array_like, shape (*batch, k), optional
            What is known about this round beside v, such as the weather. A policy that does not use it ignores it.
        factor : array_like, shape (*batch,), optional
            What multiplies the hitting cost of this round, such as a price, at least 0; 1 if it is not given.
        active : array_like of bool, shape (*batch, d) or (d,), optional
            The actuators that can move. The others stay where they are, and the hitting cost of this round does not
            depend on them; what v says about them is ignored. All can move if it is not given.

        Returns
        -------
        x : Array, shape (*batch, d)
            The action.
        state : State
            The new state.

        Examples
        --------
        >>> from soqo import FTM
        >>> x, state = FTM().act(FTM().start([0.0, 0.0]), [3.0, 4.0], active=[True, False])
        >>> x
        array([3., 0.])
        """
        _check_state(state)
        target = vector("v", v, state.x.shape)
        moving = None if active is None else _check_active(active, state.x.shape)
        before = state.x
        if moving is not None:
            target = np.where(moving, target, before)
        expected = None if forecast is None else _check_forecast(forecast, state.x.shape)
        known = None if context is None else _check_entries("context", context, state.batch_shape)
        price = None if factor is None else _check_factor(factor, state.batch_shape)
        if state.horizon is not None and state.round >= state.horizon:
            raise ProtocolError(f"act was called after the last round, horizon = {state.horizon}")
        if state.pending and not state.max_delay:
            state = self.observe_unchecked(state, np.full(state.batch_shape, np.nan))
        if moving is not None:
            state = evolve(state, reach=_reach_of(moving))
        if known is None and price is None:
            x, state = self.act_unchecked(state, target, expected)
        else:
            x, state = self.act_unchecked(state, target, expected, context=known, factor=price)
        if moving is not None:
            x = np.where(moving, x, before)
            state = evolve(state, x=x)
        return x.copy(), state  # the state keeps its own array, whatever the caller does with the action

    def observe(
        self,
        state: State[_M],
        y: ArrayLike,
        *,
        applied: ArrayLike | None = None,
        round: int | None = None,  # noqa: A002  # the field of the state; the builtin is not used here
        at: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        covariates: ArrayLike | None = None,
    ) -> State[_M]:
        """Learn from the reading of the current round, or of an earlier one that is still open.

        Parameters
        ----------
        state : State
            The state after ``act``.
        y : array_like, shape (*batch,)
            The measured hitting cost; NaN where there was no reading. If readings may be late, NaN means that none has
            arrived yet, and the round stays open for these runs.
        applied : array_like, shape (*batch, d), optional
            The action that the plant applied, where it differs from the one it was given. In the current round this
            moves the plant; for an earlier round it only says to which action its reading belongs.
        round : int, optional
            The round of the reading, counted from 1; by default the current one. It must be open: the current round, or
            one of the ``max_delay`` rounds before it, without a reading so far.
        at : array_like, shape (*batch, d), optional
            Where the reading was felt, if the plant follows its actuators with a lag. It says to which point the
            reading belongs, and does not move the plant.
        unit : array_like, shape (*batch,), optional
            The size of the noise and of the base load of this reading relative to others, above 0; 1 if it is not
            given. With the factor s, y = s 1/2 u'A u + unit (base load + noise).
        covariates : array_like, shape (*batch, k), optional
            What is known about the reading, such as the load or the hour. Its base load may depend on them; the
            minimizer does not, unlike on the ``context`` of ``act``.

        Returns
        -------
        State
            The new state.

        Raises
        ------
        ProtocolError
            If the round is not open, or has had its reading; the state that was given stays as it was.

        Examples
        --------
        >>> from soqo import POL
        >>> policy = POL(learning_rate=0.1)
        >>> state = policy.start([0.0], max_delay=2)
        >>> for v in (4.0, 3.0, 5.0):
        ...     x, state = policy.act(state, [v])
        >>> state = policy.observe(state, 1.5, round=2)
        >>> [one.round for one in state.open_rounds], state.pending
        ([1], True)
        """
        _check_state(state)
        number = None if round is None else integer("round", round, least=1)
        if not state.pending or number not in (None, state.round):
            self._check_open(state, number)
        reading = numbers("y", y)
        if reading.shape != state.batch_shape:
            raise ArgumentError(f"y must have shape {state.batch_shape}, got {reading.shape}")
        if not is_finite_quick(reading) and np.isinf(reading).any():
            raise ArgumentError("y must be finite, or NaN for no reading, got an infinite one")
        if state.max_delay:
            _check_first_reading(state, number, reading)
        if applied is not None:
            position = vector("applied", applied, state.x.shape)
            if number is None or number == state.round:
                state = evolve(state, x=self.nearest(position, state.x))
            else:
                one = find_open(state.open_rounds, number)
                moved = evolve(one, x=self.nearest(position, one.x))
                state = evolve(state, open_rounds=replace_open(state.open_rounds, moved))
        if at is None and unit is None and covariates is None:
            return self.observe_unchecked(state, reading, number)
        felt = None if at is None else vector("at", at, state.x.shape)
        size = None if unit is None else _check_unit(unit, reading)
        known = None if covariates is None else _check_entries("covariates", covariates, state.batch_shape)
        return self._observe_with_parts(state, reading, number, felt, size, known)

    def _observe_with_parts(
        self,
        state: State[_M],
        y: Array,
        number: int | None,
        felt: Array | None,
        unit: Array | None,
        covariates: Array | None,
    ) -> State[_M]:
        """Learn from a reading that was felt elsewhere, whose noise has another unit, or that has covariates.

        With y / unit and factor / unit the noise and the base load are those of other readings.
        """
        late = None if number is None or number == state.round else find_open(state.open_rounds, number)
        factor = state.factor if late is None else late.factor
        view = evolve(state, felt=felt, unit=unit, covariates=covariates)
        if unit is not None:
            with np.errstate(over="ignore"):  # what exceeds the largest float is that float
                y = np.clip(y / unit, -_LARGEST, _LARGEST)
                scaled = np.minimum((1.0 if factor is None else factor) / unit, _LARGEST)
            if late is None:
                view = evolve(view, factor=scaled)
            else:
                view = evolve(view, open_rounds=replace_open(state.open_rounds, evolve(late, factor=scaled)))
        after = self.observe_unchecked(view, y, number)
        rounds = after.open_rounds
        if late is not None:
            rounds = tuple(evolve(one, factor=factor) if one.round == number else one for one in rounds)
        return evolve(after, felt=None, unit=None, covariates=None, factor=state.factor, open_rounds=rounds)

    @staticmethod
    def _check_open(state: State[_M], number: int | None) -> None:
        """Raise an error unless a round other than a pending current one is open."""
        if number is None or not state.round:
            if state.round and state.max_delay:
                raise ProtocolError(f"round {state.round}, the current one, has had its reading: give round")
            raise ProtocolError("observe was called before act: each reading belongs to an action, call act first")
        if any(one.round == number for one in state.open_rounds):
            return
        rounds = [one.round for one in state.open_rounds] + [state.round] * state.pending
        opened = f"open are {', '.join(map(str, rounds))}" if rounds else "no round is open"
        if number > state.round:
            raise ArgumentError(f"round must have been played, got {number} while {opened}")
        why = "has had its reading" if number >= state.round - state.max_delay else "is closed"
        raise ProtocolError(f"round {number} {why}: {opened}; the reading was not used")

    # ---- batches that change -----------------------------------------------------------------------------------------

    def take(self, state: State[_M], index: ArrayLike) -> State[_M]:
        """Return the state of some of the runs, which then go on by themselves.

        Parameters
        ----------
        state : State
            The state of a batch of shape (n,).
        index : array_like of int, shape (k,)
            The runs, in the order in which they are wanted.

        Returns
        -------
        State
            The state of a batch of shape (k,).

        Examples
        --------
        >>> from soqo import FTM
        >>> state = FTM().start([[0.0], [1.0], [2.0]])
        >>> FTM().take(state, [2, 0]).x
        array([[2.],
               [0.]])
        """
        _check_one_axis(state)
        rows = np.asarray(index)
        runs = len(state.x)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not rows.size:
            raise ArgumentError(f"index must be a sequence of integers, got {index!r}")
        if rows.min() < 0 or rows.max() >= runs:
            raise ArgumentError(f"index must be at least 0 and below {runs}, the number of runs, got {index!r}")
        taken = take_state(self, state, rows)
        if taken.began is not None and (taken.began == taken.began[0]).all():
            return shift_state(self, taken, -int(taken.began[0]))
        return taken

    def join(self, states: Sequence[State[_M]]) -> State[_M]:
        """Return one state for the runs of several, which then go on together.

        Parameters
        ----------
        states : sequence of State
            The states of batches of shape (n,) with the same :meth:`batch_key`.

        Returns
        -------
        State
            The state of all runs, in the order of the states.

        Examples
        --------
        >>> from soqo import FTM
        >>> FTM().join([FTM().start([[0.0]]), FTM().start([[1.0], [2.0]])]).batch_shape
        (3,)
        """
        for state in states:
            _check_one_axis(state)
        if len({self.batch_key(state) for state in states}) != 1:
            raise ArgumentError("states must be some states with the same batch_key, got different ones or none")
        now = max(state.round for state in states)
        return join_states(self, [shift_state(self, state, now - state.round) for state in states])

    def batch_key(self, state: State[_M]) -> Any:
        """Return a value that is the same for states that can be joined.

        They have the same horizon and delay and wait for a reading or not, and their memories have arrays of the same
        shapes. They are in the same round, unless the policy ``mixes_rounds`` and has no horizon.

        Parameters
        ----------
        state : State
            The state of a batch of shape (n,).
        """
        mixes = self.mixes_rounds and state.horizon is None
        # If readings may be late, each run has its own mark of whether it waits for one.
        return None if mixes else state.round, state.max_delay > 0 or state.pending, state.runs_key()

    # ---- the hot path: simulations -----------------------------------------------------------------------------------

    def act_unchecked(
        self,
        state: State[_M],
        v: Array,
        forecast: Array | None = None,
        *,
        context: Array | None = None,
        factor: Array | None = None,
    ) -> tuple[Array, State[_M]]:
        """Play a round without validating the arguments; the returned action is the state's own array.

        The caller makes sure that v is finite, of the right shape and not modified later, that the horizon is not
        exceeded, and that no reading is pending unless readings may be late.

        Parameters
        ----------
        state : State
            The state after the previous round.
        v : Array, shape (*batch, d)
            The minimizer of this round.
        forecast : Array, shape (*batch, k, d), optional
            The expected minimizers of the next k rounds.
        context : Array, shape (*batch, k), optional
            What is known about this round beside v.
        factor : Array, shape (*batch,), optional
            What multiplies the hitting cost of this round.

        Returns
        -------
        x : Array, shape (*batch, d)
            The action.
        state : State
            The state after the action.
        """
        before = state
        if state.reach is not None:
            state = evolve(state, reach=None)
        if state.max_delay:
            state = _keep_open(state)
        if forecast is not None or context is not state.context or factor is not state.factor:
            before = evolve(before, forecast=forecast, context=context, factor=factor)
            state = evolve(state, context=context, factor=factor)
        x, memory = self.decided(before, v)
        # A plant cannot move to infinity: the run keeps its position and is reported as diverged.
        x, bad = finite_or(state.x, x)
        diverged = state.diverged if bad is None else state.diverged | bad
        x = numbers("x", x)  # a copy, since the policy may keep the array that it returned
        number = state.round + 1
        return x, evolve(state, x=x, v=v, round=number, pending=True, diverged=diverged, memory=memory, x_prev=state.x)

    def decided(self, state: State[_M], v: Array) -> tuple[Array, _M]:
        """Return what ``decide`` returns, which must be an action of the shape of v and a memory.

        Parameters
        ----------
        state : State
            The state.
        v : Array, shape (*batch, d)
            The minimizer of this round.
        """
        decision: Any = self.decide(state, v)
        match decision:
            case (x, memory):
                pass
            case _:
                raise ProtocolError(
                    f"{type(self).__name__}.decide must return an action and a memory, got {type(decision).__name__}"
                )
        shape = x.shape if isinstance(x, np.ndarray) else np.shape(x)
        if shape != v.shape:
            raise ProtocolError(f"{type(self).__name__}.decide must return an action of shape {v.shape}, got {shape}")
        return x, memory

    def observe_unchecked(
        self,
        state: State[_M],
        y: Array,
        round: int | None = None,  # noqa: A002  # the field of the state; the builtin is not used here
    ) -> State[_M]:
        """Learn from a reading without validating it.

        Parameters
        ----------
        state : State
            The state after ``act``, with the applied action as its position.
        y : Array, shape (*batch,)
            The reading, finite or NaN, not modified later.
        round : int, optional
            The round of the reading, which is open; by default the current one.

        Returns
        -------
        State
            The state after the reading.
        """
        if not state.max_delay:
            return evolve(state, pending=False, memory=self.learn(state, y))
        missing = np.isnan(y)
        if round is None or round == state.round:
            awaiting = missing if state.awaiting is None else state.awaiting & missing
            memory = self.learn(state, y)
            return evolve(state, pending=bool(awaiting.any()), awaiting=np.asarray(awaiting), memory=memory)
        if missing.all():
            return state
        one = find_open(state.open_rounds, round)
        known: dict[str, Any] = {"context": one.context, "factor": one.factor, "x_prev": one.x_prev}
        view = evolve(state, x=one.x, v=one.v, round=round, pending=True, **known)
        left = evolve(one, awaiting=np.asarray(one.awaiting & missing))
        return evolve(state, open_rounds=replace_open(state.open_rounds, left), memory=self.learn(view, y))


def finite_or(position: Array, x: Array) -> tuple[Array, BoolArray | None]:
    """Return actions, or the position in the runs in which an action is not finite, and these runs; None for none."""
    if is_finite_quick(x):
        return x, None
    bad = np.asarray(~np.isfinite(x).all(axis=-1))
    return np.where(bad[..., None], position, x), bad


def _keep_open(state: State[_M]) -> State[_M]:
    """Return the state in which the current round is one of the earlier ones, and the oldest ones are closed."""
    rounds = state.open_rounds
    if state.pending:
        awaiting = np.ones(state.batch_shape, dtype=np.bool_) if state.awaiting is None else state.awaiting
        rounds = (
            *rounds,
            OpenRound(state.round, state.x, state.v, awaiting, state.context, state.factor, state.x_prev),
        )
    return evolve(state, open_rounds=keep_open(rounds, state.round + 1 - state.max_delay), awaiting=None)


def _check_first_reading(state: State[_M], number: int | None, reading: Array) -> None:
    """Refuse a second reading of a round, for a state in which readings may be late."""
    number = state.round if number is None else number
    awaiting = state.awaiting if number == state.round else find_open(state.open_rounds, number).awaiting
    if awaiting is None:
        return
    again = ~np.isnan(reading) & ~awaiting
    if again.any():
        where = [int(i) for i in np.argwhere(again)[0]]
        raise ProtocolError(f"round {number} has had its reading in run {where}: the reading was not used")


def _check_forecast(forecast: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a forecast as an array, for actions of this shape."""
    expected = finite_array("forecast", forecast)
    if expected.ndim != len(shape) + 1 or (*expected.shape[:-2], expected.shape[-1]) != shape:
        *batch, d = shape
        raise ArgumentError(f"forecast must have shape {(*batch, 'k', d)}, got {expected.shape}".replace("'k'", "k"))
    return expected


def _check_entries(name: str, values: ArrayLike, batch: tuple[int, ...]) -> Array:
    """Return a context or covariates as an array, for this batch shape."""
    known = finite_array(name, values)
    if known.ndim != len(batch) + 1 or known.shape[:-1] != batch:
        raise ArgumentError(f"{name} must have shape {(*batch, 'k')}, got {known.shape}".replace("'k'", "k"))
    return known


def _check_factor(factor: ArrayLike, batch: tuple[int, ...]) -> Array:
    """Return a factor as an array, for this batch shape."""
    price = vector("factor", factor, batch)
    if not (price >= 0.0).all():
        raise ArgumentError(f"factor must be at least 0, got {price.min()}")
    return price


def _check_unit(unit: ArrayLike, reading: Array) -> Array:
    """Return the unit of a reading as an array."""
    size = vector("unit", unit, reading.shape)
    if not (size > 0.0).all():
        raise ArgumentError(f"unit must be above 0, got {size.min()}")
    return size


def _check_active(active: ArrayLike, shape: tuple[int, ...]) -> BoolArray:
    """Return a mask of actuators, for actions of this shape."""
    mask = np.asarray(active)
    if mask.dtype != np.bool_:
        raise ArgumentError(f"active must be True or False for each actuator, got {mask.dtype}")
    if mask.shape not in (shape, shape[-1:]):
        raise ArgumentError(f"active must have shape {shape}, got {mask.shape}")
    return np.broadcast_to(mask, shape)


def _reach_of(moving: BoolArray) -> Reach:
    """Return what a plant reaches if only some of the actuators move; the others do not count."""

    def reach(x: Array, v: Array) -> tuple[Array, Array]:
        target = np.where(moving, v, x)
        return target, target

    return reach


def _check_one_axis(state: Any) -> None:
    """Refuse a state whose batch is not a sequence of runs."""
    _check_state(state)
    if len(state.batch_shape) != 1:
        raise ArgumentError(f"state must have a batch of shape (n,), got {state.batch_shape}")


def _check_state(state: Any) -> None:
    """Refuse anything but a state, such as the pair that ``act`` returns."""
    if not isinstance(state, State):
        raise ArgumentError(f"state must be a State, got {type(state).__name__} (act returns the action and the state)")
