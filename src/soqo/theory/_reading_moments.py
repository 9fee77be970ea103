r"""The mean information of a reading along the path of LAI, about A and about what else may be unknown.

A reading at u is phi'svec(A) + noise with phi'svec(X) = 1/2 u'X u, plus the terms that may be unknown as well:

- ``offset``: g'u with g = A b;
- ``base_load``: a constant;
- ``direction_bias``: u'N u / |u|^2, which depends on the direction of u only (N = I is a constant).

With f = (phi, and the features of these terms), the information of a round is E[f f'] / s^2. The block of A of its
inverse is the inverse of the Schur complement E[phi phi'] - E[phi n'] E[n n']^{-1} E[n phi'], where n are the features
of the nuisance parameters.

For a normal u of covariance U all moments have closed forms, but for those that are divided by |u|^2. With
1/|u|^2 = int 1/2 exp(-r |u|^2 / 2) dr and 1/|u|^4 = int r/4 exp(-r |u|^2 / 2) dr these are integrals over r of moments
of a normal variable of covariance (U^{-1} + r I)^{-1}. For other steps the moments are means over simulated paths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from soqo.estimators import smat, svec_rows
from soqo.processes import Process
from soqo.typing import Array

_NODES = 400
"""The number of nodes of the integral over r."""

_CHAINS = 64
"""The number of independent paths from which moments and their standard error are estimated."""


def feature_moments(U: Array, terms: tuple[str, ...]) -> Array:
    """Return E[f f'] for a normal u of covariance U.

    Parameters
    ----------
    U : Array, shape (d, d)
        The covariance of u.
    terms : tuple of str
        The unknown terms, in the order of :func:`feature_rows`.
    """
    d = len(U)
    basis = smat(np.eye(d * (d + 1) // 2))
    traces, products = _quadratic_moments(basis, U)
    p = len(basis)
    sizes = {"offset": d, "base_load": 1, "direction_bias": p}
    start, at = p, {}
    for term in terms:
        at[term] = slice(start, start + sizes[term])
        start += sizes[term]
    moments = np.zeros((start, start))
    moments[:p, :p] = 0.25 * products
    if "offset" in terms:
        moments[at["offset"], at["offset"]] = U
    if "base_load" in terms:
        one = at["base_load"]
        moments[one, one] = 1.0
        moments[:p, one] = 0.5 * traces[:, None]
        moments[one, :p] = 0.5 * traces[None, :]
    if "direction_bias" in terms:
        bias = at["direction_bias"]
        cross, own = _direction_moments(basis, U)
        moments[:p, bias] = cross
        moments[bias, :p] = cross.T
        moments[bias, bias] = own
    return moments


def feature_rows(u: Array, terms: tuple[str, ...]) -> Array:
    """Return f for a batch of u, shape (..., features)."""
    phi = svec_rows(u)
    parts = [phi]
    for term in terms:
        if term == "offset":
            parts.append(u)
        elif term == "base_load":
            parts.append(np.ones((*u.shape[:-1], 1)))
        else:
            # At u = 0 the bias is not defined, and the reading says nothing about A.
            square = np.maximum(np.vecdot(u, u), 1e-300)
            parts.append(2.0 * phi / square[..., None])
    return np.concatenate(parts, axis=-1)


def sampled_feature_moments(
    process: Process, gain: Array, vectors: Array, terms: tuple[str, ...], samples: int, seed: int
) -> Array:
    """Return the mean of f f' over each of several simulated paths of LAI, shape (chains, features, features).

    Parameters
    ----------
    process : Process
        The process that moves v, with independent steps.
    gain : Array, shape (d,)
        The eigenvalues c of the gain of an infinite horizon.
    vectors : Array, shape (d, d)
        The eigenvectors of A: u is taken in this basis.
    terms : tuple of str
        The unknown terms.
    samples : int
        The number of rounds of all paths together.
    seed : int
        The seed of the paths.
    """
    rounds = math.ceil(samples / _CHAINS)
    burn_in = math.ceil(math.log(1e-8) / math.log(min(float(gain.max()), 1.0 - 1e-6))) + 1
    return np.stack([_path_moments(u, terms) for u in _lai_paths(process, gain, vectors, rounds, burn_in, seed)])


def _lai_paths(process: Process, gain: Array, vectors: Array, rounds: int, burn_in: int, seed: int) -> Iterator[Array]:
    """Yield the stationary u of independent paths, in the eigenbasis, shape (rounds, d)."""
    from scipy.signal import lfilter  # imported here because it triples the time of importing soqo

    for rng in np.random.default_rng(seed).spawn(_CHAINS):
        steps = process.steps(rng, rounds + burn_in, len(gain)) @ vectors
        # u_t = C (u_{t-1} - step_t), one coordinate of the eigenbasis at a time.
        paths = [lfilter([-c], [1.0, -c], steps[:, i]) for i, c in enumerate(gain)]
        yield np.stack(paths, axis=1)[burn_in:]


def _path_moments(u: Array, terms: tuple[str, ...]) -> Array:
    rows = feature_rows(u, terms)
    return np.asarray(rows.T @ rows / len(rows))


def _quadratic_moments(basis: Array, V: Array) -> tuple[Array, Array]:
    """Return E[u'B_k u] and E[u'B_k u u'B_l u] for a normal u of covariance V."""
    products = basis @ V
    traces = np.trace(products, axis1=1, axis2=2)
    return traces, 2.0 * np.einsum("kab,lba->kl", products, products) + np.outer(traces, traces)


def _direction_moments(basis: Array, U: Array) -> tuple[Array, Array]:
    """Return E[phi b'] and E[b b'] for the features b_k = u'B_k u / |u|^2."""
    values, vectors = np.linalg.eigh(U)
    x, weights = np.polynomial.legendre.leggauss(_NODES)
    # r = (z / (1 - z))^2 / mean eigenvalue, with z in (0, 1).
    z, weights = 0.5 * (x + 1.0), 0.5 * weights
    r = np.square(z / (1.0 - z)) / values.mean()
    weights = weights * 2.0 * z / (1.0 - z) ** 3 / values.mean()
    cross, own = np.zeros((2, len(basis), len(basis)))
    for rate, weight in zip(r, weights, strict=True):
        V = (vectors * (values / (1.0 + rate * values))) @ vectors.T
        density = weight / np.sqrt(np.prod(1.0 + rate * values))
        _, products = _quadratic_moments(basis, V)
        cross += 0.25 * density * products
        own += 0.25 * rate * density * products
    return cross, own
