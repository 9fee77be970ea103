"""The contract of a policy: ``start``, then ``act`` and ``observe`` each round.

A policy object is configuration and never changes; everything that changes is in the state that the calls hand on.
Arrays carry any leading batch shape: one plant is the batch ``()``, a simulation of 1,000 runs is ``(1000,)``.

Callers use ``start``, ``act`` and ``observe``, which check their arguments and keep the books. Who writes a policy
writes ``decide``, and ``begin`` and ``learn`` if it remembers anything.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import numpy as np

from soqo._arguments import finite_array, horizon_or_none, numbers, surely_finite, vector
from soqo._storage.registry import register
from soqo._values import evolve
from soqo.errors import ArgumentError, ProtocolError
from soqo.typing import Array, BoolArray, Rng

__all__ = ["Policy", "State", "quietly", "unchecked"]

M = TypeVar("M")

quietly = np.errstate(over="ignore", invalid="ignore")
"""For ``observe = quietly(Policy.observe)`` in a policy that looks at what overflows by itself, and reports it as
diverged: a warning would add nothing."""


@register("State")
@dataclass(frozen=True, eq=False)
class State(Generic[M]):
    """Where a policy stands. Treat it as opaque, except for reading.

    Attributes
    ----------
    x : Array, shape (*batch, d)
        Where the plant stands: the last action, as it was really applied.
    v : Array, shape (*batch, d)
        The minimizer of the round under way (before the first round: x0).
    round : int
        Rounds begun so far; the round under way is round number ``round``.
    pending : bool
        Whether the round under way still waits for its reading.
    horizon : int or None
        The number of rounds T; None for a horizon without end.
    diverged : BoolArray, shape (*batch,)
        Runs whose policy once asked for a non-finite action; they stayed where they were instead.
    memory
        What the policy itself remembers: a frozen dataclass of arrays and numbers.
    """

    x: Array
    v: Array
    round: int
    pending: bool
    horizon: int | None
    diverged: BoolArray
    memory: M

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading shape of x: ``()`` for one plant."""
        return self.x.shape[:-1]

    @property
    def rounds_to_go(self) -> float:
        """How many rounds are still to begin: n of the next gain, infinite where the horizon has no end."""
        return math.inf if self.horizon is None else self.horizon - self.round


Act = Callable[[State[M], Array], tuple[Array, State[M]]]
Observe = Callable[[State[M], Array], State[M]]


class Policy(ABC, Generic[M]):
    """A way to play. Subclass it as a frozen dataclass and write ``decide`` (and ``begin``, ``learn``).

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Halfway(Policy[None]):
    ...     '''Goes half of the way to v each round.'''
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

    # ---- what a policy writes --------------------------------------------------------------------------------------

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> M:
        """What the policy remembers before the first round.

        Random numbers are drawn here, so that ``act`` and ``observe`` stay pure. ``rng`` is a generator, a sequence of
        one per run, or None if the caller gave none; :func:`soqo._streams.per_run` draws from either and says so if it
        is None. A policy that may need random numbers for ever draws a seed per run here, and makes a generator from
        that seed and the round when it needs one.
        """
        return cast(M, None)  # right for Policy[None]; a policy that remembers anything overrides it

    @abstractmethod
    def decide(self, state: State[M], v: Array) -> tuple[Array, M]:
        """The action for this v, and the memory to go on with. ``state.x`` is where the player stands."""

    def learn(self, state: State[M], y: Array) -> M:
        """The memory after hearing y at ``state.x`` with the minimizer at ``state.v``.

        Runs whose y is NaN had no reading: what was learned about them must stay as it is.
        """
        return state.memory

    # ---- what a policy may declare ---------------------------------------------------------------------------------

    @property
    def exact_feedback(self) -> bool:
        """True for an oracle, to which a simulation gives the hitting cost without noise."""
        return False

    @property
    def in_plant_coordinates(self) -> bool:
        """True for a policy that acts in the plant's own coordinates; False if switching_weight must be plain l2."""
        return False

    @property
    def state_grows(self) -> bool:
        """True for a policy whose memory grows with the rounds."""
        return False

    def diverged(self, state: State[M]) -> BoolArray:
        """Which runs have diverged, shape (*batch,)."""
        return state.diverged

    def diagnostics(self, state: State[M]) -> dict[str, Any]:
        """What is worth for_problem about the policy's inside, by name."""
        return {"diverged": self.diverged(state)}

    def explain(self, state: State[M]) -> str:
        """What the policy is doing and why, in a sentence or two; for one plant."""
        return f"{type(self).__name__} decides by its rule and says nothing of what it learned."

    # ---- what callers use ------------------------------------------------------------------------------------------

    def start(self, x0: Any, horizon: int | None = None, rng: Rng | None = None) -> State[M]:
        """Begin a run, or a batch of runs.

        Parameters
        ----------
        x0 : array_like, shape (*batch, d)
            Where the player stands before the first round.
        horizon : int, optional
            The number of rounds T; None where there is no end in sight.
        rng : numpy.random.Generator or a sequence of one per run, optional
            For policies that draw random numbers.
        """
        start = finite_array("x0", x0)
        if start.ndim == 0 or start.shape[-1] == 0:
            raise ArgumentError(f"x0 must have shape (*batch, d), got {start.shape}")
        rounds = horizon_or_none(horizon)
        memory = self.begin(start, rounds, rng)
        diverged = np.zeros(start.shape[:-1], dtype=np.bool_)
        return State(start, start.copy(), 0, False, rounds, diverged, memory)

    def act(self, state: State[M], v: Any) -> tuple[Array, State[M]]:
        """Play a round: the action for this v, shape (*batch, d), and the new state.

        If the round before still waits for its reading, that reading counts as missed.
        """
        check_state(state)
        target = vector("v", v, state.x.shape)
        if state.horizon is not None and state.round >= state.horizon:
            raise ProtocolError(f"act was called after the last round, horizon = {state.horizon}")
        if state.pending:
            state = self.observe(state, np.full(state.batch_shape, np.nan))
        x, state = self._act(state, target)
        return x.copy(), state  # a copy, so that a caller who changes the action leaves the state

    def observe(self, state: State[M], y: Any, applied: Any = None) -> State[M]:
        """Hear the reading of the round under way.

        Parameters
        ----------
        y : array_like, shape (*batch,)
            The measured hitting cost; NaN where there was no reading.
        applied : array_like, shape (*batch, d), optional
            The action that the plant really made, where it differs from the one asked for.
        """
        check_state(state)
        if not state.pending:
            raise ProtocolError("observe was called before act: each reading belongs to an action, call act first")
        reading = numbers("y", y)
        if reading.shape != state.batch_shape:
            raise ArgumentError(f"y must have shape {state.batch_shape}, got {reading.shape}")
        if not surely_finite(reading) and np.isinf(reading).any():
            raise ArgumentError("y must be finite, or NaN for no reading, got an infinite one")
        if applied is not None:
            state = evolve(state, x=vector("applied", applied, state.x.shape))
        return self._observe(state, reading)

    def _act(self, state: State[M], v: Array) -> tuple[Array, State[M]]:
        """What :meth:`act` does once v is checked; the action is the state's own."""
        x, memory = self._decided(state, v)
        diverged = state.diverged
        if not surely_finite(x) and not np.isfinite(x).all():
            # A plant cannot be sent to infinity: the run stays where it is, and is reported.
            bad = np.asarray(~np.isfinite(x).all(axis=-1))
            x = np.where(bad[..., None], state.x, x)
            diverged = diverged | bad
        x = numbers("x", x)  # a copy, for the policy may keep a hold on what it returned
        begun = state.round + 1
        return x, evolve(state, x=x, v=v, round=begun, pending=True, diverged=diverged, memory=memory)

    def _observe(self, state: State[M], y: Array) -> State[M]:
        """What :meth:`observe` does once y is checked."""
        return evolve(state, pending=False, memory=self.learn(state, y))

    def _decided(self, state: State[M], v: Array) -> tuple[Array, M]:
        """What ``decide`` returns, if it is an action and a memory."""
        decided: Any = self.decide(state, v)
        if not (isinstance(decided, tuple) and len(decided) == 2):
            raise ProtocolError(
                f"{type(self).__name__}.decide must return an action and a memory, got {type(decided).__name__}"
            )
        x, memory = decided
        shape = x.shape if isinstance(x, np.ndarray) else np.shape(x)
        if shape != v.shape:
            raise ProtocolError(f"{type(self).__name__}.decide must return an action of shape {v.shape}, got {shape}")
        return x, memory


def unchecked(policy: Policy[M]) -> tuple[Act[M], Observe[M]]:
    """``act`` and ``observe`` without their checks, for a caller who makes v and y itself and changes no action.

    The caller keeps the order of calls, and gives arrays that nobody else changes: a finite v, a y that is finite or
    NaN, and ignores overflow. A policy that has ways of its own to act or to observe keeps them.
    """
    kind = type(policy)
    observe = getattr(kind.observe, "__wrapped__", kind.observe)  # without `quietly`
    if kind.act is not Policy.act or observe is not Policy.observe:
        return policy.act, policy.observe
    return policy._act, policy._observe


def check_state(state: Any) -> None:
    """Refuse what is no state, such as the pair that ``act`` returns."""
    if not isinstance(state, State):
        raise ArgumentError(f"state must be a State, got {type(state).__name__} (act returns the action and the state)")
