"""Evidence beside regret: how queries spread, what probes do not see, and the two parts of Proposition 1."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from soqo import FTM, SCaLE
from soqo.experiments import find, judge, run
from soqo.experiments.judgment import Evidence, Status, measure_risk, measure_rub, measure_split, measure_tails
from soqo.experiments.settings import LITERAL
from soqo.theory import exact_regret


def test_gaussian_probes_spread_well_and_queries_of_learners_do_not() -> None:
    found = measure_rub(find("heavy_tails_1")[0], runs=6)
    at_40 = {name: ratios[found.queries.index(40)] for name, ratios in found.ratios.items()}
    assert at_40["SCaLE"].max() < 4.0
    assert np.median(at_40["POL"]) > 5.0 * np.median(at_40["SCaLE"])
    assert np.median(at_40["OAL"]) > 5.0 * np.median(at_40["SCaLE"])


def test_every_difference_is_seen_as_soon_as_there_are_as_many_probes_as_unknowns() -> None:
    """A difference of two symmetric matrices of rank 1 has 2 d - 2 free numbers up to scale, one of rank d has d(d+1)/2
    - 1: that many probes can be zero at once."""
    assert measure_risk(1, 4).first_consistent == 2 * 4 - 1
    assert measure_risk(4, 4).first_consistent == 4 * 5 // 2
    claim = judge([], {}, {}, [LITERAL], Evidence(risk=(measure_risk(1, 4), measure_risk(4, 4)))).claim("remark1-risk")
    assert claim.status is Status.HOLDS


def test_the_parts_of_regret_are_those_of_the_estimate_after_the_probes() -> None:
    (setting,) = find("gaussian_r4_1")
    found = measure_split(setting, "guarantee", "residual", runs=3)
    policy = setting.policies["SCaLE as printed"]
    assert isinstance(policy, SCaLE)
    m = policy.exploration_rounds(4)
    assert found.horizons == (200, 2000)
    # The parts nearly cancel in full rank, and their sum is never negative.
    total = found.value + found.basis
    assert (total > 0.0).all()
    assert (total < 0.5 * np.abs(found.value)).all()
    # With the exact A there is no regret at all.
    A = setting.environment.draw(1, 3, seed=0).problem.A
    covariance = setting.environment.process.covariance(4)
    assert covariance is not None
    assert exact_regret(A, A, covariance=covariance, horizon=200 - m).total == pytest.approx(0.0, abs=1e-6)


def test_tails_are_quantiles_and_trimmed_means(tmp_path: Path) -> None:
    setting = replace(find("heavy_tails_1")[0], policies={"FTM": FTM()}, horizons=())
    (outcome,) = run([setting], tmp_path, runs=6, workers=1)
    tails = {tail.policy: tail for tail in measure_tails(outcome)}
    regret = outcome.regret("FTM")
    found = tails["FTM"]
    assert found.mean == pytest.approx(regret.mean())
    assert found.quantiles[0.5] == np.median(regret)
    assert found.trimmed[0.25] == pytest.approx(np.sort(regret)[1:5].mean())
    assert 1.0 / 6.0 <= found.largest_share <= 1.0
