"""Claims about rankings: numbers, and what decides them."""

from __future__ import annotations

import numpy as np
import pytest
from invented_regret import as_the_paper_says, judge_invented

from soqo.experiments import Setting, Status
from soqo.experiments.settings import LITERAL


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
