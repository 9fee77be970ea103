"""The scenario that the checks play, and the functions by which they judge."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from soqo._foundation.arguments import integer
from soqo._foundation.frozen_dataclasses import set_fields
from soqo._model.problem import random_curvature
from soqo._model.spectrum import quadratic_form
from soqo.errors import CheckError, SoqoError
from soqo.policies import Policy, State
from soqo.typing import Array

_Subject = TypeVar("_Subject")

_STANDARD_ERRORS = 6.0
"""The tolerance of a Monte Carlo mean: a correct class fails once in 1e9 checks."""


@dataclass(frozen=True)
class Scenario:
    """A random problem, a random walk of v, and noise, all from one seed.

    Parameters
    ----------
    dim : int
        The dimension d.
    only_batch : tuple of int, optional
        The only batch shape that the policy accepts; None for any.
    seed : int
        The seed of everything random.
    rounds : int
        The number of rounds.

    Examples
    --------
    >>> import soqo
    >>> actions, state = Scenario(dim=2, rounds=6).play(soqo.FTM(), batch=(3,))
    >>> actions.shape, state.round
    ((6, 3, 2), 6)
    """

    dim: int = 3
    only_batch: tuple[int, ...] | None = None
    seed: int = 0
    rounds: int = 24

    def __post_init__(self) -> None:
        set_fields(self, dim=integer("dim", self.dim, least=1), rounds=integer("rounds", self.rounds, least=6))

    def batches(self, *shapes: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
        """Return the batch shapes to try: the given ones, or the only one that the policy accepts.

        Parameters
        ----------
        *shapes : tuple of int
            Batch shapes.
        """
        return shapes if self.only_batch is None else (self.only_batch,)

    def rng(self, *key: int) -> np.random.Generator:
        """Return a generator for one purpose.

        Parameters
        ----------
        *key : int
            The purpose: different keys give independent generators.
        """
        return np.random.default_rng([self.seed, *key])

    def generators(self, batch: tuple[int, ...]) -> list[np.random.Generator]:
        """Return one generator per run, for the random numbers of the policy.

        Parameters
        ----------
        batch : tuple of int
            The batch shape.
        """
        return [self.rng(1, run) for run in range(math.prod(batch))]

    def walk(self, batch: tuple[int, ...]) -> Array:
        """Return v_1..v_T for each run, time first, with steps at which learners are stable.

        Parameters
        ----------
        batch : tuple of int
            The batch shape.
        """
        runs = math.prod(batch)
        steps = np.stack([self.rng(2, run).standard_normal((self.rounds, self.dim)) for run in range(runs)])
        by_round = np.cumsum(steps, axis=1).swapaxes(0, 1)
        return np.asarray(by_round.reshape(self.rounds, *batch, self.dim))

    def reading(self, t: int, batch: tuple[int, ...], u: Array) -> Array:
        """Return a noisy hitting cost for each run.

        Parameters
        ----------
        t : int
            The round, from 0.
        batch : tuple of int
            The batch shape.
        u : Array, shape (*batch, d)
            The displacement from the minimizer, x - v.
        """
        A = random_curvature(self.dim, self.dim, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=self.rng(3))
        noise = [self.rng(4, run, t).uniform(-0.1, 0.1) for run in range(math.prod(batch))]
        return np.asarray(quadratic_form(A, u) + np.reshape(noise, batch))

    def start(self, policy: Policy[Any], batch: tuple[int, ...]) -> State[Any]:
        """Return the state before the first round.

        Parameters
        ----------
        policy : Policy
            The policy.
        batch : tuple of int
            The batch shape.
        """
        x0 = np.zeros((*batch, self.dim))
        return policy.start(x0, self.rounds, self.generators(batch) if batch else self.rng(1, 0))

    def play(
        self, policy: Policy[Any], batch: tuple[int, ...], *, rounds: int | None = None
    ) -> tuple[Array, State[Any]]:
        """Play from the start; return the actions, time first, and the last state.

        Parameters
        ----------
        policy : Policy
            The policy.
        batch : tuple of int
            The batch shape.
        rounds : int, optional
            The number of rounds; all rounds of the scenario by default.

        Returns
        -------
        actions : Array, shape (rounds, *batch, d)
            The actions.
        state : State
            The state after the last round.
        """
        return self.play_on(policy, self.start(policy, batch), rounds or self.rounds)

    def play_on(self, policy: Policy[Any], state: State[Any], rounds: int) -> tuple[Array, State[Any]]:
        """Play more rounds from a state; return the actions, time first, and the last state.

        Parameters
        ----------
        policy : Policy
            The policy.
        state : State
            The state to continue from.
        rounds : int
            The number of rounds.

        Returns
        -------
        actions : Array, shape (rounds, *batch, d)
            The actions.
        state : State
            The state after the last round.
        """
        batch = state.batch_shape
        walk = self.walk(batch)
        actions = []
        for t in range(state.round, state.round + rounds):
            x, state = policy.act(state, walk[t])
            state = policy.observe(state, self.reading(t, batch, x - walk[t]))
            actions.append(x)
        return np.array(actions), state


def expect(holds: bool, message: str) -> None:
    """Raise a CheckError unless a property holds."""
    if not holds:
        raise CheckError(message)


def expect_finite(name: str, array: Array, shape: tuple[int, ...]) -> None:
    """Raise a CheckError unless an array is finite and has this shape."""
    holds = array.shape == shape and bool(np.isfinite(array).all())
    expect(holds, f"{name} must be finite and of shape {shape}, got {array.shape}")


def expect_error(kind: type[SoqoError], case: str, call: Callable[[], object], named: str = "") -> None:
    """Raise a CheckError unless a call raises an error of this kind that names the argument."""
    try:
        call()
    except kind as error:
        expect(named in str(error), f"the error must name {named}, got: {error}")
    else:
        raise CheckError(f"{case} must raise {kind.__name__}")


def run_checks(checks: Sequence[Callable[[_Subject, Scenario], None]], subject: _Subject, scenario: Scenario) -> None:
    """Run the checks in turn; errors get the name of the check, and any exception of the class is a failed check."""
    for check in checks:
        name = check.__name__.lstrip("_").removeprefix("check_").replace("_", " ")
        try:
            check(subject, scenario)
        except CheckError as error:
            raise CheckError(f"{name}: {error}") from error
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            raise CheckError(
                f"{name}: {where.name} (line {where.lineno} of {Path(where.filename).name}) raised "
                f"{type(error).__name__}: {error}"
            ) from error


def near(samples: Array, expected: Array) -> bool:
    """Return whether the mean over the first axis is within a few standard errors of the expected one."""
    error = samples.std(axis=0) / math.sqrt(samples.shape[0])
    distance = np.abs(samples.mean(axis=0) - expected)
    return bool((distance <= _STANDARD_ERRORS * error + 1e-12 * np.abs(expected)).all())
