r"""The backward recursion C_t^{-1} = 2I + A - C_{t+1}, C_{T+1} = I (the paper's RecurGen), in closed form.

All C_t share A's eigenvectors. For an eigenvalue a of A and n = T + 1 - t rounds to go, the eigenvalue of C_t is

    contraction(a, n) = cosh((n - 1/2) theta) / cosh((n + 1/2) theta),    2 cosh(theta) = 2 + a,

because cosh((n + 3/2) theta) + cosh((n - 1/2) theta) = 2 cosh(theta) cosh((n + 1/2) theta) is the recursion. So a gain
costs O(d^3) once and O(d) per round, whatever the horizon. With s = e^{-theta} and e = e^{-2 n theta} it reads
(s + e) / (1 + s e), which neither overflows nor cancels, from a = 0 to a = 1e300 and for any n; `advance` is 1 minus
it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soqo._arguments import finite_array, horizon_or_none, integer
from soqo._problem import Problem
from soqo._spectrum import Spectrum, positive_semidefinite
from soqo._values import freeze
from soqo.errors import ArgumentError
from soqo.typing import Array

__all__ = ["Plan", "advance", "contraction", "hindsight_optimum"]

# As arrays, which NumPy takes up faster than Python's numbers; this is for every round.
QUARTER, ONE, TWO = np.array(0.25), np.array(1.0), np.array(2.0)

MOST_ROUNDS = 1e150
"""Past so many rounds to go nothing changes any more, and a finite number times theta = 0 is no NaN."""


def contraction(a: Any, n: Any) -> Array:
    """The eigenvalue of C for an eigenvalue a of A, with n rounds to go (this one included).

    It is the factor by which the distance to v shrinks: x - v = C (x_prev - v).

    Parameters
    ----------
    a : array_like
        Eigenvalues of A, not negative.
    n : array_like
        Rounds to go, at least 1 (or 0, where it gives C_{T+1} = 1); ``math.inf`` for a horizon without end.

    Examples
    --------
    >>> contraction(1.0, 1)                  # the last round: 1 / (1 + a)
    array(0.5)
    >>> contraction([0.0, 1e-16, 1e8], math.inf)
    array([1.0000000e+00, 9.9999999e-01, 9.9999998e-09])
    """
    quarter = 0.25 * np.asarray(a, dtype=np.float64)
    h = np.sqrt(quarter)  # sinh(theta/2)
    decay = 1.0 / (h + np.sqrt(1.0 + quarter))  # e^{-theta/2}; exp would lose digits at a large theta
    stationary = decay * decay
    fading = np.exp((-4.0 * finitely_many(n)) * np.arcsinh(h))
    return np.asarray((stationary + fading) / (1.0 + stationary * fading))


def advance(a: Any, n: Any) -> Array:
    """1 - contraction(a, n) without cancellation: the share of the way to v that is gone, tiny where a is tiny.

    It is 2 h t / (r + h t) with h = sinh(theta/2), r = cosh(theta/2) and t = tanh(n theta).

    Examples
    --------
    >>> advance(1e-20, math.inf)
    array(1.e-10)
    """
    return np.asarray(share_of_way(np.asarray(a, dtype=np.float64), finitely_many(n)))


def finitely_many(n: Any) -> Any:
    """A number of rounds, or an array of them, of at most :data:`MOST_ROUNDS`."""
    # NumPy knows no whole number of more than 64 bits, and takes as long for any other as the hyperbolic tangent.
    return min(n, MOST_ROUNDS) if isinstance(n, int | float) else np.minimum(n, MOST_ROUNDS)


def share_of_way(a: Array, n: Any) -> Array:
    """What :func:`advance` gives, for finitely many rounds to go; without checks, for every round."""
    quarter = QUARTER * a
    h = np.sqrt(quarter)
    pull = h * np.tanh((2.0 * n) * np.arcsinh(h))
    share: Array = TWO * pull / (np.sqrt(ONE + quarter) + pull)
    return share


@dataclass(frozen=True, eq=False)
class Plan:
    """The gains C_1..C_T of the optimal player for a known A.

    Parameters
    ----------
    A : array_like, shape (d, d) or (*batch, d, d)
        The curvature, positive semi-definite, in coordinates where switching is plain l2.
    horizon : int, optional
        The number of rounds T; None for a horizon without end, where every round has the same gain.

    Examples
    --------
    >>> plan = Plan([[2.0]], horizon=3)
    >>> plan.gain(t=3)                                    # the last round: 1 / (1 + 2)
    array([[0.33333333]])
    >>> plan.step(3, x_prev=np.array([3.0]), v=np.array([0.0]))
    array([1.])
    >>> Plan([[0.5]]).gain()                              # without end: the root of C^2 - 2.5 C + 1
    array([[0.5]])
    """

    A: Any
    horizon: int | None = None
    spectrum: Spectrum = field(init=False, repr=False)

    def __post_init__(self) -> None:
        A, spectrum = positive_semidefinite("A", self.A)
        object.__setattr__(self, "horizon", horizon_or_none(self.horizon))
        object.__setattr__(self, "A", freeze(A))
        object.__setattr__(self, "spectrum", spectrum)

    def gain(self, t: int = 1) -> Array:
        """C_t, shape (*batch, d, d)."""
        return self.spectrum.matrix(contraction(self.spectrum.values, self._rounds_to_go(t)))

    def step(self, t: int, x_prev: Any, v: Any) -> Array:
        """The action of round t: C_t x_prev + (I - C_t) v."""
        x_prev, v = self._vectors("x_prev", x_prev), self._vectors("v", v)
        return lai_step(self.spectrum, self._rounds_to_go(t), x_prev, v)

    def path(self, x0: Any, v: Any) -> Array:
        """The actions of rounds 1..len(v), all at once.

        Parameters
        ----------
        x0 : array_like, shape (*batch, d)
        v : array_like, shape (*batch, rounds, d)

        Returns
        -------
        Array, shape (*batch, rounds, d)
        """
        v, x0 = path_and_start(v, x0, self.A.shape[-1])
        rounds = v.shape[-2]
        if self.horizon is not None and rounds > self.horizon:
            raise ArgumentError(f"v must have at most horizon = {self.horizon} rounds, got {rounds}")
        minimizers = eigenpath(self.spectrum, v)
        position = self.spectrum.into(x0)
        go = of_path(advance, self.spectrum.values, rounds, self.horizon)
        for t in range(rounds):
            position = minimizers[t] = position + go[t] * (minimizers[t] - position)
        return path_from_eigen(self.spectrum, minimizers)

    def _rounds_to_go(self, t: int) -> float:
        integer("t", t, least=1)
        if self.horizon is None:
            return math.inf
        if t > self.horizon:
            raise ArgumentError(f"t must be at most horizon = {self.horizon}, got {t}")
        return self.horizon + 1 - t

    def _vectors(self, name: str, value: Any) -> Array:
        result = finite_array(name, value, copy=False)
        dim = self.A.shape[-1]
        if result.ndim == 0 or result.shape[-1] != dim:
            raise ArgumentError(f"{name} must have last axis {dim}, got shape {result.shape}")
        return result


def hindsight_optimum(problem: Problem, v: Any, x0: Any) -> Array:
    """The path of least total cost for a player who knows all of v in advance.

    The optimality conditions are block tridiagonal; in A's eigenbasis they are d scalar tridiagonal systems whose
    pivots are the reciprocal contractions, so that one sweep back and one forth solve them.

    Parameters
    ----------
    problem : Problem
    v : array_like, shape (*batch, T, d)
    x0 : array_like, shape (d,) or (*batch, d)

    Returns
    -------
    Array, shape (*batch, T, d)

    Examples
    --------
    >>> x = hindsight_optimum(Problem([[1.0]]), v=[[3.0], [0.0]], x0=[0.0])
    >>> x                                    # 3 x_1 - x_2 = 3 and 2 x_2 - x_1 = 0
    array([[1.2],
           [0.6]])
    """
    if not isinstance(problem, Problem):
        raise ArgumentError(f"problem must be a Problem, got {type(problem).__name__}")
    coordinates, plain = problem.coordinates, problem.plain
    v, start = path_and_start(v, x0, problem.dim)
    values, rounds = plain.spectrum.values, v.shape[-2]
    pull = values * eigenpath(plain.spectrum, coordinates.to_plain(v))
    carried = np.zeros(pull.shape[1:])
    pivots = of_path(contraction, values, rounds, rounds)
    for t in reversed(range(rounds)):
        carried = pull[t] = pivots[t] * (pull[t] + carried)
    position = plain.spectrum.into(coordinates.to_plain(start))
    for t in range(rounds):
        position = pull[t] = pivots[t] * position + pull[t]
    return coordinates.from_plain(path_from_eigen(plain.spectrum, pull))


def towards(spectrum: Spectrum, go: Array, x_prev: Array, v: Array) -> Array:
    """The action C x_prev + (I - C) v, for I - C with these eigenvectors and the eigenvalues ``go``.

    As x_prev + (I - C)(v - x_prev) it leaves a player without curvature where it is, however far away v is.
    """
    vectors = spectrum.vectors
    x: Array = x_prev + np.matvec(vectors, go * np.vecmat(v - x_prev, vectors))
    return x


def lai_step(spectrum: Spectrum, n: float, x_prev: Array, v: Array) -> Array:
    """LAI's action for the curvature with this spectrum, with n rounds to go; without checks, for every round."""
    return towards(spectrum, share_of_way(spectrum.values, min(n, MOST_ROUNDS)), x_prev, v)


def of_path(gain: Callable[[Array, Any], Array], values: Array, rounds: int, horizon: int | None) -> Array:
    """Contractions or advances of rounds 1..rounds, time first: shape (rounds, *values.shape)."""
    if horizon is None:
        return np.broadcast_to(gain(values, math.inf), (rounds, *values.shape))
    to_go = np.arange(horizon, horizon - rounds, -1.0)
    return gain(values, to_go.reshape(-1, *[1] * values.ndim))


def path_and_start(v: Any, x0: Any, dim: int) -> tuple[Array, Array]:
    """A path (*batch, T, d) and where it starts from, (d,) or (*batch, d), checked."""
    path, start = finite_array("v", v, copy=False), finite_array("x0", x0, copy=False)
    if path.ndim < 2 or path.shape[-1] != dim:
        raise ArgumentError(f"v must have shape (*batch, T, {dim}), got {path.shape}")
    if start.shape not in ((dim,), (*path.shape[:-2], dim)):
        expected = sorted({(dim,), (*path.shape[:-2], dim)})
        raise ArgumentError(f"x0 must have shape {' or '.join(map(str, expected))}, got {start.shape}")
    return path, start


def eigenpath(spectrum: Spectrum, path: Array) -> Array:
    """A path (*batch, T, d) in the eigenbasis and with time first, (T, *batch, d), for a loop over rounds."""
    return np.ascontiguousarray(np.moveaxis(np.matmul(path, spectrum.vectors), -2, 0))


def path_from_eigen(spectrum: Spectrum, path: Array) -> Array:
    """The way back from :func:`eigenpath`."""
    back = np.ascontiguousarray(np.moveaxis(path, 0, -2))
    return np.asarray(np.matmul(back, spectrum.vectors.swapaxes(-1, -2)))
