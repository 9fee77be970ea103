r"""The probe variance gamma^2 with the smallest expected regret of SCaLE, by sample average approximation.

Probes and noise are drawn once. For each gamma^2, they determine the readings and the estimates, and (by Proposition 1,
conditionally on the probes) the expected regret over all paths of v. The mean over the draws is minimized, with the
same draws for every gamma^2. In full rank the regret of exploitation is of second order in the error of the estimate,
the error is of order eta / gamma^2, and probing costs of order gamma^2. The sum a gamma^2 + b T / gamma^4 is smallest
at gamma^2 ~ T^(1/3), and regret then grows as T^(1/3): slower than the T^(1/2) of the paper's schedule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soqo._foundation.arguments import finite_array, integer, number
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.problem import Problem
from soqo._model.spectrum import positive_semidefinite, quadratic_form
from soqo.errors import ArgumentError
from soqo.estimators import Recovery
from soqo.noise import Noise, Uniform
from soqo.theory._scale_regret import Handover, check_phases, exact_scale_regret
from soqo.theory._step_covariance import Covariance, step_moments
from soqo.typing import Array, ArrayLike

Estimator = Callable[[Array, Array], tuple[Array, Any]]
"""A function from probes (*batch, m, d) and readings (*batch, m) to estimates (*batch, d, d) and anything else."""

_BRACKET_RATIO = 4.0
"""The ratio of neighboring probe variances in the search for a bracket."""

_PATIENCE = 2
"""The search for a bracket stops, in each direction, after this number of steps without an improvement."""

_MAX_BRACKET_STEPS = 12
"""The largest number of steps of that search in each direction."""


@dataclass(frozen=True)
class ExpectedRegret(Value):
    """The expected regret of SCaLE for one probe variance or several.

    Attributes
    ----------
    mean, standard_error : Array, shape (k,)
        Mean and standard error over draws of probes and noise, for each probe variance; the expectation over v is
        exact.
    draws : Array, shape (k, draws)
        The regret for each draw.
    """

    mean: Array
    standard_error: Array
    draws: Array = field(repr=False)


def expected_scale_regret(
    gamma2: ArrayLike,
    A: ArrayLike,
    *,
    covariance: Covariance,
    horizon: int,
    m: int,
    noise: Noise | float,
    estimator: Estimator | None = None,
    handover: Handover = "direct",
    draws: int = 64,
    seed: int = 0,
) -> ExpectedRegret:
    """Return the expected regret of SCaLE for given variances of the probes.

    Parameters
    ----------
    gamma2 : float or array_like of shape (k,)
        The variance of the probes, or several, for which the same draws are used.
    A : array_like, shape (d, d) or (k, d, d)
        The curvature, or a prior: equally likely curvatures.
    covariance : float, array_like or Process
        The covariance of v's steps, as in :func:`exact_regret`.
    horizon : int
        The number of rounds T.
    m : int
        The number of rounds of probing, below the horizon.
    noise : Noise or float
        The noise of the readings; a number is the cap of uniform noise.
    estimator : callable, optional
        A function from probes and readings to estimates; by default SCaLE's own.
    handover : {"direct", "virtual"}
        The start of exploitation, as in :func:`exact_scale_regret`.
    draws : int
        The number of draws of probes and noise.
    seed : int
        The seed of the draws.

    Returns
    -------
    ExpectedRegret
        The mean over the draws, its standard error, and the regret for each draw.

    See Also
    --------
    optimal_gamma2 : The variance with the smallest expected regret.

    Examples
    --------
    >>> found = expected_scale_regret(
    ...     [10.0, 100.0, 1000.0], [[1.0, 0.0], [0.0, 2.0]], covariance=100.0, horizon=1000, m=12, noise=1.0, draws=32
    ... )
    >>> found.mean.round(), found.standard_error.round()
    (array([  827.,  4321., 39699.]), array([  28.,  263., 2627.]))
    """
    variances = np.atleast_1d(finite_array("gamma2", gamma2))
    if variances.ndim != 1 or not variances.size:
        raise ArgumentError(f"gamma2 must be a number or a vector of numbers, got shape {variances.shape}")
    regret_of = _draw_samples(A, covariance, horizon, m, noise, estimator, handover, draws, seed)
    regret = np.stack([regret_of(number("gamma2", variance, above=0.0)) for variance in variances])
    return ExpectedRegret(regret.mean(axis=1), regret.std(axis=1, ddof=1) / math.sqrt(draws), regret)


def optimal_gamma2(
    A: ArrayLike,
    covariance: Covariance,
    *,
    horizon: int,
    m: int,
    noise: Noise | float,
    estimator: Estimator | None = None,
    handover: Handover = "direct",
    draws: int = 64,
    seed: int = 0,
) -> float:
    """Return the variance of the probes with the smallest expected regret, for a given A or a prior.

    The paper's schedule is for the worst case and does not depend on the covariance of v's steps; this variance does.

    Parameters
    ----------
    A : array_like, shape (d, d) or (k, d, d)
        The curvature, or a prior: equally likely curvatures.
    covariance : float, array_like or Process
        The covariance of v's steps, as in :func:`exact_regret`.
    horizon : int
        The number of rounds T.
    m : int
        The number of rounds of probing, below the horizon.
    noise : Noise or float
        The noise of the readings; a number is the cap of uniform noise.
    estimator : callable, optional
        A function from probes and readings to estimates; by default SCaLE's own.
    handover : {"direct", "virtual"}
        The start of exploitation, as in :func:`exact_scale_regret`.
    draws : int
        The number of draws of probes and noise.
    seed : int
        The seed of the draws.

    Returns
    -------
    float
        The variance gamma^2.

    Examples
    --------
    >>> A = [[1.0, 0.0], [0.0, 2.0]]
    >>> given = {"covariance": 2500.0, "m": 24, "noise": 1.0, "draws": 16}
    >>> variances = [optimal_gamma2(A, horizon=T, **given) for T in (10_000, 80_000)]
    >>> round(variances[1] / variances[0], 1)          # eight times the horizon, twice the variance: T^(1/3)
    2.0
    """
    from scipy.optimize import minimize_scalar  # imported here because it would double the time of importing soqo

    regret_of = _draw_samples(A, covariance, horizon, m, noise, estimator, handover, draws, seed)

    def regret(log_variance: float) -> float:
        return float(regret_of(math.exp(log_variance)).mean())

    step = math.log(_BRACKET_RATIO)
    best = _search_bracket(regret, math.log(_noise_model(noise).bound) + math.log(horizon) / 3.0, step)
    found = minimize_scalar(regret, bounds=(best - step, best + step), method="bounded", options={"xatol": 0.01})
    return math.exp(float(found.x))


def _draw_samples(
    A: ArrayLike,
    covariance: Covariance,
    horizon: int,
    m: int,
    noise: Noise | float,
    estimator: Estimator | None,
    handover: Handover,
    draws: int,
    seed: int,
) -> Callable[[float], Array]:
    """Validate all arguments, and draw probes and noise.

    The result is a function of gamma^2: the regret for each draw, in expectation over v.
    """
    horizon, m = check_phases(horizon, m)
    matrices, _ = positive_semidefinite("A", A)
    if matrices.ndim not in (2, 3):
        raise ArgumentError(f"A must have shape (d, d) or (k, d, d), got {matrices.shape}")
    d = matrices.shape[-1]
    matrices = matrices.reshape(-1, d, d)
    draws = integer("draws", draws, least=2)
    model = _noise_model(noise)
    rngs = np.random.default_rng(integer("seed", seed, least=0)).spawn(draws)
    chosen = matrices[np.arange(draws) % len(matrices)]
    problems = [Problem(matrix) for matrix in chosen]
    z = np.stack([rng.standard_normal((m, d)) for rng in rngs])
    variates = np.stack([model.variates(rng, m) for rng in rngs])
    step_moments(covariance, d, horizon)
    recover = Recovery(model.bound) if estimator is None else estimator

    def regret(gamma2: float) -> Array:
        u = math.sqrt(gamma2) * z
        drawn = np.stack([model.perturb(*draw) for draw in zip(variates, u, problems, strict=True)])
        estimates, _ = recover(u, quadratic_form(chosen[:, None], u) + drawn)
        found = exact_scale_regret(
            chosen, estimates, covariance=covariance, horizon=horizon, m=m, gamma2=gamma2, handover=handover, probes=z
        )
        return np.asarray(found.total)

    return regret


def _noise_model(noise: Noise | float) -> Noise:
    """Return a model of noise, which is uniform noise for a number."""
    if not isinstance(noise, Noise):
        return Uniform(number("noise", noise, above=0.0))
    if math.isinf(noise.bound):
        raise ArgumentError(f"noise must be bounded, got {noise!r}")
    if noise.bound == 0.0:
        raise ArgumentError("noise must be above 0: without noise, arbitrarily small probes are optimal")
    return noise


def _search_bracket(f: Callable[[float], float], start: float, step: float) -> float:
    """Return the best of equidistant points, going up and down from the start until f stops improving."""
    values = {0: f(start)}
    for direction in (1, -1):
        worse, k = 0, 0
        while worse < _PATIENCE and abs(k) < _MAX_BRACKET_STEPS:
            k += direction
            best = min(values.values())
            values[k] = f(start + k * step)
            worse = 0 if values[k] < best else worse + 1
    return start + step * min(values, key=lambda k: values[k])
