"""The two parts of Proposition 1 for SCaLE's own estimates."""

from __future__ import annotations

import numpy as np
import pytest

from soqo import SCaLE
from soqo.experiments import find
from soqo.experiments.judgment import estimate_by_probes, measure_split
from soqo.theory import exact_regret


def test_the_parts_of_regret_are_those_of_the_estimate_after_the_probes() -> None:
    (setting,) = find("gaussian_r4_1")
    found = measure_split(estimate_by_probes(setting, "guarantee", "residual", 2000, runs=3))
    policy = setting.policies["SCaLE as printed"]
    assert isinstance(policy, SCaLE)
    m = policy.exploration_rounds(4)
    assert found.horizon == 2000
    # The parts nearly cancel in full rank, and their sum is never negative.
    total = found.value + found.basis
    assert (total > 0.0).all()
    assert (total < 0.5 * np.abs(found.value)).all()
    # With the exact A there is no regret at all.
    A = setting.environment.draw(1, 3, seed=0).problem.A
    covariance = setting.environment.process.covariance(4)
    assert covariance is not None
    assert exact_regret(A, A, covariance=covariance, horizon=200 - m).total == pytest.approx(0.0, abs=1e-6)
