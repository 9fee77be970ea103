"""Compare a curvature with an estimate of it: their spectra, and their difference in each other's eigenbasis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from soqo._model.spectrum import Spectrum, positive_semidefinite
from soqo.errors import ArgumentError
from soqo.theory._gain_sums import kernel
from soqo.typing import Array, ArrayLike

_Kernel = Callable[[Array, Array, int], Array]
"""The weight of a step for each pair of eigenvalues, with a number of rounds to go, or its sum over these rounds."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The spectra A = Q D Q' and A^ = P D^ P' of a curvature and an estimate, each one matrix or a batch.

    Every sum is of A - A^ times a smooth function, never a difference of two sums of gains. The parts of the regret
    therefore keep their digits even if the estimate is nearly exact.
    """

    true: Spectrum
    estimate: Spectrum
    error: Array

    @classmethod
    def of(cls, A: ArrayLike, A_hat: ArrayLike) -> Comparison:
        """Validate both matrices: positive semi-definite, of the same dimension, with batches that broadcast."""
        matrix, true = positive_semidefinite("A", A)
        estimated, estimate = positive_semidefinite("A_hat", A_hat)
        if matrix.shape[-1] != estimated.shape[-1] or not broadcastable(matrix.shape[:-2], estimated.shape[:-2]):
            raise ArgumentError(f"A_hat must have A's shape {matrix.shape}, got {estimated.shape}")
        batch = np.broadcast_shapes(matrix.shape[:-2], estimated.shape[:-2])
        return cls(_broadcast(true, batch), _broadcast(estimate, batch), matrix - estimated)

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.error.shape[-1])

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch; () for one estimate of one matrix."""
        return self.error.shape[:-2]

    @cached_property
    def overlap(self) -> Array:
        """Q'P."""
        return np.asarray(self.true.vectors.swapaxes(-1, -2) @ self.estimate.vectors)

    @cached_property
    def mixed_error(self) -> Array:
        """Q'(A - A^)P, from the spectra, so that the common part of value and basis cancels to the last digit."""
        return np.asarray(self.overlap * (self.true.values[..., :, None] - self.estimate.values[..., None, :]))

    @cached_property
    def estimate_error(self) -> Array:
        """P'(A - A^)P."""
        return np.asarray(self.overlap.swapaxes(-1, -2) @ self.mixed_error)

    def value(self, moment: Array, rounds: int, weights: _Kernel = kernel) -> Array:
        """Return 1/2 <M, C - C^> for the gains with ``rounds`` rounds to go: the value part of a step of v.

        With the weights ``kernel_sum`` it is that of a step in each of the last ``rounds`` rounds.
        """
        # Q'(C - C^)P is Q'(A - A^)P times the divided differences of the contraction, which are minus the kernel.
        Q, P = self.true.vectors, self.estimate.vectors
        factors = weights(self.true.values, self.estimate.values, rounds) * (Q.swapaxes(-1, -2) @ moment @ P)
        return np.asarray(-0.5 * np.sum(self.mixed_error * factors, axis=(-1, -2)))

    def basis(self, moment: Array, rounds: int, weights: _Kernel = kernel) -> Array:
        """Return the basis part of a distance to v with second moment M, over the last ``rounds`` rounds.

        It is the sum of 1/2 E|u|^2 in the norm of C^ (A - A^) C^. With the weights ``kernel_sum`` it is that of a step
        in each of the last ``rounds`` rounds.
        """
        values, P = self.estimate.values, self.estimate.vectors
        factors = weights(values, values, rounds) * (P.swapaxes(-1, -2) @ moment @ P)
        return np.asarray(0.5 * np.sum(self.estimate_error * factors, axis=(-1, -2)))


def broadcastable(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether two batch shapes broadcast."""
    try:
        np.broadcast_shapes(one, other)
    except ValueError:
        return False
    return True


def _broadcast(spectrum: Spectrum, batch: tuple[int, ...]) -> Spectrum:
    d = spectrum.values.shape[-1]
    return Spectrum(np.broadcast_to(spectrum.values, (*batch, d)), np.broadcast_to(spectrum.vectors, (*batch, d, d)))
