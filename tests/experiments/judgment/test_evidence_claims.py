"""Claims judged from evidence: how queries spread, what probes do not see, and the two spectral parts."""

from __future__ import annotations

import numpy as np
from invented_regret import SETTINGS, as_the_paper_says, invented_table

from soqo.experiments import Judgment, Status, judge
from soqo.experiments.judgment import Evidence, RubExperiment, SpectralSplit
from soqo.experiments.settings import HEAVY_TAILS, LITERAL, SPLIT, plan_first_stage


def judged(names: tuple[str, ...], evidence: Evidence) -> Judgment:
    settings = [SETTINGS[name] for name in names]
    table = invented_table(plan_first_stage(settings, [LITERAL]), as_the_paper_says)
    return judge(settings, table, {}, [LITERAL], evidence)


def test_learners_violate_rub_if_their_ratios_are_larger() -> None:
    small, large = np.linspace(1.8, 2.4, 24).reshape(3, 8), np.linspace(10.0, 300.0, 24).reshape(3, 8)
    for learner, status in ((large, Status.HOLDS), (0.5 * small, Status.FAILS)):
        ratios = {"POL": learner, "OAL": learner, "SCaLE": small}
        found = Evidence(rub=tuple(RubExperiment(name, (12, 20, 40), ratios) for name in HEAVY_TAILS))
        assert judged(HEAVY_TAILS, found).claim("rub-learners").status is status


def test_parts_contribute_equally_if_their_sizes_are_close_whatever_their_signs() -> None:
    value = np.full((2, 12), 10.0)
    for basis, status in ((-9.0, Status.HOLDS), (15.0, Status.HOLDS), (-100.0, Status.FAILS)):
        parts = tuple(
            SpectralSplit(name, "algorithm", "cap", (200, 2000), value, np.full((2, 12), basis)) for name in SPLIT
        )
        assert judged(SPLIT, Evidence(split=parts)).claim("equal-contribution").status is status
