r"""The filters that a bank begins with.

Before the first reading, svec(A) has mean zero and the covariance

    (rho sigma)^2 (I + w^2 e e'),    e = svec(I) / |svec(I)|,

so that A is a multiple of the identity plus entries of the same size. The ratio rho is unknown over many decades, and
each filter fixes one value. A bank that starts again around an estimate M has the mean k M, with M in place of I, for
some factors k and some spreads rho.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from soqo.estimators._measurements import svec
from soqo.estimators.bayes._filters import Filters, upper_root
from soqo.estimators.bayes._structures import STRUCTURES, Structure, Terms
from soqo.typing import Array

RATIOS = 10.0 ** np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 5.0])
"""The ratios of scale to noise: deviations of a typical hitting cost in units of the noise."""

COMMON, FEW_RATIOS = 0.015, RATIOS[1::2]
"""The budget of the first rounds: structures that are less probable than this have every second ratio."""

ALONG = 6.0
"""The deviation of A along the identity that all dimensions have, in units of the deviation of an entry: there its
variance is 1 + ALONG^2 + d."""

SHAPE = 0.25
"""The parameter a of the prior of the noise, which counts as much as half a reading."""

RECENT = 10.0
"""The number of readings by which the noise that was known before a change counts."""

RESTARTS = (
    *((10.0**k, t, math.inf) for k in (-1.5, -1.0, -0.5, 0.5, 1.0, 1.5) for t in (0.03, 0.3)),
    *((1.0, t, window) for t in (0.01, 0.1, 1.0, 10.0) for window in (math.inf, 20.0)),
)
"""What A may be after a change: a factor of the estimate, the deviation of an entry in units of the rms eigenvalue,
and the number of readings after which the new A is forgotten as well. All have the same probability, and so has an A of
which the estimate says nothing."""


def fresh_filters(terms: Terms, size: Array, context_size: Array, displacement: Array) -> Filters:
    """Return the filters of banks that know nothing but the typical sizes of u and of the context."""
    count, m, e, d = size.size, terms.size, terms.extras, terms.dim
    common = [RATIOS if one.probability > COMMON else FEW_RATIOS for _, one in terms.structures]
    grid = [(*pair, rho) for pair, ratios in zip(terms.structures, common, strict=True) for rho in ratios]
    kind, structures, ratios = zip(*grid, strict=True)
    column = {name: np.array([getattr(one, name) for one in structures]) for name in Structure._fields}
    ratio = np.array(ratios) / (0.5 * d * np.square(size))[:, None]
    deviations = terms.deviations(size, context_size, displacement)
    exists = np.array([terms.exist(one) for one in structures])
    root, index = np.zeros((count, len(grid), m, m)), np.arange(e)
    root[..., index, index] = (deviations[:, None] * exists) * ratio[..., None]
    # A filter fixes sigma at about 1 / rho, and A at about one: only the ratio counts, since b learns the size.
    root[..., e:, e:] = _root_along_identity(d) * ratio[..., None, None]
    share = np.repeat(column["offset_step"][:, None], e, axis=1)
    share[:, terms.walking :] = column["regressor_step"][:, None]
    steps = deviations[:, None] * share * exists
    # With an offset b that walks, the minimum 1/2 b'A b of the hitting cost walks as well.
    steps[..., 0] = steps[..., terms.load + terms.factor] * math.sqrt(d) * displacement[:, None]
    steps *= ratio[..., None]
    steps[..., 0] += column["load_step"]
    share[:, : terms.load + terms.factor] = 0.0
    keep = np.sqrt(1.0 - np.square(share))
    weights = column["probability"] / np.bincount(kind)[np.array(kind)]
    n = count * len(grid)
    return Filters(
        group=np.repeat(np.arange(count), len(grid)),
        kind=np.tile(kind, count),
        root=root.reshape(n, m, m),
        mean=np.zeros((n, m)),
        a=np.full(n, SHAPE),
        b=SHAPE * np.square(1.0 / ratio.ravel()),
        log_weight=np.tile(np.log(weights / weights.sum()), count),
        keep=np.tile(keep, (count, 1)),
        steps=steps.reshape(n, e),
        growth=np.ones(n),
    )


def filters_around(terms: Terms, deviations: Array, M: Array, noise: Array, like: Filters) -> Filters:
    """Return the filters of banks that start around an estimate; ``like`` is one whose structure they keep.

    ``deviations`` are those of base load and offset for A of size one.
    """
    count, m, e, k = len(M), terms.size, terms.extras, len(RESTARTS)
    factor, spread, window = (np.array(column) for column in zip(*RESTARTS, strict=True))
    vector = svec(M)
    length = np.maximum(np.sqrt(np.vecdot(vector, vector)), 1e-100)[:, None]
    level = length / math.sqrt(terms.dim)
    deviation = level * factor * spread
    along = length * factor / deviation
    direction = np.repeat(vector / length, k, axis=0)
    shape = _root_along(direction, along.ravel()).reshape(count, k, m - e, m - e)
    root, mean, index = np.zeros((count, k, m, m)), np.empty((count, k, m)), np.arange(e)
    root[..., e:, e:] = shape * (deviation / noise[:, None])[..., None, None]
    # The offset b stays, so that g = A b and the minimum 1/2 b'A b are multiplied as A is.
    times = np.where((index >= terms.load) & (index < terms.walking), factor[:, None], 1.0)
    exists = np.array([terms.exist(STRUCTURES[k]) for k in like.kind]).reshape(count, e)
    others = deviations * exists * (level / noise[:, None])
    root[..., index, index] = others[:, None] * np.where(index < terms.load, np.maximum(factor, 1.0)[:, None], times)
    mean[..., :e] = like.mean[:, None, :e] * times
    mean[..., e:] = vector[:, None] * factor[:, None]
    return Filters(
        group=np.repeat(np.arange(count), k),
        kind=np.repeat(like.kind, k),
        root=root.reshape(-1, m, m),
        mean=mean.reshape(-1, m),
        a=np.full(count * k, 0.5 * RECENT),
        b=np.repeat(0.5 * RECENT * np.square(noise), k),
        log_weight=np.full(count * k, -math.log(k + 1)),
        keep=np.repeat(like.keep, k, axis=0),
        steps=(like.steps[:, None] * times).reshape(-1, e),
        growth=np.tile((1.0 - 1.0 / window) ** -0.5, count),
    )


@cache
def _root_along_identity(d: int) -> Array:
    """Return the upper triangular root of I + w^2 e e' with w^2 = ALONG^2 + d, where e is the identity's direction."""
    root: Array = _root_along(svec(np.eye(d))[None] / math.sqrt(d), np.full(1, math.sqrt(ALONG**2 + d)))[0]
    return root


def _root_along(direction: Array, deviation: Array) -> Array:
    """Return the upper triangular roots of I + w^2 e e' for directions e, shape (n, p), and deviations w."""
    along = deviation[:, None] * direction
    return upper_root(np.eye(direction.shape[1]) + along[:, :, None] * along[:, None, :])
