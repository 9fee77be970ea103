"""A curvature beside an estimate of it: their spectra, and their difference in each other's coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from soqo._planner import contraction
from soqo._spectrum import Spectrum, positive_semidefinite
from soqo.errors import ArgumentError
from soqo.theory._sums import pair_factors, pair_factors_sum
from soqo.typing import Array

__all__ = ["Comparison"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """A = Q D Q' and A_hat = P D^ P', either of them one matrix or a batch.

    Every sum here is of A - A_hat times something smooth, never a difference of two sums of gains: so the parts of the
    regret keep their digits also for an estimate that is nearly right.
    """

    true: Spectrum
    estimate: Spectrum
    error: Array

    @classmethod
    def of(cls, A: Any, A_hat: Any) -> Comparison:
        """Checked: both positive semi-definite, and of shapes that go together."""
        A, true = positive_semidefinite("A", A)
        A_hat, estimate = positive_semidefinite("A_hat", A_hat)
        if A.shape[-1] != A_hat.shape[-1] or not go_together(A.shape[:-2], A_hat.shape[:-2]):
            raise ArgumentError(f"A_hat must have A's shape {A.shape}, got {A_hat.shape}")
        batch = np.broadcast_shapes(A.shape[:-2], A_hat.shape[:-2])
        return cls(of_batch(true, batch), of_batch(estimate, batch), A - A_hat)

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.error.shape[-1])

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch; () for one estimate of one matrix."""
        return self.error.shape[:-2]

    @cached_property
    def error_in_basis(self) -> Array:
        """P'(A - A^)P."""
        return np.asarray(self.overlap.swapaxes(-1, -2) @ self.error_between)

    @cached_property
    def error_between(self) -> Array:
        """Q'(A - A^)P, from the spectra: what the two parts of regret have in common then cancels to the last digit."""
        return np.asarray(self.overlap * (self.true.values[..., :, None] - self.estimate.values[..., None, :]))

    @cached_property
    def overlap(self) -> Array:
        """Q'P."""
        return np.asarray(self.true.vectors.swapaxes(-1, -2) @ self.estimate.vectors)

    # ---- 1/2 <M, C - C^>: what wrong gains lose where v moves -------------------------------------------------------

    def value(self, moment: Array, rounds: int) -> Array:
        """1/2 <M, C - C^> for the gains with so many rounds to go."""
        factors = pair_factors(self.true.values, self.estimate.values, rounds)
        return self._between(factors, moment)

    def value_sum(self, moment: Array, rounds: int) -> Array:
        """The same, summed over the last ``rounds`` rounds."""
        factors = pair_factors_sum(self.true.values, self.estimate.values, rounds)
        return self._between(factors, moment)

    def _between(self, factors: Array, moment: Array) -> Array:
        # Q'(C - C^)P is Q'(A - A^)P times the divided differences of the contraction, which are the factors.
        Q, P = self.true.vectors, self.estimate.vectors
        weights = factors * (Q.swapaxes(-1, -2) @ moment @ P)
        return np.asarray(-0.5 * np.sum(self.error_between * weights, axis=(-1, -2)))

    # ---- 1/2 E|u|^2 in the norm of C^ (A - A^) C^: what it pays where it stands -------------------------------------

    def basis(self, moment: Array, rounds: int) -> Array:
        """What a distance from v with second moment M, so many rounds before the end, adds in all of them."""
        values = self.estimate.values
        return self._within(pair_factors(values, values, rounds), moment)

    def basis_sum(self, moment: Array, rounds: int) -> Array:
        """What steps of v with second moment M in each of the last ``rounds`` rounds add."""
        values = self.estimate.values
        return self._within(pair_factors_sum(values, values, rounds), moment)

    def _within(self, factors: Array, moment: Array) -> Array:
        P = self.estimate.vectors
        weights = factors * (P.swapaxes(-1, -2) @ moment @ P)
        return np.asarray(0.5 * np.sum(self.error_in_basis * weights, axis=(-1, -2)))


def go_together(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two batches broadcast."""
    try:
        np.broadcast_shapes(one, other)
    except ValueError:
        return False
    return True


def of_batch(spectrum: Spectrum, batch: tuple[int, ...]) -> Spectrum:
    """The same spectrum for each of a batch."""
    d = spectrum.values.shape[-1]
    values, vectors = spectrum.values, spectrum.vectors
    return Spectrum(np.broadcast_to(values, (*batch, d)), np.broadcast_to(vectors, (*batch, d, d)))


def gains(spectrum: Spectrum, horizon: int, rounds: slice) -> Array:
    """The eigenvalues of the gains in some rounds, counted from 0: shape (rounds, *batch, d)."""
    to_go = np.arange(horizon - rounds.start, horizon - rounds.stop, -1.0)
    return contraction(spectrum.values, to_go.reshape(-1, *[1] * spectrum.values.ndim))
