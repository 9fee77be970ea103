"""Drive a plant with several policies: the same weather, load and noise for all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from soqo._foundation.arguments import instance, integer
from soqo._foundation.frozen_dataclasses import Value
from soqo._foundation.random_streams import stream
from soqo.errors import ArgumentError
from soqo.plants._plant import Conditions, Plant
from soqo.plants._result import Drive
from soqo.policies import Periodic, Policy, State, match_switching_weight
from soqo.typing import Array


@dataclass(frozen=True)
class Contender(Value):
    """A policy, and what it is told beside v.

    Parameters
    ----------
    policy : Policy
        The policy, in coordinates where the switching cost is unweighted.
    factor : bool
        Whether it is told the factor of the hitting cost.
    context : bool
        Whether it is told the context.

    Examples
    --------
    >>> from soqo import GLIDE
    >>> Contender(GLIDE(), factor=False)
    Contender(policy=GLIDE(), factor=False)
    """

    policy: Policy[Any]
    _: KW_ONLY
    factor: bool = True
    context: bool = False

    def __post_init__(self) -> None:
        instance("policy", self.policy, Policy)


def drive(
    plant: Plant,
    policies: Mapping[str, Policy[Any] | Contender],
    *,
    rounds: int = 1000,
    seeds: int | Sequence[int] = 2,
    progress: Callable[[int, int], None] | None = None,
) -> Drive:
    """Steer a plant with each policy, under the same conditions.

    Parameters
    ----------
    plant : Plant
        The plant.
    policies : mapping of str to Policy or Contender
        The policies by name.
    rounds : int
        The number of rounds.
    seeds : int or sequence of int
        The number of runs, whose seeds are then 0, 1, ..., or their seeds.
    progress : callable, optional
        Called as ``progress(done, rounds)`` from time to time.

    Returns
    -------
    Drive
        Costs in kW, positions and readings.

    Examples
    --------
    >>> from soqo import FTM, GLIDE
    >>> from soqo.plants import WindFarm, drive
    >>> result = drive(WindFarm(), {"FTM": FTM(), "GLIDE": GLIDE()}, rounds=60, seeds=1)
    >>> bool(result["GLIDE"].total < result["FTM"].total)
    True
    """
    instance("plant", plant, Plant)
    integer("rounds", rounds, least=1)
    chosen = list(range(integer("seeds", seeds, least=1))) if isinstance(seeds, int) else [*seeds]
    contenders = {name: one if isinstance(one, Contender) else Contender(one) for name, one in policies.items()}
    if not contenders:
        raise ArgumentError("policies must have at least one entry, got none")
    conditions = plant.draw(rounds, chosen)
    players = [_Player(one, plant, conditions, rounds, chosen) for one in contenders.values()]
    record = _Record.make(len(players), rounds, len(chosen), plant.dim)
    x = felt = np.repeat(conditions.best[:1], len(players), axis=0)  # every run begins at its first v
    keep = np.exp(-1.0 / plant.lag) if plant.lag else 0.0
    for t in range(rounds):
        now = conditions[t]
        asked = np.stack([player.act(now) for player in players])
        moved = plant.move(now, x, asked)
        felt = moved + keep * (felt - moved)
        lost = plant.lost(now, felt)
        # Actuators that are out of order do not count, wherever they are felt.
        told = felt if now.active is None else np.where(now.active, felt, moved)
        record.store(t, moved, told, lost, plant.switching_cost(x, moved), plant.violations(now, felt))
        record.readings[:, t] = plant.read(now, lost)
        for k, player in enumerate(players):
            player.observe(t, record.readings[k], moved[k], record.felt[k])
        x = moved
        if progress is not None and (t % 20 == 19 or t == rounds - 1):
            progress(t + 1, rounds)
    return Drive(
        plant=plant,
        names=tuple(contenders),
        seeds=tuple(chosen),
        conditions=conditions,
        positions=record.positions,
        lost=record.lost,
        wear=record.wear,
        violations=record.violations,
        readings=record.readings,
        seconds=np.array([player.seconds for player in players]) / (rounds * len(chosen)),
        diverged=np.stack([player.diverged() for player in players]),
        explanations=tuple(player.explain() for player in players),
        estimates=tuple(player.estimate() for player in players),
    )


@dataclass
class _Record:
    """What is recorded of a drive; arrays have the shape (policies, rounds, runs)."""

    positions: Array
    felt: Array
    lost: Array
    wear: Array
    violations: Array
    readings: Array

    @classmethod
    def make(cls, policies: int, rounds: int, runs: int, dim: int) -> _Record:
        shape = (policies, rounds, runs)
        return cls(np.empty((*shape, dim)), np.empty((*shape, dim)), *(np.empty(shape) for _ in range(4)))

    def store(self, t: int, x: Array, felt: Array, lost: Array, wear: Array, violations: Array) -> None:
        self.positions[:, t], self.felt[:, t] = x, felt
        self.lost[:, t], self.wear[:, t], self.violations[:, t] = lost, wear, violations


class _Player:
    """A policy in all runs, which hears what it may hear."""

    def __init__(
        self, contender: Contender, plant: Plant, conditions: Conditions, rounds: int, seeds: Sequence[int]
    ) -> None:
        self.contender, self.plant, self.conditions = contender, plant, conditions
        self.policy = match_switching_weight(contender.policy, plant.switching_weight)
        if plant.period is not None:
            self.policy = Periodic(self.policy, plant.period)
        generators = [stream(seed, 0, "policy") for seed in seeds]
        self.state: State[Any] = self.policy.start(conditions.best[0], rounds, generators, max_delay=plant.max_delay)
        self.seconds = 0.0

    def act(self, now: Conditions) -> Array:
        """Return what the policy asks for."""
        began = time.process_time()
        x, self.state = self.policy.act(
            self.state,
            now.told,
            factor=now.factor if self.contender.factor else None,
            context=now.context if self.contender.context else None,
            active=now.active,
        )
        self.seconds += time.process_time() - began
        return x

    def observe(self, t: int, readings: Array, moved: Array, felt: Array) -> None:
        """Tell the policy where the plant went, and the readings that arrive now.

        Parameters
        ----------
        t : int
            The round, counted from 0.
        readings : Array, shape (rounds, runs)
            The readings of the rounds so far.
        moved : Array, shape (runs, d)
            The position of the actuators.
        felt : Array, shape (rounds, runs, d)
            Where each reading was felt.
        """
        began = time.process_time()
        delay = self.conditions.delay
        for k in range(max(0, t - self.plant.max_delay), t + 1):
            arrived = readings[k] if delay is None else np.where(delay[k] == t - k, readings[k], np.nan)
            told: dict[str, Any] = {"at": felt[k]} if self.plant.lag else {}
            if self.conditions.unit is not None:
                told["unit"] = self.conditions.unit[k]
            if k == t:
                self.state = self.policy.observe(self.state, arrived, applied=moved, **told)
            elif not np.isnan(arrived).all():
                self.state = self.policy.observe(self.state, arrived, round=k + 1, **told)
        self.seconds += time.process_time() - began

    def diverged(self) -> Any:
        return self.policy.diverged(self.state)

    def explain(self) -> str:
        """Return what the policy says about itself in the first run."""
        return self.policy.explain(self.policy.take(self.state, [0]))

    def estimate(self) -> Array | None:
        """Return the estimate of A in the first run."""
        found = self.policy.diagnostics(self.state).get("estimate")
        return None if found is None else np.asarray(found[0])
