"""The benchmark LAI of a simulation, and the regret of each action against it."""

from __future__ import annotations

import numpy as np

from soqo._model.gains import contraction, gains_of_factors, gains_of_rounds
from soqo._model.planner import Plan, factored_path, known_path
from soqo._simulation.paths import Paths, whole_turns
from soqo.typing import Array


def benchmark_path(paths: Paths) -> Array:
    """Return the actions of the benchmark LAI, shape (runs, T, d).

    It knows A, v of this round, all factors and changes of A, all outages and the lag; limits of actuators and the
    period of angles are not its concern.

    Parameters
    ----------
    paths : Paths
        The sample paths.
    """
    if paths.active is not None or paths.keep:
        return _lagging_path(paths)
    coordinates = paths.problem.coordinates
    if paths.later:
        gains, _ = paths.gains
        x0, v = coordinates.to_plain(paths.x0), coordinates.to_plain(paths.v)
        return coordinates.from_plain(known_path(gains, v, x0))
    if paths.factor is not None:
        x0, v = coordinates.to_plain(paths.x0), coordinates.to_plain(paths.v)
        return coordinates.from_plain(factored_path(paths.problem.plain.spectrum, paths.factor, v, x0))
    plan = Plan(paths.problem.plain.A, paths.horizon)
    x = plan.path(coordinates.to_plain(paths.x0), coordinates.to_plain(paths.v))
    return coordinates.from_plain(x)


def low_variance_regret(paths: Paths, x: Array) -> Array:
    """Return the expected extra cost of each action over LAI's action from the same position, shape (runs, T).

    It is 1/2 |x_t - x*_t|^2 in the norm of C_t^{-1}, with x*_t = C_t x_{t-1} + (I - C_t) v_t. If v is a martingale, its
    sum over the rounds differs from the regret by a term of mean zero. Angles are taken at the turn of v nearest to
    where the action is felt.
    """
    if not paths.is_direct:
        return _lagging_regret(paths, x)
    coordinates, plain = paths.problem.coordinates, paths.problem.plain
    actions, v = coordinates.to_plain(x), coordinates.to_plain(paths.v)
    start = coordinates.to_plain(paths.x0)[:, None, :]
    before = np.concatenate([start, actions[:, :-1]], axis=1)
    if paths.later:
        gains, inverses = (np.moveaxis(C, 0, 1) for C in paths.gains)
        error = actions - v - np.matvec(gains, before - v)
        return np.asarray(0.5 * np.vecdot(error, np.matvec(inverses, error)))
    if paths.factor is not None:
        shrink, _ = gains_of_factors(plain.spectrum.values, paths.factor.T)
    else:
        shrink = gains_of_rounds(contraction, plain.spectrum.values, paths.horizon, slice(0, paths.horizon))
    shrink = np.moveaxis(shrink, 0, -2)
    off = np.matmul(actions - v, plain.spectrum.vectors)
    best = shrink * np.matmul(before - v, plain.spectrum.vectors)
    result: Array = 0.5 * (np.square(off - best) / shrink).sum(axis=-1)
    return result


def _lagging_path(paths: Paths) -> Array:
    """Return the actions of the benchmark for a plant that lags or has outages."""
    gains, _ = paths.lagging_gains
    x = felt = paths.x0
    path = np.empty_like(paths.v)
    for t, K in enumerate(gains):
        v = paths.v[:, t]
        x = path[:, t] = v + np.matvec(K, _state(paths, x - v, felt - v))
        felt = x + paths.keep * (felt - x)
    return path


def _lagging_regret(paths: Paths, x: Array) -> Array:
    """Return the expected extra cost of each action for a plant that lags, has outages, or moves angles."""
    felt = paths.felt(x)
    v = paths.v
    if paths.period is not None:
        v = v + whole_turns(felt - v, paths.period)
    start = paths.x0[:, None, :]
    before, felt_before = (np.concatenate([start, one[:, :-1]], axis=1) for one in (x, felt))
    gains, hessians = (np.moveaxis(matrices, 0, 1) for matrices in paths.lagging_gains)
    error = x - v - np.matvec(gains, _state(paths, before - v, felt_before - v))
    return np.asarray(0.5 * np.vecdot(error, np.matvec(hessians, error)))


def _state(paths: Paths, position: Array, felt: Array) -> Array:
    """Return the state of `lagging_gains`: the displacements of the actuators and of what is felt."""
    return np.concatenate([position, felt], axis=-1) if paths.keep else position
