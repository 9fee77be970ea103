"""A minimizer that depends on something that the player sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from soqo._foundation.arguments import finite_array, integer, number
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._simulation.autoregression import draw_autoregression
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike


@register("Context")
@dataclass(frozen=True)
class Context(Value):
    """The player is told v - M w and sees w, where v is the true minimizer: M is what a policy may learn.

    The context w of a round, such as the weather, is a stationary autoregression in each component.

    Parameters
    ----------
    M : array_like, shape (d, k), optional
        The effect of the context on the minimizer, the same for all runs.
    size : float, optional
        In place of M, the standard deviation of its entries, which are normal and drawn once for each run.
    dim : int, optional
        The dimension k of w, if M is drawn.
    scale : float
        The standard deviation of w, per component.
    correlation : float
        The correlation of w with that of the next round, at least 0 and below 1.

    Examples
    --------
    >>> w, shift = Context([[2.0], [0.0]]).draw([np.random.default_rng(0)], horizon=5, dim=2)
    >>> w.shape, shift.shape, bool((shift[..., :1] == 2.0 * w).all())
    ((1, 5, 1), (1, 5, 2), True)
    """

    M: ArrayLike | None = None
    _: KW_ONLY
    size: float | None = None
    dim: int | None = None
    scale: float = 1.0
    correlation: float = 0.9

    def __post_init__(self) -> None:
        if (self.M is None) != (self.size is not None and self.dim is not None):
            raise ArgumentError(
                f"M must be given, or else size and dim to draw it, got M = {self.M!r}, size = {self.size!r}, "
                f"dim = {self.dim!r}"
            )
        if self.M is not None:
            if self.size is not None or self.dim is not None:
                raise ArgumentError("size and dim must not be given beside M, got both")
            M = finite_array("M", self.M)
            if M.ndim != 2 or not M.size:
                raise ArgumentError(f"M must have shape (d, k), got {M.shape}")
            set_fields(self, M=freeze(M))
        else:
            set_fields(self, size=number("size", self.size, least=0.0), dim=integer("dim", self.dim, least=1))
        correlation = number("correlation", self.correlation, least=0.0, most=1.0)
        if correlation == 1.0:
            raise ArgumentError(f"correlation must be below 1, got {self.correlation!r}")
        set_fields(self, scale=number("scale", self.scale, least=0.0), correlation=correlation)

    @property
    def components(self) -> int:
        """The dimension k of w."""
        return int(np.asarray(self.M).shape[-1]) if self.dim is None else self.dim

    def draw(self, rngs: Sequence[np.random.Generator], horizon: int, *, dim: int) -> tuple[Array, Array]:
        """Return the contexts and their effects of several runs; the first rounds do not depend on the horizon.

        Parameters
        ----------
        rngs : sequence of numpy.random.Generator
            One generator for each run.
        horizon : int
            The number of rounds.
        dim : int
            The dimension of v.

        Returns
        -------
        w : Array, shape (runs, horizon, k)
            The contexts.
        shift : Array, shape (runs, horizon, dim)
            The effects M w.
        """
        k = self.components
        if self.M is None:
            M = np.asarray(self.size) * np.stack([rng.standard_normal((dim, k)) for rng in rngs])
        else:
            M = np.asarray(self.M)
            if M.shape[0] != dim:
                raise ArgumentError(f"M must have {dim} rows, one for each coordinate of v, got shape {M.shape}")
        w = draw_autoregression(rngs, horizon, dim=k, scale=self.scale, correlation=self.correlation)
        return w, np.matmul(w, M.mT)
