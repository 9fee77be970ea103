r"""Probes: deviations from the plan whose information is worth more than their price.

Regret is of second order in the error E of the estimate. With the gain C, its eigenvalues c_i, and the divided
differences f_ij of c over the eigenvalues of A, a round costs on average, in the eigenbasis of the estimate,

    1/2 sum_i (1/c_i) sum_jk f_ij f_ik Cov(E_ij, E_ik) W_jk,        W = E[(x_prev - v)(x_prev - v)'].

A reading at u reduces Cov(E) by X X' / (var + sigma^2) with X = Cov(A, 1/2 u'A u), and so this cost by a quadratic form
in X. A probe delta has the price 1/2 delta'C^{-1} delta. It pays if what it saves over the rounds to come exceeds that;
but only until the movement without probes would have shown the same.

Where v moves in many directions every reading says something about all of A. So probes are considered only if the
directions are few. If w is one of them, A w is what matters, and candidates are directions in which it is least known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._model.gains import MAX_ROUNDS, contraction
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import register
from soqo.estimators.bayes import Posterior, Terms
from soqo.typing import Array, BoolArray, IntArray

FEW = 0.5
"""The directions are few if they are less than this share of what steps without a preferred direction have."""

FIRST_ROUND, PAUSES = 4, 16
"""The budget of the search for probes: the round from which they are considered. If none pays, the next pause is the
rounds so far divided by PAUSES."""

SAFETY = 4.0
"""A probe must save this many times its price, since the saving is an expectation over a wide prior."""

DIRECTIONS = 4
"""The budget of the search in directions: those to probe in, and one more than those of v that count."""

SIZES = np.array([0.1, 0.3, 1.0, 3.0])
"""The grid of sizes, a budget as well, in units of the size at which the uncertainty about A equals the noise."""


@register("GLIDE.motion", version=2, migrations={1: lambda fields: {**fields, "probed": fields["due"] < 0.0}})
@dataclass(frozen=True)
class Motion(Value):
    """In which directions v moves, and when a probe is considered next.

    Attributes
    ----------
    directions : Array, shape (runs, d, d)
        The sum of s s'/|s|^2 over the distances s = x_prev - v.
    squares : Array, shape (runs,)
        The sum of |s|^2.
    rounds : Array, shape (runs,)
        The number of rounds.
    due : Array, shape (runs,)
        The number of rounds after which a probe is considered next.
    probes : Array, shape (runs,)
        The number of probes.
    probed : BoolArray, shape (runs,)
        The runs with a probe in the last round.
    """

    directions: Array
    squares: Array
    rounds: Array
    due: Array
    probes: Array
    probed: BoolArray

    @classmethod
    def start(cls, runs: int, d: int) -> Motion:
        """Return what is known before the first round."""
        zeros = np.zeros(runs)
        return cls(np.zeros((runs, d, d)), zeros, zeros, zeros + FIRST_ROUND, zeros, zeros < 0.0)

    def after(self, distance: Array) -> Motion:
        """Return what is known after a round, in which x_prev - v was ``distance``, shape (runs, d)."""
        square = np.minimum(np.vecdot(distance, distance), 1e100)
        unit = distance / np.sqrt(np.maximum(square, 1e-300))[:, None]
        directions = self.directions + unit[:, :, None] * unit[:, None, :]
        squares, none = self.squares + square, np.zeros(len(square), dtype=np.bool_)
        return evolve(self, directions=directions, squares=squares, rounds=self.rounds + 1, probed=none)

    def may_probe(self, distance: Array) -> BoolArray:
        """Return the runs in which a probe is considered: those further from v than usual, where it shows more."""
        runs, d, n = len(self.due), self.directions.shape[-1], self.rounds
        far = np.vecdot(distance, distance) * n >= self.squares
        chosen = np.asarray(far & (self.due <= n) & (self.squares > 0.0))
        if chosen.any():
            flat = self.directions.reshape(runs, -1)
            # The participation number n^2 / |directions|^2 of steps without a preferred direction is d n / (n + d).
            chosen &= n * (n + d) < FEW * d * np.vecdot(flat, flat)
        return chosen

    def moment(self, index: IntArray) -> Array:
        """Return the mean W of (x_prev - v)(x_prev - v)' in some runs."""
        return self.directions[index] * (self.squares[index] / np.square(self.rounds[index]))[:, None, None]

    def considered(self, index: IntArray, probes: Array) -> Motion:
        """Return the motion after probes in some runs, zero for none, were considered."""
        due, probed, rounds, pays = self.due.copy(), self.probed.copy(), self.rounds[index], probes.any(axis=1)
        due[index] = rounds + np.where(pays, 1.0, np.maximum(FIRST_ROUND, rounds // PAUSES))
        probed[index] = pays
        return evolve(self, due=due, probes=self.probes + probed, probed=probed)


@np.errstate(over="ignore", invalid="ignore")  # a value that is not a number is no reason for a probe
def best_probes(posterior: Posterior, terms: Terms, planned: Array, moment: Array, to_go: float, save: Array) -> Array:
    """Return the probe of the largest net value in each row, shape (n, d); zero if none pays.

    Parameters
    ----------
    posterior : Posterior
        The posteriors of A.
    terms : Terms
        The columns of the features.
    planned : Array, shape (n, d)
        x - v without a probe.
    moment : Array, shape (n, d, d)
        The mean W of (x_prev - v)(x_prev - v)'.
    to_go : float
        The rounds to go, which determine the gain.
    save : Array, shape (n,)
        The rounds in which a better estimate saves cost.
    """
    vectors = posterior.vectors
    Q = Spectrum.of((vectors * posterior.values[:, None]) @ vectors.mT).vectors
    values = np.vecdot(Q.mT, ((vectors * posterior.values[:, None]) @ (vectors.mT @ Q)).mT)
    # The slope of the gain is evaluated no closer to zero than one deviation of the eigenvalue.
    values = np.maximum(values, posterior.deviations(terms, Q.mT)) + 1e-300
    c, f = contraction(values, to_go), divided_differences(values, to_go)
    noise = np.maximum(posterior.noise(), 1e-150)[:, None]
    probes = _candidates(posterior, terms, Q, np.abs(np.diagonal(f, axis1=1, axis2=2)) / np.sqrt(c), moment, noise)
    variance, X = posterior.covariances(terms, planned[:, None] + probes)
    Y = f[:, None] * (Q.mT[:, None] @ X @ Q[:, None])
    per_round = 0.5 * (np.vecdot(Y @ (Q.mT @ moment @ Q)[:, None], Y) / c[:, None]).sum(axis=-1)
    # The rate at which the movement without probes gives the same information: u is C (x_prev - v).
    C = (Q * c[:, None]) @ Q.mT
    XS = X @ (C @ moment @ C)[:, None]
    information = 0.5 * (XS * XS.mT).sum(axis=(-2, -1)) + 0.25 * np.square(np.trace(XS, axis1=-2, axis2=-1))
    rate = information / np.maximum(variance * noise**2, 1e-300)
    saving = per_round / (variance + noise**2) * save[:, None] / (1.0 + rate * save[:, None])
    price = 0.5 * (np.square(probes @ Q) / c[:, None]).sum(axis=-1)
    value = saving - saving[:, :1] - SAFETY * price
    best = np.where(value > 0.0, value, 0.0).argmax(axis=1)
    return np.asarray(np.nan_to_num(probes[np.arange(len(best)), best]))


def _candidates(posterior: Posterior, terms: Terms, Q: Array, importance: Array, W: Array, noise: Array) -> Array:
    """Return no probe, and several in directions in which A w is least known for the directions w of v."""
    n, d = noise.size, terms.dim
    weights, moving = np.linalg.eigh(W)
    unknown = sum(
        weights[:, -i, None, None] * posterior.image(terms, moving[:, :, -i]) for i in range(1, min(DIRECTIONS, d + 1))
    )
    spread = importance[:, :, None] * (Q.mT @ unknown @ Q) * importance[:, None, :]
    spread = np.nan_to_num(spread, posinf=0.0, neginf=0.0)  # numbers that overflow say nothing
    directions = (Q @ np.linalg.eigh(spread)[1][:, :, -DIRECTIONS:]).mT
    deviation = np.maximum(posterior.deviations(terms, directions), 1e-150)
    length = np.sqrt(2.0 * noise / deviation)[:, :, None] * SIZES
    probes = (length[..., None] * directions[:, :, None]).reshape(n, -1, d)
    return np.concatenate([np.zeros((n, 1, d)), probes], axis=1)


def divided_differences(a: Array, to_go: float) -> Array:
    """Return (c_i - c_j) / (a_i - a_j) for the gain c of a, shape (n, d); the slope of c if a_i and a_j are close."""
    one, other = a[:, :, None], a[:, None, :]
    close = np.abs(one - other) <= 1e-3 * (one + other)
    middle = 0.5 * (one + other)
    one, other = np.where(close, 1.001 * middle, one), np.where(close, 0.999 * middle, other)
    to_go = min(to_go, MAX_ROUNDS)
    return np.asarray((contraction(one, to_go) - contraction(other, to_go)) / (one - other))
