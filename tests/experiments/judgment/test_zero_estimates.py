"""Zero estimates are counted and explained."""

from __future__ import annotations

import numpy as np

from soqo.experiments.judgment import Evidence, RubExperiment, explain_zero_estimates


def test_the_runs_with_a_zero_estimate_are_counted() -> None:
    sizes = {"SCaLE": np.array([0.0, 1e-9, 0.5])}
    evidence = Evidence(rub=(RubExperiment("mine", (40,), {}, {}, sizes, np.ones(3)),))
    assert "zero in 2 of 3 runs" in explain_zero_estimates(evidence, "mine")
    assert explain_zero_estimates(evidence, "other") == ""
    good = Evidence(rub=(RubExperiment("mine", (40,), {}, {}, {"SCaLE": np.ones(3)}, np.ones(3)),))
    assert explain_zero_estimates(good, "mine") == ""
