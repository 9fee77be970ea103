r"""What every policy pays in the first d rounds, for any noise: the price of not knowing the eigenvectors of A.

Let A = Q D Q' with Q uniform on the orthogonal group and D one of several diagonal matrices, each equally likely, and
let the steps be independent of A, with mean zero and covariance s^2 I. Readings up to round t are functions of A on
the span of t - 1 vectors u. Give the player more: the compression P A P to a subspace of dimension k = t - 1 that
contains them. Because the law of A does not change by rotations, nothing depends on which subspace it is, and a
player who chooses it by what was seen before gains nothing. Given its knowledge G, the player that minimizes the
expected cost of round t,

    1/2 E[(u - C w)' C^{-1} (u - C w) | G],

plays u = E[C^{-1} | G]^{-1} w and pays 1/2 w'(E[C | G] - E[C^{-1} | G]^{-1}) w.

The mean over the step of round t is at least 1/2 s^2 tr(E[C | G] - E[C^{-1} | G]^{-1}). In a basis in which P A P is
diagonal the law of A given P A P is symmetric under changes of sign of each of the k coordinates and under rotations
of the other d - k, so both conditional means are diagonal. For k = 0 they are known, for k = d - 1 P A P and the
eigenvalues determine A up to these signs, and for k = 1 and 2 they are means over cells of equal numbers of samples.
The cost is not increasing in k: for 2 < k < d - 1 the bound uses that of k = d - 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from soqo._foundation.arguments import finite_array, integer, number
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.gains import contraction
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike, IntArray

_BATCHES = 4
"""The number of independent batches of samples, from which the standard error is estimated."""

_SAMPLES_PER_CELL = 60
"""Samples in a cell. The mean of few samples makes the bound smaller, by about their relative variance over this."""


@dataclass(frozen=True)
class FirstRoundsBound(Value):
    """A lower bound on the expected regret of the first d rounds.

    Attributes
    ----------
    rounds : Array, shape (d,)
        The bound on each of the first d rounds.
    standard_error : float
        That of the sum.
    """

    rounds: Array = field(repr=False)
    standard_error: float

    @property
    def total(self) -> float:
        """The bound on the regret of every horizon of at least d rounds."""
        return float(self.rounds.sum())


def first_rounds_bound(
    spectra: ArrayLike, variance: float, *, samples: int = 200_000, seed: int = 0
) -> FirstRoundsBound:
    """Return a lower bound on the expected regret of every policy, for any noise or none.

    The eigenvectors of A are uniformly distributed, and its eigenvalues are one of the given sets, each equally likely.
    The policy may know this. The noise may have any law, but must not
    depend on A except through the hitting cost. The proof is in docs/theory/limit.md.

    Parameters
    ----------
    spectra : array_like, shape (d,) or (n, d)
        The eigenvalues of A, or several sets of them.
    variance : float
        The variance of the steps of v, in every direction.
    samples : int
        The number of simulated A.
    seed : int
        The seed of the simulation.

    Returns
    -------
    FirstRoundsBound
        The bound on each round.

    See Also
    --------
    regret_lower_bound : For a long horizon and normal noise.

    Examples
    --------
    >>> found = first_rounds_bound([1.0, 4.0, 7.0, 10.0], variance=2500.0, samples=20_000)
    >>> found.rounds.round(-1)
    array([250., 230., 190., 110.])
    """
    values = np.atleast_2d(finite_array("spectra", spectra))
    if values.ndim != 2 or (values < 0.0).any():
        raise ArgumentError(
            f"spectra must be eigenvalues that are not negative, of shape (d,) or (n, d), got {spectra!r}"
        )
    scale = number("variance", variance, above=0.0)
    n = integer("samples", samples, least=_BATCHES * 1000) // _BATCHES
    rngs = np.random.default_rng(integer("seed", seed, least=0)).spawn(_BATCHES)
    found = 0.5 * scale * np.stack([_losses(values, n, rng) for rng in rngs])
    error = float(found.sum(axis=1).std(ddof=1)) / math.sqrt(_BATCHES)
    return FirstRoundsBound(found.mean(axis=0), error)


def _losses(spectra: Array, samples: int, rng: np.random.Generator) -> Array:
    """Return E tr(E[C | G] - E[C^{-1} | G]^{-1}) for k = 0, ..., d - 1."""
    d = spectra.shape[1]
    gains = contraction(spectra, math.inf)
    which = np.arange(samples) % len(spectra)
    values, c = spectra[which], gains[which]
    normal = rng.standard_normal((samples, d, d))
    Q, R = np.linalg.qr(normal)
    Q = Q * np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None, :]
    A = (Q * values[:, None, :]) @ Q.mT
    inverse = (Q / c[:, None, :]) @ Q.mT
    mean_trace = d * float(gains.mean())
    losses = np.empty(d)
    losses[0] = mean_trace - d / float((1.0 / gains).mean())
    for k in (*range(1, min(d - 1, 3)), d - 1):
        if k > 0:
            losses[k] = mean_trace - _mean_of_best_gains(A, inverse, k)
    losses[3 : d - 1] = losses[d - 1]
    return losses


def _mean_of_best_gains(A: Array, inverse: Array, k: int) -> float:
    """Return E tr(E[C^{-1} | P A P]^{-1}) for the compression to the first k coordinates."""
    d = A.shape[-1]
    compressed, basis = np.linalg.eigh(A[:, :k, :k])
    known = np.einsum("nik,nij,njk->nk", basis, inverse[:, :k, :k], basis)
    rest = np.trace(inverse[:, k:, k:], axis1=1, axis2=2) / (d - k)
    diagonal = np.concatenate([known, np.repeat(rest[:, None], d - k, axis=1)], axis=1)
    if k == d - 1:
        return float((1.0 / diagonal).sum(axis=1).mean())
    cells = _cells(compressed)
    return sum(len(cell) * float((1.0 / diagonal[cell].mean(axis=0)).sum()) for cell in cells) / len(A)


def _cells(points: Array) -> list[IntArray]:
    """Split points in one or two dimensions into cells of about equal numbers, and return their indices."""
    order = np.argsort(points[:, 0], kind="stable")
    count = max(1, len(points) // _SAMPLES_PER_CELL)
    if points.shape[1] == 1:
        return np.array_split(order, count)
    side = max(1, math.isqrt(count))
    strips = np.array_split(order, side)
    return [cell for strip in strips for cell in np.array_split(strip[np.argsort(points[strip, 1])], side)]
