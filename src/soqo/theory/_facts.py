"""What the paper's bounds are made of: a few numbers of A and Sigma, and the form in which a bound is given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._arguments import choice
from soqo._spectrum import positive_semidefinite
from soqo.errors import ArgumentError
from soqo.theory._moments import constant_covariance

__all__ = ["VARIANTS", "Bound", "Facts", "check_variant"]

VARIANTS = ("corrected", "as_printed", "appendix")
"""A bound as we can prove it, as the main text prints it, and as the appendix does."""

RANK_TOLERANCE = 1e-14
"""Eigenvalues below this share of the largest, times the dimension, are round-off and count as zero."""


@dataclass(frozen=True)
class Bound:
    """A bound on regret, term by term.

    Attributes
    ----------
    statement : str
        Such as "Theorem 4".
    variant : str
        One of ``VARIANTS``.
    terms : Mapping
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
    variant: str
    terms: Mapping[str, float]

    @property
    def value(self) -> float:
        """The bound itself."""
        return math.fsum(self.terms.values())

    def __str__(self) -> str:
        terms = ", ".join(f"{name} {term:.6g}" for name, term in self.terms.items())
        return f"{self.statement}, {self.variant.replace('_', ' ')}: {self.value:.6g} ({terms})"


@dataclass(frozen=True)
class Facts:
    """Numbers of A (its dimension, rank, trace, smallest nonzero and largest eigenvalue) and of Sigma.

    Attributes
    ----------
    null_share : float
        <Sigma, projection on A's null space>: how much v moves where A does not see it.
    """

    dim: int
    rank: int
    trace: float
    sigma_min: float
    sigma_max: float
    steps: float
    steps_norm: float
    null_share: float

    @classmethod
    def of(cls, A: Any, covariance: Any) -> Facts:
        matrix, spectrum = positive_semidefinite("A", A)
        if matrix.ndim != 2:
            raise ArgumentError(f"A must have shape (d, d) here, got {matrix.shape}")
        Sigma = constant_covariance(covariance, len(matrix))
        values, vectors = spectrum.values, spectrum.vectors
        seen = values > RANK_TOLERANCE * len(values) * values[-1]
        if not seen.any():
            raise ArgumentError("A must not be zero: the bounds divide by its smallest nonzero eigenvalue")
        null = vectors[:, ~seen]
        return cls(
            dim=len(matrix),
            rank=int(seen.sum()),
            trace=float(values.sum()),
            sigma_min=float(values[seen].min()),
            sigma_max=float(values[-1]),
            steps=float(np.trace(Sigma)),
            steps_norm=float(np.linalg.norm(Sigma)),
            null_share=float(np.sum(null * (Sigma @ null))),
        )

    @property
    def full_rank(self) -> bool:
        """Whether A sees every direction."""
        return self.rank == self.dim

    @property
    def power(self) -> float:
        """p, where the paper probes with gamma^2 of order T^p: 1/2 in full rank, 2/3 otherwise."""
        return 0.5 if self.full_rank else 2.0 / 3.0

    def settling(self, epsilon: float) -> float:
        """(1 + sigma_min - epsilon)^2 - 1, without cancellation: the geometric series of gains is one over it."""
        gap = self.sigma_min - epsilon
        return gap * (2.0 + gap)

    def check_epsilon(self, epsilon: float) -> None:
        """All bounds need an estimate that cannot miss a nonzero eigenvalue altogether."""
        if not 0.0 <= epsilon < self.sigma_min:
            raise ArgumentError(
                f"epsilon must be at least 0 and below A's smallest nonzero eigenvalue {self.sigma_min:.6g}, "
                f"got {epsilon:.6g}: the bound is infinite there"
            )


def check_variant(variant: str) -> str:
    """One of ``VARIANTS``."""
    return choice("variant", variant, VARIANTS)
