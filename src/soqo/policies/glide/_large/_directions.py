r"""In how many directions v moves.

The effective number of directions of n steps is 1 / tr M^2 for the mean M of s s'/|s|^2. Steps that have no preferred
direction have about d n / (n + d). Their lengths do not count, so that a jump does not look like a direction.
"""

from __future__ import annotations

import numpy as np

from soqo.typing import Array

_FEW = 0.5
"""The directions are few if they are less than this share of what steps without a preferred direction have."""


def add_steps(directions: Array, steps: Array) -> Array:
    """Return the sums of s s'/|s|^2 with one more step of each run; a step of zero does not count.

    Parameters
    ----------
    directions : Array, shape (runs, d, d)
        The sums so far.
    steps : Array, shape (runs, d)
        The steps s of v.

    Examples
    --------
    >>> add_steps(np.zeros((1, 2, 2)), np.array([[3.0, 4.0]]))
    array([[[0.36, 0.48],
            [0.48, 0.64]]])
    """
    unit = steps / np.maximum(np.linalg.norm(steps, axis=1, keepdims=True), 1e-300)
    return np.asarray(directions + unit[:, :, None] * unit[:, None, :])


def are_few(directions: Array) -> bool:
    """Return whether v moves in few directions only.

    Parameters
    ----------
    directions : Array, shape (d, d)
        The sum of s s'/|s|^2.

    Examples
    --------
    >>> are_few(np.diag([5.0, 4.0, 6.0, 5.0])), are_few(np.diag([10.0, 0.0, 0.0, 0.0]))
    (False, True)
    """
    n, d = float(np.trace(directions)), len(directions)
    square = float(np.vdot(directions, directions))
    # 1 / tr M^2 = n^2 / square < _FEW d n / (n + d)
    return n * (n + d) < _FEW * d * square
