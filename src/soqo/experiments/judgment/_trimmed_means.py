"""Trimmed means, which settle with the number of runs where means do not exist."""

from __future__ import annotations

import numpy as np

from soqo.typing import Array

TRIMMED = 0.1
"""The share of the runs that a trimmed mean leaves out at each end."""


def trimmed_mean(samples: Array, share: float = TRIMMED) -> Array:
    """Return the mean over the last axis without this share of the smallest and of the largest numbers.

    Parameters
    ----------
    samples : Array, shape (..., runs)
        The numbers.
    share : float
        The share that is left out at each end.

    Examples
    --------
    >>> float(trimmed_mean(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1e9])))
    4.5
    """
    cut = int(share * samples.shape[-1])
    ordered = np.sort(samples, axis=-1)
    return np.asarray(ordered[..., cut : samples.shape[-1] - cut].mean(axis=-1))
