"""The covariance of v's steps, constant or round by round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.arguments import finite_array
from soqo._model.spectrum import positive_semidefinite
from soqo.errors import ArgumentError
from soqo.processes import Process
from soqo.typing import Array, ArrayLike

Covariance = ArrayLike | Process
"""A covariance of v's steps, or the process that has it."""

_MAX_HORIZON = 10**15
"""Up to this horizon a number of rounds is exact in double precision, and its powers do not overflow."""


@dataclass(frozen=True, eq=False)
class StepMoments:
    """E[step step'] of every round.

    Attributes
    ----------
    moments : Array
        One matrix, shape (d, d); one variance per round, times the identity, shape (T,); or one matrix per round, shape
        (T, d, d).
    """

    moments: Array

    @property
    def constant(self) -> Array | None:
        """The matrix of all rounds; None if it differs between rounds."""
        return self.moments if self.moments.ndim == 2 else None

    def select(self, rounds: slice) -> StepMoments:
        """Return the moments of a slice of rounds, counted from 0."""
        return self if self.moments.ndim == 2 else StepMoments(self.moments[rounds])

    def transform(self, left: Array, right: Array, rounds: slice) -> Array:
        """Return L'Sigma_t R for a slice of rounds; L and R have shape (*batch, d, d), the result one axis more."""
        left_t = left.swapaxes(-1, -2)
        if self.moments.ndim == 2:
            constant = left_t @ self.moments @ right
            return np.broadcast_to(constant, (rounds.stop - rounds.start, *constant.shape))
        chosen = self.moments[rounds]
        if chosen.ndim == 1:
            return np.asarray(chosen.reshape(-1, *[1] * left.ndim) * (left_t @ right))
        return left_t @ chosen.reshape(-1, *[1] * (left.ndim - 2), *chosen.shape[1:]) @ right


def step_moments(covariance: Covariance, dim: int, horizon: int) -> StepMoments:
    """Validate a covariance and return it as moments.

    A number s^2 means s^2 I, a vector of T numbers one s^2 per round, a matrix the covariance of every round, T
    matrices one per round, and a process its own covariance, if it is a martingale and has one.
    """
    if horizon > _MAX_HORIZON:
        raise ArgumentError(f"horizon must be at most {_MAX_HORIZON:.0e}, got {horizon:.3g}")
    if isinstance(covariance, Process):
        covariance = _process_covariance(covariance, dim)
    given = finite_array("covariance", covariance)
    if given.shape in ((), (horizon,)):
        if (given < 0.0).any():
            raise ArgumentError(f"covariance must not be negative, got {given.min():g}")
        return StepMoments(given if given.ndim else float(given) * np.eye(dim))
    if given.shape in ((dim, dim), (horizon, dim, dim)):
        return StepMoments(positive_semidefinite("covariance", given)[0])
    raise ArgumentError(
        "covariance must be a number, a process, or an array of shape "
        f"{(horizon,)}, {(dim, dim)} or {(horizon, dim, dim)}, got shape {given.shape}"
    )


def constant_covariance(covariance: Covariance, dim: int) -> Array:
    """Return the paper's Sigma, a bound on the covariance of every step, from a number, a matrix or a process."""
    if not isinstance(covariance, Process):
        shape = finite_array("covariance", covariance).shape
        if shape not in ((), (dim, dim)):
            raise ArgumentError(
                f"covariance must be a number, a process or an array of shape {(dim, dim)} here, got shape {shape}"
            )
    return step_moments(covariance, dim, horizon=0).moments


def _process_covariance(process: Process, dim: int) -> Array:
    """Return the covariance of a process's steps, if the theorems apply to it."""
    name = type(process).__name__
    if not process.is_martingale:
        raise ArgumentError(
            f"covariance must come from a martingale, where E[v_t | the past] = v_(t-1), got {name}: "
            "for other processes LAI is not optimal and the formulas do not hold"
        )
    covariance = process.covariance(dim)
    if covariance is None:
        raise ArgumentError(
            f"covariance must exist, got {name}, whose steps have no variance: expected regret is infinite"
        )
    return covariance
