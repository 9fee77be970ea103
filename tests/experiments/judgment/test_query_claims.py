"""Claims judged from queries: how they spread, and how far the last estimates are off."""

from __future__ import annotations

import numpy as np
import pytest
from invented_regret import SETTINGS, as_the_paper_says, invented_table

from soqo.experiments import Judgment, Status, judge
from soqo.experiments.judgment import Evidence, RubExperiment, explain_zero_estimates
from soqo.experiments.settings import LITERAL, plan_first_stage

HEAVY_TAILS = [name for name in SETTINGS if name.startswith("heavy_tails")]

SMALL, LARGE = np.linspace(1.8, 2.4, 24).reshape(3, 8), np.linspace(10.0, 300.0, 24).reshape(3, 8)


def judged(learner: np.ndarray, hybrid: np.ndarray, glide: float = 0.0) -> Judgment:
    """Judge these ratios C2/C1 of POL and OAL, and of HySCaLE, whose errors are the ratios of 12 queries."""
    ratios = {"POL": learner, "OAL": learner, "SCaLE": SMALL, "HySCaLE": hybrid}
    errors = {name: values[0] for name, values in ratios.items()}
    sizes = {name: np.full(8, 0.5) for name in ratios}
    found = Evidence(
        rub=tuple(RubExperiment(name, (12, 20, 40), ratios, errors, sizes, np.ones(8)) for name in HEAVY_TAILS),
        tails={
            (name, policy): np.full(8, median)
            for name in HEAVY_TAILS
            for policy, median in (("GLIDE", glide), ("SCaLE", 34.0))
            if glide
        },
    )
    settings = [SETTINGS[name] for name in HEAVY_TAILS]
    table = invented_table(plan_first_stage(settings, [LITERAL]), as_the_paper_says)
    return judge(settings, table, {}, [LITERAL], found)


@pytest.mark.parametrize(
    ("learner", "hybrid", "status"),
    [(LARGE, LARGE, Status.HOLDS), (LARGE, 0.5 * SMALL, Status.FAILS), (0.5 * SMALL, LARGE, Status.FAILS)],
)
def test_rub_is_not_guaranteed_if_the_ratios_of_all_three_are_larger(
    learner: np.ndarray, hybrid: np.ndarray, status: Status
) -> None:
    assert judged(learner, hybrid).claim("rub-learners").status is status


@pytest.mark.parametrize(("hybrid", "status"), [(LARGE, Status.HOLDS), (0.5 * SMALL, Status.FAILS)])
def test_hyscale_is_inconsistent_if_its_last_estimate_is_worse(hybrid: np.ndarray, status: Status) -> None:
    assert judged(LARGE, hybrid).claim("remark2-inconsistent").status is status


def test_glide_says_in_the_remark_whether_probes_with_rub_are_necessary() -> None:
    assert "Is RUB necessary?" not in judged(LARGE, LARGE).claim("rub-learners").remark
    found = judged(LARGE, LARGE, glide=12.0).claim("rub-learners").remark
    assert "its median regret is 12 in Figure 4 (Cauchy, r = 1, sigma_r = 0.01), where that of the" in found
    assert found.endswith("is 34.")


def test_the_runs_with_a_zero_estimate_are_counted() -> None:
    sizes = {"SCaLE": np.array([0.0, 1e-9, 0.5])}
    evidence = Evidence(rub=(RubExperiment("mine", (40,), {}, {}, sizes, np.ones(3)),))
    assert "zero in 2 of 3 runs" in explain_zero_estimates(evidence, "mine")
    assert explain_zero_estimates(evidence, "other") == ""
