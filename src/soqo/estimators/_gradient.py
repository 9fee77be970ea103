"""One projected gradient step on an estimate of A: what POL, OAL and HySCaLE learn with.

The loss of a reading y at u = x - v is 1/2 (1/2 u'Mu - y)^2, its gradient 1/2 (1/2 u'Mu - y) uu'. The paper prints
(u'Mu - y) uu', whose fixed point is A/2, since y is about 1/2 u'Au; ``form="as_printed"`` keeps that slip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from soqo._arguments import largest, smallest, sum_of_squares
from soqo._spectrum import Spectrum
from soqo._storage.registry import register
from soqo._values import evolve
from soqo.typing import Array, BoolArray

__all__ = ["DIVERGED_ABOVE", "FORMS", "GradientEstimate", "projected_gradient_step"]

FORMS = ("exact", "as_printed")

DIVERGED_ABOVE = 1e12
"""An estimate with an eigenvalue above this, in units of the switching weight, counts as diverged: the player then
follows v to twelve digits and cannot learn its way back."""

LARGEST = 1e150
"""An update beyond this is refused, so that all later arithmetic stays finite."""


@register("GradientEstimate")
@dataclass(frozen=True, eq=False)
class GradientEstimate:
    """An estimate of A that gradient steps improve, for each run of a batch.

    Attributes
    ----------
    matrix : Array, shape (*batch, d, d)
    spectrum : Spectrum
        Of the matrix; the gain needs it each round, and the projection has it anyway.
    diverged : BoolArray, shape (*batch,)
        Runs whose estimate once exceeded :data:`DIVERGED_ABOVE`, or would have become infinite.
    overshoots : Array, shape (*batch,)
        Updates so long that they made the error of their own reading larger: above a few, the rate is too large.
    """

    matrix: Array
    spectrum: Spectrum
    diverged: BoolArray
    overshoots: Array

    @classmethod
    def initial(cls, matrix: Array) -> GradientEstimate:
        """Start from a positive semi-definite matrix for each run."""
        batch = matrix.shape[:-2]
        matrix, spectrum = project(matrix)
        return cls(matrix, spectrum, np.zeros(batch, dtype=np.bool_), np.zeros(batch))


def projected_gradient_step(
    estimate: GradientEstimate, u: Array, y: Array, rate: float, form: str = "exact"
) -> GradientEstimate:
    """One gradient step on the reading y at u, projected on the positive semi-definite matrices.

    Numbers that overflow are seen to, but not kept quiet: that is for the caller, who may have done so for many steps.

    Parameters
    ----------
    estimate : GradientEstimate
    u : Array, shape (*batch, d)
        Where the cost was measured, x - v.
    y : Array, shape (*batch,)
        The readings; runs where it is NaN stay as they are.
    rate
        The step size, the paper's xi.
    form
        ``"exact"`` or ``"as_printed"``.

    Examples
    --------
    >>> start = GradientEstimate.initial(np.eye(1))
    >>> after = projected_gradient_step(start, u=np.array([2.0]), y=np.array(4.0), rate=0.1)
    >>> after.matrix                          # 1 - 0.1 * 1/2 (1/2 * 4 - 4) * 4
    array([[1.4]])
    """
    M = estimate.matrix
    slope, fraction = (0.5, 0.5) if form == "exact" else (1.0, 1.0)
    length = np.vecdot(u, u)
    outer = np.matmul(u[..., :, None], u[..., None, :])
    entries = *y.shape, -1
    prediction = np.vecdot(M.reshape(entries), outer.reshape(entries))
    factor = (rate * slope) * (fraction * prediction - y)
    # In this order of multiplication the update is symmetric to the bit.
    moved = M - factor[..., None, None] * outer
    diverged, overshoots = estimate.diverged, estimate.overshoots
    longest, limit = largest(length), math.sqrt(2.0 / (slope * fraction) / rate)
    overshot = length > limit if longest > limit else False
    # Where this bound on every update fails, or is NaN for want of a reading, we look run by run.
    if sum_of_squares(factor) * longest * longest <= LARGEST:
        projected, spectrum = project(moved)
    else:
        fits = np.abs(factor) * length <= LARGEST
        mask = fits[..., None]
        projected, spectrum = project(np.where(mask[..., None], moved, M))
        projected = np.where(mask[..., None], projected, M)
        spectrum = Spectrum(
            np.where(mask, spectrum.values, estimate.spectrum.values),
            np.where(mask[..., None], spectrum.vectors, estimate.spectrum.vectors),
        )
        heard = ~np.isnan(y)
        diverged, overshot = diverged | (heard & ~fits), heard & overshot
    if overshot is not False:
        overshoots = overshoots + overshot
    if largest(spectrum.values) > DIVERGED_ABOVE:
        diverged = diverged | (spectrum.values[..., -1] > DIVERGED_ABOVE)
    return evolve(estimate, matrix=projected, spectrum=spectrum, diverged=diverged, overshoots=overshoots)


def project(matrix: Array) -> tuple[Array, Spectrum]:
    """The nearest positive semi-definite matrix in Frobenius norm, with its spectrum."""
    values, vectors = np.linalg.eigh(matrix)
    lowest = smallest(values) if values.size else 0.0
    if lowest >= 0.0:
        return matrix, Spectrum(values, vectors)
    clipped = np.maximum(values, 0.0)
    # Eigenvalues ascend, and a gradient step makes no more than one negative, but for round-off. What is taken away is
    # zero for runs inside the cone, which so keep their matrix to the bit, and symmetric to the bit in this order of
    # multiplication.
    below, projected = values - clipped, matrix
    for k in range(values.shape[-1]):
        part, vector = below[..., k], vectors[..., k]
        if not smallest(part) < 0.0:
            break
        outer = vector[..., :, None] * vector[..., None, :]
        projected = projected - part[..., None, None] * outer
    if -lowest > smallest(values[..., -1]):
        # Where more is taken away than stays, its round-off would be seen: those runs are put together from what stays.
        factor = vectors * np.sqrt(clipped)[..., None, :]
        drastic = values[..., 0] < -values[..., -1]
        projected = np.where(drastic[..., None, None], np.matmul(factor, factor.mT), projected)
    return projected, Spectrum(clipped, vectors)
