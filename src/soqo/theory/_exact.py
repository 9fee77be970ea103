r"""The exact expected regret of LAI with an estimate of A: the paper's Proposition 1, without Monte Carlo.

A player who plays x_t = C^_t x_{t-1} + (I - C^_t) v_t with the gains of an estimate A^ stands at u_t = x_{t-1} - v_t
before it moves, and u_{t+1} = C^_t u_t - step_{t+1}. If v is a martingale, all that matters of it is the covariance of
its steps, and E[u u'] follows a linear recursion that is diagonal in A^'s eigenbasis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._arguments import integer, vector
from soqo.errors import ArgumentError
from soqo.theory._comparison import Comparison, gains
from soqo.theory._moments import StepMoments, step_moments
from soqo.typing import Array

AFFORDABLE, CANCELLED = 20_000, 1e-6
"""Up to so many rounds, regret below this share of what cancels in it is computed as a sum of squares."""

MOST_ENTRIES = 30_000
"""How many entries the matrices of a block of rounds may have, for the sake of memory."""

__all__ = ["ExactRegret", "exact_regret", "exact_regret_as_squares"]


@dataclass(frozen=True, eq=False)
class ExactRegret:
    """Expected regret, split as Proposition 1 splits it; numbers, or arrays for a batch of estimates.

    Attributes
    ----------
    value : float or Array of shape (*batch,)
        R^val: the sum of 1/2 E|v_s - v_{s-1}|^2 in the norm of C_s - C^_s, what wrong gains lose where v moves. Where
        the player does not start on the minimizer, the term 1/2 |x0 - v0|^2 in the norm of C_1 - C^_1 is in it.
    basis : float or Array of shape (*batch,)
        R^basis: the sum of 1/2 E|x_{s-1} - v_s|^2 in the norm of C^_s (A - A^) C^_s.
    value_rounds, basis_rounds : Array of shape (T, *batch), or None
        The terms of each round, if asked for.
    """

    value: Any
    basis: Any
    value_rounds: Array | None = None
    basis_rounds: Array | None = None

    @property
    def total(self) -> Any:
        """The regret. It is of second order in the error of the estimate, and its two parts are of first: they cancel,
        and the better the estimate, the fewer digits are left. :func:`exact_regret_as_squares` keeps them all; for one
        estimate and up to 20,000 rounds it takes over where too many would be lost."""
        return self.value + self.basis

    def __str__(self) -> str:
        if np.ndim(self.value):
            return f"exact regret of {np.size(self.value)} estimates, mean {np.mean(self.total):.6g}"
        return f"exact regret {self.total:.6g} (value {self.value:.6g}, basis {self.basis:.6g})"


def exact_regret(
    A: Any,
    A_hat: Any,
    covariance: Any,
    horizon: int,
    x0_minus_v0: Any = None,
    *,
    per_round: bool = False,
) -> ExactRegret:
    """The expected regret against LAI of a player who takes A_hat for A: Proposition 1, exactly.

    Assumptions: v is a martingale whose steps have a covariance (their distribution, and what else their sizes depend
    on, do not matter), and A_hat is fixed before round 1. Erratum: as printed the proposition is for x0 = v0; in
    general S_1 = E[u_1 u_1'] has a term more, and so has the value part.

    With one covariance for all rounds it costs O(d^3 + d^2 log T): a million rounds take as long as a hundred. With one
    variance per round it is O(T d^2), with one matrix per round O(T d^3).

    Parameters
    ----------
    A : array_like, shape (d, d) or (*batch, d, d)
        The curvature, in coordinates where switching is plain l2.
    A_hat : array_like, shape (d, d) or (*batch, d, d)
        The estimate, or several.
    covariance : float, array_like or Process
        Of v's steps: s^2 for s^2 I, or shape (d, d), or one of these a round with shape (T,) or (T, d, d), or a
        process, which must be a martingale.
    horizon : int
        The number of rounds T.
    x0_minus_v0 : array_like of shape (d,), optional
        Where the player starts from the minimizer; on it, if not given.
    per_round : bool
        Whether to give the terms of each round too (a loop over rounds).

    Examples
    --------
    >>> regret = exact_regret(A=[[2.0]], A_hat=[[1.0]], covariance=1.0, horizon=100)
    >>> print(regret)
    exact regret 2.8642 (value -5.73516, basis 8.59936)
    >>> float(exact_regret([[2.0]], [[1.0]], covariance=1.0, horizon=10**6).total.round(3))
    28401.811
    """
    horizon = integer("horizon", horizon, least=1)
    pair = Comparison.of(A, A_hat)
    moments = step_moments(covariance, pair.dim, horizon)
    start = None
    if x0_minus_v0 is not None:
        away = vector("x0_minus_v0", x0_minus_v0, (pair.dim,))
        start = np.outer(away, away)
    if per_round or moments.constant is None:
        value, basis = terms_of_rounds(pair, moments, horizon, start)
        rounds = (value, basis) if per_round else (None, None)
        return ExactRegret(value.sum(axis=0), basis.sum(axis=0), *rounds)
    value = pair.value_sum(moments.constant, horizon)
    basis = pair.basis_sum(moments.constant, horizon)
    if start is not None:
        value = value + pair.value(start, horizon)
        basis = basis + pair.basis(start, horizon)
    if not pair.batch and horizon <= AFFORDABLE and cancels(pair, moments.constant, value + basis, horizon):
        # The sum is known better than its parts: let the second have it, which changes by less than its round-off.
        basis = squares(pair, moments, horizon, start).sum() - value
    return ExactRegret(value[()], basis[()])


def cancels(pair: Comparison, covariance: Array, total: Array, horizon: int) -> bool:
    """Whether regret is so much smaller than what it is the difference of that it has lost half of its digits."""
    size = np.abs(pair.error).sum() * np.trace(covariance) * horizon
    return bool(np.abs(total) < CANCELLED * size)


def terms_of_rounds(pair: Comparison, moments: StepMoments, horizon: int, start: Array | None) -> tuple[Array, Array]:
    """The value and the basis term of each round, both of shape (T, *batch)."""
    value, basis = np.empty((2, horizon, *pair.batch))
    Q, P = pair.true.vectors, pair.estimate.vectors
    standing = np.zeros(P.shape)  # E[(x_t - v_t)(x_t - v_t)'] in the basis P
    if start is not None:
        standing = P.swapaxes(-1, -2) @ start @ P
    size = max(1, MOST_ENTRIES // pair.error.size)
    blocks = [slice(first, min(first + size, horizon)) for first in range(0, horizon, size)]
    for rounds in blocks:
        gain = gains(pair.estimate, horizon, rounds)
        both = gain[..., :, None] * gain[..., None, :]
        for factor, step in zip(both, moments.between(P, P, rounds), strict=True):
            standing = np.multiply(standing + step, factor, out=factor)
        basis[rounds] = 0.5 * np.sum(pair.error_in_basis * both, axis=(-1, -2))
    factors = np.zeros(P.shape)  # those of soqo.theory._sums, from the last round back
    for rounds in reversed(blocks):
        ours, theirs = gains(pair.true, horizon, rounds), gains(pair.estimate, horizon, rounds)
        both = ours[..., :, None] * theirs[..., None, :]
        for factor in both[::-1]:
            factors = np.multiply(factors + 1.0, factor, out=factor)
        terms = pair.error_between * moments.between(Q, P, rounds) * both
        value[rounds] = -0.5 * np.sum(terms, axis=(-1, -2))
    if start is not None:
        value[0] += pair.value(start, horizon)
    return value, basis


def exact_regret_as_squares(A: Any, A_hat: Any, covariance: Any, horizon: int, x0_minus_v0: Any = None) -> Array:
    """The same regret as a sum of squares, one term for each round.

    Round s has 1/2 E|(C^_s - C_s)(x_{s-1} - v_s)|^2 in the norm of C_s^{-1}. In each round the player is compared with
    LAI's step from where the player itself stands. No term is negative and nothing cancels, so this keeps its digits
    however good the estimate is; it costs O(T d^3), and memory for T matrices. Parameters as in :func:`exact_regret`,
    for one A and one estimate.

    Returns
    -------
    Array, shape (T,)

    Examples
    --------
    >>> float(exact_regret_as_squares([[2.0]], [[1.0]], covariance=1.0, horizon=100).sum().round(5))
    2.8642
    """
    horizon = integer("horizon", horizon, least=1)
    pair = Comparison.of(A, A_hat)
    dim = pair.dim
    if pair.batch:
        raise ArgumentError(f"A and A_hat must have shape {(dim, dim)} here, got a batch")
    moments = step_moments(covariance, dim, horizon)
    away = np.zeros(dim) if x0_minus_v0 is None else vector("x0_minus_v0", x0_minus_v0, (dim,))
    return squares(pair, moments, horizon, np.outer(away, away))


def squares(pair: Comparison, moments: StepMoments, horizon: int, start: Array | None) -> Array:
    """The terms of :func:`exact_regret_as_squares`, for a start with this second moment."""
    Q, P = pair.true.vectors, pair.estimate.vectors
    rounds = slice(0, horizon)
    ours, theirs = gains(pair.true, horizon, rounds), gains(pair.estimate, horizon, rounds)
    # Q'(C^ - C)P is Q'(A - A^)P times the factors of soqo.theory._sums: no difference of two gains is taken.
    factors = ours[:, :, None] * theirs[:, None, :]
    for t in range(horizon - 2, -1, -1):
        factors[t] *= 1.0 + factors[t + 1]
    second = np.array(moments.between(P, P, rounds))  # E[u u'] in the basis P
    if start is not None:
        second[0] += P.T @ start @ P
    shrink = theirs[:, :, None] * theirs[:, None, :]
    for t in range(1, horizon):
        second[t] += shrink[t - 1] * second[t - 1]
    gap = (Q.T @ pair.error @ P) * factors
    return np.asarray(0.5 * np.sum((gap @ second) * gap / ours[:, :, None], axis=(1, 2)))
