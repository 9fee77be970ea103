"""The action of the least expected regret against a numerical minimum, and LAI's action for a single belief."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from soqo import GLIDE, LAI, Plan, random_curvature
from soqo._foundation.frozen_dataclasses import evolve
from soqo._model.spectrum import Spectrum
from soqo.estimators.bayes import Bank, Terms
from soqo.policies import State
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._memory import Memory
from soqo.typing import Array

D = 3
RUN = np.array([0, 0, 0, 1])
A = np.stack([random_curvature(D, D, min_eigenvalue=0.2, max_eigenvalue=9.0, rng=seed) for seed in range(4)])
X0 = np.array([[1.0, -2.0, 0.5], [3.0, 0.0, 1.0]])
V = np.array([[4.0, 1.0, -1.0], [0.0, 2.0, 2.0]])


def state_with(matrices: Array, log_weight: Array, shift: Array, horizon: int | None) -> State[Memory]:
    """Return the state of two runs, of which the first has three beliefs."""
    state = GLIDE().start(X0, horizon)
    spectrum = Spectrum.of(matrices)
    bank = evolve(Bank.start(Terms(D), 4), values=spectrum.values, vectors=spectrum.vectors, shift=shift[:, :, None])
    beliefs = evolve(Beliefs.start(bank, 4), run=RUN, log_weight=log_weight)
    return replace(state, memory=evolve(state.memory, beliefs=beliefs))


def gain(matrix: Array, horizon: int | None) -> Array:
    """Return LAI's gain of the first round; that of an infinite horizon as the limit of a long one."""
    return Plan(matrix, horizon=horizon or 4000).gain(t=1)


@pytest.mark.parametrize("horizon", [None, 1, 12])
@pytest.mark.parametrize("offsets", [0.0, 1.0], ids=["same minimizer", "other minimizers"])
def test_the_action_has_the_least_expected_regret(horizon: int | None, offsets: float) -> None:
    log_weight = np.array([0.0, -0.4, -1.5, 0.0])
    shift = offsets * np.random.default_rng(0).standard_normal((4, D))
    x, _ = GLIDE().act(state_with(A, log_weight, shift, horizon), V)
    weights = np.exp(log_weight[:3]) / np.exp(log_weight[:3]).sum()
    C = [gain(matrix, horizon) for matrix in A]
    best = [V[run] - shift[k] + C[k] @ (X0[run] - V[run] + shift[k]) for k, run in enumerate(RUN)]

    def expected_regret(action: Array) -> float:
        losses = [(action - best[k]) @ np.linalg.solve(C[k], action - best[k]) for k in range(3)]
        return 0.5 * float(weights @ losses)

    found: Any = minimize(expected_regret, np.zeros(D), tol=1e-14)
    # Finite differences find the minimum to about 1e-6.
    np.testing.assert_allclose(x[0], found.x, atol=1e-5)
    np.testing.assert_allclose(x[1], best[3], atol=1e-9)  # the only belief of its run


def test_a_belief_of_negligible_weight_does_not_matter() -> None:
    for certain in range(3):
        log_weight = np.full(4, -60.0)
        log_weight[certain] = 0.0
        x, _ = GLIDE().act(state_with(A, log_weight, np.zeros((4, D)), None), V)
        C = gain(A[certain], None)
        np.testing.assert_allclose(x[0], V[0] + C @ (X0[0] - V[0]), atol=1e-9)


def test_enormous_and_vanishing_estimates_leave_the_others_their_digits() -> None:
    matrices = A.copy()
    matrices[1], matrices[2] = 1e40 * np.eye(D), 0.0
    x, _ = GLIDE().act(state_with(matrices, np.zeros(4), np.zeros((4, D)), 10), V)
    # To follow v is the only action whose regret is not enormous, if A might be.
    np.testing.assert_allclose(x[0], V[0], atol=1e-9)
    assert np.isfinite(x).all()


@pytest.mark.parametrize("horizon", [None, 30])
def test_with_a_single_belief_glide_plays_lai_for_its_estimate(horizon: int | None) -> None:
    policy, rng, compared = GLIDE(), np.random.default_rng(0), 0
    matrix, v = np.diag([2.0, 0.3, 1.0]), np.zeros(D)
    state = policy.start(v, horizon)
    for _ in range(30):
        v = v + 10.0 * rng.standard_normal(D)
        found = policy.diagnostics(state)
        player: Any = LAI(found["estimate"])
        expected, _ = player.act(replace(player.start(state.x, horizon), x=state.x, round=state.round), v)
        x, state = policy.act(state, v)
        drift = policy.diagnostics(state)["drift"]  # with the last step of v
        if found["beliefs"] == 1 and not drift and not found["offset"].any():
            np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-9)
            compared += 1
        state = policy.observe(state, 0.5 * (x - v) @ matrix @ (x - v) + rng.uniform(-1.0, 1.0))
    assert compared > 15
