r"""A lower bound on the regret of every policy over T rounds, for normal noise: probes included.

The prior is local: A = A_0^{1/2} (I + X) A_0^{1/2} with svec(X) in the ball of radius rho, of density proportional to
(1 - |X|^2 / rho^2)^2. Its information is (2 p + 8) / rho^2 per entry, with p = d (d + 1) / 2. With the posterior
information K of X after t - 1 readings, of which the data contribute sum phi phi' / s^2 exactly (the noise is normal,
the reading linear in A), the inequality of van Trees given the data yields for the cost of round t

    gamma (1 - lambda)^2 tr(J Q)^2 / tr(Q J Q K)        for any matrix Q,

where J is the form of second order at A_0 for the covariance of one step, gamma bounds C(A)^{-1} from below by
multiples of C(A_0)^{-1}, and lambda is the largest relative change of the derivative of C in the ball. A policy with
regret R deviates from the path of LAI by e with E sum e'A e <= 2 R, so that its readings carry at most the
information of LAI's path and of probes of this size. The bound is therefore a decreasing function B(R) of the regret
itself, and regret is at least the solution of R = B(R). docs/theory/limit.md has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from soqo._foundation.arguments import integer, number
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.gains import contraction
from soqo.errors import ArgumentError
from soqo.estimators import smat, svec
from soqo.noise import Gaussian as GaussianNoise
from soqo.noise import Noise
from soqo.processes import Gaussian, Process
from soqo.theory._learning_constant import divided_differences, positive_definite
from soqo.theory._reading_moments import feature_moments
from soqo.theory._step_covariance import Covariance, constant_covariance
from soqo.typing import Array, ArrayLike

_SEARCH_POINTS = 200
"""Random points of the sphere at which the change of the derivative of C is evaluated, beside its eigenvectors."""

_PRIOR_DRAWS = 64
"""Draws from the prior over which the information of LAI's path is averaged."""

_ROUNDS = 240
"""Rounds at which the bound is evaluated; between them it is not increasing."""

_REGULARIZATIONS = 32
"""Candidates for Q."""


@dataclass(frozen=True)
class RegretLowerBound(Value):
    """A lower bound on regret, averaged over the local prior.

    Attributes
    ----------
    value : float
        The bound.
    without_probes : float
        What the same inequality gives if nothing is learned from deviations.
    gamma : float
        The least ratio of C(A)^{-1} to C(A_0)^{-1}.
    curvature_change : float
        lambda, the largest relative change of the derivative of C within the prior.
    """

    value: float
    without_probes: float
    gamma: float
    curvature_change: float


def regret_lower_bound(
    A: ArrayLike, covariance: Covariance, noise: float | Noise, horizon: int, *, radius: float = 0.15
) -> RegretLowerBound:
    """Return a lower bound on the mean regret of every policy for A from the local prior around a matrix.

    Parameters
    ----------
    A : array_like, shape (d, d)
        The center A_0 of the prior, positive definite.
    covariance : float, array_like of shape (d, d), or Process
        The covariance of the steps of v, which are Gaussian.
    noise : float or Noise
        The standard deviation of the noise, which is normal.
    horizon : int
        The number of rounds T.
    radius : float
        The radius of the prior, relative to A, above 0 and at most 0.9. A small one makes lambda small, and the prior
        informative.

    Returns
    -------
    RegretLowerBound
        The bound.

    See Also
    --------
    local_prior : Draws from the prior.
    learning_constant : The constant kappa of the limit of large T.

    Examples
    --------
    >>> found = regret_lower_bound([[1.0, 0.0], [0.0, 0.3]], 25.0, 5.8, horizon=100_000)
    >>> 5.0 < found.value < found.without_probes
    True
    """
    center, values, vectors = positive_definite(A)
    rho = number("radius", radius, above=0.0, most=0.9)
    rounds = integer("horizon", horizon, least=1)
    Sigma = _gaussian_covariance(covariance, len(center))
    deviation = _normal_deviation(noise)
    root = (vectors * np.sqrt(values)) @ vectors.T
    J, change = _weight_and_change(center, root, Sigma, rho)
    gamma = float((contraction(values, math.inf) / contraction((1.0 - rho) * values, math.inf)).min())
    path = _path_information(center, root, Sigma, rho)
    # The last rounds, in which the gains of a finite horizon differ from those of an infinite one, are not counted.
    tail = math.ceil(10.0 / (2.0 * math.asinh(math.sqrt((1.0 - rho) * values[0] / 4.0))))
    if rounds <= tail or change >= 1.0:
        return RegretLowerBound(0.0, 0.0, gamma, change)
    table = _round_table(J, path, deviation, rounds - tail, (2.0 * len(J) + 8.0) / rho**2)
    factor = gamma * (1.0 - change) ** 2
    value = _fixed_point(table, factor, deviation, rho)
    return RegretLowerBound(value, factor * table.total(0.0, deviation), gamma, change)


def local_prior(A: ArrayLike, radius: float, runs: int, rng: int | np.random.Generator) -> Array:
    """Draw curvatures from the prior of :func:`regret_lower_bound`, shape (runs, d, d).

    Parameters
    ----------
    A : array_like, shape (d, d)
        The center of the prior, positive definite.
    radius : float
        The radius, relative to A, above 0 and at most 0.9.
    runs : int
        The number of draws.
    rng : int or numpy.random.Generator
        The source of random numbers.

    Returns
    -------
    Array, shape (runs, d, d)
        The curvatures.

    Examples
    --------
    >>> draws = local_prior([[1.0, 0.0], [0.0, 0.3]], 0.2, runs=1000, rng=0)
    >>> draws.shape, bool((np.linalg.eigvalsh(draws) > 0.24 - 1e-9).all())
    ((1000, 2, 2), True)
    """
    center, values, vectors = positive_definite(A)
    root = (vectors * np.sqrt(values)) @ vectors.T
    rho = number("radius", radius, above=0.0, most=0.9)
    d = len(center)
    p = d * (d + 1) // 2
    generator = np.random.default_rng(rng)
    n = integer("runs", runs, least=1)
    direction = generator.standard_normal((n, p))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    # |X|^2 / rho^2 has the density s^(p/2 - 1) (1 - s)^2 on (0, 1).
    length = rho * np.sqrt(generator.beta(p / 2.0, 3.0, size=(n, 1)))
    return np.asarray(center + root @ smat(length * direction) @ root)


@dataclass(frozen=True)
class _RoundTable:
    """For some rounds and each candidate Q, what the bound on the round consists of; shapes (rounds, candidates)."""

    rounds: Array
    numerator: Array
    path: Array
    probes: Array
    prior: Array
    reach: Array

    def total(self, deviations: float, noise: float) -> float:
        """Return the sum over rounds, if E sum of squared deviations from LAI's path is at most as given."""
        size = np.sqrt(self.reach * deviations) + 0.5 * deviations
        root = self.path + self.probes * size[:, None] / noise + self.prior
        each = (self.numerator / np.square(root)).max(axis=1)
        # The bound is not increasing in the round: between two rounds of the table it is at least that of the later.
        return float(each[0] + (np.diff(self.rounds) * each[1:]).sum())


@dataclass(frozen=True)
class _PathInformation:
    """E[phi phi'] of each of the first rounds of LAI's path, its limit, and the mean of the largest variance of u."""

    first: Array
    limit: Array
    spread: float
    dim: int

    def sums(self, readings: Array) -> Array:
        """Return the sum over the first rounds, for several numbers of them; shape (numbers, p, p)."""
        total = np.concatenate([np.zeros((1, *self.limit.shape)), np.cumsum(self.first, axis=0)])
        within = np.minimum(readings, len(self.first))
        return np.asarray(total[within.astype(np.int64)] + (readings - within)[:, None, None] * self.limit)


def _round_table(J: Array, path: _PathInformation, noise: float, rounds: int, prior: float) -> _RoundTable:
    """Return the table of J, of the information of LAI's path, and of that of the prior."""
    values, vectors = np.linalg.eigh(path.limit / noise**2)
    t = np.unique(np.round(np.geomspace(1.0, rounds, _ROUNDS)))
    extra = prior * np.append(0.0, np.geomspace(1e-2, 1e4 + 1e2 * rounds * values[-1] / prior, _REGULARIZATIONS - 1))
    weights = 1.0 / ((t - 1.0)[:, None, None] * values + prior + extra[:, None])
    Q = (vectors * weights[..., None, :]) @ vectors.T
    H = Q @ J @ Q
    largest = np.linalg.eigvalsh(H)[..., -1]
    return _RoundTable(
        rounds=t,
        numerator=np.square(np.trace(J @ Q, axis1=-2, axis2=-1)),
        path=np.sqrt(np.trace(H @ path.sums(t - 1.0)[:, None], axis1=-2, axis2=-1)) / noise,
        probes=np.where(t > 1.0, 1.0, 0.0)[:, None] * np.sqrt(np.maximum(largest, 0.0)),
        prior=np.sqrt(prior * np.trace(H, axis1=-2, axis2=-1)),
        reach=_mean_of_largest(t - 1.0, path.spread, path.dim),
    )


def _mean_of_largest(n: Array, spread: float, d: int) -> Array:
    """Return a bound on the mean of the largest of n squared lengths of normal vectors, with variances up to spread."""
    q = np.arange(1.0, 80.0)
    moments = q * math.log(2.0 * spread) + gammaln(0.5 * d + q) - gammaln(0.5 * d)
    return np.asarray(np.exp(((np.log(np.maximum(n, 1.0))[:, None] + moments) / q).min(axis=1)))


def _fixed_point(table: _RoundTable, factor: float, deviation: float, rho: float) -> float:
    """Return the solution R of R = B(R), from below."""
    low, high = 0.0, factor * table.total(0.0, deviation)
    for _ in range(40):
        middle = 0.5 * (low + high)
        if factor * table.total(2.0 * middle / (1.0 - rho), deviation) > middle:
            low = middle
        else:
            high = middle
    return low


def _weight_and_change(center: Array, root: Array, Sigma: Array, rho: float) -> tuple[Array, float]:
    """Return J for the covariance of one step, and lambda."""
    d = len(center)
    p = d * (d + 1) // 2
    basis = root @ smat(np.eye(p)) @ root
    at_center, C = _derivative_of_gain(center, basis)
    inverse = np.linalg.inv(C)

    def form(D: Array) -> Array:
        found = 0.5 * np.einsum("kab,lab->kl", inverse @ D @ Sigma, D)
        return np.asarray(0.5 * (found + found.T))

    J = form(at_center)
    whiten = np.linalg.inv(np.linalg.cholesky(J))
    vectors = np.linalg.eigh(center)[1]
    sphere = np.random.default_rng(0).standard_normal((_SEARCH_POINTS, p))
    along = svec(vectors.T[:, :, None] * vectors.T[:, None, :])
    points = np.concatenate([sphere, along, -along, -svec(np.eye(d))[None]])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    largest = 0.0
    for A in center + rho * root @ smat(points) @ root:
        difference = form(_derivative_of_gain(A, basis)[0] - at_center)
        largest = max(largest, float(np.linalg.eigvalsh(whiten @ difference @ whiten.T)[-1]))
    return J, math.sqrt(largest)


def _derivative_of_gain(A: Array, basis: Array) -> tuple[Array, Array]:
    """Return the derivatives of C along a basis, and C, for an infinite horizon."""
    values, Q = np.linalg.eigh(A)
    c = contraction(values, math.inf)
    slopes = divided_differences(values, c, math.inf)
    return Q @ (slopes * (Q.T @ basis @ Q)) @ Q.T, (Q * c) @ Q.T


def _path_information(center: Array, root: Array, Sigma: Array, rho: float) -> _PathInformation:
    """Return the mean information of LAI's path over the prior, in coordinates multiplied by A_0^{1/2}."""
    slowest = float(contraction((1.0 - rho) * np.linalg.eigvalsh(center)[0], math.inf))
    rounds = math.ceil(math.log(1e-8) / (2.0 * math.log(slowest)))
    covariances = []
    for A in local_prior(center, rho, _PRIOR_DRAWS, rng=0):
        values, Q = np.linalg.eigh(A)
        c = contraction(values, math.inf)
        products = np.outer(c, c)
        # The covariance of u after s rounds, from u = 0 on, and in the limit.
        powers = np.concatenate([products ** np.arange(1, rounds + 1)[:, None, None], np.zeros((1, *A.shape))])
        U = (Q.T @ Sigma @ Q) * products * (1.0 - powers) / (1.0 - products)
        covariances.append(root @ Q @ U @ Q.T @ root)
    spread = float(np.mean([np.linalg.eigvalsh(U[-1])[-1] for U in covariances]))
    moments = np.mean([[feature_moments(each, ()) for each in U] for U in covariances], axis=0)
    return _PathInformation(moments[:-1], moments[-1], spread, len(center))


def _gaussian_covariance(covariance: Covariance, d: int) -> Array:
    if isinstance(covariance, Process) and not isinstance(covariance, Gaussian):
        raise ArgumentError(f"covariance must be that of Gaussian steps, got {type(covariance).__name__}")
    return constant_covariance(covariance, d)


def _normal_deviation(noise: float | Noise) -> float:
    if isinstance(noise, Noise):
        if not isinstance(noise, GaussianNoise):
            raise ArgumentError(f"noise must be normal, got {noise!r}: uniform noise allows faster learning")
        noise = noise.scale
    return number("noise", noise, above=0.0)
