"""The constants of A and Sigma on which the paper's bounds depend, and the form of a bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from soqo._foundation.arguments import choice
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.spectrum import positive_semidefinite
from soqo.errors import ArgumentError
from soqo.theory._step_covariance import Covariance, constant_covariance
from soqo.typing import ArrayLike

Variant = Literal["corrected", "as_printed", "appendix"]
"""A version of a bound: one that we can prove, the one in the main text, and the one in the appendix."""

VARIANTS: tuple[Variant, ...] = get_args(Variant)

RANK_TOLERANCE = 1e-14
"""Eigenvalues below this fraction of the largest, times the dimension, are round-off and count as zero."""


@dataclass(frozen=True)
class Bound(Value):
    """A bound on regret, term by term.

    Attributes
    ----------
    statement : str
        The name of the statement, such as "Theorem 4".
    variant : {"corrected", "as_printed", "appendix"}
        Whether the bound is corrected, as the main text prints it, or as in the appendix.
    terms : Mapping of str to float
        The terms under the names that the variant gives them; the bound is their sum.

    Examples
    --------
    >>> bound = Bound("Theorem 0", "corrected", {"value": 1.0, "basis": 2.0})
    >>> bound.value
    3.0
    >>> print(bound)
    Theorem 0, corrected: 3 (value 1, basis 2)
    """

    statement: str
    variant: Variant
    terms: Mapping[str, float]

    @property
    def value(self) -> float:
        """The bound, the sum of its terms."""
        return math.fsum(self.terms.values())

    def __str__(self) -> str:
        terms = ", ".join(f"{name} {term:.6g}" for name, term in self.terms.items())
        return f"{self.statement}, {self.variant.replace('_', ' ')}: {self.value:.6g} ({terms})"


@dataclass(frozen=True)
class Instance:
    """The constants of A and Sigma in the bounds.

    Attributes
    ----------
    dim, rank, trace
        The dimension, rank and trace of A.
    sigma_min, sigma_max
        The smallest nonzero and the largest eigenvalue of A.
    covariance_trace, covariance_norm
        tr(Sigma) and |Sigma|_F.
    null_space_trace
        <Sigma, projection on the null space of A>: the variance of a step in the null space.
    """

    dim: int
    rank: int
    trace: float
    sigma_min: float
    sigma_max: float
    covariance_trace: float
    covariance_norm: float
    null_space_trace: float

    @classmethod
    def of(cls, A: ArrayLike, covariance: Covariance) -> Instance:
        """Validate A and Sigma, and compute their constants."""
        matrix, spectrum = positive_semidefinite("A", A)
        if matrix.ndim != 2:
            raise ArgumentError(f"A must have shape (d, d) here, got {matrix.shape}")
        Sigma = constant_covariance(covariance, len(matrix))
        values, vectors = spectrum.values, spectrum.vectors
        nonzero = values > RANK_TOLERANCE * len(values) * values[-1]
        if not nonzero.any():
            raise ArgumentError("A must not be zero: the bounds divide by its smallest nonzero eigenvalue")
        null = vectors[:, ~nonzero]
        return cls(
            dim=len(matrix),
            rank=int(nonzero.sum()),
            trace=float(values.sum()),
            sigma_min=float(values[nonzero].min()),
            sigma_max=float(values[-1]),
            covariance_trace=float(np.trace(Sigma)),
            covariance_norm=float(np.linalg.norm(Sigma)),
            null_space_trace=float(np.sum(null * (Sigma @ null))),
        )

    @property
    def full_rank(self) -> bool:
        """Whether A has full rank."""
        return self.rank == self.dim

    @property
    def power(self) -> float:
        """The exponent p of the paper's probe variance of order T^p: 1/2 in full rank, 2/3 otherwise."""
        return 0.5 if self.full_rank else 2.0 / 3.0

    def margin(self, epsilon: float) -> float:
        """Return rho^-2 - 1 = (1 + sigma_min - epsilon)^2 - 1 without cancellation.

        Its inverse is the geometric series of the squared gains, which are at most rho.
        """
        gap = self.sigma_min - epsilon
        return gap * (2.0 + gap)


def check_variant(variant: Variant) -> Variant:
    """Validate a variant."""
    choice("variant", variant, VARIANTS)
    return variant
