r"""Where the minimizer really is: v - b - M w, from the linear terms of the readings.

With g = A b, b is the solution of A b = g, and the same for each column of M. In a direction in which A is small, g
says little about b. With a normal prior of b and the posterior deviation of g, the estimate along an eigenvector with
eigenvalue a is a g / (a^2 + (deviation of g / deviation of b)^2).
"""

from __future__ import annotations

import numpy as np

from soqo._foundation.blas import any_entry
from soqo._model.spectrum import Spectrum
from soqo.estimators import svec
from soqo.estimators.bayes import OFFSET_SIZE, Posterior, ReadingModel
from soqo.typing import Array, IntArray


def minimizer_shift(
    model: ReadingModel, posterior: Posterior, spectrum: Spectrum, chosen: IntArray | None = None
) -> Array:
    """Return b and the columns of M, shape (runs, d, 1 + k).

    Parameters
    ----------
    model, posterior : ReadingModel and Posterior
        The assumptions about the readings, and the posterior.
    spectrum : Spectrum
        The spectrum of the estimate of A.
    chosen : IntArray, shape (runs,), optional
        The entry of the posterior that belongs to each run; by default the same number.
    """
    d, k, linear = model.dim, model.context, model.linear
    own = slice(None) if chosen is None else chosen
    if not any_entry(posterior.offset_step[own]) and not any_entry(posterior.mean[own, linear]):
        return np.zeros((len(spectrum.values), d, 1 + k))
    if chosen is not None:
        posterior = posterior.take_estimates(chosen)
    if posterior.offset_step.any():
        return _walking_shift(model, posterior, spectrum)
    g = _given_estimate(model, posterior, spectrum, linear)
    columns = np.concatenate([g[:, :d, None], g[:, d:].reshape(len(g), d, k)], axis=2)
    root, Q, a = posterior.root[:, linear], spectrum.vectors, spectrum.values
    blocks = [root[:, :d], *(root[:, d + j :: k] for j in range(k))]
    sizes, result = posterior.sizes, np.empty_like(columns)
    for j, block in enumerate(blocks):
        along = np.vecmat(columns[:, :, j], Q)
        deviation = np.sqrt(np.square(Q.mT @ block).sum(axis=2))
        size = OFFSET_SIZE * sizes[:, :1] / (sizes[:, j : j + 1] if j else 1.0)
        ratio = np.square(deviation / np.maximum(size, 1e-150))
        result[:, :, j] = np.matvec(Q, a * along / np.maximum(a * a + ratio, 1e-300))
    return result


def _walking_shift(model: ReadingModel, posterior: Posterior, spectrum: Spectrum) -> Array:
    """Return the shift of runs some of which have an offset that walks; these have no context."""
    walking = posterior.offset_step > 0.0
    result = np.zeros((walking.size, model.dim, 1))
    for runs in (np.flatnonzero(~walking), np.flatnonzero(walking)):
        if not runs.size:
            continue
        part, own = posterior.take(runs), Spectrum(spectrum.values[runs], spectrum.vectors[runs])
        if not walking[runs[0]]:
            result[runs] = minimizer_shift(model, part, own)
            continue
        Q, a, S = own.vectors, own.values, part.walk_mean[:, 1:]
        unknowns = part.mean.copy()
        unknowns[:, -model.unknowns :] = svec(own.matrix())
        g = S[:, :, -1] - np.matvec(S[:, :, :-1], unknowns)
        along = np.vecmat(g, Q)
        filtered = np.square(part.noise)[:, None] * np.einsum("rik,rij,rjk->rk", Q, part.walk_covariance[:, 1:, 1:], Q)
        deviation2 = filtered + np.square(Q.mT @ S[:, :, :-1] @ part.root).sum(axis=2)
        ratio = deviation2 / np.square(np.maximum(OFFSET_SIZE * part.sizes[:, :1], 1e-150))
        result[runs, :, 0] = np.matvec(Q, a * along / np.maximum(a * a + ratio, 1e-300))
    return result


def _given_estimate(model: ReadingModel, posterior: Posterior, spectrum: Spectrum, linear: slice) -> Array:
    """Return the mean of the linear terms given that A is the estimate, which is in the cone and not the mean."""
    p = model.unknowns
    root, root_A = posterior.root[:, linear], posterior.root[:, -p:]
    change = svec(spectrum.matrix()) - posterior.mean[:, -p:]
    covariance = root_A @ root_A.mT
    ridge = 1e-10 * np.trace(covariance, axis1=1, axis2=2) + 1e-300
    solution = np.linalg.solve(covariance + ridge[:, None, None] * np.eye(p), change[..., None])[..., 0]
    return np.asarray(posterior.mean[:, linear] + np.matvec(root, np.vecmat(solution, root_A)))
