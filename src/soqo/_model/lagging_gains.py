r"""The gains of the optimal player for a plant with a lag, and with actuators that cannot always move.

The hitting cost is felt at f_t = (1 - k) x_t + k f_{t-1}, where the plant follows its actuators with the share k of the
old position, and an actuator that is not active stays and does not count. If v is a martingale, the cost to go is a
quadratic form in the state e = (x_{t-1} - v_t, f_{t-1} - v_t), or in x_{t-1} - v_t alone if k = 0, up to a constant.
Backwards from the last round, the displacement u = x_t - v_t minimizes

    1/2 g'(M s A M)g + 1/2 (u - a)'W(u - a) + 1/2 e_next'P e_next,    a = x_{t-1} - v_t,  g = (1 - k) u + k f,

over the active entries, where M selects them and the others are those of a. So u = K e, and any other action costs
1/2 (u - K e)'H(u - K e) more, with the Hessian H of this function.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soqo.typing import Array, BoolArray


def lagging_gains(
    segments: Sequence[tuple[int, int, Array]],
    weight: Array,
    *,
    keep: float = 0.0,
    factors: Array | None = None,
    active: BoolArray | None = None,
) -> tuple[Array, Array]:
    """Return the gains K_t of the optimal player, who knows A, all factors and all outages in advance, and H_t.

    Parameters
    ----------
    segments : sequence of (first, stop, A)
        The rounds first..stop-1 (counted from 0) in which the curvature is A, shape (d, d) or (runs, d, d).
    weight : Array, shape (d, d)
        The switching weight W.
    keep : float
        The share k of the old position that is still felt; 0 for no lag.
    factors : Array, shape (T, runs), optional
        What multiplies A in each round; 1 by default.
    active : BoolArray, shape (T, runs, d), optional
        The actuators that can move and count; all by default.

    Returns
    -------
    gains : Array, shape (T, runs or 1, d, n)
        K_t, with n = d, or n = 2 d if there is a lag.
    hessians : Array, shape (T, runs or 1, d, d)
        H_t.

    Examples
    --------
    >>> gains, hessians = lagging_gains([(0, 1, np.array([[2.0]]))], np.eye(1))      # the last round: 1 / (1 + 2)
    >>> gains[0, 0], hessians[0, 0]
    (array([[0.33333333]]), array([[3.]]))
    """
    _, horizon, last = segments[-1]
    d = last.shape[-1]
    n = 2 * d if keep else d
    batch = np.broadcast_shapes((1,), *(A.shape[:-2] for _, _, A in segments))
    for given in (None if factors is None else factors.shape[1:], None if active is None else active.shape[1:-1]):
        batch = batch if given is None else np.broadcast_shapes(batch, given)
    gains, hessians = np.empty((horizon, *batch, d, n)), np.empty((horizon, *batch, d, d))
    position, felt = np.eye(d, n), np.eye(d, n, k=n - d)  # of the state e
    carried = np.concatenate([0.0 * position, keep * felt])[:n] if keep else np.zeros((d, d))
    steered = np.concatenate([np.eye(d), (1.0 - keep) * np.eye(d)])[:n] if keep else np.eye(d)
    to_go = np.zeros((*batch, n, n))
    for first, stop, A in reversed(segments):
        for t in reversed(range(first, stop)):
            moves = np.ones((*batch, d)) if active is None else np.broadcast_to(active[t], (*batch, d)).astype(float)
            curvature = A if factors is None else factors[t][:, None, None] * A
            counted = moves[..., :, None] * curvature * moves[..., None, :]
            H = np.matmul(steered.T, np.matmul(to_go, steered)) + (1.0 - keep) ** 2 * counted + weight
            linear = np.matmul(steered.T, np.matmul(to_go, carried)) - np.matmul(weight, position)
            if keep:
                linear = linear + keep * (1.0 - keep) * np.matmul(counted, felt)
            stays = (1.0 - moves)[..., :, None] * position
            both = moves[..., :, None] * moves[..., None, :]
            masked = both * H + (1.0 - moves)[..., :, None] * np.eye(d)
            K = stays - np.linalg.solve(masked, moves[..., :, None] * (linear + np.matmul(H, stays)))
            following = carried + np.matmul(steered, K)
            displaced = keep * felt + (1.0 - keep) * K
            step = K - position
            to_go = (
                np.matmul(following.mT, np.matmul(to_go, following))
                + np.matmul(displaced.mT, np.matmul(counted, displaced))
                + np.matmul(step.mT, np.matmul(weight, step))
            )
            to_go = 0.5 * (to_go + to_go.mT)
            gains[t], hessians[t] = K, both * H
    return gains, hessians
