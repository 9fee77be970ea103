"""Claims of the introduction: invented costs for which the verdict is known."""

from __future__ import annotations

import numpy as np
import pytest
from invented_regret import SETTINGS, as_the_paper_says, invented_table

from soqo.experiments import Claim, Status, judge
from soqo.experiments.judgment import Evidence, MovementCosts
from soqo.experiments.settings import LITERAL, plan_first_stage

DEFICIENT = ("rank_deficient_0.01", "rank_deficient_1")
NAMES = ("primary", *DEFICIENT, "gaussian_r4_0.01", "gaussian_r4_1")
SPREAD = np.linspace(0.95, 1.05, 12)


def judged(claim: str, learners: float = 2.0, singular: float = 9.0, regular: float = 3.0, play: float = 1.0) -> Claim:
    """Judge these switching costs of learners, where SCaLE's are 1, and these ratios of costs of probes and play."""
    policies = ("FTM", "POL", "OAL", "SCaLE as printed", "HySCaLE as printed", "LAI")
    spent = {name: (learners if name in ("POL", "OAL") else 1.0) * SPREAD for name in policies}
    costs = tuple(
        MovementCosts(
            name,
            # The probes have a hundredth of the hitting cost.
            dict.fromkeys(policies, SPREAD),
            {who: (play if name in DEFICIENT else 1.0) * cost for who, cost in spent.items()},
            {"SCaLE as printed": 0.01 * SPREAD},
            {"SCaLE as printed": 0.01 * (singular if name in DEFICIENT else regular) * SPREAD},
        )
        for name in NAMES
    )
    settings = [SETTINGS[name] for name in NAMES]
    table = invented_table(plan_first_stage(settings, [LITERAL]), as_the_paper_says)
    return judge(settings, table, {}, [LITERAL], Evidence(movement=costs)).claim(claim)


@pytest.mark.parametrize(("learners", "status"), [(2.0, Status.HOLDS), (0.5, Status.FAILS)])
def test_learners_move_too_much_if_they_pay_more_for_switching(learners: float, status: Status) -> None:
    claim = judged("movement-costs", learners=learners)
    assert claim.status is status
    assert claim.note.endswith(f"HySCaLE pays {1.0 / learners:g} times what the better learner pays")


@pytest.mark.parametrize(
    ("singular", "regular", "status"),
    [(9.0, 3.0, Status.HOLDS), (0.5, 0.2, Status.PARTLY), (2.0, 3.0, Status.PARTLY)],
)
def test_switching_overpowers_hitting_more_so_where_a_is_singular(
    singular: float, regular: float, status: Status
) -> None:
    assert judged("switching-overpowers", singular=singular, regular=regular, play=2.0).status is status


def test_switching_may_overpower_hitting_for_probes_and_not_for_play() -> None:
    claim = judged("switching-overpowers", play=1.0)
    assert claim.status is Status.PARTLY
    assert claim.literal is not None
    assert {case.setting.partition(", ")[2] for case in claim.literal.cases if case.status is not Status.HOLDS} == {
        "SCaLE's play",
        "LAI's play",
    }
