"""Queries: how well they spread, and what few of them do not see."""

from __future__ import annotations

import numpy as np

from soqo.experiments import find, judge
from soqo.experiments.judgment import Evidence, Status, measure_risk, measure_rub
from soqo.experiments.settings import LITERAL


def test_gaussian_probes_spread_well_and_queries_of_learners_do_not() -> None:
    found = measure_rub(find("heavy_tails_1")[0], runs=6)
    at_40 = {name: ratios[found.queries.index(40)] for name, ratios in found.ratios.items()}
    assert at_40["SCaLE"].max() < 4.0
    for learner in ("POL", "OAL", "HySCaLE"):
        assert np.median(at_40[learner]) > 5.0 * np.median(at_40["SCaLE"])
    assert np.median(found.errors["HySCaLE"]) > np.median(found.errors["SCaLE"])


def test_every_difference_is_seen_as_soon_as_there_are_as_many_probes_as_unknowns() -> None:
    """A difference of two symmetric matrices of rank 1 has 2 d - 2 free numbers up to scale, one of rank d has d(d+1)/2
    - 1: that many probes can be zero at once."""
    assert measure_risk(1, 4).first_consistent == 2 * 4 - 1
    assert measure_risk(4, 4).first_consistent == 4 * 5 // 2
    claim = judge([], {}, {}, [LITERAL], Evidence(risk=(measure_risk(1, 4), measure_risk(4, 4)))).claim("remark1-risk")
    assert claim.status is Status.HOLDS
