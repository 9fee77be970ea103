"""How far v moves, as the theorems need it: the covariance of its steps, constant or round by round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo.arguments import Array, finite_array
from soqo.errors import ArgumentError
from soqo.processes import Process
from soqo.spectrum import positive_semidefinite

__all__ = ["StepMoments", "constant_covariance", "step_moments"]


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

    def diagonals(self, vectors: Array, rounds: slice) -> Array:
        """q'Sigma_t q for each column q of ``vectors``, (*batch, d, d), in some rounds: (rounds, *batch, d)."""
        if self.variances is not None:
            return per_round(self.variances[rounds], vectors[..., 0, :])
        return np.asarray(np.sum(vectors * (self._matrices(vectors, rounds) @ vectors), axis=-2))

    def within(self, vectors: Array, rounds: slice) -> Array:
        """V'Sigma_t V in some rounds, (rounds, *batch, d, d)."""
        if self.variances is not None:
            return per_round(self.variances[rounds], vectors) * np.eye(self.dim)
        return vectors.swapaxes(-1, -2) @ self._matrices(vectors, rounds) @ vectors

    def traces(self, rounds: slice) -> Array:
        """tr Sigma_t in some rounds."""
        return np.asarray(self.diagonals(np.eye(self.dim), rounds).sum(axis=-1))

    def _matrices(self, vectors: Array, rounds: slice) -> Array:
        """Sigma_t in some rounds, with axes for the batch of ``vectors`` between."""
        if self.matrices is None:
            assert self.constant is not None
            count = rounds.stop - rounds.start
            return np.broadcast_to(self.constant, (count, *vectors.shape))
        chosen = self.matrices[rounds]
        return chosen.reshape(len(chosen), *[1] * (vectors.ndim - 2), self.dim, self.dim)


def per_round(variances: Array, like: Array) -> Array:
    """Numbers of rounds, each for all entries of an array."""
    return np.broadcast_to(variances.reshape(-1, *[1] * like.ndim), (variances.size, *like.shape))


def step_moments(covariance: Any, dim: int, horizon: int) -> StepMoments:
    """Whatever a caller may give as ``covariance``, checked.

    A number s^2 stands for s^2 I, a vector of T numbers for one s^2 a round, a matrix for the covariance of every
    round, T matrices for one each, and a process for its own covariance, if it is a martingale with one.
    """
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
    moments = step_moments(covariance, dim, horizon=0)
    if moments.constant is None:
        raise ArgumentError(
            f"covariance must be a number, a process or an array of shape {(dim, dim)}, got one per round"
        )
    return moments.constant
