"""Processes that move the minimizer: v_t = v_{t-1} + step_t.

Every process draws each run from that run's own generator, round after round, so the first runs and rounds do not
depend on the number of runs or on the horizon. To write a process, subclass :class:`Process` and implement ``steps``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal, get_args

import numpy as np

from soqo._foundation.arguments import choice, finite_array, integer, number
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike

__all__ = ["Cauchy", "Correlated", "Gaussian", "Laplace", "Process", "Recorded", "StudentT"]

_Form = Literal["mixture", "additive"]


class Process(Value, ABC):
    """A process that moves v.

    A subclass implements ``steps``. It overrides ``is_martingale`` and ``covariance`` if they are known; the defaults
    claim nothing.

    Examples
    --------
    >>> class Walk(Process):
    ...     def steps(self, rng, horizon, dim):
    ...         return rng.integers(-1, 2, size=(horizon, dim))
    >>> Walk().paths([np.random.default_rng(0)], horizon=4, v0=np.zeros(1)).ravel()
    array([1., 1., 1., 0.])
    """

    @property
    def is_martingale(self) -> bool:
        """Whether E[v_t | the past] = v_{t-1}, which makes LAI optimal."""
        return False

    def covariance(self, dim: int) -> Array | None:
        """Return the covariance of a step, shape (dim, dim), or None if it does not exist or is not known.

        Parameters
        ----------
        dim : int
            The dimension of v.
        """
        return None

    @abstractmethod
    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        """Draw the steps of one run.

        Parameters
        ----------
        rng : numpy.random.Generator
            The generator of the run.
        horizon, dim : int
            The number of rounds and the dimension of v.

        Returns
        -------
        Array, shape (horizon, dim)
            The steps; the first rows must not depend on the horizon.
        """

    def paths(self, rngs: Sequence[np.random.Generator], horizon: int, *, v0: Array, first_run: int = 0) -> Array:
        """Draw v_1..v_T for several runs.

        Parameters
        ----------
        rngs : sequence of numpy.random.Generator
            One generator per run.
        horizon : int
            The number of rounds T.
        v0 : Array, shape (d,)
            The minimizer before the first round.
        first_run : int
            The number of the first of these runs; only :class:`Recorded` uses it.

        Returns
        -------
        Array, shape (runs, horizon, d)
            The paths.
        """
        horizon = integer("horizon", horizon, least=1)
        dim = v0.shape[-1]
        steps = np.stack([self.steps(rng, horizon, dim) for rng in rngs]).astype(np.float64)
        steps[:, 0] += v0
        return np.cumsum(steps, axis=1)


@dataclass(frozen=True)
class _ScaledProcess(Process):
    """A process whose steps are a scale times independent draws: normal ones, unless a subclass overrides them."""

    scale: ArrayLike = 1.0

    def __post_init__(self) -> None:
        scale = finite_array("scale", self.scale)
        if scale.ndim > 2 or (scale.ndim == 2 and scale.shape[0] != scale.shape[1]):
            raise ArgumentError(f"scale must be a number, a vector or a square matrix, got shape {scale.shape}")
        if scale.ndim < 2 and (scale < 0).any():
            raise ArgumentError(f"scale must not be negative, got {scale.min():g}")
        set_fields(self, scale=float(scale) if scale.ndim == 0 else freeze(scale))

    @property
    def is_martingale(self) -> bool:
        return True

    def covariance(self, dim: int) -> Array | None:
        variance, scale = self._variance(), self._scale_for(dim)
        if variance is None:
            return None
        factor = scale if scale.ndim == 2 else np.eye(dim) * scale
        return np.asarray(variance * factor @ factor.T)

    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        draws, scale = self._draw(rng, (horizon, dim)), self._scale_for(dim)
        return np.asarray(draws @ scale.T if scale.ndim == 2 else draws * scale)

    def _variance(self) -> float | None:
        """Return the variance of a step of scale 1, or None if it does not exist."""
        return 1.0

    def _draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Draw numbers of scale 1."""
        return rng.standard_normal(shape)

    def _scale_for(self, dim: int) -> Array:
        scale = np.asarray(self.scale, dtype=np.float64)
        if scale.ndim and scale.shape[-1] != dim:
            raise ArgumentError(f"scale must be for dimension {dim}, got {scale.shape[-1]}")
        return scale


@register("Gaussian")
@dataclass(frozen=True)
class Gaussian(_ScaledProcess):
    """Independent normal steps.

    Parameters
    ----------
    scale : float or array_like of shape (d,) or (d, d)
        The standard deviation of a step (the paper's sigma_v): a number, a vector (one per coordinate, where zeros
        restrict v to some directions) or a matrix L for steps L g.

    Examples
    --------
    >>> process = Gaussian(scale=50.0)
    >>> process.is_martingale
    True
    >>> process.covariance(2)
    array([[2500.,    0.],
           [   0., 2500.]])
    """


@register("Correlated")
@dataclass(frozen=True)
class Correlated(_ScaledProcess):
    """Autocorrelated steps: step_t = (1 - alpha) step_{t-1} + w g_t with g_t normal and step_0 = 0.

    This is not a martingale, so LAI is not the optimum here and regret against it can be negative.

    Parameters
    ----------
    scale : float or array_like of shape (d,) or (d, d)
        The standard deviation of g_t, as in :class:`Gaussian`.
    alpha : float
        The decay of the correlation, in (0, 1].
    form : {"mixture", "additive"}
        ``"mixture"``: w = alpha, the form in the paper's main text (alpha = 0.7). ``"additive"``: w = 1, the form in
        its appendix (1 - alpha = 0.3).

    Examples
    --------
    >>> Correlated(scale=50.0, alpha=0.7).covariance(1)   # of the stationary step: 49/91 of 50^2
    array([[1346.15384615]])
    """

    alpha: float = 0.7
    _: KW_ONLY
    form: _Form = "mixture"

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, alpha=number("alpha", self.alpha, above=0.0, most=1.0))
        choice("form", self.form, get_args(_Form))

    @property
    def is_martingale(self) -> bool:
        """Whether the steps are independent, which is the case alpha = 1."""
        return self.alpha == 1.0

    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        """Draw the steps of one run, shape (horizon, dim)."""
        from scipy.signal import lfilter  # imported here because it triples the time of importing soqo

        new = self._weight * super().steps(rng, horizon, dim)
        return np.asarray(lfilter([1.0], [1.0, self.alpha - 1.0], new, axis=0), dtype=np.float64)

    def _variance(self) -> float:
        # Of the stationary step; step_0 = 0 makes the first ones smaller.
        return self._weight**2 / (1.0 - (1.0 - self.alpha) ** 2)

    @property
    def _weight(self) -> float:
        return self.alpha if self.form == "mixture" else 1.0


@register("Laplace")
@dataclass(frozen=True)
class Laplace(_ScaledProcess):
    """Independent Laplace steps in each coordinate.

    Parameters
    ----------
    scale : float or array_like of shape (d,) or (d, d)
        The paper's b, so that the standard deviation is sqrt(2) b; vectors and matrices as in :class:`Gaussian`.

    Examples
    --------
    >>> Laplace(scale=3.0).covariance(1)
    array([[18.]])
    """

    def _variance(self) -> float:
        return 2.0

    def _draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        return rng.laplace(size=shape)


@register("StudentT")
@dataclass(frozen=True)
class StudentT(_ScaledProcess):
    """Independent Student-t steps in each coordinate, from nearly Gaussian (large ``df``) to Cauchy (``df=1``).

    Parameters
    ----------
    scale : float or array_like of shape (d,) or (d, d)
        The factor of the steps; vectors and matrices as in :class:`Gaussian`.
    df : float
        The degrees of freedom. The mean exists above 1, the variance above 2.

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
        set_fields(self, df=number("df", self.df, above=0.0))

    @property
    def is_martingale(self) -> bool:
        """Whether the steps have a mean."""
        return self.df > 1.0

    def _variance(self) -> float | None:
        return self.df / (self.df - 2.0) if self.df > 2.0 else None

    def _draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        return rng.standard_t(self.df, size=shape)


@register("Cauchy")
@dataclass(frozen=True)
class Cauchy(_ScaledProcess):
    """Independent Cauchy steps in each coordinate, which have no variance and no mean: report medians.

    The martingale property is not defined without a mean, so ``is_martingale`` is False although the steps are
    symmetric.

    Parameters
    ----------
    scale : float or array_like of shape (d,) or (d, d)
        The half width at half maximum; vectors and matrices as in :class:`Gaussian`.

    Examples
    --------
    >>> Cauchy().covariance(2) is None
    True
    """

    @property
    def is_martingale(self) -> bool:
        """False: the steps have no mean."""
        return False

    def _variance(self) -> None:
        return None

    def _draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        return rng.standard_cauchy(shape)


@register("Recorded")
@dataclass(frozen=True)
class Recorded(Process):
    """A given path, the same for all runs or one for each.

    The origin of the path is unknown, so it does not count as a martingale and has no covariance. The ``v0`` of an
    environment has no effect on it.

    Parameters
    ----------
    path : array_like, shape (T, d) or (runs, T, d)
        The minimizers v_1, v_2, ...

    Examples
    --------
    >>> Recorded([[1.0], [2.0], [3.0]]).paths([np.random.default_rng(0)], 2, v0=np.zeros(1))
    array([[[1.],
            [2.]]])
    """

    path: Array

    def __init__(self, path: ArrayLike) -> None:
        values = finite_array("path", path)
        if values.ndim not in (2, 3) or 0 in values.shape:
            raise ArgumentError(f"path must have shape (T, d) or (runs, T, d), got shape {values.shape}")
        set_fields(self, path=freeze(values))

    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Array:
        """Return the steps of the first recorded run, from v_0 = 0."""
        return np.diff(self.paths([rng], horizon, v0=np.zeros(dim))[0], axis=0, prepend=0.0)

    def paths(self, rngs: Sequence[np.random.Generator], horizon: int, *, v0: Array, first_run: int = 0) -> Array:
        """Return the recorded paths of these runs."""
        horizon = integer("horizon", horizon, least=1)
        *recorded, rounds, dim = self.path.shape
        if dim != v0.shape[-1]:
            raise ArgumentError(f"path must be for dimension {v0.shape[-1]}, got {dim}")
        if horizon > rounds:
            raise ArgumentError(f"horizon must be at most the {rounds} recorded rounds, got {horizon}")
        if not recorded:
            return np.tile(self.path[:horizon], (len(rngs), 1, 1))
        stop = first_run + len(rngs)
        if stop > recorded[0]:
            raise ArgumentError(
                f"runs must be within the {recorded[0]} recorded ones, got runs {first_run} to {stop - 1}"
            )
        return np.array(self.path[first_run:stop, :horizon])
