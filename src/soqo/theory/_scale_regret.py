r"""The exact expected regret of SCaLE, phase by phase: the paper's Theorem 3 with equalities.

For m rounds the player is at v + gamma z. It pays hitting cost there and switching cost to get there, it loses what LAI
gains by not following v all the way, and exploitation starts at distance gamma z from v. Then it plays LAI with its
estimate. With S = E[z z'] and C^ = C^_{m+1} the first gain of exploitation, the expected regret against LAI from round
1 is the sum of

    irreducible       sum over t <= m of 1/2 <Sigma_t, C_t>
    data collection   gamma^2 [1/2 tr A + d] per round, minus 1/2 gamma^2 d in round 1, which no probe precedes
    handover          1/2 gamma^2 <S, I - C^>, if exploitation continues from the last probe
    exploitation      Proposition 1 over rounds m+1..T, for a player that starts gamma z away from v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from soqo._foundation.arguments import choice, finite_array, integer, number, vector
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.gains import contraction, gains_of_rounds
from soqo._model.spectrum import Spectrum
from soqo.errors import ArgumentError
from soqo.theory._estimate_comparison import Comparison, broadcastable
from soqo.theory._exact_regret import ExactRegret, round_terms
from soqo.theory._gain_sums import contraction_sum, kernel_sum
from soqo.theory._step_covariance import Covariance, StepMoments, step_moments
from soqo.typing import Array, ArrayLike

Handover = Literal["direct", "virtual"]
"""Where exploitation starts: from the last probe, or from the position that LAI with the estimate would have."""


@dataclass(frozen=True)
class ScaleRegret(Value):
    """The expected regret of SCaLE for a given estimate: numbers, or arrays for a batch of estimates.

    Attributes
    ----------
    irreducible : float or Array
        "Irreducible cost of NOT knowing A": the cost of following v instead of playing LAI in the rounds of probing,
        without the probes.
    data_collection : float or Array
        "Cost of data collection": the cost of the probes. The paper's term includes the handover.
    handover : float or Array
        The cost of the distance to v when exploitation begins.
    exploitation : ExactRegret
        The regret of rounds m+1..T, "potential benefit: o(T) regret".
    """

    irreducible: Any
    data_collection: Any
    handover: Any
    exploitation: ExactRegret

    @property
    def exploration(self) -> Any:
        """The regret of rounds 1..m."""
        return self.irreducible + self.data_collection

    @property
    def total(self) -> Any:
        """The regret of all rounds."""
        return self.exploration + self.handover + self.exploitation.total

    def __str__(self) -> str:
        parts = {
            "irreducible cost of not knowing A": self.irreducible,
            "cost of data collection": self.data_collection,
            "handover": self.handover,
            "exploitation": self.exploitation.total,
            "total": self.total,
        }
        mean = " (mean)" if np.ndim(self.total) else ""
        return "\n".join(f"{name:<34}{np.mean(part):>12.6g}{mean}" for name, part in parts.items())


def exact_scale_regret(
    A: ArrayLike,
    A_hat: ArrayLike,
    *,
    covariance: Covariance,
    horizon: int,
    m: int,
    gamma2: float,
    handover: Handover = "direct",
    probes: ArrayLike | None = None,
    x0_minus_v0: ArrayLike | None = None,
) -> ScaleRegret:
    """Return the exact expected regret of SCaLE with a given estimate, in the parts of Theorem 3.

    Assumptions: v is a martingale; the estimate is given, and without ``probes`` it is independent of the last probe,
    where the handover starts. Errata: Theorem 3 bounds 1/2 <Sigma, C> by tr(Sigma) / (2 (1 + sigma_min)), which is
    false on the null space of A; and the bounds on exploitation that it adds (Theorems 4 and 5) are for a player that
    starts on v, although it starts gamma z away from v.

    Parameters
    ----------
    A, A_hat : array_like, shape (d, d) or (*batch, d, d)
        The curvature and its estimate, in coordinates where switching is plain l2.
    covariance : float, array_like or Process
        The covariance of v's steps, as in :func:`exact_regret`.
    horizon : int
        The number of rounds T.
    m : int
        The number of rounds of probing, below the horizon.
    gamma2 : float
        The variance of a probe.
    handover : {"direct", "virtual"}
        As in :class:`soqo.SCaLE`: exploitation starts from the last probe, or from the position that LAI with the
        estimate would have.
    probes : array_like, shape (m, d) or (*batch, m, d), optional
        The directions z of the probes. If given, the result is the expectation over v only.
    x0_minus_v0 : array_like of shape (d,), optional
        The start relative to the minimizer. By default the player starts on the minimizer.

    Returns
    -------
    ScaleRegret
        The regret and its four parts.

    See Also
    --------
    expected_scale_regret : The expectation over probes and noise too.

    Examples
    --------
    >>> A = [[1.0, 0.0], [0.0, 4.0]]
    >>> print(exact_scale_regret(A, A_hat=A, covariance=1.0, horizon=1000, m=12, gamma2=10.0))
    irreducible cost of not knowing A      3.32123
    cost of data collection                    530
    handover                               7.23231
    exploitation                                 0
    total                                  540.554
    """
    horizon, m = check_phases(horizon, m)
    gamma2 = number("gamma2", gamma2, least=0.0)
    choice("handover", handover, get_args(Handover))
    pair = Comparison.of(A, A_hat)
    moments = step_moments(covariance, pair.dim, horizon)
    u0 = np.zeros(pair.dim) if x0_minus_v0 is None else vector("x0_minus_v0", x0_minus_v0, (pair.dim,))
    cost, first, last, last_moment = _probe_moments(pair, m, probes)
    irreducible = _irreducible_cost(pair.true, moments, horizon, m)
    # Moving to v in round 1 costs 1/2 |x0 - v0|^2; LAI pays only the part in the norm of I - C_1.
    irreducible = irreducible + 0.5 * _trace(pair.true, contraction(pair.true.values, horizon), np.outer(u0, u0))
    gamma = math.sqrt(gamma2)
    collection = gamma2 * cost - gamma * first @ u0
    rest = horizon - m
    gain = contraction(pair.estimate.values, rest)
    if handover == "direct":
        second = gamma2 * last_moment
        jump = 0.5 * _trace(pair.estimate, 1.0 - gain, second)
    else:
        # The first step of exploitation goes from the last probe to the virtual path, not along that path.
        mean, second = _virtual_moments(pair.estimate, moments, horizon, m, u0)
        jump = 0.5 * gamma2 * np.trace(last_moment, axis1=-2, axis2=-1)
        jump = jump + 0.5 * _trace(pair.estimate, gain, second)
        jump = jump - gamma * np.vecdot(last, pair.estimate.apply(gain, mean))
    exploitation = _exploitation_regret(pair, moments.select(slice(m, horizon)), rest, second)
    shape = np.broadcast_shapes(pair.batch, cost.shape)
    parts = (irreducible, collection, jump, exploitation.value, exploitation.basis)
    irreducible, collection, jump, value, basis = (np.broadcast_to(part, shape).copy()[()] for part in parts)
    return ScaleRegret(irreducible, collection, jump, ExactRegret(value, basis))


def check_phases(horizon: int, m: int) -> tuple[int, int]:
    """Validate a horizon and a number of rounds of probing below it."""
    horizon, m = integer("horizon", horizon, least=2), integer("m", m, least=1)
    if m >= horizon:
        raise ArgumentError(f"m must be below horizon = {horizon}, got {m}")
    return horizon, m


def _probe_moments(pair: Comparison, m: int, probes: ArrayLike | None) -> tuple[Array, Array, Array, Array]:
    """Return the cost of probing with gamma = 1 and a fixed v, and the moments of the probes that regret depends on.

    The moments are the first direction, the last one, and the second moment of the last one. Without given probes, all
    are expectations over Gaussian probes.
    """
    d = pair.dim
    if probes is None:
        cost = np.asarray(0.5 * m * pair.true.values.sum(axis=-1) + d * (m - 0.5))
        return cost, np.zeros(d), np.zeros(d), np.eye(d)
    z = finite_array("probes", probes)
    if z.ndim < 2 or z.shape[-2:] != (m, d) or not broadcastable(z.shape[:-2], pair.batch):
        raise ArgumentError(f"probes must have shape (*batch, {m}, {d}), got {z.shape}")
    coordinates = z @ pair.true.vectors
    hitting = np.sum(coordinates**2 * pair.true.values[..., None, :], axis=(-1, -2))
    jumps = np.diff(z, axis=-2, prepend=0.0)
    cost = np.asarray(0.5 * (hitting + np.sum(jumps**2, axis=(-1, -2))))
    first, last = z[..., 0, :], z[..., -1, :]
    return cost, first, last, last[..., :, None] * last[..., None, :]


def _irreducible_cost(true: Spectrum, moments: StepMoments, horizon: int, m: int) -> Array:
    """Return the sum over rounds 1..m of 1/2 <Sigma_t, C_t>."""
    if moments.constant is not None:
        values = contraction_sum(true.values, horizon) - contraction_sum(true.values, horizon - m)
        return 0.5 * _trace(true, values, moments.constant)
    early = slice(0, m)
    diagonals = np.diagonal(moments.transform(true.vectors, true.vectors, early), axis1=-2, axis2=-1)
    gains = gains_of_rounds(contraction, true.values, horizon, early)
    return np.asarray(0.5 * np.sum(gains * diagonals, axis=(0, -1)))


def _trace(spectrum: Spectrum, values: Array, moment: Array) -> Array:
    """Return <M, matrix with these eigenvectors and the given eigenvalues>."""
    diagonal = np.sum(spectrum.vectors * (moment @ spectrum.vectors), axis=-2)
    return np.asarray(np.sum(values * diagonal, axis=-1))


def _virtual_moments(estimate: Spectrum, moments: StepMoments, horizon: int, m: int, u0: Array) -> tuple[Array, Array]:
    """Return mean and second moment of x - v after m rounds of LAI with the estimate, from x0 - v0 = u0."""
    P = estimate.vectors
    mean = estimate.into(u0)
    second = mean[..., :, None] * mean[..., None, :]
    early = slice(0, m)
    gains = gains_of_rounds(contraction, estimate.values, horizon, early)
    for gain, step in zip(gains, moments.transform(P, P, early), strict=True):
        mean = gain * mean
        second = (second + step) * (gain[..., :, None] * gain[..., None, :])
    return estimate.out_of(mean), P @ second @ P.swapaxes(-1, -2)


def _exploitation_regret(pair: Comparison, moments: StepMoments, rounds: int, second: Array) -> ExactRegret:
    """Return Proposition 1 for the last rounds, from a distance x - v with this second moment, without the handover."""
    start = pair.basis(second, rounds)
    if moments.constant is None:
        value_terms, basis_terms = round_terms(pair, moments, rounds, None)
        return ExactRegret(value_terms.sum(axis=0), basis_terms.sum(axis=0) + start)
    value, basis = (part(moments.constant, rounds, kernel_sum) for part in (pair.value, pair.basis))
    return ExactRegret(value, basis + start)
