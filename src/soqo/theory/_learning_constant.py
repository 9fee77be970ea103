r"""What learning from the movement of optimal play costs: kappa log T.

Let v be a martingale with independent steps of covariance Sigma, and let the noise be independent with variance s^2. A
player who plays LAI for an efficient estimate of A has the following regret, to leading order. In the eigenbasis of A,
with the eigenvalues c_i of the gain C and the divided differences f_ij of c over the eigenvalues of A:

- before its action the player is at w = x_prev - v, with covariance W_ij = Sigma_ij / (1 - c_i c_j), and after it at
  u = C w, with covariance U = C W C;
- an estimate A + E costs 1/2 tr(W (f o E) C^{-1} (f o E)) a round, a quadratic form J of E: the second-order form of
  regret;
- a reading is linear in A, with the information E[phi phi'] / s^2 = F / s^2 for a round, where phi'svec(X) = 1/2 u'X u
  and svec(X)'F svec(X) = 1/2 tr(X U X U) + 1/4 tr(X U)^2.

After t rounds the covariance of E is s^2 (t F)^{-1}, so round t + 1 costs kappa / t with

    kappa = s^2 tr(J F^{-1}),

and regret grows as kappa log T. F is in closed form for Gaussian steps, and a mean over simulated paths of LAI for
other steps. Terms of the reading that are unknown as well enlarge the block of A of the inverse of F
(`soqo.theory._reading_moments`). An error e of an offset costs 1/2 e'(I - C) C^{-1} (I - C) e a round, which is 1/2
e'A e for an infinite horizon.

No policy has a smaller constant in every neighborhood of A if the noise is normal, and projected least squares attains
it: docs/theory/limit.md has both proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from soqo._foundation.arguments import finite_array, integer, number
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.gains import contraction
from soqo._model.spectrum import positive_semidefinite
from soqo.errors import ArgumentError
from soqo.estimators import smat
from soqo.noise import Noise
from soqo.processes import Gaussian, Process
from soqo.theory._reading_moments import feature_moments, sampled_feature_moments
from soqo.theory._step_covariance import Covariance, constant_covariance, step_moments
from soqo.typing import Array, ArrayLike

UNKNOWN_TERMS = ("base_load", "offset", "direction_bias")
"""What may be unknown beside A."""

_CLOSE = 1e-4
"""Eigenvalues whose relative difference is below this have the slope of c as their divided difference."""


@dataclass(frozen=True)
class LearningConstant(Value):
    """The constant of regret that grows as kappa log T.

    Attributes
    ----------
    kappa : float
        The constant.
    shares : Array, shape (d, d)
        The parts of kappa by pairs of eigenvectors of A, in the order of ``eigenvalues``; symmetric, with sum
        ``kappa - offset_share``.
    offset_share : float
        The part of kappa that an unknown offset causes.
    eigenvalues : Array, shape (d,)
        The eigenvalues of A, ascending.
    information : Array, shape (p, p)
        F, the information of a round times s^2, for svec of A in its eigenbasis, after unknown terms are eliminated.
    weight : Array, shape (p, p)
        J, the cost of a round for svec of the error in the eigenbasis.
    standard_error : float
        That of kappa, where F is a mean over simulated paths; zero for Gaussian steps.
    """

    kappa: float
    shares: Array = field(repr=False)
    offset_share: float
    eigenvalues: Array = field(repr=False)
    information: Array = field(repr=False)
    weight: Array = field(repr=False)
    standard_error: float = 0.0


@dataclass(frozen=True)
class _Moments:
    """What a round means for learning: J, and the moments of (phi, 1)."""

    weight: Array
    information: Array


def learning_constant(
    A: ArrayLike,
    covariance: Covariance,
    noise: float | Noise,
    *,
    unknown: tuple[str, ...] = (),
    samples: int = 400_000,
    seed: int = 0,
) -> LearningConstant:
    """Return kappa, the constant of the regret kappa log T of certainty equivalence with efficient estimation.

    Parameters
    ----------
    A : array_like, shape (d, d)
        The curvature, positive definite.
    covariance : float, array_like of shape (d, d), or Process
        The covariance of the steps of v, which are then taken to be Gaussian, or a process with independent steps. For
        one that is not Gaussian, F is a mean over simulated paths. Its fourth moments must be finite.
    noise : float or Noise
        The standard deviation of the noise, or the noise itself.
    unknown : tuple of str
        What is unknown beside A: ``"base_load"`` (a constant), ``"offset"`` (of the minimizer, with a constant) or
        ``"direction_bias"`` (a term u'Nu/|u|^2 of the readings, which includes a constant).
    samples : int
        The number of simulated rounds, for steps that are not Gaussian.
    seed : int
        The seed of these rounds.

    Returns
    -------
    LearningConstant
        The constant and where it comes from.

    See Also
    --------
    learning_regret : The same for a finite horizon, round by round.
    regret_lower_bound : What no policy can be below, for a finite horizon.

    Examples
    --------
    >>> found = learning_constant([[1.0, 0.0], [0.0, 0.3]], 25.0, 10.0 / math.sqrt(3.0))
    >>> round(found.kappa, 2)
    9.38
    >>> found.shares.round(2)    # the eigenvalues are 0.3 and 1; the eigenvectors cost 3.72 of it
    array([[2.6 , 1.86],
           [1.86, 3.07]])
    """
    curvature, values, vectors = positive_definite(A)
    Sigma = constant_covariance(covariance, len(curvature))
    c = contraction(values, math.inf)
    W = (vectors.T @ Sigma @ vectors) / (1.0 - np.outer(c, c))
    U = c[:, None] * W * c
    weight = _weight(c, W, divided_differences(values, c, math.inf))
    variance, terms = _variance(noise), _unknown_terms(unknown)
    # (1 - c)^2 / c = a for an infinite horizon, and e = A^{-1} times the error of g.
    offset_weight = np.diag(0.5 / values) if "offset" in terms else None
    if not isinstance(covariance, Process) or isinstance(covariance, Gaussian):
        moments = feature_moments(U, terms)
        error = 0.0
    else:
        rounds = integer("samples", samples, least=1000)
        paths = sampled_feature_moments(covariance, c, vectors, terms, rounds, integer("seed", seed, least=0))
        moments = paths.mean(axis=0)
        error = variance * _jackknife_error(paths, weight, offset_weight)
    covariance_of_error: Array = np.asarray(np.linalg.inv(moments), dtype=np.float64)
    p = len(weight)
    entries = variance * (weight * covariance_of_error[:p, :p]).sum(axis=1)
    pairs = smat(np.where(_is_diagonal(len(values)), entries, entries / math.sqrt(2.0)))
    offset_share = variance * _offset_cost(covariance_of_error, p, offset_weight)
    F = np.linalg.inv(covariance_of_error[:p, :p])
    return LearningConstant(
        float(entries.sum()) + offset_share, pairs, offset_share, values, 0.5 * (F + F.T), weight, error
    )


def _offset_cost(covariance: Array, p: int, offset_weight: Array | None) -> float:
    """Return the cost of a round of the error of g, whose features follow those of A."""
    if offset_weight is None:
        return 0.0
    d = len(offset_weight)
    return float((offset_weight * covariance[p : p + d, p : p + d]).sum())


def _jackknife_error(paths: Array, weight: Array, offset_weight: Array | None) -> float:
    """Return the standard error of kappa / s^2 from the moments of independent paths."""
    n, p = len(paths), len(weight)
    left_out = [
        float((weight * inverse[:p, :p]).sum()) + _offset_cost(inverse, p, offset_weight)
        for inverse in np.linalg.inv((paths.sum(axis=0) - paths) / (n - 1.0))
    ]
    return math.sqrt((n - 1.0) * float(np.var(left_out)))


def learning_regret(
    A: ArrayLike,
    covariance: Covariance,
    noise: float | Noise,
    horizon: int,
    *,
    prior_deviation: float = 1.0,
    unknown: tuple[str, ...] = (),
) -> Array:
    """Return the second-order expected regret of each round of a finite horizon, shape (T,).

    The player starts at v with a normal prior of A, of this deviation per entry of svec(A), and then has the
    information of the rounds before. The form is of second order in the error, so it overstates the cost of rounds in
    which the error is large.

    Parameters
    ----------
    A, covariance, noise
        As in :func:`learning_constant`.
    horizon : int
        The number of rounds T.
    prior_deviation : float
        The prior deviation of A.
    unknown : tuple of str
        What is unknown beside A: ``"base_load"`` or nothing.

    Returns
    -------
    Array, shape (T,)
        The expected regret of each round.

    Examples
    --------
    >>> regret = learning_regret([[1.0, 0.0], [0.0, 0.3]], 25.0, 10.0 / math.sqrt(3.0), 4000)
    >>> bool(abs((regret[2000] * 2000.0) / 9.38 - 1.0) < 0.01)    # kappa / t
    True
    """
    curvature, values, vectors = positive_definite(A)
    rounds = integer("horizon", horizon, least=1)
    deviation = number("prior_deviation", prior_deviation, above=0.0)
    steps = step_moments(covariance, len(curvature), rounds)
    variance = _variance(noise)
    terms = _unknown_terms(unknown)
    if terms not in ((), ("base_load",)):
        raise ArgumentError(f"unknown must be ('base_load',) or () for a finite horizon, got {unknown!r}")
    with_base_load = bool(terms)
    p = len(values) * (len(values) + 1) // 2
    W = np.zeros((len(values), len(values)))
    information = np.zeros((p + 1, p + 1))
    information[:p, :p] = variance / deviation**2 * np.eye(p)
    regret = np.empty(rounds)
    for t in range(rounds):
        n = rounds - t
        c = contraction(values, n)
        W = W + steps.transform(vectors, vectors, slice(t, t + 1))[0]
        moments = _round_moments(c, W, divided_differences(values, c, n))
        known = information[:p, :p]
        if with_base_load and information[p, p] > 0.0:
            known = known - np.outer(information[:p, p], information[p, :p]) / information[p, p]
        regret[t] = variance * np.trace(np.linalg.solve(known, moments.weight))
        information += moments.information
        W = c[:, None] * W * c
    return regret


def positive_definite(A: ArrayLike) -> tuple[Array, Array, Array]:
    """Return a positive definite A with its eigenvalues and eigenvectors."""
    given = finite_array("A", A)
    if given.ndim != 2:
        raise ArgumentError(f"A must have shape (d, d), got {given.shape}")
    matrix, _ = positive_semidefinite("A", given)
    values, vectors = np.linalg.eigh(matrix)
    if not values[0] > 0.0:
        raise ArgumentError(f"A must be positive definite, got one with the eigenvalue {values[0]:.3g}")
    return matrix, values, vectors


def _variance(noise: float | Noise) -> float:
    """Return the variance of the noise."""
    if not isinstance(noise, Noise):
        return number("noise", noise, above=0.0) ** 2
    if noise.variance is None or not noise.is_martingale:
        raise ArgumentError(f"noise must be independent of the past and have a variance, got {noise!r}")
    return float(noise.variance)


def _unknown_terms(unknown: tuple[str, ...]) -> tuple[str, ...]:
    """Return the terms in the order of their features; every one of them includes a constant."""
    if not set(unknown) <= set(UNKNOWN_TERMS):
        raise ArgumentError(f"unknown must be a tuple of some of {', '.join(UNKNOWN_TERMS)}, got {unknown!r}")
    if not unknown:
        return ()
    constant = "direction_bias" if "direction_bias" in unknown else "base_load"
    return ("offset", constant) if "offset" in unknown else (constant,)


def _round_moments(c: Array, W: Array, slopes: Array) -> _Moments:
    """Return J of a round in the eigenbasis of A, and the moments of (phi, 1), for the covariance W of w."""
    U = c[:, None] * W * c
    return _Moments(_weight(c, W, slopes), feature_moments(U, ("base_load",)))


def _weight(c: Array, W: Array, slopes: Array) -> Array:
    """Return J, the quadratic form of the cost of a round."""
    d = len(c)
    errors = slopes * smat(np.eye(d * (d + 1) // 2))
    weight = 0.5 * np.einsum("kab,lab,a->kl", errors @ W, errors, 1.0 / c)
    return np.asarray(0.5 * (weight + weight.T))


def divided_differences(values: Array, c: Array, n: float) -> Array:
    """Return the divided differences of c over the eigenvalues, shape (d, d)."""
    difference = values[:, None] - values
    middle = 0.5 * (values[:, None] + values)
    close = np.abs(difference) <= _CLOSE * middle
    # A central difference of relative step 1e-5 has an error of order 1e-10.
    step = 1e-5 * middle
    slope = (contraction(middle + step, n) - contraction(middle - step, n)) / (2.0 * step)
    return np.where(close, slope, (c[:, None] - c) / np.where(close, 1.0, difference))


def _is_diagonal(d: int) -> Array:
    """Return which entries of svec are on the diagonal."""
    return np.asarray(np.abs(np.einsum("kaa->k", smat(np.eye(d * (d + 1) // 2)))) > 0.5)
