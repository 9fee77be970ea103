r"""The gains C_t of the optimal player: C_t^{-1} = 2I + A_t - C_{t+1}, C_{T+1} = I (the paper's RecurGen).

For a fixed A, all C_t share A's eigenvectors, and the recursion has a closed form. For an eigenvalue a of A and
n = T + 1 - t rounds to go, the eigenvalue of C_t is

    contraction(a, n) = cosh((n - 1/2) theta) / cosh((n + 1/2) theta),    2 cosh(theta) = 2 + a,

because cosh((n + 3/2) theta) + cosh((n - 1/2) theta) = 2 cosh(theta) cosh((n + 1/2) theta) is the recursion. A gain
therefore costs O(d^3) once and O(d) per round, for any horizon. With s = e^{-theta} and e = e^{-2 n theta}, the closed
form is (s + e) / (1 + s e), which neither overflows nor cancels, from a = 0 to a = 1e300 and for any n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from soqo.typing import Array, ArrayLike

MAX_ROUNDS = 1e150
"""More rounds to go than this change no gain; the product of a finite number and theta = 0 is not NaN."""


def contraction(a: ArrayLike, n: ArrayLike) -> Array:
    """Return the eigenvalue of C for an eigenvalue a of A, with n rounds to go (the current one included).

    It is the factor by which the optimal player reduces its distance to v: x - v = C (x_prev - v).

    Parameters
    ----------
    a : array_like
        Eigenvalues of A, not negative.
    n : array_like
        Rounds to go, at least 1 (0 gives C_{T+1} = 1); ``math.inf`` for an infinite horizon.

    Returns
    -------
    Array
        The factors in (0, 1], of the shape to which a and n broadcast.

    See Also
    --------
    soqo.Plan : The gains of a matrix A as matrices.

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
    fading = np.exp((-4.0 * _bounded(n)) * np.arcsinh(h))
    return np.asarray((stationary + fading) / (1.0 + stationary * fading))


def advance(a: ArrayLike, n: ArrayLike) -> Array:
    """Return 1 - contraction(a, n) without cancellation: the fraction of the distance to v that a step covers.

    Examples
    --------
    >>> advance(1e-20, math.inf)
    array(1.e-10)
    """
    return np.asarray(advance_unchecked(np.asarray(a, dtype=np.float64), _bounded(n)))


def advance_unchecked(a: Array, n: float | Array) -> Array:
    """Return :func:`advance` for an array of eigenvalues and a finite number of rounds to go.

    It is 2 h t / (r + h t) with h = sinh(theta/2), r = cosh(theta/2) and t = tanh(n theta).
    """
    quarter = 0.25 * a
    h = np.sqrt(quarter)
    pull = h * np.tanh((2.0 * n) * np.arcsinh(h))
    share: Array = 2.0 * pull / (np.sqrt(1.0 + quarter) + pull)
    return share


_last_advance: tuple[Array, float, Array] | None = None
"""The arguments of the last call of :func:`advance_remembered`, and its result."""


def advance_remembered(a: Array, n: float) -> Array:
    """Return :func:`advance_unchecked` for an array that does not change, without work if it was that of the last call.

    With an infinite horizon, a policy needs the same numbers until its estimate changes.
    """
    global _last_advance  # one tuple, which threads replace as a whole
    last = _last_advance
    if last is None or last[0] is not a or last[1] != n:
        last = _last_advance = (a, n, advance_unchecked(a, n))
    return last[2]


def advance_with_factor(a: Array, n: float, factor: Array) -> Array:
    """Return 1 - C in a round whose hitting cost has a factor s, with the factor 1 in all later rounds.

    C = 1 / (2 + s a - C') with the contraction C' of the next round, so that 1 - C = p / (1 + p) with
    p = s a + 1 - C', a sum of terms that are not negative.

    Examples
    --------
    >>> advance_with_factor(np.array([2.0]), 1.0, np.array(1.5))         # the last round: 3 / (1 + 3)
    array([0.75])
    """
    with np.errstate(over="ignore"):  # an infinite pull is one to v
        pull = factor[..., None] * a + advance_unchecked(a, min(n - 1.0, MAX_ROUNDS))
        return np.asarray(
            np.where(pull > 1.0, 1.0 / (1.0 + 1.0 / np.maximum(pull, 1.0)), pull / (1.0 + np.minimum(pull, 1.0)))
        )


def gains_of_factors(values: Array, factors: Array) -> tuple[Array, Array]:
    """Return contractions and advances of the player who knows all factors of the hitting cost in advance.

    Parameters
    ----------
    values : Array, shape (d,) or (runs, d)
        The eigenvalues of A.
    factors : Array, shape (T, runs)
        The factors of the rounds.

    Returns
    -------
    contractions, advances : Array, shape (T, runs, d)
        The eigenvalues of C_t and of I - C_t.

    Examples
    --------
    >>> contractions, _ = gains_of_factors(np.array([1.0]), np.array([[1.0], [2.0]]))
    >>> contractions[:, 0, 0]                              # 1 / (2 + 2 - 1) in the last round, then 1 / (2 + 1 - 1/3)
    array([0.375     , 0.33333333])
    """
    contractions = np.empty((*factors.shape, values.shape[-1]))
    advances = np.empty_like(contractions)
    later: Array = np.zeros(contractions.shape[1:])
    for t in reversed(range(len(factors))):
        pull = factors[t][:, None] * values + later
        contractions[t] = 1.0 / (1.0 + pull)
        later = advances[t] = pull * contractions[t]
    return contractions, advances


def gains_of_rounds(
    gain: Callable[[Array, ArrayLike], Array], values: Array, horizon: int | None, rounds: slice
) -> Array:
    """Return contractions or advances in a slice of rounds (counted from 0), shape (rounds, *values.shape)."""
    if horizon is None:
        return np.broadcast_to(gain(values, math.inf), (rounds.stop - rounds.start, *values.shape))
    to_go = np.arange(horizon - rounds.start, horizon - rounds.stop, -1.0)
    return gain(values, to_go.reshape(-1, *[1] * values.ndim))


def recursive_gains(segments: Sequence[tuple[int, int, Array]], factors: Array | None = None) -> tuple[Array, Array]:
    """Return the gains C_t of the optimal player for an A that changes, and their inverses.

    The player knows all changes in advance. The C_t of different A do not commute, so the recursion is run on matrices.

    Parameters
    ----------
    segments : sequence of (first, stop, A)
        The rounds first..stop-1 (counted from 0) in which the curvature is A, shape (d, d) or (runs, d, d), in
        coordinates where switching is plain l2.
    factors : Array, shape (T, runs), optional
        What multiplies A in each round; 1 by default.

    Returns
    -------
    gains, inverses : Array, shape (T, runs or 1, d, d)
    """
    _, horizon, last = segments[-1]
    dim = last.shape[-1]
    batch = np.broadcast_shapes((1,), *(A.shape[:-2] for _, _, A in segments))
    if factors is not None:
        batch = np.broadcast_shapes(batch, factors.shape[1:])
    gains = np.empty((horizon, *batch, dim, dim))
    inverses = np.empty_like(gains)
    identity = np.eye(dim)
    later = np.broadcast_to(identity, gains.shape[1:])
    for first, stop, A in reversed(segments):
        for t in reversed(range(first, stop)):
            curvature = A if factors is None else factors[t][:, None, None] * A
            inverses[t] = 2.0 * identity + curvature - later
            later = gains[t] = np.linalg.inv(inverses[t])
    return gains, inverses


def _bounded(n: float | ArrayLike) -> float | Array:
    # NumPy has no integers above 64 bits, and np.minimum of one number takes as long as the hyperbolic tangent.
    return min(n, MAX_ROUNDS) if isinstance(n, int | float) else np.asarray(np.minimum(n, MAX_ROUNDS))
