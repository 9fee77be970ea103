"""Claims about growth: exponents against bounds with a margin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from invented_regret import as_the_paper_says, judge_invented

from soqo.experiments import Setting, Status, find
from soqo.experiments.settings import LITERAL, Reading

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
