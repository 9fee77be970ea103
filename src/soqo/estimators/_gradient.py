"""One projected gradient step on an estimate of A, the learning rule of POL, OAL and HySCaLE.

The loss of a reading y at u = x - v is 1/2 (1/2 u'Mu - y)^2, its gradient 1/2 (1/2 u'Mu - y) uu'. The paper prints
(u'Mu - y) uu', whose fixed point is A/2, since y is about 1/2 u'Au; ``form="as_printed"`` keeps that slip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from soqo._foundation.blas import max_entry, min_entry, sum_of_squares
from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import register
from soqo.typing import Array, BoolArray

DIVERGED_ABOVE = 1e12
"""An estimate with an eigenvalue above this, in units of the switching weight, counts as diverged: the player then
follows v to twelve digits, so its readings carry no information."""

MAX_UPDATE = 1e150
"""Updates with a larger norm are rejected, so that all later arithmetic stays finite."""


@register("GradientEstimate")
@dataclass(frozen=True)
class GradientEstimate(Value):
    """An estimate of A that gradient steps improve, for each run of a batch.

    Attributes
    ----------
    matrix : Array, shape (*batch, d, d)
        The estimate, positive semi-definite.
    spectrum : Spectrum
        The eigenvalues and eigenvectors of the matrix: the projection computes them, and the gain needs them.
    diverged : BoolArray, shape (*batch,)
        Whether an eigenvalue has ever exceeded 1e12, or an update was rejected because it would overflow.
    overshoots : Array, shape (*batch,)
        The number of updates so long that they increased the error of their own reading. More than a few mean that the
        rate is too large.
    """

    matrix: Array
    spectrum: Spectrum
    diverged: BoolArray
    overshoots: Array

    @classmethod
    def initial(cls, matrix: Array) -> GradientEstimate:
        """Start from a matrix for each run, which is projected on the positive semi-definite matrices.

        Parameters
        ----------
        matrix : Array, shape (*batch, d, d)
            The symmetric matrices.

        Returns
        -------
        GradientEstimate
            The estimate, with no step taken.
        """
        batch = matrix.shape[:-2]
        matrix, spectrum = project_psd(matrix)
        return cls(matrix, spectrum, np.zeros(batch, dtype=np.bool_), np.zeros(batch))


def projected_gradient_step(
    estimate: GradientEstimate, u: Array, y: Array, *, rate: float, form: Literal["exact", "as_printed"] = "exact"
) -> GradientEstimate:
    """Take a gradient step on the reading y at u, and project on the positive semi-definite matrices.

    Overflow is handled, but NumPy's warnings are not suppressed here: a caller can do so once for many steps.

    Parameters
    ----------
    estimate : GradientEstimate
        The estimate before the step.
    u : Array, shape (*batch, d)
        The deviation x - v at which the cost was measured.
    y : Array, shape (*batch,)
        The readings; runs with NaN keep their estimate.
    rate : float
        The step size, the paper's xi.
    form : {"exact", "as_printed"}
        The gradient of the loss, or the paper's formula.

    Returns
    -------
    GradientEstimate
        The estimate after the step.

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
    # In this order of multiplication the update is exactly symmetric.
    updated = M - factor[..., None, None] * outer
    diverged, overshoots = estimate.diverged, estimate.overshoots
    max_length, limit = max_entry(length), math.sqrt(2.0 / (slope * fraction) / rate)
    overshot = length > limit if max_length > limit else False
    # If this bound on all updates fails, or is NaN because a reading is missing, check each run.
    if sum_of_squares(factor) * max_length * max_length <= MAX_UPDATE:
        projected, spectrum = project_psd(updated)
    else:
        accepted = np.abs(factor) * length <= MAX_UPDATE
        mask = accepted[..., None]
        projected, spectrum = project_psd(np.where(mask[..., None], updated, M))
        projected = np.where(mask[..., None], projected, M)
        spectrum = Spectrum(
            np.where(mask, spectrum.values, estimate.spectrum.values),
            np.where(mask[..., None], spectrum.vectors, estimate.spectrum.vectors),
        )
        present = ~np.isnan(y)
        diverged, overshot = diverged | (present & ~accepted), present & overshot
    if overshot is not False:
        overshoots = overshoots + overshot
    if max_entry(spectrum.values) > DIVERGED_ABOVE:
        diverged = diverged | (spectrum.values[..., -1] > DIVERGED_ABOVE)
    return evolve(estimate, matrix=projected, spectrum=spectrum, diverged=diverged, overshoots=overshoots)


def project_psd(matrix: Array) -> tuple[Array, Spectrum]:
    """Return the nearest positive semi-definite matrix in Frobenius norm, and its spectrum."""
    values, vectors = np.linalg.eigh(matrix)
    min_eigenvalue = min_entry(values) if values.size else 0.0
    if min_eigenvalue >= 0.0:
        return matrix, Spectrum(values, vectors)
    clipped = np.maximum(values, 0.0)
    # Subtract the negative part, one eigenvalue at a time in ascending order; a gradient step makes at most one
    # negative, apart from round-off. The part is zero for runs inside the cone, whose matrix thus stays bit-identical,
    # and exactly symmetric in this order of multiplication.
    negative, projected = values - clipped, matrix
    for k in range(values.shape[-1]):
        part, vector = negative[..., k], vectors[..., k]
        if not min_entry(part) < 0.0:
            break
        outer = vector[..., :, None] * vector[..., None, :]
        projected = projected - part[..., None, None] * outer
    if -min_eigenvalue > min_entry(values[..., -1]):
        # Where the negative part dominates, its round-off would exceed the result: compute that from the positive part.
        factor = vectors * np.sqrt(clipped)[..., None, :]
        dominated = values[..., 0] < -values[..., -1]
        projected = np.where(dominated[..., None, None], np.matmul(factor, factor.mT), projected)
    return projected, Spectrum(clipped, vectors)
