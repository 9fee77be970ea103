"""Least squares over positive semi-definite matrices: minimize 1/2 sum_i w_i (y_i - 1/2 z_i'M z_i)^2 over M PSD."""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo._arguments import finite_array
from soqo.errors import ArgumentError
from soqo.estimators._estimate import Estimate, Status, effective_rank
from soqo.estimators._measurements import measure
from soqo.estimators.sdp._arithmetic import One
from soqo.estimators.sdp._residuals import HalfSquare
from soqo.estimators.sdp._trace_min import ACCEPTED, Scaled, data, shifted_into_cone
from soqo.typing import Array

__all__ = ["least_squares_bound", "psd_least_squares"]


def psd_least_squares(Z: Any, y: Any, weights: Any = None) -> Estimate:
    """The positive semi-definite matrix that fits rank-1 readings best in least squares.

    Parameters
    ----------
    Z, y
        As in :func:`soqo.trace_min`.
    weights : array_like, shape (m,), optional
        Positive weights of the squares; one by default.

    Returns
    -------
    Estimate
        ``primal`` is half the sum of weighted squares, ``dual`` a lower bound on it. Where the readings do not
        determine the matrix, it is one of many.

    Examples
    --------
    >>> psd_least_squares([[1.0], [2.0]], [1.0, 4.0]).matrix.round(6)     # 1/2 z^2 M with M = 2 fits both
    array([[2.]])
    >>> bool(psd_least_squares([[1.0]], [-1.0]).matrix[0, 0] < 1e-6)      # nothing negative
    True
    """
    Z, y = data(Z, y)
    w = np.ones(y.size) if weights is None else finite_array("weights", weights)
    if w.shape != y.shape or not (w > 0.0).all():
        raise ArgumentError(f"weights must be positive and of shape {y.shape}, got {weights!r}")
    # A reading times sqrt(w) is a reading at w^{1/4} z. In units of the largest, squares do not overflow.
    rows, readings = Z * np.sqrt(np.sqrt(w))[:, None], y * np.sqrt(w)
    unit = float(np.abs(readings).max()) or 1.0
    readings = readings / unit
    everything = 0.5 * float(readings @ readings)
    scaled = Scaled.of(rows, readings)
    M, multipliers, iterations = np.zeros((Z.shape[1], Z.shape[1])), readings, 0
    log: tuple[tuple[float, float, float], ...] = ()
    if scaled.spans and everything:
        at = scaled.solve(HalfSquare(One()))
        M, multipliers = scaled.matrix(at), at.multipliers * scaled.unit_y
        iterations, log = at.iterations, tuple(at.log)
    off = readings - measure(rows, M)
    primal = 0.5 * float(off @ off)
    dual = least_squares_bound(rows, readings, multipliers)
    good = primal - dual <= ACCEPTED * primal + 1e-8 * everything / y.size
    return Estimate(
        unit * M,
        Status.SOLVED if good else Status.STALLED,
        unit * unit * primal,
        unit * unit * dual,
        unit * float(np.abs(off / np.sqrt(w)).sum()),
        effective_rank(M),
        iterations,
        unit * multipliers,
        log=log,
    )


def least_squares_bound(Z: Any, y: Any, multipliers: Any) -> float:
    """The bound on half the sum of squares that multipliers prove, whatever they are.

    For any lambda with sum lambda_i z_i z_i' <= 0, half the sum is at least (sum lambda_i y_i)^2 / (2 sum lambda_i^2)
    where sum lambda_i y_i > 0; others are first shifted down until they keep the condition. With weights, Z and y are
    the weighted ones, w_i^{1/4} z_i and w_i^{1/2} y_i.
    """
    Z, y = data(Z, y)
    lam: Array = shifted_into_cone(Z, finite_array("multipliers", multipliers))
    square, along = float(lam @ lam), float(y @ lam)
    return 0.5 * along * along / square if square and along > 0.0 else 0.0
