"""The exact rank of a matrix of floating-point numbers, by elimination modulo primes.

A singular value of the size of round-off may belong to columns that are linearly dependent, or to columns that are
nearly so. The readings of the two kinds differ: in the second, a matrix M that is large enough can use the small
direction. Floating-point arithmetic cannot tell them apart, while arithmetic modulo a prime is exact: the rank modulo a
prime is at most the rank, and smaller only if the prime divides every minor of that order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from soqo.typing import Array

_PRIMES = 3
"""A prime of 31 bits divides a given nonzero minor with a probability below 1e-4 (a minor of order 50 has less than
3,500 such divisors, of 5e7 primes), so three independent ones fail together with a probability below 1e-12."""

_MANTISSA_BITS = 53


def has_rank_at_most(Z: Array, rank: int) -> bool:
    """Return whether the exact rank of a finite matrix is at most ``rank``.

    The primes are drawn from a hash of the matrix, so that no matrix can be made for them.

    Parameters
    ----------
    Z : Array, shape (m, d)
        The matrix.
    rank : int
        The rank.

    Examples
    --------
    >>> Z = np.array([[1.0, 3.0], [0.1, 0.3], [0.7, 2.1]])            # 0.3 is not exactly three times 0.1
    >>> has_rank_at_most(Z, 1), has_rank_at_most(Z[:, :1] * [1.0, 4.0], 1)
    (False, True)
    """
    if rank >= min(Z.shape):
        return True
    return all(_rank_modulo(Z, prime, rank) <= rank for prime in _primes(Z))


def _primes(Z: Array) -> Iterator[int]:
    """Yield primes between 2^30 and 2^31, so that products fit into 64 bits."""
    seed = hashlib.blake2b(np.ascontiguousarray(Z).tobytes(), digest_size=16).digest()
    rng = np.random.default_rng(list(seed))
    divisors = np.arange(3, 46341, 2)
    found = 0
    while found < _PRIMES:
        candidate = int(rng.integers(1 << 29, 1 << 30)) * 2 + 1
        if np.remainder(candidate, divisors).all():
            found += 1
            yield candidate


def _rank_modulo(Z: Array, prime: int, limit: int) -> int:
    """Return the rank modulo a prime, or ``limit + 1`` if it is above the limit."""
    rows = _residues(Z, prime)
    rank = 0
    while rank <= limit:
        places = np.argwhere(rows)
        if not places.size:
            break
        row, column = places[0]
        pivot = rows[row] * pow(int(rows[row, column]), -1, prime) % prime
        rows = (rows - rows[:, column, None] * pivot % prime) % prime
        rank += 1
    return rank


def _residues(Z: Array, prime: int) -> npt.NDArray[np.int64]:
    """Return a multiple of the matrix by a power of two, which is a matrix of integers, modulo a prime."""
    mantissas, exponents = np.frexp(Z)
    integers = np.ldexp(mantissas, _MANTISSA_BITS).astype(np.int64)
    steps = exponents - exponents[Z != 0.0].min(initial=0)
    powers = [1]
    for _ in range(int(steps.max(initial=0))):
        powers.append(2 * powers[-1] % prime)
    factors = np.array(powers, dtype=np.int64)[np.maximum(steps, 0)]
    return np.asarray(integers % prime * factors % prime)
