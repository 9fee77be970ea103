"""Baselines: the contract of policies, and the benchmark against LAI and a dense solve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import LAI, Policy, contraction, random_curvature
from soqo.checks import check_policy
from soqo.errors import ArgumentError
from soqo.plants import Deadband, Interpolation, ScheduledLAI

ONE, TWO = (random_curvature(3, 3, min_eigenvalue=0.2, max_eigenvalue=3.0, rng=k) for k in (0, 1))


@pytest.mark.parametrize("policy", [Deadband(1.0), Interpolation(0.4)])
def test_baselines_keep_the_contract_of_policies(policy: Policy[None]) -> None:
    check_policy(policy)
    assert "learns nothing" in policy.explain(policy.start([0.0]))


def test_scheduled_lai_with_one_level_is_lai() -> None:
    rng = np.random.default_rng(0)
    policies: list[Policy[Any]] = [LAI(ONE), ScheduledLAI(ONE, [0.0], ONE[None])]
    states = [policy.start(np.zeros(3), horizon=6) for policy in policies]
    for _ in range(6):
        v = rng.standard_normal(3)
        played = []
        for k, policy in enumerate(policies):
            x, states[k] = policy.act(states[k], v)
            states[k] = policy.observe(states[k], 0.0)
            played.append(x)
        np.testing.assert_allclose(played[0], played[1], rtol=1e-9, atol=1e-12)


def test_scheduled_lai_plans_with_the_context_now_and_the_mean_later() -> None:
    policy = ScheduledLAI(ONE, [1.0, 3.0], np.stack([ONE, TWO]))
    state = policy.start(np.ones(3), horizon=5)
    v = np.array([3.0, -1.0, 0.5])
    x, _ = policy.act(state, v, context=[1.5])
    values, vectors = np.linalg.eigh(ONE)
    later = vectors @ np.diag(contraction(values, 4.0)) @ vectors.T  # four rounds are left after this one
    now = 0.75 * ONE + 0.25 * TWO
    expected = v + np.linalg.inv(2.0 * np.eye(3) + now - later) @ (np.ones(3) - v)
    np.testing.assert_allclose(x, expected, rtol=1e-9)


def test_scheduled_lai_holds_its_tables_beyond_their_ends() -> None:
    policy = ScheduledLAI(ONE, [1.0, 3.0], np.stack([ONE, TWO]))
    state = policy.start(np.ones((2, 3)))
    beyond, _ = policy.act(state, np.zeros((2, 3)), context=[[-4.0], [9.0]])
    ends, _ = policy.act(state, np.zeros((2, 3)), context=[[1.0], [3.0]])
    np.testing.assert_allclose(beyond, ends)


def test_scheduled_lai_needs_a_context() -> None:
    policy = ScheduledLAI(ONE, [1.0, 3.0], np.stack([ONE, TWO]))
    with pytest.raises(ArgumentError, match="context must be given"):
        policy.act(policy.start(np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Deadband(-1.0), "width"),
        (lambda: Interpolation(0.0), "share"),
        (lambda: ScheduledLAI(ONE, [2.0, 1.0], np.stack([ONE, TWO])), "levels must be increasing"),
        (lambda: ScheduledLAI(ONE, [1.0], np.stack([ONE, TWO])), "tables must have shape"),
    ],
)
def test_baselines_name_what_is_wrong(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
