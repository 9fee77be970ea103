"""What the checks play on, and how they judge."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from soqo._arguments import integer
from soqo._problem import random_curvature
from soqo._spectrum import quadratic_form
from soqo.errors import CheckError
from soqo.policies._base import Policy, State
from soqo.typing import Array

__all__ = ["Scenario", "expect", "near", "run_checks"]

Subject = TypeVar("Subject")

STANDARD_ERRORS = 6.0
"""How far a Monte Carlo mean may lie from the declared one: a sound class fails once in 1e9 checks."""


@dataclass(frozen=True)
class Scenario:
    """What the checks play on: a random problem, a walk of v, and noise, all from one seed."""

    dim: int = 3
    only_batch: tuple[int, ...] | None = None
    seed: int = 0
    rounds: int = 24

    def __post_init__(self) -> None:
        integer("dim", self.dim, least=1)
        integer("rounds", self.rounds, least=6)

    def batches(self, *shapes: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
        """The batch shapes to try: the given ones, or the only one that the policy takes."""
        return shapes if self.only_batch is None else (self.only_batch,)

    def rng(self, *key: int) -> np.random.Generator:
        """A generator for one purpose."""
        return np.random.default_rng([self.seed, *key])

    def generators(self, batch: tuple[int, ...]) -> list[np.random.Generator]:
        """One generator per run, for the policy's own draws."""
        return [self.rng(1, run) for run in range(math.prod(batch))]

    def walk(self, batch: tuple[int, ...]) -> Array:
        """v_1..v_T for each run, time first, of a size at which learners learn something and stay stable."""
        runs = math.prod(batch)
        steps = np.stack([self.rng(2, run).standard_normal((self.rounds, self.dim)) for run in range(runs)])
        by_round = np.cumsum(steps, axis=1).swapaxes(0, 1)
        return np.asarray(by_round.reshape(self.rounds, *batch, self.dim))

    def reading(self, t: int, batch: tuple[int, ...], u: Array) -> Array:
        """A noisy hitting cost for each run."""
        A = random_curvature(self.dim, self.dim, 0.5, 2.0, rng=self.rng(3))
        shakes = [self.rng(4, run, t).uniform(-0.1, 0.1) for run in range(math.prod(batch))]
        return np.asarray(quadratic_form(A, u) + np.reshape(shakes, batch))

    def start(self, policy: Policy[Any], batch: tuple[int, ...]) -> State[Any]:
        """The policy before its first round."""
        x0 = np.zeros((*batch, self.dim))
        return policy.start(x0, self.rounds, self.generators(batch) if batch else self.rng(1, 0))

    def play(self, policy: Policy[Any], batch: tuple[int, ...], rounds: int | None = None) -> tuple[Array, State[Any]]:
        """Play some rounds; the actions, time first, and the state after them."""
        return self.go_on(policy, self.start(policy, batch), rounds or self.rounds)

    def go_on(self, policy: Policy[Any], state: State[Any], rounds: int) -> tuple[Array, State[Any]]:
        """Play further rounds from a state."""
        batch = state.batch_shape
        walk = self.walk(batch)
        actions = []
        for t in range(state.round, state.round + rounds):
            x, state = policy.act(state, walk[t])
            state = policy.observe(state, self.reading(t, batch, x - walk[t]))
            actions.append(x)
        return np.array(actions), state


def expect(holds: bool, check: str, message: str) -> None:
    """Raise a CheckError unless a property holds."""
    if not holds:
        raise CheckError(f"{check}: {message}")


def run_checks(checks: Sequence[Callable[[Subject, Scenario], None]], subject: Subject, bench: Scenario) -> None:
    """Run checks one after another; what a broken class raises by itself counts as a failed check too."""
    for check in checks:
        try:
            check(subject, bench)
        except CheckError:
            raise
        except Exception as error:
            name = check.__name__.removeprefix("check_").replace("_", " ")
            where = traceback.extract_tb(error.__traceback__)[-1]
            raise CheckError(
                f"{name}: {where.name} (line {where.lineno} of {Path(where.filename).name}) raised "
                f"{type(error).__name__}: {error}"
            ) from error


def near(samples: Array, expected: Array) -> bool:
    """Whether the mean over the first axis is the expected one, within a few standard errors."""
    error = samples.std(axis=0) / math.sqrt(samples.shape[0])
    distance = np.abs(samples.mean(axis=0) - expected)
    return bool((distance <= STANDARD_ERRORS * error + 1e-12 * np.abs(expected)).all())
