"""The contract of a policy: ``start``, then ``act`` and ``observe`` each round.

A policy object is configuration and never changes. Everything that changes is in the state, which each call takes and
returns. Arrays carry any leading batch shape: one plant is the batch ``()``, a simulation of 1,000 runs is ``(1000,)``.

Callers use ``start``, ``act`` and ``observe``, which validate their arguments. To write a policy, implement ``decide``,
and ``begin`` and ``learn`` if the policy has a memory.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import numpy as np

from soqo._foundation.arguments import finite_array, horizon_or_none, numbers, vector
from soqo._foundation.blas import is_finite_quick
from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.errors import ArgumentError, ProtocolError
from soqo.typing import Array, ArrayLike, BoolArray, Rng, RngLike

_M = TypeVar("_M")


@register("State")
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
    forecast : Array of shape (*batch, k, d), or None
        The expected minimizers of the next k rounds, while the policy decides; None between two calls.
    """

    x: Array
    v: Array
    round: int
    pending: bool
    horizon: int | None
    diverged: BoolArray
    memory: _M = field(repr=False)
    forecast: Array | None = field(default=None, init=False, repr=False)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading shape of x: ``()`` for one plant."""
        return self.x.shape[:-1]

    @property
    def rounds_to_go(self) -> float:
        """The number of rounds that have not begun: n of the next gain; infinite for an infinite horizon."""
        return math.inf if self.horizon is None else self.horizon - self.round


class Policy(Value, ABC, Generic[_M]):
    """Base class of policies. Subclass it as a frozen dataclass, and implement ``decide`` (and ``begin``, ``learn``).

    Do not override ``start``, ``act`` and ``observe``: simulations and wrappers bypass them through ``act_unchecked``
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
            The state; ``state.x`` is the current position.
        v : Array, shape (*batch, d)
            The minimizer of this round.
        """

    def learn(self, state: State[_M], y: Array) -> _M:
        """Return the memory after the reading y of the action ``state.x`` with the minimizer ``state.v``.

        Parameters
        ----------
        state : State
            The state after ``act``.
        y : Array, shape (*batch,)
            The reading; NaN for the runs that had none, whose memory must not change.
        """
        return state.memory

    # ---- what a policy may declare -----------------------------------------------------------------------------------

    @property
    def exact_feedback(self) -> bool:
        """Whether a simulation gives this policy the hitting cost without noise; True for an oracle."""
        return False

    @property
    def in_plant_coordinates(self) -> bool:
        """Whether the policy acts in the plant's own coordinates; if not, it needs an unweighted switching cost."""
        return False

    @property
    def state_grows(self) -> bool:
        """Whether the size of the memory grows with the rounds."""
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

    def explain(self, state: State[_M]) -> str:
        """Describe what the policy is doing and why, in a sentence or two, for one plant.

        Parameters
        ----------
        state : State
            The state of the batch ``()``.

        Returns
        -------
        str
            The sentences.
        """
        return f"{type(self).__name__} follows its rule and does not report what it has learned."

    # ---- what callers use --------------------------------------------------------------------------------------------

    def start(self, x0: ArrayLike, horizon: int | None = None, rng: RngLike | None = None) -> State[_M]:
        """Begin a run, or a batch of runs.

        Parameters
        ----------
        x0 : array_like, shape (*batch, d)
            The position before the first round.
        horizon : int, optional
            The number of rounds T; None for an infinite horizon.
        rng : int, numpy.random.Generator or sequence of one generator per run, optional
            The source of random numbers, for policies that draw any.

        Returns
        -------
        State
            The state before the first round.
        """
        start = finite_array("x0", x0)
        if start.ndim == 0 or start.shape[-1] == 0:
            raise ArgumentError(f"x0 must have shape (*batch, d), got {start.shape}")
        rounds = horizon_or_none(horizon)
        generators = np.random.default_rng(rng) if isinstance(rng, int | np.integer) else rng
        memory = self.begin(start, rounds, generators)
        diverged = np.zeros(start.shape[:-1], dtype=np.bool_)
        return State(start, start.copy(), 0, False, rounds, diverged, memory)

    def act(self, state: State[_M], v: ArrayLike, *, forecast: ArrayLike | None = None) -> tuple[Array, State[_M]]:
        """Play a round.

        If the previous round still waits for its reading, that reading counts as missed.

        Parameters
        ----------
        state : State
            The state after the previous round.
        v : array_like, shape (*batch, d)
            The minimizer of this round.
        forecast : array_like, shape (*batch, k, d), optional
            The expected minimizers of the next k rounds. A policy that does not plan ahead ignores them.

        Returns
        -------
        x : Array, shape (*batch, d)
            The action.
        state : State
            The new state.
        """
        _check_state(state)
        target = vector("v", v, state.x.shape)
        expected = None if forecast is None else _check_forecast(forecast, state.x.shape)
        if state.horizon is not None and state.round >= state.horizon:
            raise ProtocolError(f"act was called after the last round, horizon = {state.horizon}")
        if state.pending:
            state = self.observe_unchecked(state, np.full(state.batch_shape, np.nan))
        x, state = self.act_unchecked(state, target, expected)
        return x.copy(), state  # the state keeps its own array, whatever the caller does with the action

    def observe(self, state: State[_M], y: ArrayLike, *, applied: ArrayLike | None = None) -> State[_M]:
        """Learn from the reading of the current round.

        Parameters
        ----------
        state : State
            The state after ``act``.
        y : array_like, shape (*batch,)
            The measured hitting cost; NaN where there was no reading.
        applied : array_like, shape (*batch, d), optional
            The action that the plant applied, where it differs from the one it was given.

        Returns
        -------
        State
            The new state.
        """
        _check_state(state)
        if not state.pending:
            raise ProtocolError("observe was called before act: each reading belongs to an action, call act first")
        reading = numbers("y", y)
        if reading.shape != state.batch_shape:
            raise ArgumentError(f"y must have shape {state.batch_shape}, got {reading.shape}")
        if not is_finite_quick(reading) and np.isinf(reading).any():
            raise ArgumentError("y must be finite, or NaN for no reading, got an infinite one")
        if applied is not None:
            state = evolve(state, x=vector("applied", applied, state.x.shape))
        return self.observe_unchecked(state, reading)

    # ---- the hot path: simulations and wrappers ----------------------------------------------------------------------

    def act_unchecked(self, state: State[_M], v: Array, forecast: Array | None = None) -> tuple[Array, State[_M]]:
        """Play a round without validating the arguments; the returned action is the state's own array.

        The caller makes sure that v is finite, of the right shape and not modified later, that the horizon is not
        exceeded, and that no reading is pending.

        Parameters
        ----------
        state : State
            The state after the previous round.
        v : Array, shape (*batch, d)
            The minimizer of this round.
        forecast : Array, shape (*batch, k, d), optional
            The expected minimizers of the next k rounds.

        Returns
        -------
        x : Array, shape (*batch, d)
            The action.
        state : State
            The state after the action.
        """
        decision: Any = self.decide(state if forecast is None else evolve(state, forecast=forecast), v)
        if not (isinstance(decision, tuple) and len(decision) == 2):
            raise ProtocolError(
                f"{type(self).__name__}.decide must return an action and a memory, got {type(decision).__name__}"
            )
        x, memory = decision
        shape = x.shape if isinstance(x, np.ndarray) else np.shape(x)
        if shape != v.shape:
            raise ProtocolError(f"{type(self).__name__}.decide must return an action of shape {v.shape}, got {shape}")
        diverged = state.diverged
        if not is_finite_quick(x) and not np.isfinite(x).all():
            # A plant cannot move to infinity: the run keeps its position and is reported as diverged.
            bad = np.asarray(~np.isfinite(x).all(axis=-1))
            x = np.where(bad[..., None], state.x, x)
            diverged = diverged | bad
        x = numbers("x", x)  # a copy, since the policy may keep the array that it returned
        return x, evolve(state, x=x, v=v, round=state.round + 1, pending=True, diverged=diverged, memory=memory)

    def observe_unchecked(self, state: State[_M], y: Array) -> State[_M]:
        """Learn from a reading without validating it.

        Parameters
        ----------
        state : State
            The state after ``act``, with the applied action as its position.
        y : Array, shape (*batch,)
            The reading, finite or NaN, not modified later.

        Returns
        -------
        State
            The state after the reading.
        """
        return evolve(state, pending=False, memory=self.learn(state, y))


def _check_forecast(forecast: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a forecast as an array, for actions of this shape."""
    expected = finite_array("forecast", forecast)
    if expected.ndim != len(shape) + 1 or (*expected.shape[:-2], expected.shape[-1]) != shape:
        *batch, d = shape
        raise ArgumentError(f"forecast must have shape {(*batch, 'k', d)}, got {expected.shape}".replace("'k'", "k"))
    return expected


def _check_state(state: Any) -> None:
    """Refuse anything but a state, such as the pair that ``act`` returns."""
    if not isinstance(state, State):
        raise ArgumentError(f"state must be a State, got {type(state).__name__} (act returns the action and the state)")
