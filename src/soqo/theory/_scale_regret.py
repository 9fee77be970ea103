r"""What SCaLE costs, phase by phase: the paper's Theorem 3 as equalities.

For m rounds the player stands at v + gamma z. It pays for standing there and for coming there, it forgoes what LAI
gains by not following v all the way, and at the handover it stands gamma z away from v. Then it plays LAI with its
estimate. Against LAI from round 1 the expected regret is, with S = E[z z'] and C^ = C^_{m+1} the first gain of
exploitation,

    irreducible       sum over t <= m of 1/2 <Sigma_t, C_t>
    data collection   gamma^2 [1/2 tr A + d] a round, less 1/2 gamma^2 d in the first, whose predecessor is no probe
    handover          1/2 gamma^2 <S, I - C^>                (going on from where it stands)
    exploitation      Proposition 1 over rounds m+1..T, for a player who starts gamma z away from v."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._arguments import choice, finite_array, integer, number, vector
from soqo._planner import contraction
from soqo._spectrum import Spectrum
from soqo.errors import ArgumentError
from soqo.theory._comparison import Comparison, gains, go_together
from soqo.theory._exact import ExactRegret, terms_of_rounds
from soqo.theory._moments import StepMoments, step_moments
from soqo.theory._sums import contraction_sum
from soqo.typing import Array

__all__ = ["HANDOVERS", "ScaleRegret", "exact_scale_regret"]

HANDOVERS = ("direct", "virtual")


@dataclass(frozen=True, eq=False)
class ScaleRegret:
    """The expected regret of SCaLE for a given estimate; numbers, or arrays for a batch of estimates.

    Attributes
    ----------
    irreducible
        "Irreducible cost of NOT for_problem A": what following v costs more than LAI while probing, without the probes.
    data_collection
        "Cost of data collection": what standing off v costs while probing. The paper's name covers the handover too.
    handover
        What standing off v costs when exploitation begins.
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
            "irreducible cost of not for_problem A": self.irreducible,
            "cost of data collection": self.data_collection,
            "handover": self.handover,
            "exploitation": self.exploitation.total,
            "total": self.total,
        }
        mean = " (mean)" if np.ndim(self.total) else ""
        return "\n".join(f"{name:<34}{np.mean(part):>12.6g}{mean}" for name, part in parts.items())


def exact_scale_regret(
    A: Any,
    A_hat: Any,
    covariance: Any,
    horizon: int,
    m: int,
    gamma2: float,
    *,
    handover: str = "direct",
    probes: Any = None,
    x0_minus_v0: Any = None,
) -> ScaleRegret:
    """The expected regret of SCaLE with a given estimate, split as Theorem 3 splits it, but exactly.

    Assumptions: v is a martingale; the estimate is given, and without ``probes`` it is taken to be independent of the
    last one, on which the player stands at the handover. Errata: Theorem 3 bounds 1/2 <Sigma, C> by tr(Sigma) / (2 (1 +
    sigma_min)), which is false on the null space of A; and in the exploitation that it adds (by Theorems 4 and 5) the
    player starts on v, although it starts gamma z away from it.

    Parameters
    ----------
    A, A_hat, covariance, horizon, x0_minus_v0
        As in :func:`exact_regret`.
    m : int
        Rounds of probing, fewer than the horizon.
    gamma2 : float
        The variance of a probe.
    handover : {"direct", "virtual"}
        As in :class:`soqo.SCaLE`: exploitation goes on from where the player stands, or from where LAI with the
        estimate would stand.
    probes : array_like, shape (m, d) or (*batch, m, d), optional
        The directions z that were really played; the result is then the expectation over v only.

    Examples
    --------
    >>> A = [[1.0, 0.0], [0.0, 4.0]]
    >>> print(exact_scale_regret(A, A_hat=A, covariance=1.0, horizon=1000, m=12, gamma2=10.0))
    irreducible cost of not for_problem A      3.32123
    cost of data collection                    530
    handover                               7.23231
    exploitation                                 0
    total                                  540.554
    """
    horizon, m = two_phases(horizon, m)
    gamma2 = number("gamma2", gamma2, least=0.0)
    choice("handover", handover, HANDOVERS)
    pair = Comparison.of(A, A_hat)
    moments = step_moments(covariance, pair.dim, horizon)
    away = np.zeros(pair.dim)
    if x0_minus_v0 is not None:
        away = vector("x0_minus_v0", x0_minus_v0, (pair.dim,))
    probing = Probing.expected(pair, m) if probes is None else Probing.played(pair, m, probes)
    irreducible = irreducible_cost(pair.true, moments, horizon, m)
    # Moving to v in round 1 takes 1/2 |x0 - v0|^2; LAI pays the part of it in the norm of I - C_1.
    start = np.outer(away, away)
    first = contraction(pair.true.values, horizon)
    irreducible = irreducible + 0.5 * trace_with(pair.true, first, start)
    gamma = math.sqrt(gamma2)
    collection = gamma2 * probing.cost - gamma * probing.first @ away
    rest = horizon - m
    gain = contraction(pair.estimate.values, rest)
    if handover == "direct":
        standing = gamma2 * probing.last_moment
        jump = 0.5 * trace_with(pair.estimate, 1.0 - gain, standing)
    else:
        # The real step is from the probe to the virtual path, not along that path.
        mean, standing = virtual(pair.estimate, moments, horizon, m, away)
        jump = 0.5 * gamma2 * np.trace(probing.last_moment, axis1=-2, axis2=-1)
        jump = jump + 0.5 * trace_with(pair.estimate, gain, standing)
        jump = jump - gamma * np.vecdot(probing.last, pair.estimate.apply(gain, mean))
    exploitation = later_regret(pair, moments.of_rounds(slice(m, horizon)), rest, standing)
    shape = np.broadcast_shapes(pair.batch, probing.cost.shape)
    parts = (irreducible, collection, jump, exploitation.value, exploitation.basis)
    a, b, c, value, basis = (np.broadcast_to(part, shape).copy()[()] for part in parts)
    return ScaleRegret(a, b, c, ExactRegret(value, basis))


def two_phases(horizon: Any, m: Any) -> tuple[int, int]:
    """A horizon and the rounds of probing, which leave some to exploit."""
    horizon, m = integer("horizon", horizon, least=2), integer("m", m, least=1)
    if m >= horizon:
        raise ArgumentError(f"m must be below horizon = {horizon}, got {m}")
    return horizon, m


@dataclass(frozen=True, eq=False)
class Probing:
    """What probing with gamma = 1 costs where v stands still, and the probes that matter beyond it.

    Attributes
    ----------
    cost : Array, shape (*batch,)
    first, last : Array, shape (*batch, d)
        The first and the last direction, or their expectation, which is 0.
    last_moment : Array, shape (*batch, d, d)
        Of the last direction.
    """

    cost: Array
    first: Array
    last: Array
    last_moment: Array

    @classmethod
    def expected(cls, pair: Comparison, m: int) -> Probing:
        """For Gaussian probes."""
        d = pair.dim
        cost = np.asarray(0.5 * m * pair.true.values.sum(axis=-1) + d * (m - 0.5))
        return cls(cost, np.zeros(d), np.zeros(d), np.eye(d))

    @classmethod
    def played(cls, pair: Comparison, m: int, probes: Any) -> Probing:
        """For given probes."""
        z = finite_array("probes", probes)
        if z.ndim < 2 or z.shape[-2:] != (m, pair.dim) or not go_together(z.shape[:-2], pair.batch):
            raise ArgumentError(f"probes must have shape (*batch, {m}, {pair.dim}), got {z.shape}")
        inside = z @ pair.true.vectors
        hitting = np.sum(inside**2 * pair.true.values[..., None, :], axis=(-1, -2))
        jumps = np.diff(z, axis=-2, prepend=0.0)
        cost = np.asarray(0.5 * (hitting + np.sum(jumps**2, axis=(-1, -2))))
        first, last = z[..., 0, :], z[..., -1, :]
        return cls(cost, first, last, last[..., :, None] * last[..., None, :])


def irreducible_cost(true: Spectrum, moments: StepMoments, horizon: int, m: int) -> Array:
    """The sum over rounds 1..m of 1/2 <Sigma_t, C_t>."""
    if moments.constant is not None:
        summed = contraction_sum(true.values, horizon) - contraction_sum(true.values, horizon - m)
        return 0.5 * trace_with(true, summed, moments.constant)
    early = slice(0, m)
    Q = true.vectors
    inside = np.diagonal(moments.between(Q, Q, early), axis1=-2, axis2=-1)
    return np.asarray(0.5 * np.sum(gains(true, horizon, early) * inside, axis=(0, -1)))


def trace_with(spectrum: Spectrum, values: Array, moment: Array) -> Array:
    """<M, matrix with these eigenvectors and the given eigenvalues>."""
    inside = np.sum(spectrum.vectors * (moment @ spectrum.vectors), axis=-2)
    return np.asarray(np.sum(values * inside, axis=-1))


def virtual(estimate: Spectrum, moments: StepMoments, horizon: int, m: int, away: Array) -> tuple[Array, Array]:
    """Mean and second moment of x - v after m rounds of LAI with the estimate from x0 - v0 on."""
    P = estimate.vectors
    mean = estimate.into(away)
    standing = mean[..., :, None] * mean[..., None, :]
    early = slice(0, m)
    steps = moments.between(P, P, early)
    for gain, step in zip(gains(estimate, horizon, early), steps, strict=True):
        mean = gain * mean
        standing = (standing + step) * (gain[..., :, None] * gain[..., None, :])
    return estimate.out_of(mean), P @ standing @ P.swapaxes(-1, -2)


def later_regret(pair: Comparison, moments: StepMoments, rounds: int, standing: Array) -> ExactRegret:
    """Proposition 1 for the last rounds, from a distance x - v with this second moment (the handover is not in it)."""
    basis_of_start = pair.basis(standing, rounds)
    if moments.constant is None:
        value, basis = terms_of_rounds(pair, moments, rounds, None)
        return ExactRegret(value.sum(axis=0), basis.sum(axis=0) + basis_of_start)
    value = pair.value_sum(moments.constant, rounds)
    return ExactRegret(value, pair.basis_sum(moments.constant, rounds) + basis_of_start)
