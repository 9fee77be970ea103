"""Optimal play for a known A: the plan of a player who observes v round by round, and the optimum in hindsight."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from soqo._foundation.arguments import finite_array, horizon_or_none, instance, integer
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._model.gains import (
    MAX_ROUNDS,
    advance,
    advance_unchecked,
    advance_with_factor,
    contraction,
    gains_of_factors,
    gains_of_rounds,
)
from soqo._model.problem import Problem
from soqo._model.spectrum import Spectrum, positive_semidefinite
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike


@dataclass(frozen=True)
class Plan(Value):
    """The gains C_1..C_T of the optimal player for a known A.

    Parameters
    ----------
    A : array_like, shape (d, d) or (*batch, d, d)
        The curvature, positive semi-definite, in coordinates where switching is plain l2.
    horizon : int, optional
        The number of rounds T; None for an infinite horizon, where every round has the same gain.

    See Also
    --------
    soqo.contraction : The eigenvalues of the gains.
    hindsight_optimum : The optimum of a player who knows v in advance.

    Examples
    --------
    >>> plan = Plan([[2.0]], horizon=3)
    >>> plan.gain(t=3)                                    # the last round: 1 / (1 + 2)
    array([[0.33333333]])
    >>> plan.step(3, x_prev=np.array([3.0]), v=np.array([0.0]))
    array([1.])
    >>> Plan([[0.5]]).gain()                              # infinite horizon: the root of C^2 - 2.5 C + 1
    array([[0.5]])
    """

    A: Array
    horizon: int | None = None
    spectrum: Spectrum = field(init=False)

    def __init__(self, A: ArrayLike, horizon: int | None = None) -> None:
        matrix, spectrum = positive_semidefinite("A", A)
        set_fields(self, A=freeze(matrix), horizon=horizon_or_none(horizon), spectrum=spectrum)

    def gain(self, t: int = 1) -> Array:
        """Return C_t.

        Parameters
        ----------
        t : int
            The round, counted from one.

        Returns
        -------
        Array, shape (*batch, d, d)
            The gain.
        """
        return self.spectrum.matrix(contraction(self.spectrum.values, self._rounds_to_go(t)))

    def step(self, t: int, x_prev: ArrayLike, v: ArrayLike, *, forecast: ArrayLike | None = None) -> Array:
        """Return the action of round t: C_t x_prev + (I - C_t) v without a forecast.

        Parameters
        ----------
        t : int
            The round, counted from one.
        x_prev, v : array_like, shape (*batch, d)
            The action of the round before and the minimizer of this round.
        forecast : array_like, shape (*batch, k, d), optional
            The expected minimizers of the next k rounds; after them, v is expected to stay where the last one is.

        Returns
        -------
        Array, shape (*batch, d)
            The action.

        Examples
        --------
        >>> plan = Plan([[0.5]])                          # infinite horizon: C = 1/2
        >>> plan.step(1, x_prev=[0.0], v=[0.0], forecast=[[8.0]])
        array([2.])
        """
        n, position, target = self._rounds_to_go(t), self._vectors("x_prev", x_prev), self._vectors("v", v)
        step = lai_step(self.spectrum, n, position, target)
        if forecast is None:
            return step
        expected = self._vectors("forecast", forecast)
        if expected.ndim != target.ndim + 1 or expected.shape[:-2] != target.shape[:-1]:
            raise ArgumentError(f"forecast must have shape (*batch, k, d) with the batch of v, got {expected.shape}")
        return step + anticipation(self.spectrum, n, target, expected)

    def path(self, x0: ArrayLike, v: ArrayLike) -> Array:
        """Return the actions of rounds 1..len(v).

        Parameters
        ----------
        x0 : array_like, shape (d,) or (*batch, d)
            The action before the first round.
        v : array_like, shape (*batch, rounds, d)
            The minimizers.

        Returns
        -------
        Array, shape (*batch, rounds, d)
            The actions.
        """
        minimizers, start = _path_and_start(v, x0, self.A.shape[-1])
        rounds = minimizers.shape[-2]
        if self.horizon is not None and rounds > self.horizon:
            raise ArgumentError(f"v must have at most horizon = {self.horizon} rounds, got {rounds}")
        path = _into_eigenbasis(self.spectrum, minimizers)
        position = self.spectrum.into(start)
        go = gains_of_rounds(advance, self.spectrum.values, self.horizon, slice(0, rounds))
        for t in range(rounds):
            position = path[t] = position + go[t] * (path[t] - position)
        return _out_of_eigenbasis(self.spectrum, path)

    def _rounds_to_go(self, t: int) -> float:
        t = integer("t", t, least=1)
        if self.horizon is None:
            return math.inf
        if t > self.horizon:
            raise ArgumentError(f"t must be at most horizon = {self.horizon}, got {t}")
        return self.horizon + 1 - t

    def _vectors(self, name: str, value: ArrayLike) -> Array:
        result = finite_array(name, value, copy=False)
        dim = self.A.shape[-1]
        if result.ndim == 0 or result.shape[-1] != dim:
            raise ArgumentError(f"{name} must have last axis {dim}, got shape {result.shape}")
        return result


def hindsight_optimum(problem: Problem, v: ArrayLike, *, x0: ArrayLike) -> Array:
    """Return the path of least total cost for a player who knows all of v in advance.

    The optimality conditions are block tridiagonal. In A's eigenbasis they are d scalar tridiagonal systems whose
    pivots are the reciprocal contractions, so one backward and one forward sweep solve them.

    Parameters
    ----------
    problem : Problem
        The costs.
    v : array_like, shape (*batch, T, d)
        The minimizers.
    x0 : array_like, shape (d,) or (*batch, d)
        The action before the first round.

    Returns
    -------
    Array, shape (*batch, T, d)
        The actions.

    See Also
    --------
    Plan : The optimal player who observes v round by round.

    Examples
    --------
    >>> x = hindsight_optimum(Problem([[1.0]]), v=[[3.0], [0.0]], x0=[0.0])
    >>> x                                    # 3 x_1 - x_2 = 3 and 2 x_2 - x_1 = 0
    array([[1.2],
           [0.6]])
    """
    instance("problem", problem, Problem)
    coordinates, spectrum = problem.coordinates, problem.plain.spectrum
    minimizers, start = _path_and_start(v, x0, problem.dim)
    values, rounds = spectrum.values, minimizers.shape[-2]
    pull = values * _into_eigenbasis(spectrum, coordinates.to_plain(minimizers))
    carried = np.zeros(pull.shape[1:])
    pivots = gains_of_rounds(contraction, values, rounds, slice(0, rounds))
    for t in reversed(range(rounds)):
        carried = pull[t] = pivots[t] * (pull[t] + carried)
    position = spectrum.into(coordinates.to_plain(start))
    for t in range(rounds):
        position = pull[t] = pivots[t] * position + pull[t]
    return coordinates.from_plain(_out_of_eigenbasis(spectrum, pull))


def towards(spectrum: Spectrum, go: Array, x_prev: Array, v: Array) -> Array:
    """Return C x_prev + (I - C) v, for I - C with these eigenvectors and the eigenvalues ``go``.

    As x_prev + (I - C)(v - x_prev), it keeps a player without curvature in place, for any distance to v.
    """
    vectors = spectrum.vectors
    x: Array = x_prev + np.matvec(vectors, go * np.vecmat(v - x_prev, vectors))
    return x


def lai_step(spectrum: Spectrum, n: float, x_prev: Array, v: Array, factor: Array | None = None) -> Array:
    """Return LAI's action for the curvature with this spectrum, with n rounds to go; without checks.

    A factor, shape (*batch,), multiplies the curvature in this round; the factors of later rounds are taken as 1.
    """
    if factor is None:
        return towards(spectrum, advance_unchecked(spectrum.values, min(n, MAX_ROUNDS)), x_prev, v)
    return towards(spectrum, advance_with_factor(spectrum.values, n, factor), x_prev, v)


def anticipation(spectrum: Spectrum, n: float, v: Array, forecast: Array, factor: Array | None = None) -> Array:
    """Return what a forecast of shape (*batch, k, d) adds to LAI's action with n rounds to go.

    In a direction with eigenvalue a, the cost to go from x is 1/2 (1 - c) x^2 - q x plus a constant, where v is the
    origin and q obeys the backward recursion q_t = c_t (a (v_t - v) + q_(t+1)); the action is c_t x_prev + q_t. Beyond
    the forecast v stays in place, for which q = (1 - c)(v_t - v). With an infinite horizon, this is the pull towards
    (1 - c) sum_j c^j F_j, the last F_j carried on. A factor changes c_t of the current round only.
    """
    values = spectrum.values
    rounds = int(min(forecast.shape[-2], n - 1.0))
    if rounds < 1:
        return np.zeros_like(v)
    shifts = np.matmul(forecast[..., :rounds, :] - v[..., None, :], spectrum.vectors)
    pull = advance(values, n - rounds) * shifts[..., -1, :]
    for j in range(rounds - 1, 0, -1):
        pull = contraction(values, n - j) * (values * shifts[..., j - 1, :] + pull)
    shrink = contraction(values, n) if factor is None else 1.0 - advance_with_factor(values, n, factor)
    return np.asarray(np.matvec(spectrum.vectors, shrink * pull))


def known_path(gains: Array, v: Array, x0: Array) -> Array:
    """Return the path x_t = v_t + C_t (x_{t-1} - v_t), shape (runs, T, d), in plain coordinates."""
    x, path = x0, np.empty_like(v)
    for t, C in enumerate(gains):
        x = path[:, t] = v[:, t] + np.matmul(C, (x - v[:, t])[..., None])[..., 0]
    return path


def factored_path(spectrum: Spectrum, factors: Array, v: Array, x0: Array) -> Array:
    """Return the path of the player who knows the factors (runs, T) in advance, in plain coordinates; v as in paths."""
    path, position = _into_eigenbasis(spectrum, v), spectrum.into(x0)
    _, go = gains_of_factors(spectrum.values, factors.T)
    for t in range(len(path)):
        position = path[t] = position + go[t] * (path[t] - position)
    return _out_of_eigenbasis(spectrum, path)


def _path_and_start(v: ArrayLike, x0: ArrayLike, dim: int) -> tuple[Array, Array]:
    """Check a path (*batch, T, d) and the action before it, (d,) or (*batch, d)."""
    path, start = finite_array("v", v, copy=False), finite_array("x0", x0, copy=False)
    if path.ndim < 2 or path.shape[-1] != dim:
        raise ArgumentError(f"v must have shape (*batch, T, {dim}), got {path.shape}")
    allowed = {(dim,), (*path.shape[:-2], dim)}
    if start.shape not in allowed:
        raise ArgumentError(f"x0 must have shape {' or '.join(map(str, sorted(allowed)))}, got {start.shape}")
    return path, start


def _into_eigenbasis(spectrum: Spectrum, path: Array) -> Array:
    """Return a path (*batch, T, d) in the eigenbasis with time first, (T, *batch, d), for a loop over rounds."""
    return np.ascontiguousarray(np.moveaxis(np.matmul(path, spectrum.vectors), -2, 0))


def _out_of_eigenbasis(spectrum: Spectrum, path: Array) -> Array:
    """Invert :func:`_into_eigenbasis`."""
    back = np.ascontiguousarray(np.moveaxis(path, 0, -2))
    return np.asarray(np.matmul(back, spectrum.vectors.swapaxes(-1, -2)))
