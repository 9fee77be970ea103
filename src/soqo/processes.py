"""How the minimizer v moves: v_t = v_{t-1} + step_t.

Every process draws each run from that run's own generator, round after round, so that neither the number of runs nor
the horizon changes what came before. A new process is a subclass of :class:`Process` with one method, ``steps``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._arguments import choice, finite_array, integer, number
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.typing import Array

__all__ = ["Cauchy", "Correlated", "Gaussian", "Laplace", "Process", "Recorded", "StudentT"]


class Process(ABC):
    """How v moves. Subclasses draw the steps of one run; the rest follows."""

    @property
    @abstractmethod
    def is_martingale(self) -> bool:
        """Whether E[v_t | the past] = v_{t-1}, which is what makes LAI optimal."""

    @abstractmethod
    def covariance(self, dim: int) -> Array | None:
        """The covariance of a step, shape (dim, dim), or None where it does not exist."""

    @abstractmethod
    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        """Draw the steps of one run, shape (horizon, dim); the first rows must not depend on the horizon."""

    def paths(self, rngs: Sequence[np.random.Generator], horizon: int, v0: Array, first_run: int = 0) -> Array:
        """Draw v_1..v_T for several runs, one generator each.

        Parameters
        ----------
        rngs
            One generator per run.
        horizon
            The number of rounds T.
        v0
            The minimizer before the first round, shape (d,).
        first_run
            The number of the first of these runs; only :class:`Recorded` asks.

        Returns
        -------
        Array
            Shape (runs, horizon, d).
        """
        integer("horizon", horizon, least=1)
        dim = v0.shape[-1]
        steps = np.stack([self.steps(rng, horizon, dim) for rng in rngs]).astype(np.float64)
        steps[:, 0] += v0
        return np.cumsum(steps, axis=1)


@dataclass(frozen=True, eq=False)
class Scaled(Process):
    """A process whose steps are a scale times independent draws.

    ``scale`` is a number, a vector (one per coordinate; zeros are allowed, so that v can move in a few directions only)
    or a matrix L, for steps L g.
    """

    scale: Any = 1.0

    def __post_init__(self) -> None:
        scale = finite_array("scale", self.scale)
        if scale.ndim > 2 or (scale.ndim == 2 and scale.shape[0] != scale.shape[1]):
            raise ArgumentError(f"scale must be a number, a vector or a square matrix, got shape {scale.shape}")
        if scale.ndim < 2 and (scale < 0).any():
            raise ArgumentError(f"scale must not be negative, got {scale.min():g}")
        scale.flags.writeable = False
        object.__setattr__(self, "scale", float(scale) if scale.ndim == 0 else scale)

    def _scaled(self, draws: Array) -> Array:
        scale = np.asarray(self.scale)
        self._check_dim(scale, draws.shape[-1])
        return np.asarray(draws @ scale.T if scale.ndim == 2 else draws * scale)

    def _scaled_covariance(self, dim: int, variance: float) -> Array:
        scale = np.asarray(self.scale)
        self._check_dim(scale, dim)
        factor = scale if scale.ndim == 2 else np.eye(dim) * scale
        return np.asarray(variance * factor @ factor.T)

    @staticmethod
    def _check_dim(scale: Array, dim: int) -> None:
        if scale.ndim and scale.shape[-1] != dim:
            raise ArgumentError(f"scale must be for dimension {dim}, got {scale.shape[-1]}")


@register("Gaussian")
@dataclass(frozen=True, eq=False)
class Gaussian(Scaled):
    """Independent normal steps; the scale is their standard deviation (the paper's sigma_v).

    Examples
    --------
    >>> process = Gaussian(scale=50.0)
    >>> process.is_martingale
    True
    >>> process.covariance(2)
    array([[2500.,    0.],
           [   0., 2500.]])
    """

    @property
    def is_martingale(self) -> bool:
        return True

    def covariance(self, dim: int) -> Array:
        return self._scaled_covariance(dim, 1.0)

    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        return self._scaled(rng.standard_normal((horizon, dim)))


@register("Correlated")
@dataclass(frozen=True, eq=False)
class Correlated(Scaled):
    """Steps that remember: step_t = (1 - alpha) step_{t-1} + w g_t, with g_t normal of deviation ``scale``, step_0 = 0.

    Not a martingale, so LAI is not the optimum here and regret against it can be negative.

    Parameters
    ----------
    scale
        Deviation of the normal part.
    alpha
        How much of a step is new, in (0, 1].
    form
        ``"mixture"``: w = alpha, the main text's form (alpha = 0.7). ``"additive"``: w = 1, the appendix's
        (1 - alpha = 0.3).

    Examples
    --------
    >>> Correlated(scale=50.0, alpha=0.7).covariance(1)   # of the stationary step: 49/91 of 50^2
    array([[1346.15384615]])
    """

    alpha: float = 0.7
    form: str = "mixture"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", number("alpha", self.alpha, above=0.0, most=1.0))
        choice("form", self.form, ("mixture", "additive"))

    @property
    def is_martingale(self) -> bool:
        return self.alpha == 1.0

    @property
    def _weight(self) -> float:
        return self.alpha if self.form == "mixture" else 1.0

    def covariance(self, dim: int) -> Array:
        """The covariance of a step once it is stationary (step_0 = 0 makes the first ones smaller)."""
        return self._scaled_covariance(dim, self._weight**2 / (1.0 - (1.0 - self.alpha) ** 2))

    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        from scipy.signal import lfilter  # here, because it would triple the time of importing soqo

        new = self._weight * self._scaled(rng.standard_normal((horizon, dim)))
        return np.asarray(lfilter([1.0], [1.0, self.alpha - 1.0], new, axis=0), dtype=np.float64)


@register("Laplace")
@dataclass(frozen=True, eq=False)
class Laplace(Scaled):
    """Independent Laplace steps in each coordinate; the scale is the paper's b, so the deviation is sqrt(2) b.

    Examples
    --------
    >>> Laplace(scale=3.0).covariance(1)
    array([[18.]])
    """

    @property
    def is_martingale(self) -> bool:
        return True

    def covariance(self, dim: int) -> Array:
        return self._scaled_covariance(dim, 2.0)

    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        return self._scaled(rng.laplace(size=(horizon, dim)))


@register("StudentT")
@dataclass(frozen=True, eq=False)
class StudentT(Scaled):
    """Independent Student-t steps in each coordinate, from nearly Gaussian (large ``df``) to Cauchy (``df=1``).

    Examples
    --------
    >>> StudentT(scale=2.0, df=4.0).covariance(1)
    array([[8.]])
    >>> StudentT(scale=2.0, df=1.5).covariance(1) is None
    True
    """

    df: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "df", number("df", self.df, above=0.0))

    @property
    def is_martingale(self) -> bool:
        return self.df > 1.0

    def covariance(self, dim: int) -> Array | None:
        if self.df <= 2.0:
            return None
        return self._scaled_covariance(dim, self.df / (self.df - 2.0))

    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        return self._scaled(rng.standard_t(self.df, size=(horizon, dim)))


@register("Cauchy")
@dataclass(frozen=True, eq=False)
class Cauchy(Scaled):
    """Independent Cauchy steps in each coordinate: no variance and no mean, so report medians.

    Without a mean the martingale property is not even defined, and ``is_martingale`` is False, although the steps are
    symmetric.

    Examples
    --------
    >>> Cauchy().covariance(2) is None
    True
    """

    @property
    def is_martingale(self) -> bool:
        return False

    def covariance(self, dim: int) -> None:
        return None

    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        return self._scaled(rng.standard_cauchy((horizon, dim)))


@register("Recorded")
@dataclass(frozen=True, eq=False)
class Recorded(Process):
    """A given path, the same for all runs or one for each.

    Nothing is known of where the path came from: it counts as no martingale and has no covariance. An environment's
    ``v0`` has no effect on it.

    Parameters
    ----------
    path
        v_1, v_2, ..., shape (T, d) or (runs, T, d).

    Examples
    --------
    >>> Recorded([[1.0], [2.0], [3.0]]).paths([np.random.default_rng(0)], 2, np.zeros(1))
    array([[[1.],
            [2.]]])
    """

    path: Any

    def __post_init__(self) -> None:
        path = finite_array("path", self.path)
        if path.ndim not in (2, 3) or 0 in path.shape:
            raise ArgumentError(f"path must have shape (T, d) or (runs, T, d), got shape {path.shape}")
        path.flags.writeable = False
        object.__setattr__(self, "path", path)

    @property
    def is_martingale(self) -> bool:
        return False

    def covariance(self, dim: int) -> None:
        return None

    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        """The steps of the first recorded run, from v_0 = 0."""
        path = self.paths([rng], horizon, np.zeros(dim))
        return np.diff(path[0], axis=0, prepend=0.0)

    def paths(self, rngs: Sequence[np.random.Generator], horizon: int, v0: Array, first_run: int = 0) -> Array:
        integer("horizon", horizon, least=1)
        if self.path.shape[-1] != v0.shape[-1]:
            raise ArgumentError(f"path must be for dimension {v0.shape[-1]}, got {self.path.shape[-1]}")
        if horizon > self.path.shape[-2]:
            raise ArgumentError(f"horizon must be at most the {self.path.shape[-2]} recorded rounds, got {horizon}")
        runs = len(rngs)
        if self.path.ndim == 2:
            return np.broadcast_to(self.path[:horizon], (runs, *self.path[:horizon].shape)).copy()
        if first_run + runs > self.path.shape[0]:
            raise ArgumentError(
                f"runs must be within the {self.path.shape[0]} recorded ones, "
                f"got runs {first_run} to {first_run + runs - 1}"
            )
        return np.array(self.path[first_run : first_run + runs, :horizon])
