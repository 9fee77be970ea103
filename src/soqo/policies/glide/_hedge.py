r"""What to play for while it is not yet known whether A has changed.

Let w_k be the probability of epoch k, in which A is A_k, and C_k the gain for A_k. The expected regret of an action x
is the sum of w_k 1/2 |x - v - C_k (x_prev - v)|^2 in the norm of C_k^{-1}. It is smallest for the gain C with

    C^{-1} = sum_k w_k C_k^{-1},

which is the gain for the matrix A = C^{-1} + C - 2 I if the horizon is infinite. To ignore a change to a larger A costs
more than to react to one that has not taken place, and C^{-1} takes this into account.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._model.gains import contraction
from soqo._model.spectrum import Spectrum
from soqo.estimators.bayes import ReadingModel, map_estimate
from soqo.policies.glide._beliefs import Beliefs
from soqo.typing import Array


def hedge(model: ReadingModel, beliefs: Beliefs, spectrum: Spectrum, round_number: int) -> Spectrum:
    """Return the spectrum of the matrix to play for.

    Parameters
    ----------
    model : ReadingModel
        The assumptions about the readings.
    beliefs : Beliefs
        The hypotheses, some of which may have restarted after a suspected change.
    spectrum : Spectrum
        The spectrum of the estimate of the best belief of each run.
    round_number : int
        The number of this round.
    """
    others = beliefs.later_epochs(round_number)
    if others is None:
        return spectrum
    index, probability = others
    owner = beliefs.owner[index]
    last = Spectrum(spectrum.values[owner], spectrum.vectors[owner])
    estimates = map_estimate(model, beliefs.posterior.take(index), last, np.ones(index.size, dtype=np.bool_))
    runs, position = np.unique(owner, return_inverse=True)
    share = np.bincount(position, probability)
    own = Spectrum(spectrum.values[runs], spectrum.vectors[runs])
    inverse = (1.0 - share)[:, None, None] * _inverse_gain(own)
    np.add.at(inverse, position, probability[:, None, None] * _inverse_gain(estimates))
    mixture = Spectrum.of(inverse)
    values, vectors = spectrum.values.copy(), spectrum.vectors.copy()
    # C^{-1} + C - 2 I has the eigenvalues (c - 1)^2 / c for those of C^{-1}, which are at least one.
    values[runs] = np.square(mixture.values - 1.0) / np.maximum(mixture.values, 1.0)
    vectors[runs] = mixture.vectors
    return Spectrum(values, vectors)


def _inverse_gain(spectrum: Spectrum) -> Array:
    """Return the inverse of the gain for an infinite horizon, shape (runs, d, d)."""
    Q = spectrum.vectors
    return np.asarray((Q / contraction(spectrum.values, math.inf)[:, None, :]) @ Q.mT)
