"""SCaLE's estimates after its probes are those of a whole run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soqo import SCaLE, simulate
from soqo.experiments import find
from soqo.experiments.judgment import estimate_by_probes


def test_estimates_do_not_depend_on_later_rounds() -> None:
    (setting,) = find("gaussian_r1_1")
    found = estimate_by_probes(setting, "algorithm", "cap", 200, runs=2)
    printed = setting.policies["SCaLE as printed"]
    assert isinstance(printed, SCaLE)
    whole = simulate(setting.environment, {"SCaLE": printed}, horizon=200, runs=2, seed=setting.seed)
    np.testing.assert_allclose(found.estimate, whole["SCaLE"].diagnostics["estimate"], rtol=1e-6, atol=1e-9)
    assert found.m == printed.exploration_rounds(4) == 12
    assert found.probe_variance == replace(printed).probe_variance(4, 200)
