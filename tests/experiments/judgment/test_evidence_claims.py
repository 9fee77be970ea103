"""Claims about estimates, queries and movement: invented evidence for which the verdict is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from invented_regret import SETTINGS, as_the_paper_says, invented_table

from soqo.experiments import Claim, Judgment, Status, judge
from soqo.experiments.judgment import Evidence, MovementCosts, ProbedEstimates, RubExperiment, explain_zero_estimates
from soqo.experiments.settings import LITERAL, plan_first_stage

SPLIT = [name for name in SETTINGS if name.startswith("gaussian")]

CLAIMS = ("estimate-bound", "statistical-consistency", "statistical-consistency-figures")


def judge_evidence(names: Sequence[str], evidence: Evidence) -> Judgment:
    """Judge the claims of some settings to the letter, with this evidence."""
    settings = [SETTINGS[name] for name in names]
    table = invented_table(plan_first_stage(settings, [LITERAL]), as_the_paper_says)
    return judge(settings, table, {}, [LITERAL], evidence)


def judged_errors(early: float, late: float, guaranteed: float, first: float = 1.0) -> dict[str, Status]:
    """Judge errors of this size at T = 2,000, at T = 200,000 and at 200, which the proof bounds by another number."""
    size, zero = np.linspace(0.95, 1.05, 12)[:, None, None], np.zeros((12, 1, 1))
    errors = tuple(
        ProbedEstimates(
            SETTINGS[name], "algorithm", "cap", T, 1, 1.0, zero, zero + error * size, np.full(12, guaranteed)
        )
        for name in SPLIT
        for T, error in ((200, first), (2000, early), (200_000, late))
    )
    judgment = judge_evidence(SPLIT, Evidence(estimates=errors))
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
    assert judged_errors(*numbers) == dict(zip(CLAIMS, (bound, consistent, Status.HOLDS), strict=True))


def test_an_error_that_does_not_fall_over_the_horizons_of_the_figures_is_not_seen_to_fall() -> None:
    found = judged_errors(0.1, 0.01, 0.2, first=0.1)
    assert found["statistical-consistency"] is Status.HOLDS
    assert found["statistical-consistency-figures"] is Status.FAILS


HEAVY_TAILS = [name for name in SETTINGS if name.startswith("heavy_tails")]

SMALL, LARGE = np.linspace(1.8, 2.4, 24).reshape(3, 8), np.linspace(10.0, 300.0, 24).reshape(3, 8)


def judged_ratios(learner: np.ndarray, hybrid: np.ndarray, glide: float = 0.0) -> Judgment:
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
    return judge_evidence(HEAVY_TAILS, found)


@pytest.mark.parametrize(
    ("learner", "hybrid", "status"),
    [(LARGE, LARGE, Status.HOLDS), (LARGE, 0.5 * SMALL, Status.FAILS), (0.5 * SMALL, LARGE, Status.FAILS)],
)
def test_rub_is_not_guaranteed_if_the_ratios_of_all_three_are_larger(
    learner: np.ndarray, hybrid: np.ndarray, status: Status
) -> None:
    assert judged_ratios(learner, hybrid).claim("rub-learners").status is status


@pytest.mark.parametrize(("hybrid", "status"), [(LARGE, Status.HOLDS), (0.5 * SMALL, Status.FAILS)])
def test_hyscale_is_inconsistent_if_its_last_estimate_is_worse(hybrid: np.ndarray, status: Status) -> None:
    assert judged_ratios(LARGE, hybrid).claim("remark2-inconsistent").status is status


def test_glide_says_in_the_remark_whether_probes_with_rub_are_necessary() -> None:
    assert "Is RUB necessary?" not in judged_ratios(LARGE, LARGE).claim("rub-learners").remark
    found = judged_ratios(LARGE, LARGE, glide=12.0).claim("rub-learners").remark
    assert "its median regret is 12 in Figure 4 (Cauchy, r = 1, sigma_r = 0.01), where that of the" in found
    assert found.endswith("is 34.")


def test_the_runs_with_a_zero_estimate_are_counted() -> None:
    sizes = {"SCaLE": np.array([0.0, 1e-9, 0.5])}
    evidence = Evidence(rub=(RubExperiment("mine", (40,), {}, {}, sizes, np.ones(3)),))
    assert "zero in 2 of 3 runs" in explain_zero_estimates(evidence, "mine")
    assert explain_zero_estimates(evidence, "other") == ""


DEFICIENT = ("rank_deficient_0.01", "rank_deficient_1")
NAMES = ("primary", *DEFICIENT, "gaussian_r4_0.01", "gaussian_r4_1")
SPREAD = np.linspace(0.95, 1.05, 12)


def judged_costs(
    claim: str, learners: float = 2.0, singular: float = 9.0, regular: float = 3.0, play: float = 1.0
) -> Claim:
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
    return judge_evidence(NAMES, Evidence(movement=costs)).claim(claim)


@pytest.mark.parametrize(("learners", "status"), [(2.0, Status.HOLDS), (0.5, Status.FAILS)])
def test_learners_move_too_much_if_they_pay_more_for_switching(learners: float, status: Status) -> None:
    claim = judged_costs("movement-costs", learners=learners)
    assert claim.status is status
    assert claim.note.endswith(f"HySCaLE pays {1.0 / learners:g} times what the better learner pays")


@pytest.mark.parametrize(
    ("singular", "regular", "status"),
    [(9.0, 3.0, Status.HOLDS), (0.5, 0.2, Status.PARTLY), (2.0, 3.0, Status.PARTLY)],
)
def test_switching_overpowers_hitting_more_so_where_a_is_singular(
    singular: float, regular: float, status: Status
) -> None:
    assert judged_costs("switching-overpowers", singular=singular, regular=regular, play=2.0).status is status


def test_switching_may_overpower_hitting_for_probes_and_not_for_play() -> None:
    claim = judged_costs("switching-overpowers", play=1.0)
    assert claim.status is Status.PARTLY
    assert claim.literal is not None
    assert {case.setting.partition(", ")[2] for case in claim.literal.cases if case.status is not Status.HOLDS} == {
        "SCaLE's play",
        "LAI's play",
    }
