"""How far v moves, as the theorems need it: the covariance of its steps, constant or round by round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._arguments import finite_array
from soqo._spectrum import positive_semidefinite
from soqo.errors import ArgumentError
from soqo.processes import Process
from soqo.typing import Array

__all__ = ["StepMoments", "constant_covariance", "step_moments"]

LONGEST = 10**15
"""The longest horizon: up to here a number of rounds is exact, and its powers do not overflow."""


@dataclass(frozen=True, eq=False)
class StepMoments:
    """E[step step'] of every round: one matrix, one number per round (times the identity), or a matrix per round.

    Attributes
    ----------
    dim : int
    constant : Array of shape (d, d), or None
    variances : Array of shape (T,), or None
    matrices : Array of shape (T, d, d), or None
        Exactly one of the three is given.
    """

    dim: int
    constant: Array | None = None
    variances: Array | None = None
    matrices: Array | None = None

    def of_rounds(self, rounds: slice) -> StepMoments:
        """The moments of some rounds, counted from 0, as rounds of their own."""
        return StepMoments(
            self.dim,
            self.constant,
            None if self.variances is None else self.variances[rounds],
            None if self.matrices is None else self.matrices[rounds],
        )

    def between(self, left: Array, right: Array, rounds: slice) -> Array:
        """L'Sigma_t R in some rounds, for matrices L and R of shape (*batch, d, d): (rounds, *batch, d, d)."""
        across = left.swapaxes(-1, -2)
        if self.variances is not None:
            variances = self.variances[rounds].reshape(-1, *[1] * left.ndim)
            return np.asarray(variances * (across @ right))
        if self.matrices is not None:
            chosen = self.matrices[rounds]
            return across @ chosen.reshape(-1, *[1] * (left.ndim - 2), self.dim, self.dim) @ right
        assert self.constant is not None
        same = across @ self.constant @ right
        return np.broadcast_to(same, (rounds.stop - rounds.start, *same.shape))


def step_moments(covariance: Any, dim: int, horizon: int) -> StepMoments:
    """Whatever a caller may give as ``covariance``, checked.

    A number s^2 stands for s^2 I, a vector of T numbers for one s^2 a round, a matrix for the covariance of every
    round, T matrices for one each, and a process for its own covariance, if it is a martingale with one.
    """
    if horizon > LONGEST:
        raise ArgumentError(f"horizon must be at most {LONGEST:.0e}, got {horizon:.3g}")
    if isinstance(covariance, Process):
        covariance = covariance_of(covariance, dim)
    given = finite_array("covariance", covariance)
    if given.shape in ((), (horizon,)):
        if (given < 0.0).any():
            raise ArgumentError(f"covariance must not be negative, got {given.min():g}")
        if given.ndim == 0:
            return StepMoments(dim, constant=float(given) * np.eye(dim))
        return StepMoments(dim, variances=given)
    if given.shape == (dim, dim):
        return StepMoments(dim, constant=positive_semidefinite("covariance", given)[0])
    if given.shape == (horizon, dim, dim):
        return StepMoments(dim, matrices=positive_semidefinite("covariance", given)[0])
    raise ArgumentError(
        "covariance must be a number, a process, or an array of shape "
        f"{(horizon,)}, {(dim, dim)} or {(horizon, dim, dim)}, got shape {given.shape}"
    )


def covariance_of(process: Process, dim: int) -> Array:
    """The covariance of a process's steps, if the theorems apply to it."""
    name = type(process).__name__
    if not process.is_martingale:
        raise ArgumentError(
            f"covariance must come from a martingale, where E[v_t | the past] = v_(t-1), got {name}: "
            "without it LAI is not the optimum and none of the formulas holds"
        )
    covariance = process.covariance(dim)
    if covariance is None:
        raise ArgumentError(
            f"covariance must exist, got {name}, whose steps have no variance: expected regret is infinite"
        )
    return covariance


def constant_covariance(covariance: Any, dim: int) -> Array:
    """The paper's Sigma, one bound for the covariance of every step: a number, a matrix or a process."""
    if not isinstance(covariance, Process):
        shape = finite_array("covariance", covariance).shape
        if shape not in ((), (dim, dim)):
            raise ArgumentError(
                f"covariance must be a number, a process or an array of shape {(dim, dim)} here, got shape {shape}"
            )
    constant = step_moments(covariance, dim, horizon=0).constant
    assert constant is not None
    return constant
