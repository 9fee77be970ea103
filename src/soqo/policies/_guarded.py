r"""A safety net around any policy: it never pays much more than following v, or another expert, would have cost.

The follower is a copy of the plant that the expert steers: its path y_t is simulated, with the limits, the rates and
the inactive actuators of the plant. Its switching cost F_t is known without trying. In each round the guard lets the
policy play x, if

    M + R(x - y)  <=  r F + B,    R(g) = max over s in [0, S] of 1/2 |g|^2 + |g| s - 1/2 (r - 1) s^2,

or else a part of the way from y to x. M is the switching cost that was paid, plus an upper limit of what the hitting
cost of all rounds, including this one, exceeds that of the follower by. B is a budget, the largest value so far of
15 F_t / (t + 15): fifteen rounds of following v on average. R is a reserve for going back to y, and S the step of the
follower of which B is fifteen times the cost.

**Guarantee.** While the upper limit holds, the total cost after every round is

    at most  r (cost of the follower) + B + the sum of |g_{t-1}| (|y_t - y_{t-1}| - S)_+ over the rounds of going back.

**Proof.** Let E_t = M_t + R(x_t - y_t) - r F_t - B_t; we show that E_t <= 0, but for the last sum. If the policy plays,
or a part of its way, this was checked before. If the guard plays y_t, the round costs 1/2 |y_t - y_{t-1} - g|^2, where
g = x_{t-1} - y_{t-1}, and has the hitting cost of the follower. With s = |y_t - y_{t-1}| this is at most 1/2 s^2 + |g|
s + 1/2 |g|^2 <= R(g) + 1/2 r s^2, if s <= S: the first part was in E_{t-1}, the second is what r F grows by. For a
larger s, it is more by at most |g| (s - S). An actuator that is not active keeps its part g'' of g and pays nothing;
the rest g' goes back, and the bound is larger by at most S (|g'| + |g''| - |g|) and, if W is not diagonal, by their
product. The hitting cost of the follower is on both sides. (The bound takes each step for one away from x. If the steps
of v have mean zero given the past, the products of g and a step cancel in the mean, and so does the last sum.)

**The upper limit.** The readings are regressed on the squares of u = x - v (`soqo.policies._evidence`), whatever the
policy believes. The limit is the estimate plus DEVIATIONS standard deviations. It is meant for readings of the form 1/2
u'Au + load + noise, where the changes of the load, and the noise, have mean zero given the past: neither the policy nor
v predicts them. Two deviations hold in most rounds, not in all of them at once: no probability is proved for that,
since errors are clipped and the variance is estimated. The tests attack it. The load may be of any size, and may walk
or swing, as long as it does not follow the squares of u. Spikes are clipped. Where the readings cannot tell the load
from the hitting cost, for instance because the policy keeps u, there are none, or the meter repeats itself, the limit
grows with every round until the guard plays y. There the hitting cost is that of the follower, and this is what tells
them apart. So the guard tries y when it needs to know, and not otherwise.

What does not hold: a meter that shows less than the cost (behind a limit that is not exact, or with the wrong sign)
deceives the guard as it deceives the policy. With ``rate``, going back may take several rounds, whose hitting cost is
not in the reserve. A spike among the first few readings, before the size of errors is known, makes the limit too wide
for hundreds of rounds: the guarantee holds, but the guard follows v meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from soqo._foundation.arguments import number
from soqo._foundation.frozen_dataclasses import Value, evolve, set_fields
from soqo._model.problem import Problem
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.policies._base import Policy, State
from soqo.policies._evidence import WINDOW, Evidence, features
from soqo.policies._ftm import FTM
from soqo.policies._runs import join_rows, join_states, shift_state, take_rows, take_state
from soqo.policies.glide import MeterFaults
from soqo.typing import Array, BoolArray, IntArray, Rng

_M = TypeVar("_M")

BUDGET = 15.0
"""The budget for learning, in rounds of following v."""

DEVIATIONS = 2.0
"""The upper limit of the hitting cost is so many deviations above its estimate."""

SHARES = (1.0, 0.75, 0.5, 0.25, 0.1)
"""The parts of the way from the follower to the policy's action that the guard tries, the first that is safe."""

RECENT_ROUNDS = 20
"""After an intervention, the policy's own explanation is not given for this number of rounds."""


def _without_options(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a guard of version 2: what is left of its options."""
    return {"policy": fields["policy"], "ratio": fields["ratio"], "expert": None}


def _from_earlier(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a memory of version 2: the readings so far are in the cost, and no others are known."""
    inner = fields["inner"]
    batch, d = inner.x.shape[:-1], inner.x.shape[-1]
    follower = evolve(inner, x=inner.v, memory=None, pending=False, open_rounds=(), awaiting=None)
    fresh = GuardMemory.start(inner, follower, batch, d)
    return {
        **fresh.__dict__,
        "paid": np.reshape(fields["measured"], -1),
        "followed": np.reshape(fields["followed"], -1),
        "budget": np.reshape(fields["max_step"], -1),
        "guarding": fields["guarding"],
        "interventions": fields["interventions"],
        "last_intervention": fields["last_intervention"],
    }


@register("Guarded.memory", version=3, migrations={1: dict, 2: _from_earlier})
@dataclass(frozen=True)
class GuardMemory(Value, Generic[_M]):
    """The memory of Guarded. But for the states and the last three, arrays have the shape (runs, ...).

    Attributes
    ----------
    inner, follower : State
        The state of the policy inside, and that of the expert, whose position is y.
    evidence : Evidence
        What the readings say of the hitting cost.
    faults : MeterFaults
        Repeated readings.
    paid, followed : Array, shape (runs,)
        The switching cost that was paid before the last round, and that of the follower with the last round.
    budget : Array, shape (runs,)
        The budget B.
    follower_features : Array, shape (runs, m)
        The features of the follower in the last round.
    excess : Array, shape (runs, m)
        The sum of the features of recent rounds less those of the follower, before the last round.
    settled, settled_width : Array, shape (runs,)
        The hitting cost of the rounds that are no longer recent, and the width of its upper limit.
    guarding : BoolArray, shape (*batch,)
        Whether the guard overruled the policy in the last round.
    interventions, last_intervention : Array, shape (*batch,)
        The number of such rounds, and the last of them (0 for none).
    """

    inner: State[_M]
    follower: State[Any]
    evidence: Evidence
    faults: MeterFaults
    paid: Array
    followed: Array
    budget: Array
    follower_features: Array
    excess: Array
    settled: Array
    settled_width: Array
    guarding: BoolArray
    interventions: Array
    last_intervention: Array

    @classmethod
    def start(cls, inner: State[_M], follower: State[Any], batch: tuple[int, ...], d: int) -> GuardMemory[_M]:
        """Return the memory before the first round."""
        runs = math.prod(batch)
        none, zero, never = np.zeros((runs, features(np.ones((1, d)), None).size)), np.zeros(runs), np.zeros(batch)
        return cls(
            inner,
            follower,
            Evidence.start(runs, d),
            MeterFaults.start(runs, 1),
            zero,
            zero,
            zero,
            none,
            none,
            zero,
            zero,
            never.astype(np.bool_),
            never,
            never,
        )


@register("Guarded", version=3, migrations={1: dict, 2: _without_options})
@dataclass(frozen=True)
class Guarded(Policy[GuardMemory[_M]], Generic[_M]):
    """A policy that is replaced by following v before it costs much more than that.

    As long as an upper limit of the hitting cost holds, which is found from the readings, the cost after every round is
    at most ``ratio`` times what following v would have cost, plus about fifteen rounds of following v. Limits, inactive
    actuators, late and missing readings, spikes and a base load that varies are allowed for; the module
    ``soqo.policies._guarded`` has the assumptions, the proof, and what does not hold.

    Parameters
    ----------
    policy : Policy
        The policy, in coordinates where the switching cost is unweighted.
    ratio : float
        The factor, above 1.
    expert : Policy, optional
        What is followed in place of v (:class:`soqo.FTM`): any policy, whose path is simulated.

    See Also
    --------
    soqo.FTM : The policy that follows v.

    Examples
    --------
    >>> from soqo import LAI
    >>> policy = Guarded(LAI([[0.0]]))   # believes that hitting costs nothing, and stays
    >>> state = policy.start(np.zeros(1))
    >>> for t in range(40):
    ...     x, state = policy.act(state, [t % 3])
    ...     state = policy.observe(state, 0.5 * 40.0 * (x[0] - t % 3) ** 2)
    >>> bool(policy.diagnostics(state)["guarding"]), bool(policy.diagnostics(state)["interventions"] > 20)
    (True, True)
    """

    policy: Policy[_M]
    ratio: float = 1.02
    _: KW_ONLY
    expert: Policy[Any] | None = None

    def __post_init__(self) -> None:
        for name, policy in (("policy", self.policy), ("expert", self._expert)):
            if not isinstance(policy, Policy):
                raise ArgumentError(f"{name} must be a Policy, got {type(policy).__name__}")
            if policy.in_plant_coordinates:
                raise ArgumentError(
                    f"{name} must be for an unweighted switching cost, got one in plant coordinates: put Guarded "
                    "inside Weighted and Limited"
                )
        set_fields(self, ratio=number("ratio", self.ratio, above=1.0))

    @property
    def _expert(self) -> Policy[Any]:
        return FTM() if self.expert is None else self.expert

    @property
    def exact_feedback(self) -> bool:
        return self.policy.exact_feedback

    def for_simulation(self, problem: Problem) -> Policy[Any]:
        inner = self.policy.for_simulation(problem)
        expert = None if self.expert is None else self.expert.for_simulation(problem)
        return self if inner is self.policy and expert is self.expert else replace(self, policy=inner, expert=expert)

    @property
    def state_grows(self) -> bool:
        return self.policy.state_grows or self._expert.state_grows

    @property
    def mixes_rounds(self) -> bool:
        return self.policy.mixes_rounds and self._expert.mixes_rounds

    # ---- a round ---------------------------------------------------------------------------------------------------

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> GuardMemory[_M]:
        inner, follower = self.policy.start(x0, horizon, rng), self._expert.start(x0, horizon, rng)
        return GuardMemory.start(inner, follower, x0.shape[:-1], x0.shape[-1])

    def decide(self, state: State[GuardMemory[_M]], v: Array) -> tuple[Array, GuardMemory[_M]]:
        memory, reach = self._closed(state), state.reach
        plain = state.context is None and state.factor is None
        known = {} if plain else {"context": state.context, "factor": state.factor}
        before = memory.follower.x
        with np.errstate(over="ignore", invalid="ignore"):  # costs that overflow are not below the limit
            proposal, inner = self.policy.act_unchecked(evolve(memory.inner, x=state.x), v, state.forecast, **known)
            # An inactive actuator of the follower stays at its own place.
            target = v if reach is None else reach(before, v)[1]
            y, follower = self._expert.act_unchecked(memory.follower, target, state.forecast, **known)
            back = y
            if reach is not None:
                proposal, y, back = reach(state.x, proposal)[0], reach(before, y)[0], reach(state.x, y)[0]
            step = _half_square(y - before)
            followed = memory.followed + step
            own = features(_flat(y - target), state.factor)
            budget = np.maximum(memory.budget, BUDGET * followed / (np.reshape(state.own_round, -1) + 1.0 + BUDGET))
            limit = self.ratio * followed + budget
            x, undecided = back, np.ones(len(step), dtype=np.bool_)
            for share in SHARES:
                tried = back + share * (proposal - back) if share < 1.0 else proposal
                rows = memory.excess + features(_flat(tried - v), state.factor) - own
                cost = memory.paid + _half_square(tried - state.x) + self._hitting_limit(memory, rows)
                safe = undecided & (cost + self._reserve(_flat(tried - y), budget) <= limit)
                x = np.where(safe.reshape(x.shape[:-1])[..., None], tried, x)
                undecided = undecided & ~safe
                if not undecided.any():
                    break
        guarding = np.asarray((x != proposal).any(axis=-1))
        memory = evolve(
            memory,
            inner=evolve(inner, x=x, pending=False),
            follower=evolve(follower, x=y, pending=False),
            followed=followed,
            budget=budget,
            follower_features=own,
            guarding=guarding,
            interventions=memory.interventions + guarding,
            last_intervention=np.where(guarding, float(state.round + 1), memory.last_intervention),
        )
        return x, memory

    def _closed(self, state: State[GuardMemory[_M]]) -> GuardMemory[_M]:
        """Return the memory in which the last round counts as it was: the plant may not have got where it was sent."""
        memory = state.memory
        if not state.round:
            return memory
        inner, evidence = memory.inner, memory.evidence
        x_prev = state.x if inner.x_prev is None else inner.x_prev
        with np.errstate(over="ignore", invalid="ignore"):
            rows = memory.excess + features(_flat(state.x - inner.v), inner.factor) - memory.follower_features
            cost, deviation = evidence.cost(rows)
            return evolve(
                memory,
                paid=memory.paid + _half_square(state.x - x_prev),
                excess=rows * (1.0 - 1.0 / WINDOW),
                settled=memory.settled + cost / WINDOW,
                settled_width=memory.settled_width + DEVIATIONS * deviation / WINDOW,
            )

    @staticmethod
    def _hitting_limit(memory: GuardMemory[_M], rows: Array) -> Array:
        """Return the upper limit of the hitting cost that exceeds that of the follower."""
        cost, deviation = memory.evidence.cost(rows)
        return np.maximum(memory.settled + cost, 0.0) + memory.settled_width + DEVIATIONS * deviation

    def _reserve(self, gap: Array, budget: Array) -> Array:
        """Return the reserve for going back to the follower."""
        distance, e = np.sqrt(np.vecdot(gap, gap)), self.ratio - 1.0
        step = np.minimum(np.sqrt(2.0 * budget / BUDGET), distance / e)
        return np.asarray(0.5 * distance * distance + distance * step - 0.5 * e * step * step)

    def learn(self, state: State[GuardMemory[_M]], y: Array) -> GuardMemory[_M]:
        memory, d = state.memory, state.x.shape[-1]
        u, reading = _flat(state.u), y.reshape(-1)
        shown = reading if state.unit is None else reading * state.unit.reshape(-1)
        # Noise repeats no number: a meter that does so is stuck, wherever the plant is.
        repeated, faults = memory.faults.update(np.full((len(u), 1), float(state.round)), shown)
        at_limit = faults.is_saturated() & (shown >= faults.max_reading)
        doubtful = repeated | (at_limit & ~memory.faults.is_saturated())  # until it is known, a limit looks like a cost
        reading = np.where(repeated | at_limit, np.nan, np.clip(reading, -1e60, 1e60))
        with np.errstate(over="ignore", invalid="ignore"):
            evidence = memory.evidence.doubted(doubtful, d).learn(features(u, state.factor), reading, d)
        return evolve(
            memory,
            inner=_told(self.policy, memory.inner, state, y),
            follower=evolve(_told(self._expert, memory.follower, state, y), x=memory.follower.x),
            evidence=evidence,
            faults=faults,
        )

    # ---- batches that change ---------------------------------------------------------------------------------------

    def _states(
        self, memories: Sequence[GuardMemory[_M]], change: Callable[[Policy[Any], list[State[Any]]], State[Any]]
    ) -> dict[str, Any]:
        """Return the two states after a change of those of some memories."""
        return {
            "inner": change(self.policy, [memory.inner for memory in memories]),
            "follower": change(self._expert, [memory.follower for memory in memories]),
        }

    def make_room(self, memory: GuardMemory[_M], max_delay: int) -> GuardMemory[_M]:
        def room(policy: Policy[Any], states: list[State[Any]]) -> State[Any]:
            return evolve(states[0], memory=policy.make_room(states[0].memory, max_delay))

        return evolve(memory, **self._states([memory], room))

    def take_runs(self, memory: GuardMemory[_M], index: IntArray) -> GuardMemory[_M]:
        rest = take_rows(evolve(memory, inner=None, follower=None), index)
        return evolve(rest, **self._states([memory], lambda policy, states: take_state(policy, states[0], index)))

    def join_runs(self, memories: Sequence[GuardMemory[_M]]) -> GuardMemory[_M]:
        rest = join_rows([evolve(memory, inner=None, follower=None) for memory in memories])
        return evolve(rest, **self._states(memories, join_states))

    def shift_rounds(self, memory: GuardMemory[_M], by: int) -> GuardMemory[_M]:
        last = memory.last_intervention
        states = self._states([memory], lambda policy, states: shift_state(policy, states[0], by))
        return evolve(memory, last_intervention=np.where(last > 0.0, last + by, last), **states)

    # ---- reports ---------------------------------------------------------------------------------------------------

    def diverged(self, state: State[GuardMemory[_M]]) -> BoolArray:
        return state.diverged | self.policy.diverged(state.memory.inner)

    def diagnostics(self, state: State[GuardMemory[_M]]) -> dict[str, Any]:
        """Return the diagnostics of the policy, and what the guard did.

        ``guarding`` says whether the guard overruled the policy in the last round, ``interventions`` how often it did;
        ``followed`` is the switching cost of following v, and ``measured`` what the switching cost that was paid and
        the hitting cost exceed the hitting cost of following v by, as far as readings have shown it.

        Parameters
        ----------
        state : State
            The state.
        """
        memory = state.memory
        return {
            **self.policy.diagnostics(memory.inner),
            "diverged": self.diverged(state),
            "guarding": memory.guarding,
            "interventions": memory.interventions,
            "measured": self._measured(state).reshape(state.batch_shape),
            "followed": memory.followed.reshape(state.batch_shape),
        }

    def model(self, state: State[GuardMemory[_M]]) -> dict[str, Any]:
        return self.policy.model(state.memory.inner)

    def _measured(self, state: State[GuardMemory[_M]]) -> Array:
        closed = self._closed(state)
        return np.asarray(closed.paid + closed.settled + closed.evidence.cost(closed.excess)[0])

    def health(self, state: State[GuardMemory[_M]]) -> dict[str, Any]:
        return self.policy.health(state.memory.inner)

    def uncertainty_of(self, state: State[GuardMemory[_M]], directions: Array) -> Array | None:
        return self.policy.uncertainty_of(state.memory.inner, directions)

    def counts(self, state: State[GuardMemory[_M]]) -> dict[str, Array]:
        memory = state.memory
        return {**self.policy.counts(memory.inner), "interventions": memory.interventions}

    def explain(self, state: State[GuardMemory[_M]]) -> str:
        memory = state.memory
        count, last = int(memory.interventions.item()), int(memory.last_intervention.item())
        if not count or state.round - last > RECENT_ROUNDS:
            return self.policy.explain(memory.inner)
        name, expert = type(self.policy).__name__, "v" if self.expert is None else type(self.expert).__name__
        cost = (
            f"measured cost {self._measured(state).item():.4g}, following {expert} would have cost "
            f"{memory.followed.item():.4g}"
        )
        if memory.guarding.item():
            return f"The guard follows {expert} in place of {name}, which might cost more: {cost}."
        return (
            f"{name} plays again after the guard had to follow {expert}, last in round {last} (rounds so far: {count}; "
            f"{cost})."
        )


def _told(policy: Policy[Any], inner: State[Any], state: State[Any], y: Array) -> State[Any]:
    """Return the state of a policy after a reading of a round, in which the plant was where the guard's state says."""
    names = ("factor", "felt", "unit", "covariates")
    known: dict[str, Any] = {name: getattr(state, name) for name in names}
    if state.round == inner.round:
        after = policy.observe_unchecked(evolve(inner, x=state.x, **known), y)
        return evolve(after, factor=inner.factor, felt=None, unit=None, covariates=None)
    view = evolve(inner, x=state.x, v=state.v, round=state.round, context=state.context, x_prev=state.x_prev, **known)
    return evolve(inner, memory=policy.learn(view, y))


def _flat(x: Array) -> Array:
    """Return vectors of any batch as rows."""
    return x.reshape(-1, x.shape[-1])


def _half_square(x: Array) -> Array:
    """Return 1/2 |x|^2 for the vectors of any batch, shape (runs,)."""
    return np.asarray(0.5 * np.vecdot(x, x)).reshape(-1)
