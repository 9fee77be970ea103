"""Probes: when they are considered, what they are worth, and what GLIDE gains by them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from soqo import GLIDE
from soqo._model.gains import contraction
from soqo.estimators.bayes import Bank, Reading, Terms
from soqo.estimators.factored import Factored
from soqo.policies.glide._probes import Motion, best_probes, divided_differences


@pytest.mark.parametrize("to_go", [1.0, 5.0, math.inf])
@pytest.mark.parametrize("values", [[0.1, 0.9, 4.0], [0.7, 0.7, 0.7], [0.5, 0.5 * (1 + 1e-7), 2.0]])
def test_divided_differences_are_the_derivative_of_the_gain(values: Any, to_go: float) -> None:
    E = np.array([[0.3, -0.2, 0.5], [-0.2, 0.1, 0.4], [0.5, 0.4, -0.6]])

    def gain(step: float) -> Any:
        w, Q = np.linalg.eigh(np.diag(values) + step * E)
        return (Q * contraction(w, to_go)) @ Q.T

    change = (gain(1e-4) - gain(-1e-4)) / 2e-4
    np.testing.assert_allclose(divided_differences(np.array([values]), to_go)[0] * E, change, atol=1e-5)


def moved(directions: int, rounds: int = 40, d: int = 16) -> tuple[Motion, Any]:
    rng = np.random.default_rng(1)
    motion = Motion.start(1, d)
    for _ in range(rounds):
        distance = np.zeros((1, d))
        distance[:, :directions] = rng.standard_normal((1, directions))
        motion = motion.after(distance)
    return motion, 100.0 * distance


@pytest.mark.parametrize(("directions", "few"), [(1, True), (3, True), (12, False), (16, False)])
def test_probes_are_considered_where_v_moves_in_few_directions(directions: int, few: bool) -> None:
    motion, distance = moved(directions)
    assert motion.may_probe(distance).tolist() == [few]
    assert not motion.may_probe(1e-5 * distance).any()  # a probe shows more where v is far


def test_after_a_probe_that_does_not_pay_there_is_a_pause() -> None:
    motion, distance = moved(1)
    none, some = np.zeros((1, 16)), np.ones((1, 16))
    assert not motion.considered(np.array([0]), none).after(distance).may_probe(3.0 * distance).any()
    assert motion.considered(np.array([0]), some).after(distance).may_probe(3.0 * distance).all()


def test_only_rounds_with_a_probe_count_as_probed() -> None:
    motion, distance = moved(1)
    none, some = np.zeros((1, 16)), np.ones((1, 16))
    assert not motion.probed.any()
    probed = motion.considered(np.array([0]), some)
    assert probed.probed.all()
    assert probed.probes.tolist() == [1.0]
    for _ in range(20):  # until a probe is due again
        motion = motion.considered(np.array([0]), none).after(distance)
        assert not motion.probed.any()


def learned(kind: Any, d: int, directions: int) -> Any:
    """Return a posterior after readings in the first few directions."""
    rng, terms = np.random.default_rng(2), Terms(d)
    R = rng.standard_normal((d, d))
    posterior = kind.start(terms, 1).begun(terms, np.array([0]), np.full(1, 10.0), np.zeros((1, 0)))
    for _ in range(60):
        u = np.zeros((1, d))
        u[:, :directions] = 10.0 * rng.standard_normal((1, directions))
        y = 0.5 * np.sum((u @ R) ** 2, axis=-1) / d + rng.standard_normal(1)
        posterior = posterior.learn(terms, Reading(u, y, None, None, np.ones(1)), None)[0].settled(terms)
    return posterior


@pytest.mark.parametrize(("kind", "d"), [(Bank, 4), (Factored, 14)])
def test_a_probe_shows_what_readings_do_not_and_pays_only_if_rounds_remain(kind: Any, d: int) -> None:
    posterior, W = learned(kind, d, 1), np.zeros((1, d, d))
    W[:, 0, 0] = 400.0
    planned = 20.0 * np.eye(d)[:1]
    probe = best_probes(posterior, Terms(d), planned, W, 1000.0, np.full(1, 1000.0))
    assert np.linalg.norm(probe[0, 1:]) > 2.0 * abs(probe[0, 0])
    assert not best_probes(posterior, Terms(d), planned, W, 1.0, np.zeros(1)).any()


@pytest.mark.parametrize(("kind", "d"), [(Bank, 4), (Factored, 14)])
def test_the_image_of_a_direction_fits_the_covariances_of_costs(kind: Any, d: int) -> None:
    posterior, terms = learned(kind, d, d), Terms(d)
    w, e = np.random.default_rng(3).standard_normal((2, d))
    U = np.stack([w + e, w - e, w])[None]
    variance, X = posterior.covariances(terms, U)
    # w'A e = 1/2 (w + e)'A(w + e) / 2 - 1/2 (w - e)'A(w - e) / 2
    expected = 0.5 * (w @ (X[0, 0] - X[0, 1]) @ e)
    assert e @ posterior.image(terms, w[None])[0] @ e == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(posterior.deviations(terms, U), 2.0 * np.sqrt(variance), rtol=1e-6)


def regret_of(probing: bool, monkeypatch: pytest.MonkeyPatch) -> float:
    if not probing:
        monkeypatch.setattr(Motion, "may_probe", lambda self, _: np.zeros(len(self.due), dtype=bool))
    rng, d, rounds = np.random.default_rng(4), 16, 200
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = (Q * np.linspace(1.0, 4.0, d)) @ Q.T
    v = np.cumsum(50.0 * rng.standard_normal((rounds, 1)) * Q.sum(axis=1) / 4.0, axis=0)
    policy, x, total = GLIDE(), np.zeros(d), 0.0
    state = policy.start(x, rounds)
    for t in range(rounds):
        last = x
        x, state = policy.act(state, v[t])
        cost = 0.5 * (x - v[t]) @ A @ (x - v[t])
        state = policy.observe(state, cost + rng.uniform(-10.0, 10.0))
        total += cost + 0.5 * float(np.square(x - last).sum())
    return total


def test_probes_reduce_the_cost_where_v_moves_along_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert regret_of(True, monkeypatch) < regret_of(False, monkeypatch)
