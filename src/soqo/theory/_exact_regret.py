r"""The exact expected regret of LAI with an estimate of A: the paper's Proposition 1, without Monte Carlo.

With the gains of an estimate A^, the player moves to x_t = C^_t x_{t-1} + (I - C^_t) v_t. Before it moves, its distance
to the minimizer is u_t = x_{t-1} - v_t, and u_{t+1} = C^_t u_t - step_{t+1}. If v is a martingale, regret depends on v
only through the covariance of its steps, and E[u u'] follows a linear recursion that is diagonal in the eigenbasis of
A^.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soqo._foundation.arguments import integer, vector
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.gains import contraction, gains_of_rounds
from soqo.errors import ArgumentError
from soqo.theory._estimate_comparison import Comparison
from soqo.theory._gain_sums import kernel_sum
from soqo.theory._step_covariance import Covariance, StepMoments, step_moments
from soqo.typing import Array, ArrayLike

_MAX_ROUNDS_OF_SQUARES, _CANCELLATION = 20_000, 1e-6
"""Up to this horizon, regret below this fraction of the terms that cancel in it is computed as a sum of squares."""

_MAX_BLOCK_ENTRIES = 30_000
"""The most entries that the matrices of a block of rounds have, which limits the memory."""


@dataclass(frozen=True)
class ExactRegret(Value):
    """Expected regret in the two parts of Proposition 1: numbers, or arrays for a batch of estimates.

    Attributes
    ----------
    value : float or Array of shape (*batch,)
        R^val: the sum of 1/2 E|v_s - v_{s-1}|^2 in the norm of C_s - C^_s, the loss from wrong gains where v moves. If
        the player does not start on the minimizer, it includes 1/2 |x0 - v0|^2 in the norm of C_1 - C^_1.
    basis : float or Array of shape (*batch,)
        R^basis: the sum of 1/2 E|x_{s-1} - v_s|^2 in the norm of C^_s (A - A^) C^_s.
    value_rounds, basis_rounds : Array of shape (T, *batch), or None
        The terms of each round, if requested.
    """

    value: Any
    basis: Any
    value_rounds: Array | None = field(default=None, repr=False)
    basis_rounds: Array | None = field(default=None, repr=False)

    @property
    def total(self) -> Any:
        """The regret, value + basis.

        Regret is of second order in the error of the estimate and its two parts are of first order. They cancel, so
        fewer digits remain the better the estimate is. For one estimate and up to 20,000 rounds, :func:`exact_regret`
        uses the sum of squares (:func:`exact_regret_as_squares`), which keeps all digits, where too many would be lost.
        """
        return self.value + self.basis

    def __str__(self) -> str:
        if np.ndim(self.value):
            return f"exact regret of {np.size(self.value)} estimates, mean {np.mean(self.total):.6g}"
        return f"exact regret {self.total:.6g} (value {self.value:.6g}, basis {self.basis:.6g})"


def exact_regret(
    A: ArrayLike,
    A_hat: ArrayLike,
    *,
    covariance: Covariance,
    horizon: int,
    x0_minus_v0: ArrayLike | None = None,
    per_round: bool = False,
) -> ExactRegret:
    """Return the exact expected regret, against LAI, of a player that uses A_hat in place of A: Proposition 1.

    Assumptions: v is a martingale whose steps have a covariance (their distribution and the dependence of their sizes
    on the past do not matter), and A_hat is fixed before round 1. Erratum: the printed proposition is for x0 = v0; in
    general S_1 = E[u_1 u_1'] has one more term, and so has the value part.

    With one covariance for all rounds the cost is O(d^3 + d^2 log T): a million rounds take as long as a hundred. With
    one variance per round it is O(T d^2), with one matrix per round O(T d^3).

    Parameters
    ----------
    A : array_like, shape (d, d) or (*batch, d, d)
        The curvature, in coordinates where switching is plain l2.
    A_hat : array_like, shape (d, d) or (*batch, d, d)
        The estimate, or several.
    covariance : float, array_like or Process
        The covariance of v's steps: s^2 for s^2 I, or shape (d, d), or one of these per round with shape (T,) or
        (T, d, d), or a process, which must be a martingale.
    horizon : int
        The number of rounds T.
    x0_minus_v0 : array_like of shape (d,), optional
        The start relative to the minimizer. By default the player starts on the minimizer.
    per_round : bool
        Whether to return the terms of each round too, which takes a loop over rounds.

    Returns
    -------
    ExactRegret
        The regret and its two parts.

    Raises
    ------
    ArgumentError
        If A or A_hat is not positive semi-definite, or the covariance comes from a process that is not a martingale.

    See Also
    --------
    exact_regret_as_squares : The same regret without cancellation.
    exact_scale_regret : The exact regret of SCaLE.

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
    start = _start_moment(x0_minus_v0, pair.dim)
    if per_round or moments.constant is None:
        value, basis = round_terms(pair, moments, horizon, start)
        rounds = (value, basis) if per_round else (None, None)
        return ExactRegret(value.sum(axis=0), basis.sum(axis=0), *rounds)
    value = pair.value(moments.constant, horizon, kernel_sum)
    basis = pair.basis(moments.constant, horizon, kernel_sum)
    if start is not None:
        value = value + pair.value(start, horizon)
        basis = basis + pair.basis(start, horizon)
    if (
        not pair.batch
        and horizon <= _MAX_ROUNDS_OF_SQUARES
        and _cancels(pair, moments.constant, value + basis, horizon)
    ):
        # The sum is more accurate than its parts. Correcting the basis part changes it by less than its round-off.
        basis = _squares(pair, moments, horizon, start).sum() - value
    return ExactRegret(value[()], basis[()])


def exact_regret_as_squares(
    A: ArrayLike, A_hat: ArrayLike, *, covariance: Covariance, horizon: int, x0_minus_v0: ArrayLike | None = None
) -> Array:
    """Return the exact expected regret as a sum of squares, one term for each round.

    The term of round s is 1/2 E|(C^_s - C_s)(x_{s-1} - v_s)|^2 in the norm of C_s^{-1}: it compares the player's step
    with LAI's step from the same position. No term is negative and nothing cancels, so all digits are kept for any
    estimate. The cost is O(T d^3), with memory for T matrices.

    Parameters
    ----------
    A, A_hat : array_like, shape (d, d)
        The curvature and one estimate.
    covariance : float, array_like or Process
        The covariance of v's steps, as in :func:`exact_regret`.
    horizon : int
        The number of rounds T.
    x0_minus_v0 : array_like of shape (d,), optional
        The start relative to the minimizer. By default the player starts on the minimizer.

    Returns
    -------
    Array, shape (T,)
        The terms of the rounds.

    Examples
    --------
    >>> float(exact_regret_as_squares([[2.0]], [[1.0]], covariance=1.0, horizon=100).sum().round(5))
    2.8642
    """
    horizon = integer("horizon", horizon, least=1)
    pair = Comparison.of(A, A_hat)
    if pair.batch:
        raise ArgumentError(f"A and A_hat must have shape {(pair.dim, pair.dim)} here, got a batch")
    moments = step_moments(covariance, pair.dim, horizon)
    return _squares(pair, moments, horizon, _start_moment(x0_minus_v0, pair.dim))


def round_terms(pair: Comparison, moments: StepMoments, horizon: int, start: Array | None) -> tuple[Array, Array]:
    """Return the value and the basis term of each round, both of shape (T, *batch)."""
    value, basis = np.empty((2, horizon, *pair.batch))
    Q, P = pair.true.vectors, pair.estimate.vectors
    second = np.zeros(P.shape)  # E[(x_t - v_t)(x_t - v_t)'] in the basis P
    if start is not None:
        second = P.swapaxes(-1, -2) @ start @ P
    size = max(1, _MAX_BLOCK_ENTRIES // pair.error.size)
    blocks = [slice(first, min(first + size, horizon)) for first in range(0, horizon, size)]
    for rounds in blocks:
        gain = gains_of_rounds(contraction, pair.estimate.values, horizon, rounds)
        products = gain[..., :, None] * gain[..., None, :]
        for product, step in zip(products, moments.transform(P, P, rounds), strict=True):
            second = np.multiply(second + step, product, out=product)
        basis[rounds] = 0.5 * np.sum(pair.estimate_error * products, axis=(-1, -2))
    factors = np.zeros(P.shape)  # the kernel k_N, from the last round backwards
    for rounds in reversed(blocks):
        gain = gains_of_rounds(contraction, pair.true.values, horizon, rounds)
        gain_hat = gains_of_rounds(contraction, pair.estimate.values, horizon, rounds)
        products = gain[..., :, None] * gain_hat[..., None, :]
        for product in products[::-1]:
            factors = np.multiply(factors + 1.0, product, out=product)
        terms = pair.mixed_error * moments.transform(Q, P, rounds) * products
        value[rounds] = -0.5 * np.sum(terms, axis=(-1, -2))
    if start is not None:
        value[0] += pair.value(start, horizon)
    return value, basis


def _start_moment(x0_minus_v0: ArrayLike | None, dim: int) -> Array | None:
    if x0_minus_v0 is None:
        return None
    u = vector("x0_minus_v0", x0_minus_v0, (dim,))
    return np.outer(u, u)


def _cancels(pair: Comparison, covariance: Array, total: Array, horizon: int) -> bool:
    """Return whether the two parts cancel so far that the regret has lost half of its digits."""
    size = np.abs(pair.error).sum() * np.trace(covariance) * horizon
    return bool(np.abs(total) < _CANCELLATION * size)


def _squares(pair: Comparison, moments: StepMoments, horizon: int, start: Array | None) -> Array:
    """Return the terms of :func:`exact_regret_as_squares` for a start with this second moment."""
    Q, P = pair.true.vectors, pair.estimate.vectors
    rounds = slice(0, horizon)
    gain, gain_hat = (
        gains_of_rounds(contraction, spectrum.values, horizon, rounds) for spectrum in (pair.true, pair.estimate)
    )
    # Q'(C^ - C)P is Q'(A - A^)P times the kernel, by its recursion: no difference of two gains is taken.
    factors = gain[:, :, None] * gain_hat[:, None, :]
    for t in range(horizon - 2, -1, -1):
        factors[t] *= 1.0 + factors[t + 1]
    second = np.array(moments.transform(P, P, rounds))  # E[u u'] in the basis P
    if start is not None:
        second[0] += P.T @ start @ P
    shrink = gain_hat[:, :, None] * gain_hat[:, None, :]
    for t in range(1, horizon):
        second[t] += shrink[t - 1] * second[t - 1]
    gap = (Q.T @ pair.error @ P) * factors
    return np.asarray(0.5 * np.sum((gap @ second) * gap / gain[:, :, None], axis=(1, 2)))
