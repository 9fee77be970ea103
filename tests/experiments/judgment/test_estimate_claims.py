"""Claims about estimates: invented errors for which the verdict is known."""

from __future__ import annotations

import numpy as np
import pytest
from invented_regret import SETTINGS, as_the_paper_says, invented_table

from soqo.experiments import Status, judge
from soqo.experiments.judgment import Evidence, ProbedEstimates
from soqo.experiments.settings import LITERAL, plan_first_stage

SPLIT = [name for name in SETTINGS if name.startswith("gaussian")]

CLAIMS = ("estimate-bound", "statistical-consistency", "statistical-consistency-figures")


def judged(early: float, late: float, guaranteed: float, first: float = 1.0) -> dict[str, Status]:
    """Judge errors of this size at T = 2,000, at T = 200,000 and at 200, which the proof bounds by another number."""
    size, zero = np.linspace(0.95, 1.05, 12)[:, None, None], np.zeros((12, 1, 1))
    errors = tuple(
        ProbedEstimates(
            SETTINGS[name], "algorithm", "cap", T, 1, 1.0, zero, zero + error * size, np.full(12, guaranteed)
        )
        for name in SPLIT
        for T, error in ((200, first), (2000, early), (200_000, late))
    )
    settings = [SETTINGS[name] for name in SPLIT]
    table = invented_table(plan_first_stage(settings, [LITERAL]), as_the_paper_says)
    judgment = judge(settings, table, {}, [LITERAL], Evidence(estimates=errors))
    return {name: judgment.claim(name).status for name in CLAIMS}


@pytest.mark.parametrize(
    ("numbers", "bound", "consistent"),
    [
        ((0.1, 0.01, 0.2), Status.HOLDS, Status.HOLDS),
        ((0.1, 0.1, 0.2), Status.HOLDS, Status.FAILS),
        ((0.1, 0.01, 0.02), Status.FAILS, Status.HOLDS),
        ((0.1, 0.01, 0.1), Status.UNKNOWN, Status.HOLDS),
    ],
)
def test_errors_are_compared_with_their_bound_and_with_those_of_a_longer_horizon(
    numbers: tuple[float, float, float], bound: Status, consistent: Status
) -> None:
    assert judged(*numbers) == dict(zip(CLAIMS, (bound, consistent, Status.HOLDS), strict=True))


def test_an_error_that_does_not_fall_over_the_horizons_of_the_figures_is_not_seen_to_fall() -> None:
    found = judged(0.1, 0.01, 0.2, first=0.1)
    assert found["statistical-consistency"] is Status.HOLDS
    assert found["statistical-consistency-figures"] is Status.FAILS
