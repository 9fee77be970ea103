"""Probes with many dimensions: their value by dense formulas, and what they bring where v moves in few directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streams import curvature, row, taught

import soqo
from soqo._foundation.frozen_dataclasses import evolve
from soqo._model.gains import contraction
from soqo.estimators._measurements import smat, svec_rows
from soqo.estimators.lowrank import Readings, RowsUncertainty
from soqo.noise import Uniform
from soqo.policies.glide._large._learning import Options, learn
from soqo.policies.glide._large._probes import _SAFETY_FACTOR, _Gain, _values, best_probe, pause
from soqo.policies.glide._large._stream import Stream
from soqo.processes import Cauchy, Gaussian, Process
from soqo.typing import Array

D = 13


def path_along(directions: int, rounds: int, seed: int) -> Array:
    """Return a random walk of v in a random subspace, with steps of 50."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((D, directions)))[0]
    return np.asarray(np.cumsum(50.0 * rng.standard_normal((rounds, directions)) @ basis.T, axis=0))


def played(policy: soqo.GLIDE, A: Array, v: Array) -> tuple[float, Any]:
    """Return the cost above that of the player who knows A, and the diagnostics."""
    noise = np.random.default_rng(9).uniform(-10.0, 10.0, len(v))
    state, x = policy.start(np.zeros(D), len(v)), np.empty_like(v)
    for t in range(len(v)):
        x[t], state = policy.act(state, v[t])
        u = x[t] - v[t]
        state = policy.observe(state, 0.5 * u @ A @ u + noise[t])
    best = soqo.Plan(A, horizon=len(v)).path(np.zeros(D), v)
    return total_cost(A, v, x) - total_cost(A, v, best), policy.diagnostics(state)


def total_cost(A: Array, v: Array, x: Array) -> float:
    u, steps = x - v, np.diff(x, axis=0, prepend=0.0)
    return float(0.5 * np.vecdot(u @ A, u).sum() + 0.5 * np.square(steps).sum())


# ---- the value ------------------------------------------------------------------------------------------------------


def test_the_value_of_a_probe_is_the_reduction_of_second_order_regret_minus_its_price() -> None:
    rng = np.random.default_rng(0)
    d, scale, noise2, rounds = 4, 0.5, 0.7, 20.0
    A = curvature(d, d)
    Z, planned, delta = (rng.standard_normal(shape) for shape in ((6, d), d, d))
    root = rng.standard_normal((d, d))
    W = root @ root.T
    unknown = RowsUncertainty.of(Readings(Z, np.zeros(6)), scale, noise2)
    gain = _Gain.of(A, unknown, 50.0)
    probes = np.stack([np.zeros(d), delta])
    value = _values(unknown, gain, planned, probes, np.zeros((d, d)), W, rounds)

    F = svec_rows(Z)
    before = np.linalg.inv(F.T @ F / noise2 + np.eye(F.shape[1]) / scale**2)
    values, Q = np.linalg.eigh(A)
    values = np.maximum(values, 2.0 * np.sqrt(np.diag(svec_rows(Q.T) @ before @ svec_rows(Q.T).T)))
    c = contraction(values, 50.0)

    def gain_of(M: Array) -> Array:
        spectrum, vectors = np.linalg.eigh(M)
        return np.asarray((vectors * contraction(spectrum, 50.0)) @ vectors.T)

    def regret(covariance: Array) -> float:
        """Return the mean of 1/2 |(change of the gain) w|^2 in the norm of C^{-1}, by differences of the gain."""
        total, h, base = 0.0, 1e-4, (Q * values) @ Q.T
        for weight, column in zip(*[np.linalg.eigh(covariance)[0], np.linalg.eigh(covariance)[1].T], strict=True):
            E = smat(column)
            change = (gain_of(base + h * E) - gain_of(base - h * E)) / (2.0 * h)
            total += weight * 0.5 * float(np.trace(((Q / c) @ Q.T) @ change @ W @ change))
        return total

    def after(u: Array) -> Array:
        f = svec_rows(u[None])[0]
        return np.asarray(before - np.outer(before @ f, before @ f) / (f @ before @ f + noise2))

    saving = rounds * (regret(after(planned)) - regret(after(planned + delta)))
    price = 0.5 * delta @ np.linalg.inv((Q * c) @ Q.T) @ delta
    assert value[0] == 0.0
    np.testing.assert_allclose(value[1], saving - _SAFETY_FACTOR * price, rtol=1e-4)


def along_a_line(A: Array, readings: int) -> tuple[Stream, Array]:
    """Return a stream whose readings were all taken along one direction, and this direction."""
    rng = np.random.default_rng(1)
    e = np.eye(D)[0]
    options = Options(noise_cap=None, alarms=True, window=None, base_load=True, few_directions=True)
    stream = taught(A, 0)
    for t in range(readings):
        stream = learn(stream, row(A, 30.0 * rng.standard_normal() * e, rng.uniform(-10.0, 10.0)), options, t + 2)
    return stream, e


def test_a_probe_leaves_the_line_on_which_all_readings_were_taken() -> None:
    stream, e = along_a_line(curvature(D, D), 12)
    told: dict[str, Any] = {"noise_cap": None, "rounds_to_go": 500.0, "rounds_to_save": 500.0}
    probe = best_probe(stream, 50.0 * e, moment=2500.0 * np.outer(e, e), **told)
    assert probe is not None
    assert np.linalg.norm(probe - e * (e @ probe)) > 0.99 * np.linalg.norm(probe) > 0.0
    # Not in a round in which the plan is near v, not if no rounds follow, and not while a reading is being tested.
    moment = 2500.0 * np.outer(e, e)
    assert best_probe(stream, 1.0 * e, moment=moment, **told) is None
    last = best_probe(stream, 50.0 * e, moment=moment, **{**told, "rounds_to_save": 0.0})
    assert last is not None
    assert not last.any()
    tested = best_probe(evolve(stream, suspects=stream.rows.latest(1)), 50.0 * e, moment=moment, **told)
    assert tested is not None
    assert not tested.any()


@pytest.mark.parametrize("rank", [2, D])
def test_what_all_directions_have_shown_needs_no_probe(rank: int) -> None:
    stream = taught(curvature(D, rank), 200)
    assert stream.representation == ("factored" if rank == 2 else "sums")
    e = np.eye(D)[0]
    told: dict[str, Any] = {"noise_cap": None, "rounds_to_go": 500.0, "rounds_to_save": 500.0}
    probe = best_probe(stream, 400.0 * e, moment=2500.0 * np.outer(e, e), **told)
    assert probe is not None
    assert not probe.any()


def test_the_pauses_grow_and_a_probe_is_followed_by_another_look() -> None:
    assert [pause(n, False) for n in (5, 64, 160, 1600)] == [4, 4, 10, 100]
    assert pause(1600, True) == 1


# ---- rounds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directions", [1, 3])
def test_probes_pay_where_v_moves_in_few_directions(directions: int) -> None:
    A = curvature(D, D)
    regrets, counts = [], []
    for probing in (True, False):
        regret, found = played(soqo.GLIDE(probing=probing), A, path_along(directions, 300, 1))
        regrets.append(regret)
        counts.append(float(found["probes"]))
    assert regrets[0] < 0.75 * regrets[1]
    assert counts[0] >= 5.0
    assert counts[1] == 0.0


@pytest.mark.parametrize("process", [Gaussian(50.0), Gaussian(5.0), Cauchy(1.0)], ids=repr)
@pytest.mark.parametrize("rank", [2, D])
def test_nothing_is_probed_where_v_moves_in_all_directions(process: Process, rank: int) -> None:
    problem = soqo.RandomProblem(D, rank, min_eigenvalue=1.0, max_eigenvalue=4.0)
    v = soqo.Environment(problem, process, Uniform(10.0)).draw(100, 1, seed=0).v[0]
    assert played(soqo.GLIDE(), curvature(D, rank), v)[1]["probes"] == 0.0


def test_a_probe_is_reported() -> None:
    policy, A, v = soqo.GLIDE(), curvature(D, D), path_along(1, 100, 0)
    state = policy.start(np.zeros(D), 100)
    words = []
    for target in v:
        before = policy.diagnostics(state)["probes"]
        x, state = policy.act(state, target)
        probed = policy.diagnostics(state)["probes"] > before
        u = x - target
        state = policy.observe(state, 0.5 * u @ A @ u)
        words.append((bool(probed), "probing" in policy.explain(state)))
    assert (True, True) in words
    assert all(said == probed for probed, said in words)
