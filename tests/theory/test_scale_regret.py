"""The exact regret of SCaLE by phase, against simulations and against SCaLE itself."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pytest
from cases import random_rotation

from soqo import Environment, Plan, Problem, SCaLE, simulate
from soqo.errors import ArgumentError
from soqo.noise import Uniform
from soqo.processes import Gaussian
from soqo.theory import exact_regret, exact_scale_regret
from soqo.typing import Array

A = random_rotation(np.random.default_rng(0), np.array([0.3, 3.0]))
HAT = random_rotation(np.random.default_rng(1), np.array([0.5, 2.0]))
T, M, GAMMA2, S2 = 25, 4, 3.0, 1.7
START = np.array([1.0, -2.0])


def simulate_regret(handover: Literal["direct", "virtual"], z: Array, x0: Array, rng: np.random.Generator) -> Array:
    """Return the regret of probing with directions z, (runs, m, d), followed by LAI with the estimate."""
    runs = len(z)
    v = np.cumsum(math.sqrt(S2) * rng.standard_normal((runs, T, 2)), axis=1)
    plan = Plan(HAT, T)
    x = np.empty_like(v)
    x[:, :M] = v[:, :M] + math.sqrt(GAMMA2) * z
    here = x[:, M - 1] if handover == "direct" else plan.path(x0, v[:, :M])[:, -1]
    for t in range(M, T):
        here = x[:, t] = plan.step(t + 1, here, v[:, t])

    def cost(x: Array) -> Array:
        u, jumps = x - v, np.diff(x, axis=1, prepend=np.broadcast_to(x0, (runs, 1, 2)))
        return np.asarray(0.5 * (np.sum((u @ A) * u, axis=(1, 2)) + np.sum(jumps**2, axis=(1, 2))))

    return cost(x) - cost(Plan(A, T).path(x0, v))


@pytest.mark.parametrize("handover", ["direct", "virtual"])
@pytest.mark.parametrize("x0", [np.zeros(2), START])
@pytest.mark.parametrize("given", [True, False])
def test_total_is_the_mean_of_simulations(handover: Literal["direct", "virtual"], x0: Array, given: bool) -> None:
    rng = np.random.default_rng(3)
    runs = 60_000
    one = rng.standard_normal((M, 2))
    z = np.broadcast_to(one, (runs, M, 2)) if given else rng.standard_normal((runs, M, 2))
    regret = simulate_regret(handover, z, x0, rng)
    error = regret.std() / math.sqrt(runs)
    for covariance in (S2, np.full(T, S2)):
        found = exact_scale_regret(
            A,
            HAT,
            covariance=covariance,
            horizon=T,
            m=M,
            gamma2=GAMMA2,
            handover=handover,
            probes=one if given else None,
            x0_minus_v0=x0,
        )
        assert abs(regret.mean() - found.total) < 4.0 * error
    assert error < 0.005 * regret.mean()


@pytest.mark.parametrize("handover", ["direct", "virtual"])
def test_total_is_the_regret_of_scale_itself(handover: Literal["direct", "virtual"]) -> None:
    """Given each run's own probes and estimate, only v is random."""
    runs, horizon, m = 400, 60, 12
    policy = SCaLE(noise_cap=0.5, rank=2, min_eigenvalue=0.3, gamma2=4.0, handover=handover)
    environment = Environment(Problem(A), Gaussian(0.5), Uniform(0.5))
    result = simulate(environment, {"SCaLE": policy}, horizon=horizon, runs=runs, seed=1, record=True)
    assert result.v is not None
    assert result.actions is not None
    probes = (result.actions["SCaLE"] - result.v)[:, :m] / 2.0
    estimates = result["SCaLE"].diagnostics["estimate"]
    found = exact_scale_regret(
        A, estimates, covariance=environment.process, horizon=horizon, m=m, gamma2=4.0, probes=probes, handover=handover
    )
    regret = result.regret("SCaLE")
    difference = regret[:, -1] - found.total
    assert abs(difference.mean()) < 4.0 * difference.std() / math.sqrt(runs)
    assert difference.std() / math.sqrt(runs) < 0.005 * regret[:, -1].mean()
    early = regret[:, m - 1] - found.exploration
    assert abs(early.mean()) < 4.0 * early.std() / math.sqrt(runs) + abs(found.handover).mean()


def test_the_cost_of_a_virtual_handover_depends_on_the_last_probe() -> None:
    """With one probe, a distant start and a fixed v, everything is deterministic."""
    u0, z, horizon = np.array([30.0, -10.0]), np.array([[2.0, 1.0]]), 6
    found = exact_scale_regret(
        A, HAT, covariance=0.0, horizon=horizon, m=1, gamma2=GAMMA2, handover="virtual", probes=z, x0_minus_v0=u0
    )
    v, gamma = np.zeros((horizon, 2)), math.sqrt(GAMMA2)
    x = np.vstack([gamma * z, Plan(HAT, horizon).path(u0, v)[1:]])

    def cost(x: Array) -> float:
        jumps = np.diff(x, axis=0, prepend=u0[None])
        return float(0.5 * (np.sum((x @ A) * x) + np.sum(jumps**2)))

    assert found.total == pytest.approx(cost(x) - cost(Plan(A, horizon).path(u0, v)), rel=1e-10)


def test_the_parts_are_those_of_the_formulas() -> None:
    found = exact_scale_regret(A, HAT, covariance=S2, horizon=T, m=M, gamma2=GAMMA2)
    gains = [Plan(A, T).gain(t + 1) for t in range(M)]
    assert found.irreducible == pytest.approx(0.5 * S2 * sum(np.trace(C) for C in gains))
    assert found.data_collection == pytest.approx(GAMMA2 * (M * (0.5 * np.trace(A) + 2) - 0.5 * 2))
    first = Plan(HAT, T - M).gain(1)
    assert found.handover == pytest.approx(0.5 * GAMMA2 * np.trace(np.eye(2) - first))
    # Exploitation is Proposition 1 over the other rounds, plus the basis part of the start: the mean over starts.
    z = math.sqrt(2.0) * np.array([[1.0, 0.0], [0.0, 1.0]])
    starts = [exact_regret(A, HAT, covariance=S2, horizon=T - M, x0_minus_v0=math.sqrt(GAMMA2) * row) for row in z]
    assert found.exploitation.basis == pytest.approx(np.mean([r.basis for r in starts]))
    assert found.exploitation.value == pytest.approx(exact_regret(A, HAT, covariance=S2, horizon=T - M).value)
    assert found.exploration == found.irreducible + found.data_collection


def test_a_batch_of_estimates_gives_the_regret_of_each() -> None:
    rng = np.random.default_rng(0)
    estimates = np.stack([random_rotation(rng, rng.uniform(0.0, 3.0, 2)) for _ in range(3)])
    probes = rng.standard_normal((3, M, 2))
    for handover in ("direct", "virtual"):
        options: dict[str, Any] = {"m": M, "gamma2": GAMMA2, "handover": handover, "x0_minus_v0": START}
        together = exact_scale_regret(A, estimates, covariance=S2, horizon=T, probes=probes, **options)
        for k in range(3):
            alone = exact_scale_regret(A, estimates[k], covariance=S2, horizon=T, probes=probes[k], **options)
            assert together.total[k] == pytest.approx(alone.total, rel=1e-12)
    assert "(mean)" in str(together)
    assert "handover" in str(alone)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 0}, "m must be a positive integer"),
        ({"m": T}, f"m must be below horizon = {T}, got {T}"),
        ({"gamma2": -1.0}, "gamma2 must be a finite number at least 0"),
        ({"handover": "softly"}, "handover must be one of 'direct', 'virtual', got 'softly'"),
        ({"probes": np.ones((5, M, 2)), "A_hat": np.stack([HAT] * 3)}, "probes must have shape"),
        ({"probes": np.ones((M, 3))}, r"probes must have shape \(\*batch, 4, 2\), got \(4, 3\)"),
        ({"x0_minus_v0": 1.0}, r"x0_minus_v0 must have shape \(2,\), got \(\)"),
    ],
)
def test_errors_name_the_argument(change: dict[str, Any], message: str) -> None:
    given = {"A": A, "A_hat": HAT, "covariance": S2, "horizon": T, "m": M, "gamma2": GAMMA2}
    with pytest.raises(ArgumentError, match=message):
        exact_scale_regret(**{**given, **change})
