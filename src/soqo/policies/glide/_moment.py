"""The second moment of the distances x_prev - v that a player has to cover, which weighs the errors of an estimate."""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo._foundation.blas import any_entry
from soqo.typing import Array, IntArray


def update_moment(moment: Array, w: Array, rounds: int | IntArray) -> Array:
    """Return the mean of w w' with one more term, clipped to ten times the mean so that no jump dominates it.

    Parameters
    ----------
    moment : Array, shape (runs, d, d)
        The mean so far.
    w : Array, shape (runs, d)
        The distances x_prev - v.
    rounds : int or IntArray of shape (runs,)
        The number of terms so far.

    Examples
    --------
    >>> update_moment(np.eye(2)[None], np.array([[3.0, 0.0]]), 1)
    array([[[5. , 0. ],
            [0. , 0.5]]])
    """
    runs, d, _ = moment.shape
    bound = 10.0 * np.add.reduce(moment.reshape(runs, d * d)[:, :: d + 1], axis=1)
    square = np.vecdot(w, w)
    count: Any = rounds + 1.0 if isinstance(rounds, int) else rounds[:, None, None] + 1.0
    clipped = w
    if any_entry(square > bound):  # otherwise each share is one
        share = np.minimum(1.0, bound / np.maximum(square, 1e-300))
        if not isinstance(rounds, int) or not rounds:
            share = np.where(np.asarray(rounds) > 0, share, 1.0)
        clipped = share[:, None] * w
    change = clipped[:, :, None] * w[:, None, :]
    change -= moment
    change /= count
    change += moment
    return np.asarray(change)
