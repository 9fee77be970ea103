r"""When a step aside is worth its price.

Regret is of second order in the error E of the estimate: with C the gain, c_i its eigenvalues and f_ij the divided
differences of c over the eigenvalues of A, an average round costs

    1/2 sum_i (1/c_i) sum_jk f_ij f_ik Cov(E_ij, E_ik) W_jk,        W = E[(x_prev - v)(x_prev - v)'],

in the eigenbasis of the estimate. A reading at u takes Cov(E) down by the outer product of its covariance with E over
its own variance; so what it saves per round is a quadratic form. It saves so for the rounds to come, but no longer than
until the movement that happens anyway would have told the same. To step aside by delta costs 1/2 delta'C^{-1} delta,
future included.

That is for small errors. The scale of A may be wrong by factors, when the first readings are little more than noise;
and if A is large, playing for a small one costs much in every round. What a reading tells grows with the fourth power
of |u| and what it costs with the square, so a few readings from far off find the scale for less than many from nearby:
:func:`boldly`.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._planner import contraction
from soqo._spectrum import Spectrum
from soqo.estimators._measurements import smat, svec
from soqo.estimators.bayes._recursive import TRACE, Belief, Model, eigenvalue_deviations
from soqo.typing import Array

__all__ = ["BOLD", "boldly", "worthwhile_probe"]

SAFETY = 32.0
"""How many times its price a probe must promise to save."""

BOLD = range(2, 6)
"""How many rounds there were before one that may be played boldly: one reading cannot be told from noise at all, and
what four bold ones do not show is too small to be worth more."""

SIZES = (0.3, 1.0, 3.0)
"""Probes to consider, in units of the size at which the doubt about A outweighs the noise."""


def worthwhile_probe(
    belief: Belief,
    model: Model,
    spectrum: Spectrum,
    planned: Array,
    moment: Array,
    to_go: float,
    left: float,
) -> Array:
    """The best step aside from the planned x - v, shape (runs, d); zero where none pays.

    Parameters
    ----------
    belief, model, spectrum
        What is believed, and the spectrum of the estimate.
    planned : Array, shape (runs, d)
        x - v as it would be without a probe.
    moment : Array, shape (runs, d, d)
        The mean W of (x_prev - v)(x_prev - v)'.
    to_go, left
        Rounds to go, for the gain; and rounds in which a better estimate pays.
    """
    runs, d = planned.shape
    Q = spectrum.vectors
    Qt = Q.swapaxes(-1, -2)
    root = belief.root[:, : model.unknowns]
    # The deviation of each eigenvalue; no gain is steeper than at that distance from zero.
    deviation = eigenvalue_deviations(root, spectrum) + 1e-300
    values = np.maximum(spectrum.values, deviation)
    c = contraction(values, to_go)
    slopes = divided_differences(values, c, to_go)
    W = Qt @ moment @ Q
    seen = belief.second_moment / np.maximum(belief.readings, 1.0)[:, None, None]

    def saved(u: Array) -> Array:
        """What a reading at u saves in all."""
        spread = np.vecmat(model.features(u), belief.root)
        variance = np.vecdot(spread, spread)
        X = smat(np.matvec(root, spread))  # the covariance of the reading with A
        Y = slopes * (Qt @ X @ Q)
        noise = np.square(belief.noise)
        per_round = 0.5 * (np.vecdot(Y @ W, Y) / c).sum(axis=1) / (variance + noise)
        # How fast the movement that happens anyway tells the same, if it is as it was and normal.
        XS = X @ seen
        trace = np.trace(XS, axis1=1, axis2=2)
        free = 0.5 * (XS * XS.swapaxes(-1, -2)).sum(axis=(1, 2)) + 0.25 * np.square(trace)
        rate = free / np.maximum(variance * noise, 1e-300)
        return np.asarray(per_round * left / (1.0 + rate * left))

    anyway = saved(planned)
    best, gain = np.zeros_like(planned), np.zeros(runs)
    unit = np.sqrt(2.0 * belief.noise[:, None] / deviation)
    for k in range(d):
        for size in SIZES:
            length = size * unit[:, k]
            step = length[:, None] * Q[:, :, k]
            price = 0.5 * np.square(length) / c[:, k]
            net = saved(planned + step) - anyway - SAFETY * price
            better = net > gain
            best = np.where(better[:, None], step, best)
            gain = np.where(better, net, gain)
    return best


def boldly(belief: Belief, model: Model, spectrum: Spectrum) -> Spectrum:
    """What to play for: the estimate, or no more than the switching weight where the scale of A is still unknown.

    It is unknown where the deviation of A along the identity is above TRACE times the mean eigenvalue, more than the
    prior says for a known scale. One is the prior's median of s; its mean, which the estimate begins with, is larger
    and right for a single round, but from there one sees little.
    """
    along = svec(np.eye(model.dim)) / math.sqrt(model.dim)
    spread = along @ belief.root[:, : model.unknowns]
    unknown = np.sqrt(np.vecdot(spread, spread)) > TRACE * spectrum.values.mean(axis=1)
    return Spectrum(
        np.where(unknown[:, None], np.minimum(spectrum.values, 1.0), spectrum.values),
        spectrum.vectors,
    )


def divided_differences(a: Array, c: Array, to_go: float) -> Array:
    """(c_i - c_j) / (a_i - a_j), and the slope of c where they are near each other; shape (runs, d, d)."""
    difference = a[:, :, None] - a[:, None, :]
    middle = 0.5 * (a[:, :, None] + a[:, None, :])
    near = np.abs(difference) <= 1e-3 * middle
    slope = (contraction(1.001 * middle, to_go) - contraction(0.999 * middle, to_go)) / (0.002 * middle)
    return np.where(near, slope, (c[:, :, None] - c[:, None, :]) / np.where(near, 1.0, difference))
