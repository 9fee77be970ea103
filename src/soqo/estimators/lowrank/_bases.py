r"""Prior shapes of A from the places of the readings alone, and the scale of A.

Where A has been large, the player has followed v closely and z is small; where A is small, z grows. The inverse root of
the second moment of z is therefore a better guess of the shape of A than the identity, and its inverse a bolder one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.typing import Array

_FLOOR, _SAMPLING = 0.01, 0.3
"""What is added to the eigenvalues of the second moment, whose mean is one: at least this, and this times d/n."""

_BOLD_FLOOR = 0.1
"""What is added to them for the bold shape."""

_SPREAD = 0.3
"""The variance of a reading relative to the square of the expected one, in the fit of the scale."""


PRIOR_SCALE = 3.0
"""The prior's scale of A, in units of the switching weight; its deviation is this, too."""


@dataclass(frozen=True)
class Bases(Value):
    """Shapes of A with trace d, and the scale of A in units of each.

    Attributes
    ----------
    cautious, bold : Array, shape (d, d)
        The inverse root of the second moment, and its inverse.
    cautious_scale, bold_scale : float
        A is expected to be about this times the shape.
    """

    cautious: Array
    bold: Array
    cautious_scale: float
    bold_scale: float


def bases(Z: Array, y: Array, noise: float) -> Bases:
    """Return shapes and scales of A for some readings.

    Parameters
    ----------
    Z, y : Array, shape (n, d) and (n,)
        The readings.
    noise : float
        The deviation of the noise.

    Examples
    --------
    >>> Z = 10.0 * np.random.default_rng(0).standard_normal((200, 2))
    >>> round(bases(Z, 2.0 * np.vecdot(Z, Z) / 2.0, noise=1e-3).cautious_scale, 1)
    2.0
    """
    n, d = Z.shape
    moment = Z.T @ Z
    moment *= d / max(np.trace(moment), 1e-300)
    values, vectors = np.linalg.eigh(moment)
    values = np.maximum(values, 0.0) + max(_FLOOR, _SAMPLING * d / n)
    inverse_root, inverse = values**-0.5, 1.0 / (values + _BOLD_FLOOR)
    cautious = (vectors * (inverse_root * d / inverse_root.sum())) @ vectors.T
    bold = (vectors * (inverse * d / inverse.sum())) @ vectors.T
    return Bases(cautious, bold, _scale(cautious, Z, y, noise), _mean_ratio(bold, Z, y))


def _scale(shape: Array, Z: Array, y: Array, noise: float) -> float:
    """Return the t for which y is about t q, q = 1/2 z'B z, with the weights 1 / (noise^2 + 0.3 t^2 q^2).

    It is shrunk towards the prior's: readings that are nothing but noise say nothing about the scale, and to play for
    an A that is too small has unbounded cost.
    """
    q = 0.5 * np.vecdot(Z @ shape, Z)
    t = _positive(float(y.sum()), float(q.sum()))
    for _ in range(5):
        weights = 1.0 / (noise**2 + _SPREAD * (t * q) ** 2 + 1e-300)
        prior = 1.0 / max(PRIOR_SCALE, t) ** 2
        t = _positive(float(weights @ (q * y)) + prior * PRIOR_SCALE, float(weights @ (q * q)) + prior)
    return t


def _mean_ratio(shape: Array, Z: Array, y: Array) -> float:
    """Return the mean of y / q, q = 1/2 z'B z."""
    q = 0.5 * np.vecdot(Z @ shape, Z)
    known = q > 0.0
    return _positive(float((y[known] / q[known]).sum()), float(known.sum()))


def _positive(numerator: float, denominator: float) -> float:
    """Return a ratio, or a number that is almost zero if it is not positive."""
    ratio = numerator / denominator if denominator > 0.0 else 0.0
    return max(ratio, 1e-12 * abs(ratio), 1e-150)
