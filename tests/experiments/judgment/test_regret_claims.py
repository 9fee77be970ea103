"""Claims about regret: who outperforms whom, how regret grows, and which c1 is best."""

from __future__ import annotations

import math

import numpy as np
import pytest
from invented_regret import as_the_paper_says, judge_invented

from soqo.experiments import Setting, Status, find
from soqo.experiments.settings import LITERAL, Reading


def test_a_worse_hyscale_alone_makes_the_joint_claim_fail() -> None:
    def worse(setting: Setting, name: str, T: int) -> float:
        return 1e9 * T if name.startswith("HySCaLE") else as_the_paper_says(setting, name, T)

    judgment = judge_invented(worse, ["primary"], [LITERAL])
    claim = judgment.claim("primary-outperform")
    assert claim.status is Status.FAILS
    assert claim.literal is not None
    ratio, scale, hyscale, best = claim.literal.cases[0].numbers
    assert ratio.value == max(scale.value, hyscale.value) / best.value
    assert judgment.claim("primary-scale-outperforms").status is Status.HOLDS


def test_exploration_is_one_test_of_both_policies() -> None:
    claim = judge_invented(as_the_paper_says, ["primary"], [LITERAL]).claim("primary-exploration")
    assert claim.literal is not None
    (case,) = claim.literal.cases
    assert len(case.numbers) == 6
    # 99 % is paid in the 48 rounds of exploration: both ratios are 99 * 952 / 48.
    assert [case.numbers[k].value for k in (0, 3)] == pytest.approx([99 * 952 / 48] * 2)
    # 99 % of the regret in the first 48 of 1,000 rounds.
    first, later = case.numbers[1].value * 48, case.numbers[2].value * 952
    assert np.isclose(first / (first + later), 0.99)


def test_a_lead_that_grows_but_stays_below_one_is_no_lead() -> None:
    def behind(_: Setting, name: str, T: int) -> float:
        return 9.0 * T if "SCaLE" in name else float(T) ** 1.1

    def ahead(_: Setting, name: str, T: int) -> float:
        return 0.1 * T if "SCaLE" in name else float(T) ** 1.1

    assert judge_invented(behind, ["primary"], [LITERAL]).claim("primary-lead-grows").status is Status.FAILS
    assert judge_invented(ahead, ["primary"], [LITERAL]).claim("primary-lead-grows").status is Status.HOLDS


def test_hyscale_improves_in_part_if_it_does_in_some_settings() -> None:
    def in_figure_5_only(setting: Setting, name: str, T: int) -> float:
        worse = name.startswith("HySCaLE") and "rank_deficient" not in setting.name
        return (2.0 if worse else 1.0) * as_the_paper_says(setting, name, T)

    claim = judge_invented(in_figure_5_only, readings=[LITERAL]).claim("light-tails-hybrid")
    assert claim.section == "hybrid"
    assert claim.status is Status.PARTLY
    assert claim.literal is not None
    assert claim.literal.tally == "holds in 2, fails in 9 of 11 settings"


SIXTEEN = tuple(setting.name for setting in find("appendix"))
LAPLACE = tuple(name for name in SIXTEEN if name.startswith("laplace"))
HEAVY_TAILS = tuple(setting.name for setting in find("heavy_tails"))


@pytest.mark.parametrize(("power", "status"), [(0.5, Status.HOLDS), (0.54, Status.HOLDS), (0.7, Status.FAILS)])
def test_an_exponent_is_compared_with_one_half_and_a_margin(power: float, status: Status) -> None:
    def growing(setting: Setting, name: str, T: int) -> float:
        if name.startswith("SCaLE") and "_r4_" in setting.name:
            return math.pow(T, power)
        return as_the_paper_says(setting, name, T)

    claim = judge_invented(growing, SIXTEEN, [LITERAL]).claim("theorem1-full-rank")
    assert claim.status is status
    assert claim.literal is not None
    assert claim.literal.cases[0].numbers[0].value == pytest.approx(power)


def test_regret_that_is_not_positive_has_no_exponent() -> None:
    claim = judge_invented(lambda *_: -1.0, ["primary"], [LITERAL]).claim("primary-sublinear")
    assert claim.status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("learners", "scale", "status"),
    [(1.2, 0.4, Status.HOLDS), (0.95, 0.4, Status.HOLDS), (0.5, 0.4, Status.FAILS), (1.2, 1.6, Status.FAILS)],
)
@pytest.mark.parametrize(("name", "settings"), [("cauchy", HEAVY_TAILS), ("laplace", LAPLACE)])
def test_learners_fail_if_they_grow_linearly_and_faster_than_scale(
    name: str, settings: tuple[str, ...], learners: float, scale: float, status: Status
) -> None:
    def growing(_: Setting, policy: str, T: int) -> float:
        return math.pow(T, scale if policy.startswith("SCaLE") else learners)

    assert judge_invented(growing, settings, [LITERAL]).claim(f"{name}-learners-fail").status is status


def test_laplace_steps_are_judged_with_both_gradients_and_statistics() -> None:
    readings = [Reading(gradient=g, statistic=s) for g in ("as_printed", "exact") for s in ("mean", "median")]
    claim = judge_invented(as_the_paper_says, LAPLACE, readings).claim("laplace-learners-fail")
    assert len(claim.verdicts) == 4


def test_an_order_difference_is_also_judged_where_nothing_but_the_rank_differs() -> None:
    def slow_at_rank_one(setting: Setting, name: str, T: int) -> float:
        return math.pow(T, 0.4) if setting.name.startswith("gaussian_r1") else as_the_paper_says(setting, name, T)

    judgment = judge_invented(slow_at_rank_one, readings=[LITERAL])
    assert judgment.claim("rank-order").status is Status.HOLDS
    assert judgment.claim("rank-order-same-parameters").status is Status.FAILS


def test_the_number_of_the_policy_that_decides_comes_first() -> None:
    def hyscale_is_sublinear(setting: Setting, name: str, T: int) -> float:
        return float(T) ** 0.7 if name.startswith("HySCaLE") else as_the_paper_says(setting, name, T)

    claim = judge_invented(hyscale_is_sublinear, HEAVY_TAILS, [LITERAL]).claim("cauchy-learners-fail")
    assert claim.literal is not None
    for case in claim.literal.cases:
        assert case.status is Status.FAILS
        assert case.numbers[0].label == "exponent of HySCaLE"
        assert np.isclose(case.numbers[0].value, 0.7)

    def scale_grows_faster(setting: Setting, name: str, T: int) -> float:
        return float(T) ** 1.5 if name.startswith("SCaLE") else as_the_paper_says(setting, name, T)

    claim = judge_invented(scale_grows_faster, HEAVY_TAILS, [LITERAL]).claim("cauchy-learners-fail")
    assert claim.literal is not None
    for case in claim.literal.cases:
        assert case.status is Status.FAILS
        assert case.numbers[0].label == "exponent of SCaLE"


SENSITIVITY = [setting.name for setting in find("sensitivity")]


def with_bottom_at(*best: float) -> dict[str, Status]:
    """Judge curves over c1 whose bottoms are at these values, for increasing eta."""

    def curve(setting: Setting, name: str, _: int) -> float:
        c1, bottom = float(name.split("/")[-1]), best[SENSITIVITY.index(setting.name)]
        return 1.0 + abs(c1 - bottom)

    judgment = judge_invented(curve, SENSITIVITY, [LITERAL])
    return {claim.id: claim.status for claim in judgment.tested}


def test_bottoms_near_three_are_constant_and_u_shaped() -> None:
    found = with_bottom_at(3.0, 3.0, 2.5, 3.0, 4.0)
    assert found == dict.fromkeys(("c1-u-shape", "c1-three", "c1-constant"), Status.HOLDS)


def test_a_bottom_that_moves_or_lies_at_an_end_is_told() -> None:
    found = with_bottom_at(3.0, 3.0, 3.0, 3.0, 10.0)
    # Where regret still falls at the largest c1, a U is not seen; "across" is refuted by one eta.
    assert found == {"c1-u-shape": Status.PARTLY, "c1-three": Status.FAILS, "c1-constant": Status.FAILS}
    ones = with_bottom_at(1.0, 1.0, 1.0, 1.0, 1.5)
    assert ones["c1-constant"] is Status.HOLDS
    assert ones["c1-three"] is Status.FAILS


def test_slower_learners_of_ours_are_in_the_remark_only() -> None:
    def slow_wins(setting: Setting, name: str, T: int) -> float:
        return 0.1 if name.endswith("/slow") else as_the_paper_says(setting, name, T)

    claim = judge_invented(slow_wins, ["primary"]).claim("primary-scale-outperforms")
    assert claim.status is Status.HOLDS
    assert "holds in 0 of 20 readings" in claim.remark
    assert (
        "holds in 20 of 20 readings"
        in judge_invented(as_the_paper_says, ["primary"]).claim("primary-scale-outperforms").remark
    )


def test_medians_are_told_for_each_spectrum_beside_the_best_baseline_of_both_rates() -> None:
    def invented(_: Setting, name: str, _horizon: int) -> float:
        return {"SCaLE/slow": 1.0, "HySCaLE/slow": 2.0, "POL/slow": 4.0, "OAL/slow": 5.0}.get(name, 8.0)

    remark = judge_invented(invented, ["primary"], spread=0.0).claim("primary-outperform").remark
    told = "1 and 2, the best of FTM, POL and OAL 8 at 1e-6 and 4 at 1e-8"
    for spectrum in ("linear 1", "linear 10", "geometric"):
        assert f"in Figure 3 (correlated, r = d = 4, sigma_r = 0.01), spectrum {spectrum}: {told}" in remark


@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.HOLDS), (1e9, Status.FAILS)])
def test_regret_is_compared_with_the_bound_of_theorem_1(factor: float, status: Status) -> None:
    def scaled(setting: Setting, name: str, T: int) -> float:
        return factor * as_the_paper_says(setting, name, T)

    claim = judge_invented(scaled, [one.name for one in find("appendix")], [LITERAL]).claim("theorem1")
    assert claim.status is status
    assert not any(name.startswith(("correlated", "cauchy")) for name in claim.settings)
