r"""A safety net around any policy: it never pays much more than following v would have cost.

Following v costs 1/2 |v_s - v_{s-1}|^2 in round s, whatever A is, and hits nothing. So its cost F_t is known without
trying it. The guard lets the policy play while, for r = 1 + e,

    M + 1/2 (1 + 1/e) |x - v|^2  <=  r F + B,

where M is the measured cost, B is a budget that never decreases, and the second term is a reserve for going back to v.
Otherwise it plays x = v.

**Guarantee.** Let the readings be the hitting costs. Then after every round

    M_t  <=  r F_t + B_t + h,

where h is the largest hitting cost of a single round in which the policy was trusted, and h = 0 if ``max_curvature``
is an upper bound of the eigenvalues of A.

**Proof.** Let E_t = M_t + 1/2 (1 + 1/e) |x_t - v_t|^2 - r F_t - B_t; we show E_t <= h. In a round in which the policy
is trusted, the guard has checked the inequality without the hitting cost of that round (with an upper bound of it, if
there is one), so that E_t <= h (E_t <= 0). In a round in which the guard plays x_t = v_t, the cost is 1/2 |v_t -
x_{t-1}|^2, which by Young's inequality is at most

    1/2 (1 + 1/e) |x_{t-1} - v_{t-1}|^2 + 1/2 (1 + e) |v_t - v_{t-1}|^2:

the first part was in E_{t-1}, the second is what r F grows by. So E_t <= E_{t-1}, and E_0 = 0. (In round 1, v_0 =
x_0.)

A reading with noise enters M with its noise; with noise of mean zero, the error of M is a sum of independent terms.
Only rounds in which the policy was trusted count, since at x = v the hitting cost is zero without a reading. A base
load that is not told as ``base_load`` counts as hitting cost, so that the guard is needlessly strict. If a reading is
missing or out of limits, the guard counts the largest reading so far in its place, and after three such rounds in a
row it plays v until a reading arrives. A maximum that is read again and again is the limit of a saturated meter: from
the third time on, the guard plays v for as many rounds as it was read.

**Late readings.** If readings may be D rounds late, a trusted round whose reading is outstanding counts as one without
a reading, and is counted anew when its reading arrives. So the cost that the guard knows lacks, for at most D earlier
rounds, what the hitting cost exceeds its substitute by, and the same proof gives

    M_t  <=  r F_t + B_t + (1 + D) h.

With ``max_curvature`` the substitute is the upper bound of the hitting cost, so M is never too small and h = 0 as
before. A round counts as unread only when its reading was implausible or can no longer arrive: readings that are late
by at most D rounds do not make the guard play v. A lost reading of round k is noticed in round k + D + 1.

**Factors.** If the hitting cost of a round is multiplied by a factor, so are the hitting costs and the upper bound
above.

**Implausible minimizers.** Where v is out of ``v_limits``, the guard and the policy play with the last plausible v in
its place, F is the cost of following these, and the reading of the round counts as missing, since it belongs to a
minimizer that nobody knows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from soqo._foundation.arguments import finite_array, number, numbers
from soqo._foundation.frozen_dataclasses import Value, evolve, freeze, set_fields
from soqo._model.problem import Problem
from soqo._storage.registry import add_fields, register
from soqo.errors import ArgumentError
from soqo.policies._base import Policy, State
from soqo.policies._runs import join_rows, join_states, shift_state, take_rows, take_state
from soqo.typing import Array, ArrayLike, BoolArray, IntArray, Rng

_M = TypeVar("_M")

_SATURATED_REPEATS = 3
"""A maximum that was read this many times is the limit of a meter: noise does not repeat a number."""

_MAX_UNREAD = 3
"""After this many rounds in a row without a plausible reading, the policy is not trusted."""

_RECENT_ROUNDS = 100
"""After an intervention, the policy's own explanation is not given for this number of rounds."""


@register(
    "Guarded.memory",
    version=2,
    migrations={1: add_fields(counted=None, unsettled=None, away=None, implausible=None, replaced=None)},
)
@dataclass(frozen=True)
class GuardMemory(Value, Generic[_M]):
    """The memory of Guarded.

    Attributes
    ----------
    inner : State
        The state of the policy inside.
    x_prev : Array, shape (*batch, d)
        The position before the last action.
    earlier : Array, shape (*batch,)
        The measured cost before the last round.
    measured, followed, max_step : Array, shape (*batch,)
        The measured cost M, the cost F of following v, and its largest single round. Until its reading arrives, the
        last round counts as if there were none.
    max_reading, repeats : Array, shape (*batch,)
        The largest reading, and how often it was read.
    unread, pause : Array, shape (*batch,)
        The number of rounds away from v since the last plausible reading, and the number of rounds in which the policy
        is not trusted because the meter was saturated.
    guarding : BoolArray, shape (*batch,)
        Whether the guard played v in the last round against the policy.
    interventions, last_intervention : Array, shape (*batch,)
        The number of such rounds, and the last of them (0 for none).
    counted, unsettled, away : Array and two BoolArrays of shape (*batch, D + 1), or None
        The hitting cost that is counted for each round that may be open (round k at index k modulo D + 1), whether it
        has had no reading so far, and whether it was away from v; None if readings cannot be late.
    implausible, replaced : BoolArray and Array of shape (*batch,), or None
        Whether v was out of limits in the last round, and the number of such rounds; None without limits.
    """

    inner: State[_M]
    x_prev: Array
    earlier: Array
    measured: Array
    followed: Array
    max_step: Array
    max_reading: Array
    repeats: Array
    unread: Array
    pause: Array
    guarding: BoolArray
    interventions: Array
    last_intervention: Array
    counted: Array | None = None
    unsettled: BoolArray | None = None
    away: BoolArray | None = None
    implausible: BoolArray | None = None
    replaced: Array | None = None


@register("Guarded", version=2, migrations={1: add_fields(v_limits=None)})
@dataclass(frozen=True)
class Guarded(Policy[GuardMemory[_M]], Generic[_M]):
    """A policy that is replaced by following v before its measured cost exceeds that of following v by much.

    After every round the measured cost is at most ``ratio`` times what following v would have cost, plus ``budget``
    times its most expensive round, plus the hitting cost of one round (none, if ``max_curvature`` is given; of 1 + D
    rounds, if readings may be D rounds late). The module ``soqo.policies._guarded`` has the assumptions and the proof.

    Parameters
    ----------
    policy : Policy
        The policy, in coordinates where the switching cost is unweighted.
    ratio : float
        The factor, above 1.
    budget : float
        The budget for learning, in units of the largest cost of following v in one round.
    max_curvature : float, optional
        An upper bound of the eigenvalues of A in coordinates where the switching cost is unweighted.
    max_distance : float or array_like of shape (d,), optional
        The largest |x - v| of each actuator; actions are clipped to it.
    base_load : float
        The part of each reading that is not hitting cost.
    y_limits : tuple of float, optional
        The lowest and the highest plausible reading; others are treated as missing.
    v_limits : tuple of float or array_like of shape (d,), optional
        The lowest and the highest plausible minimizer, in coordinates where the switching cost is unweighted; a v that
        is out of limits in any coordinate is replaced by the last plausible one (x0 before the first).

    See Also
    --------
    soqo.FTM : The policy that follows v.

    Examples
    --------
    >>> from soqo import LAI
    >>> policy = Guarded(LAI([[0.0]]), ratio=1.5, budget=0.0)   # believes that hitting costs nothing, and stays
    >>> state = policy.start(np.zeros(1))
    >>> for v in (1.0, 2.0, 3.0):
    ...     x, state = policy.act(state, [v])
    ...     state = policy.observe(state, 0.5 * 4.0 * (x[0] - v) ** 2)
    >>> x, float(policy.diagnostics(state)["interventions"])
    (array([3.]), 3.0)
    """

    policy: Policy[_M]
    ratio: float = 1.2
    _: KW_ONLY
    budget: float = 10.0
    max_curvature: float | None = None
    max_distance: ArrayLike | None = None
    base_load: float = 0.0
    y_limits: tuple[float, float] | None = None
    v_limits: tuple[ArrayLike, ArrayLike] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.policy, Policy):
            raise ArgumentError(f"policy must be a Policy, got {type(self.policy).__name__}")
        if self.policy.in_plant_coordinates:
            raise ArgumentError(
                "policy must be for an unweighted switching cost, got one in plant coordinates: put Guarded inside "
                "Weighted and Limited"
            )
        set_fields(
            self,
            ratio=number("ratio", self.ratio, above=1.0),
            budget=number("budget", self.budget, least=0.0),
            base_load=number("base_load", self.base_load),
        )
        if self.max_curvature is not None:
            set_fields(self, max_curvature=number("max_curvature", self.max_curvature, least=0.0))
        if self.max_distance is not None:
            distance = finite_array("max_distance", self.max_distance)
            if distance.ndim > 1 or (distance < 0.0).any():
                raise ArgumentError(f"max_distance must be a number or a vector, not negative, got {distance}")
            set_fields(self, max_distance=freeze(distance))
        if self.y_limits is not None:
            low, high = (number("y_limits", limit) for limit in self.y_limits)
            if low >= high:
                raise ArgumentError(f"y_limits must be increasing, got {self.y_limits}")
            set_fields(self, y_limits=(low, high))
        if self.v_limits is not None:
            set_fields(self, v_limits=_ordered_limits(self.v_limits))

    @property
    def exact_feedback(self) -> bool:
        return self.policy.exact_feedback

    def for_simulation(self, problem: Problem) -> Policy[Any]:
        inner = self.policy.for_simulation(problem)
        return self if inner is self.policy else replace(self, policy=inner)

    @property
    def state_grows(self) -> bool:
        return self.policy.state_grows

    @property
    def mixes_rounds(self) -> bool:
        return self.policy.mixes_rounds

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> GuardMemory[_M]:
        if self.max_distance is not None and np.shape(self.max_distance) not in ((), x0.shape[-1:]):
            raise ArgumentError(f"max_distance must have shape {x0.shape[-1:]}, got {np.shape(self.max_distance)}")
        if self.v_limits is not None:
            for limit in self.v_limits:
                if np.shape(limit) not in ((), x0.shape[-1:]):
                    raise ArgumentError(f"v_limits must have shape {x0.shape[-1:]}, got {np.shape(limit)}")
        zeros = np.zeros(x0.shape[:-1])
        never = np.zeros(x0.shape[:-1], dtype=np.bool_)
        inner = self.policy.start(x0, horizon, rng)
        lowest = np.full(x0.shape[:-1], -math.inf)
        memory = GuardMemory(inner, x0, zeros, zeros, zeros, zeros, lowest, zeros, zeros, zeros, never, zeros, zeros)
        return memory if self.v_limits is None else evolve(memory, implausible=never, replaced=zeros)

    def make_room(self, memory: GuardMemory[_M], max_delay: int) -> GuardMemory[_M]:
        shape = (*memory.measured.shape, max_delay + 1)
        return evolve(
            memory,
            inner=evolve(memory.inner, memory=self.policy.make_room(memory.inner.memory, max_delay)),
            counted=np.zeros(shape),
            unsettled=np.zeros(shape, dtype=np.bool_),
            away=np.zeros(shape, dtype=np.bool_),
        )

    def take_runs(self, memory: GuardMemory[_M], index: IntArray) -> GuardMemory[_M]:
        inner = take_state(self.policy, memory.inner, index)
        return evolve(take_rows(evolve(memory, inner=None), index), inner=inner)

    def join_runs(self, memories: Sequence[GuardMemory[_M]]) -> GuardMemory[_M]:
        inner = join_states(self.policy, [memory.inner for memory in memories])
        return evolve(join_rows([evolve(memory, inner=None) for memory in memories]), inner=inner)

    def shift_rounds(self, memory: GuardMemory[_M], by: int) -> GuardMemory[_M]:
        last = memory.last_intervention
        slots = {
            name: value if value is None else np.roll(value, by, axis=-1)
            for name, value in (("counted", memory.counted), ("unsettled", memory.unsettled), ("away", memory.away))
        }
        inner = shift_state(self.policy, memory.inner, by)
        return evolve(memory, inner=inner, last_intervention=np.where(last > 0.0, last + by, last), **slots)

    def decide(self, state: State[GuardMemory[_M]], v: Array) -> tuple[Array, GuardMemory[_M]]:
        memory = state.memory
        if state.pending and memory.counted is not None:
            memory = self._relocate(memory, state.x)
        v_prev = memory.inner.v
        if self.v_limits is not None and memory.replaced is not None:
            implausible = self._is_implausible(v)
            v = np.where(implausible[..., None], v_prev, v)
            memory = evolve(memory, implausible=implausible, replaced=memory.replaced + implausible)
        unread, slot = memory.unread, 0
        if memory.unsettled is not None and memory.away is not None:  # the round that had its place is closed now
            slot = (state.round + 1) % memory.unsettled.shape[-1]
            unread = unread + (memory.unsettled[..., slot] & memory.away[..., slot])
        with np.errstate(over="ignore", invalid="ignore"):  # costs that overflow are not below the limit
            if state.context is None and state.factor is None:
                proposal, inner = self.policy.act_unchecked(memory.inner, v, state.forecast)
            else:
                proposal, inner = self.policy.act_unchecked(
                    memory.inner, v, state.forecast, context=state.context, factor=state.factor
                )
            if self.max_distance is not None:
                distance = np.asarray(self.max_distance)
                proposal = v + np.minimum(np.maximum(proposal - v, -distance), distance)
            step = _half_square(v - v_prev)
            followed, max_step = memory.followed + step, np.maximum(memory.max_step, step)
            planned = memory.measured + _half_square(proposal - state.x) + self._reserve(proposal - v, state.factor)
            trusted = (
                (unread < _MAX_UNREAD)
                & (memory.pause == 0.0)
                & (planned <= self.ratio * followed + self.budget * max_step)
            )
        guarding = ~trusted & (proposal != v).any(axis=-1)
        x = np.where(trusted[..., None], proposal, v)
        # Without a reading, the hitting cost is unknown unless it is zero.
        away = (x != v).any(axis=-1)
        unknown = self._substitute(memory, x, v, state.factor)
        memory = evolve(
            memory,
            inner=evolve(inner, x=x, pending=False),
            x_prev=state.x,
            earlier=memory.measured,
            measured=self._add(memory.measured, x - state.x, unknown),
            followed=followed,
            max_step=max_step,
            unread=unread + away if memory.unsettled is None else unread,
            pause=np.maximum(memory.pause - 1.0, 0.0),
            guarding=guarding,
            interventions=memory.interventions + guarding,
            last_intervention=np.where(guarding, float(state.round + 1), memory.last_intervention),
        )
        if memory.counted is not None:
            memory = evolve(
                memory,
                counted=_with_entry(memory.counted, slot, unknown),
                unsettled=_with_entry(memory.unsettled, slot, True),
                away=_with_entry(memory.away, slot, away),
            )
        return x, memory

    @staticmethod
    def _add(measured: Array, move: Array, hitting: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(measured + _half_square(move) + hitting)

    def _reserve(self, u: Array, factor: Array | None) -> Array:
        """Return the reserve for going back to v, and the bound on the hitting cost if there is one."""
        curvature: float | Array = self.max_curvature or 0.0
        if factor is not None:
            curvature = curvature * factor
        return (1.0 + 1.0 / (self.ratio - 1.0) + curvature) * _half_square(u)

    def _substitute(self, memory: GuardMemory[_M], x: Array, v: Array, factor: Array | None) -> Array:
        """Return what counts as the hitting cost of a round without a reading.

        It is the largest reading so far; if readings may be late and there is an upper bound, the bound.
        """
        if self.max_curvature is not None and memory.counted is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                bound = self.max_curvature * _half_square(x - v)
                return bound if factor is None else bound * factor
        away = (x != v).any(axis=-1)
        return np.where(away & np.isfinite(memory.max_reading), memory.max_reading - self.base_load, 0.0)

    def _relocate(self, memory: GuardMemory[_M], x: Array) -> GuardMemory[_M]:
        """Return the memory for a plant that is at x in the last round, of which there was no report."""
        moved = np.asarray((x != memory.inner.x).any(axis=-1))
        if not moved.any():
            return memory
        assert memory.counted is not None
        assert memory.away is not None
        slot = memory.inner.round % memory.counted.shape[-1]
        unknown = self._substitute(memory, x, memory.inner.v, memory.inner.factor)
        # A run of the batch that is where it was may have had its reading.
        measured = self._add(memory.earlier, x - memory.x_prev, unknown)
        away = (x != memory.inner.v).any(axis=-1)
        return evolve(
            memory,
            inner=evolve(memory.inner, x=x),
            measured=np.where(moved, measured, memory.measured),
            counted=_with_entry(memory.counted, slot, np.where(moved, unknown, memory.counted[..., slot])),
            away=_with_entry(memory.away, slot, np.where(moved, away, memory.away[..., slot])),
        )

    def _is_implausible(self, v: Array) -> BoolArray:
        assert self.v_limits is not None
        low, high = (np.asarray(limit) for limit in self.v_limits)
        return np.asarray(((v < low) | (v > high)).any(axis=-1))

    def learn(self, state: State[GuardMemory[_M]], y: Array) -> GuardMemory[_M]:
        memory = state.memory
        is_current = state.round == memory.inner.round
        v = memory.inner.v if is_current else state.v
        plausible = ~np.isnan(y)
        cost = y if state.unit is None else y * state.unit  # as it was measured
        if self.y_limits is not None:
            plausible &= (cost >= self.y_limits[0]) & (cost <= self.y_limits[1])
        if self.v_limits is not None:
            plausible &= ~self._is_implausible(state.v)
        measured_cost, reading = np.where(plausible, cost, np.nan), np.where(plausible, y, np.nan)
        higher, same = measured_cost > memory.max_reading, measured_cost == memory.max_reading
        repeats = np.where(higher, 1.0, memory.repeats + same)
        max_reading = np.where(higher, measured_cost, memory.max_reading)
        saturated = plausible & (measured_cost == max_reading) & (repeats >= _SATURATED_REPEATS)
        away = (state.x != v).any(axis=-1)
        hitting = np.where(away, measured_cost - self.base_load, 0.0)
        known: dict[str, Any] = {"factor": state.factor, "felt": state.felt, "unit": state.unit}
        known["covariates"] = state.covariates
        if is_current:
            inner = self.policy.observe_unchecked(evolve(memory.inner, x=state.x, **known), reading)
            inner = evolve(inner, factor=memory.inner.factor, felt=None, unit=None, covariates=None)
        else:
            known |= {"context": state.context, "x_prev": state.x_prev}
            view = evolve(memory.inner, x=state.x, v=v, round=state.round, **known)
            inner = evolve(memory.inner, memory=self.policy.learn(view, reading))
        if memory.counted is None:
            measured = np.where(plausible, self._add(memory.earlier, state.x - memory.x_prev, hitting), memory.measured)
            memory = evolve(memory, measured=measured)
        else:
            memory = self._count(memory, state, np.where(plausible, hitting, np.nan), arrived=~np.isnan(y), away=away)
        return evolve(
            memory,
            inner=inner,
            max_reading=max_reading,
            repeats=repeats,
            unread=np.where(plausible, 0.0, memory.unread),
            pause=np.where(saturated & away, repeats, memory.pause),
        )

    def _count(
        self,
        memory: GuardMemory[_M],
        state: State[GuardMemory[_M]],
        hitting: Array,
        *,
        arrived: BoolArray,
        away: BoolArray,
    ) -> GuardMemory[_M]:
        """Return the memory after the reading of a round that may be open.

        ``arrived`` says which runs have a reading; ``hitting`` is NaN where there is no plausible one.
        """
        assert memory.counted is not None
        assert memory.unsettled is not None
        slot = state.round % memory.counted.shape[-1]
        before, unsettled = memory.counted[..., slot], memory.unsettled[..., slot]
        known = ~np.isnan(hitting)
        if state.round == memory.inner.round:
            unknown = self._substitute(memory, state.x, memory.inner.v, state.factor)
            counted = np.where(known, hitting, np.where(unsettled, unknown, before))
            measured, earlier = self._add(memory.earlier, state.x - memory.x_prev, counted), memory.earlier
        else:
            counted = np.where(known, hitting, before)
            measured, earlier = memory.measured + (counted - before), memory.earlier + (counted - before)
        return evolve(
            memory,
            measured=measured,
            earlier=earlier,
            counted=_with_entry(memory.counted, slot, counted),
            unsettled=_with_entry(memory.unsettled, slot, unsettled & ~arrived),
            away=_with_entry(memory.away, slot, away),
            unread=memory.unread + (unsettled & arrived & away),  # if it is not plausible, there will be no other
        )

    def diverged(self, state: State[GuardMemory[_M]]) -> BoolArray:
        return state.diverged | self.policy.diverged(state.memory.inner)

    def diagnostics(self, state: State[GuardMemory[_M]]) -> dict[str, Any]:
        """Return the diagnostics of the policy, and what the guard did.

        ``guarding`` says whether the guard overruled the policy in the last round, ``interventions`` how often it did;
        ``measured`` and ``followed`` are the measured cost, and the cost of following v. With ``v_limits``,
        ``implausible_v`` says whether v was out of limits in the last round, and ``replaced_v`` how often it was.

        Parameters
        ----------
        state : State
            The state.
        """
        memory = state.memory
        limits = {} if self.v_limits is None else {"implausible_v": memory.implausible, "replaced_v": memory.replaced}
        return {
            **self.policy.diagnostics(memory.inner),
            "diverged": self.diverged(state),
            "guarding": memory.guarding,
            "interventions": memory.interventions,
            "measured": memory.measured,
            "followed": memory.followed,
            **limits,
        }

    def uncertainty_of(self, state: State[GuardMemory[_M]], directions: Array) -> Array | None:
        return self.policy.uncertainty_of(state.memory.inner, directions)

    def counts(self, state: State[GuardMemory[_M]]) -> dict[str, Array]:
        memory = state.memory
        return {**self.policy.counts(memory.inner), "interventions": memory.interventions}

    def explain(self, state: State[GuardMemory[_M]]) -> str:
        memory = state.memory
        if memory.implausible is not None and memory.implausible.item():
            return "The minimizer is out of v_limits: the guard and the policy use the last plausible one."
        count, last = int(memory.interventions.item()), int(memory.last_intervention.item())
        if not count or state.round - last > _RECENT_ROUNDS:
            return self.policy.explain(memory.inner)
        cost = f"measured cost {memory.measured.item():.4g}, following v would have cost {memory.followed.item():.4g}"
        if memory.guarding.item():
            reason = "the meter is saturated" if memory.pause.item() else cost
            reason = "there is no plausible reading" if memory.unread.item() >= _MAX_UNREAD else reason
            return f"The guard follows v in place of {type(self.policy).__name__}: {reason}."
        return (
            f"{type(self.policy).__name__} plays again after the guard had to follow v, last in round {last} "
            f"(rounds so far: {count}; {cost})."
        )


def _ordered_limits(limits: Any) -> tuple[Array, Array]:
    """Return a pair of limits as arrays, after checks that they are a number or a vector each, and in order."""
    if not isinstance(limits, tuple | list) or len(limits) != 2:
        raise ArgumentError(f"v_limits must be a lowest and a highest minimizer, got {limits!r}")
    low, high = (freeze(numbers("v_limits", limit)) for limit in limits)
    if low.ndim > 1 or high.ndim > 1 or (low.ndim and high.ndim and low.shape != high.shape):
        raise ArgumentError(f"v_limits must be numbers or vectors of one shape, got {low.shape} and {high.shape}")
    if not (low < high).all():
        raise ArgumentError(f"v_limits must be increasing, got {low} and {high}")
    return low, high


def _with_entry(array: Any, slot: int, value: Any) -> Any:
    """Return a copy of an array with another entry at an index of its last axis."""
    result = array.copy()
    result[..., slot] = value
    return result


def _half_square(x: Array) -> Array:
    """Return 1/2 |x|^2 along the last axis."""
    return np.asarray(0.5 * np.vecdot(x, x))
