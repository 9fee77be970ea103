"""LAI plays the optimal plan, and has the least expected cost if v is a martingale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import LAI, ROBD, Environment, Plan, Policy, Problem, random_curvature, simulate
from soqo.checks import POLICY_CHECKS, Scenario
from soqo.noise import Uniform
from soqo.processes import Gaussian

SINGULAR = random_curvature(3, 2, min_eigenvalue=0.1, max_eigenvalue=4.0, rng=np.random.default_rng(0))
FULL = random_curvature(3, 3, min_eigenvalue=0.1, max_eigenvalue=4.0, rng=np.random.default_rng(1))


@pytest.mark.parametrize("policy", [LAI(SINGULAR), LAI(FULL)], ids=["singular", "full rank"])
@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_lai_passes_the_contract_checks(check: Any, policy: Policy[Any]) -> None:
    check(policy, Scenario())


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_lai_with_one_A_per_run_passes_the_contract_checks(check: Any) -> None:
    check(LAI(np.stack([SINGULAR, FULL])), Scenario(only_batch=(2,)))


def test_lai_plays_the_plan() -> None:
    rng = np.random.default_rng(2)
    v, x0 = rng.standard_normal((12, 3)), rng.standard_normal(3)
    policy = LAI(FULL)
    state = policy.start(x0, horizon=12)
    path = Plan(FULL, 12).path(x0, v)
    for t in range(12):
        x, state = policy.act(state, v[t])
        np.testing.assert_allclose(x, path[t], atol=1e-13)


def test_lai_has_a_lower_cost_than_every_other_interpolation_on_a_martingale() -> None:
    environment = Environment(Problem(FULL), Gaussian(5.0), Uniform(1.0))
    others: dict[str, Policy[Any]] = {f"{k}": LAI(k * FULL) for k in (0.5, 0.8, 1.25, 2.0)}
    others["ROBD"] = ROBD(FULL)
    result = simulate(environment, others, horizon=100, runs=400, seed=0)
    for name in others:
        regret = result.regret(name)[:, -1]
        assert regret.mean() > 4 * regret.std() / np.sqrt(regret.size), name
