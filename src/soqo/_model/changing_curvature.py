"""A curvature that changes during a run, at once or by a rotation over many rounds."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.linalg

from soqo._foundation.arguments import integer
from soqo._foundation.frozen_dataclasses import Value, set_fields
from soqo._model.problem import Problem, RandomProblem
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike, RngLike


@register("Change")
@dataclass(frozen=True)
class Change(Value):
    """A change of A during a run.

    Parameters
    ----------
    round : int
        The first round (counted from one) in which A differs from before.
    problem : Problem, RandomProblem or array_like of shape (d, d), optional
        The new A, or a distribution from which one is drawn for each run; None draws from the environment's own
        :class:`soqo.RandomProblem`.
    duration : int
        The number of rounds that the change takes. Above 1, the eigenvectors rotate at a constant speed along the
        shortest rotation, and the eigenvalues change linearly.

    Examples
    --------
    >>> change = Change(round=3, problem=[[4.0]], duration=2)
    >>> [(first, float(problem.A[0, 0])) for first, problem in change.problems(Problem([[2.0]]))]
    [(2, 3.0), (3, 4.0)]
    """

    round: int
    problem: Problem | RandomProblem | None = None
    _: KW_ONLY
    duration: int = 1

    def __init__(
        self,
        round: int,  # noqa: A002  # the field's name
        problem: Problem | RandomProblem | ArrayLike | None = None,
        duration: int = 1,
    ) -> None:
        set_fields(self, round=integer("round", round, least=2), duration=integer("duration", duration, least=1))
        if not isinstance(problem, Problem | RandomProblem | None):
            problem = Problem(problem)
        set_fields(self, problem=problem)

    def problems(
        self, before: Problem, family: RandomProblem | None = None, rng: RngLike | None = None
    ) -> list[tuple[int, Problem]]:
        """Return the rounds (counted from zero) in which A changes, and the problem from each of them on.

        Parameters
        ----------
        before : Problem
            The problem before the change.
        family : RandomProblem, optional
            The distribution of the new A if the change has no problem of its own.
        rng : int, numpy.random.Generator or sequence of Generators, optional
            The source of random numbers for a new A that is drawn, one per run or one for all.

        Returns
        -------
        list of (int, Problem)
            One entry per round of the change.

        Raises
        ------
        ArgumentError
            If there is nothing to draw the new A from, or it has another dimension.
        """
        target = self.problem if self.problem is not None else family
        if isinstance(target, RandomProblem):
            if rng is None:
                raise ArgumentError("rng must be given to draw a new A, got None")
            target = target.draw(rng)
        if target is None:
            raise ArgumentError("problem must be given if the environment has no RandomProblem to draw from, got None")
        if target.dim != before.dim:
            raise ArgumentError(f"problem must have dimension {before.dim}, got {target.dim}")
        shares = np.arange(1, self.duration) / self.duration
        curvatures = [*_interpolate(before, target, shares), target.A]
        return [(self.round - 1 + k, Problem(A, before.switching_weight)) for k, A in enumerate(curvatures)]


def _interpolate(before: Problem, after: Problem, shares: Array) -> list[Array]:
    """Return the curvatures at some shares of the way from one problem to another."""
    if not shares.size:
        return []
    batch = np.broadcast_shapes(before.batch_shape, after.batch_shape)
    old = np.broadcast_to(before.spectrum.vectors, (*batch, before.dim, before.dim))
    new = np.broadcast_to(after.spectrum.vectors, old.shape)
    # The sign of an eigenvector is arbitrary: choose those of the smallest angles which make up a rotation.
    along = (new * old).sum(axis=-2)
    new = new * np.where(along < 0.0, -1.0, 1.0)[..., None, :]
    mirrored = np.linalg.det(new @ old.swapaxes(-1, -2)) < 0.0
    least = np.arange(before.dim) == np.abs(along).argmin(axis=-1)[..., None]
    new = new * np.where(mirrored[..., None] & least, -1.0, 1.0)[..., None, :]
    rotation = new @ old.swapaxes(-1, -2)
    logarithm = np.empty(rotation.shape)
    for run in np.ndindex(*batch):
        logarithm[run] = _rotation_logarithm(rotation[run])
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


def _rotation_logarithm(rotation: Array) -> Array:
    """Return a skew-symmetric matrix whose exponential is the rotation, with no angle above a half turn."""
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
