"""Coordinates in which the switching cost is plain l2, for a plant whose actuators have different weights."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from soqo._foundation.arguments import finite_array
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._model.spectrum import Spectrum, symmetric
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike


@dataclass(frozen=True)
class Coordinates(Value):
    """The map x -> W^{1/2} x to coordinates in which switching is plain l2.

    Parameters
    ----------
    switching_weight : None, float or array_like of shape (d,) or (d, d), optional
        The weight W: None (identity), a positive number, a vector of positive numbers (one per actuator) or a positive
        definite matrix.

    Examples
    --------
    >>> coordinates = Coordinates([4.0, 1.0])
    >>> coordinates.to_plain(np.array([1.0, 1.0]))
    array([2., 1.])
    """

    switching_weight: Array | None
    root: Array = field(init=False)
    inverse_root: Array = field(init=False)
    times: np.ufunc = field(init=False, repr=False)

    def __init__(self, switching_weight: ArrayLike | None = None) -> None:
        weight = finite_array("switching_weight", 1.0 if switching_weight is None else switching_weight)
        if weight.ndim > 2 or weight.size == 0:
            raise ArgumentError(
                f"switching_weight must be None, a number, a vector or a matrix, got an array of shape {weight.shape}"
            )
        if weight.ndim == 2:
            weight = symmetric("switching_weight", weight)
            spectrum = Spectrum.of(weight)
            lowest, highest = spectrum.values[0], spectrum.values[-1]
            if lowest <= np.finfo(float).eps * weight.shape[0] * abs(highest):
                raise ArgumentError(
                    "switching_weight must be positive definite, "
                    f"got a smallest eigenvalue of {lowest:.6g} and a largest of {highest:.6g}"
                )
            root = spectrum.matrix(np.sqrt(spectrum.values))
            inverse_root = spectrum.matrix(1.0 / np.sqrt(spectrum.values))
        else:
            if not (weight > 0).all():
                raise ArgumentError(f"switching_weight must be positive, got {weight.min():g}")
            root = np.asarray(np.sqrt(weight))
            inverse_root = np.asarray(1.0 / root)
        set_fields(self, switching_weight=None if switching_weight is None else freeze(weight))
        times = np.matmul if weight.ndim == 2 else np.multiply
        set_fields(self, root=freeze(root), inverse_root=freeze(inverse_root), times=times)

    @property
    def dim(self) -> int | None:
        """The dimension, or None if the weight is a number and fits all."""
        return None if self.root.ndim == 0 else int(self.root.shape[-1])

    def to_plain(self, x: Array) -> Array:
        """Map from the plant's coordinates to those where switching is plain l2."""
        plain: Array = self.times(x, self.root)
        return plain

    def from_plain(self, z: Array) -> Array:
        """Map from the coordinates where switching is plain l2 to the plant's."""
        x: Array = self.times(z, self.inverse_root)
        return x

    def curvature(self, spectrum: Spectrum) -> Array:
        """Return W^{-1/2} A W^{-1/2}, which is A in plain coordinates, for the spectrum of A.

        As a product of A^{1/2} W^{-1/2} with itself, it is positive semi-definite to round-off of its own size, also
        for weights that differ by many orders of magnitude.
        """
        half = np.sqrt(spectrum.values)[..., :, None] * spectrum.vectors.swapaxes(-1, -2)
        factor = self.from_plain(half)
        product = np.matmul(factor.swapaxes(-1, -2), factor)
        return np.asarray(0.5 * (product + product.swapaxes(-1, -2)))
