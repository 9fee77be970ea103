"""A curvature that changes in mid-run, at once or by a rotation over many rounds, and the best player who knows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from soqo._arguments import integer
from soqo._problem import Problem, RandomProblem
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.typing import Array, Rng

__all__ = ["Change", "Segment", "known_contractions", "known_path"]

Segment = tuple[int, int, Problem]
"""Rounds first..last-1, counted from zero, in which A is that of the problem."""


@register("Change")
@dataclass(frozen=True, eq=False)
class Change:
    """A new A from a round on.

    Parameters
    ----------
    round : int
        The first round (counted from one) in which A is different from before.
    problem : Problem, RandomProblem or array_like of shape (d, d), optional
        The new A, or how to draw one for each run; None draws from the environment's own :class:`soqo.RandomProblem`.
    duration : int
        The number of rounds that the change takes. Above 1, the eigenvectors turn at a constant speed along the
        shortest rotation, and the eigenvalues go along straight lines.

    Examples
    --------
    >>> change = Change(round=3, problem=[[4.0]], duration=2)
    >>> [(first, float(problem.A[0, 0])) for first, problem in change.problems(Problem([[2.0]]))]
    [(2, 3.0), (3, 4.0)]
    """

    round: int
    problem: Any = None
    duration: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "round", integer("round", self.round, least=2))
        object.__setattr__(self, "duration", integer("duration", self.duration, least=1))
        if self.problem is not None and not isinstance(self.problem, Problem | RandomProblem):
            object.__setattr__(self, "problem", Problem(self.problem))

    def problems(
        self,
        before: Problem,
        family: RandomProblem | None = None,
        rng: Rng | None = None,
    ) -> list[tuple[int, Problem]]:
        """The rounds (from zero) in which A changes, and the problems from there on.

        Parameters
        ----------
        before : Problem
            What it was until then.
        family : RandomProblem, optional
            Where a new A comes from if the change names none.
        rng
            A generator, or one per run, for a new A that is drawn.
        """
        target = self.problem if self.problem is not None else family
        if isinstance(target, RandomProblem):
            if rng is None:
                raise ArgumentError("rng must be given to draw a new A, got None")
            target = target.draw(rng)
        if not isinstance(target, Problem):
            raise ArgumentError(
                "problem must be given where the environment has no RandomProblem to draw from, got None"
            )
        if target.dim != before.dim:
            raise ArgumentError(f"problem must have dimension {before.dim}, got {target.dim}")
        first = self.round - 1
        shares = np.arange(1, self.duration) / self.duration
        between = [Problem(A, before.switching_weight) for A in turned(before, target, shares)]
        arrived = [*between, Problem(target.A, before.switching_weight)]
        return [(first + k, problem) for k, problem in enumerate(arrived)]


def turned(before: Problem, after: Problem, shares: Array) -> list[Array]:
    """The curvatures on the way from one problem to another."""
    if not shares.size:
        return []
    batch = np.broadcast_shapes(before.batch_shape, after.batch_shape)
    old = np.broadcast_to(before.spectrum.vectors, (*batch, before.dim, before.dim))
    new = np.broadcast_to(after.spectrum.vectors, old.shape)
    # An eigenvector may as well point the other way: choose signs by which they turn least, and make up a rotation.
    along = (new * old).sum(axis=-2)
    new = new * np.where(along < 0.0, -1.0, 1.0)[..., None, :]
    mirrored = np.linalg.det(new @ old.swapaxes(-1, -2)) < 0.0
    least = np.arange(before.dim) == np.abs(along).argmin(axis=-1)[..., None]
    new = new * np.where(mirrored[..., None] & least, -1.0, 1.0)[..., None, :]
    rotation = new @ old.swapaxes(-1, -2)
    logarithm = np.empty(rotation.shape)
    for run in np.ndindex(*batch):
        logarithm[run] = logarithm_of(rotation[run])
    angles, planes = np.linalg.eigh(-1j * logarithm)
    curvatures = []
    for share in shares:
        part = np.exp(1j * share * angles)
        turn = np.real((planes * part[..., None, :]) @ planes.conj().swapaxes(-1, -2))
        vectors = turn @ old
        values = (1.0 - share) * before.spectrum.values + share * after.spectrum.values
        A = (vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2)
        curvatures.append(0.5 * (A + A.swapaxes(-1, -2)))
    return curvatures


def logarithm_of(rotation: Array) -> Array:
    """A skew-symmetric matrix whose exponential is the rotation, with no angle above a half turn."""
    T, planes = scipy.linalg.schur(rotation, output="real")
    angles, half, i = np.zeros_like(rotation), None, 0
    while i < len(T):
        if i + 1 < len(T) and T[i + 1, i] != 0.0:
            angles[i + 1, i] = np.arctan2(T[i + 1, i] - T[i, i + 1], T[i, i] + T[i + 1, i + 1])
            i += 1
        elif T[i, i] < 0.0:
            # Two directions that are reversed are a half turn in their plane.
            if half is not None:
                angles[i, half] = np.pi
            half = i if half is None else None
        i += 1
    return np.asarray(planes @ (angles - angles.T) @ planes.T)


def known_contractions(segments: Sequence[Segment]) -> tuple[Array, Array]:
    """The gains C_t of the best player who knows all that A will be, and their inverses, shape (T, runs or 1, d, d).

    The recursion C_t^{-1} = 2I + A_t - C_{t+1} as in the paper, in plain coordinates; the C_t need not commute now.
    """
    horizon, problem = segments[-1][1], segments[-1][2]
    batch = np.broadcast_shapes((1,), *(problem.batch_shape for _, _, problem in segments))
    gains = np.empty((horizon, *batch, problem.dim, problem.dim))
    inverses = np.empty_like(gains)
    identity = np.eye(problem.dim)
    later = np.broadcast_to(identity, gains.shape[1:])
    for first, stop, problem in reversed(segments):
        A = problem.plain.A
        for t in reversed(range(first, stop)):
            inverses[t] = 2.0 * identity + A - later
            later = gains[t] = np.linalg.inv(inverses[t])
    return gains, inverses


def known_path(gains: Array, v: Array, x0: Array) -> Array:
    """The path x_t = v_t + C_t (x_{t-1} - v_t), shape (runs, T, d), in plain coordinates."""
    x, path = x0, np.empty_like(v)
    for t, C in enumerate(gains):
        x = path[:, t] = v[:, t] + np.matmul(C, (x - v[:, t])[..., None])[..., 0]
    return path
