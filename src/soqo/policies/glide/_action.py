r"""What GLIDE plays for: the action of the least expected regret.

If v is a martingale, the expected regret of an action x is 1/2 |x - x*|^2 in the norm of C^{-1}, where x* is the
optimal step for the true A. Each belief k has an x_k and a C_k for its estimate, and a probability w_k; the sum of
w_k |x - x_k|^2 in the norms of C_k^{-1} is least at

    x = (sum w_k C_k^{-1})^{-1} sum w_k C_k^{-1} x_k,    C_k^{-1} = I + Q (go / (1 - go)) Q',

where go are the eigenvalues of I - C_k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo._model.gains import MAX_ROUNDS, advance_unchecked, advance_with_factor
from soqo._model.planner import anticipation, towards
from soqo._model.spectrum import Spectrum
from soqo.policies._base import State
from soqo.policies._runs import take_rows
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._memory import Memory
from soqo.typing import Array

_LARGEST_WEIGHT = 1e12
"""Larger eigenvalues of C^{-1} lose the others to round-off."""


def action(state: State[Any], memory: Memory, told: Array, context: Array | None, forecast: Array | None) -> Array:
    """Return the action of each run, shape (runs, d).

    Parameters
    ----------
    state : State
        The state.
    memory : Memory
        The memory of this round: drift and forecasts know the new v.
    told : Array, shape (runs, d)
        The minimizers of this round.
    context : Array of shape (runs, k), or None
        The context of this round.
    forecast : Array of shape (runs, j, d), or None
        The expected minimizers of the next rounds.
    """
    beliefs, n = memory.beliefs, min(state.rounds_to_go, MAX_ROUNDS)
    run, posterior = beliefs.run, beliefs.posterior
    x_prev = state.x.reshape(told.shape)
    spectrum = Spectrum(posterior.values, posterior.vectors)
    factor = None if state.factor is None else state.factor.reshape(-1)[run]
    go = advance_unchecked(spectrum.values, n) if factor is None else advance_with_factor(spectrum.values, n, factor)
    shift = posterior.shift[:, :, 0]
    if context is not None and posterior.shift.shape[2] > 1:
        shift = shift + np.matvec(posterior.shift[:, :, 1:], context[run])
    target = aim = told[run] - shift
    if memory.drift.is_predictable():
        aim = target + take_rows(memory.drift, run).target_offset(spectrum, go, n)
    if forecast is None or not forecast.shape[1]:
        x = towards(spectrum, go, x_prev[run], aim)
    else:
        # A forecast that is believed takes the place of the autoregression.
        aim = target + (1.0 - memory.forecasts.trust()[run, :1]) * (aim - target)
        expected = memory.forecasts.expected(told, forecast)[run] - shift[:, None]
        x = towards(spectrum, go, x_prev[run], aim) + anticipation(spectrum, n, target, expected, factor)
    return x if len(run) == len(told) else _least_regret(beliefs, spectrum, go, x_prev, x)


def _least_regret(beliefs: Beliefs, spectrum: Spectrum, go: Array, x_prev: Array, x: Array) -> Array:
    """Return the action of the least expected regret, given the action x of each belief; the x of a sole belief."""
    Q, d = spectrum.vectors, x.shape[1]
    weight = np.minimum(go / np.maximum(1.0 - go, 1e-300), _LARGEST_WEIGHT)
    inverse = beliefs.probability()[:, None, None] * (np.eye(d) + (Q * weight[:, None, :]) @ Q.mT)
    total = np.add.reduceat(inverse, beliefs.best)
    pull = np.add.reduceat(np.matvec(inverse, x - x_prev[beliefs.run]), beliefs.best)
    sole = np.bincount(beliefs.run) == 1
    return np.where(sole[:, None], x[beliefs.best], x_prev + np.linalg.solve(total, pull[..., None])[..., 0])
