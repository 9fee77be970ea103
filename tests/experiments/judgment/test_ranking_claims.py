"""Claims about rankings: numbers, and what decides them."""

from __future__ import annotations

import numpy as np
from invented_regret import as_the_paper_says, judge_invented

from soqo.experiments import Setting, Status
from soqo.experiments.settings import LITERAL


def test_the_first_number_is_the_ratio_that_decides() -> None:
    claim = judge_invented(as_the_paper_says, ["primary"], [LITERAL]).claim("primary-outperform")
    assert claim.literal is not None
    (case,) = claim.literal.cases
    ratio, scale, hyscale, best = case.numbers
    assert ratio.value == max(scale.value, hyscale.value) / best.value
    assert ratio.high < 1.0


def test_a_worse_hyscale_alone_makes_the_joint_claim_fail() -> None:
    def worse(setting: Setting, name: str, T: int) -> float:
        return 1e9 * T if name.startswith("HySCaLE") else as_the_paper_says(setting, name, T)

    judgment = judge_invented(worse, ["primary"], [LITERAL])
    assert judgment.claim("primary-outperform").status is Status.FAILS
    assert judgment.claim("primary-scale-outperforms").status is Status.HOLDS


def test_exploration_is_one_test_of_both_policies() -> None:
    claim = judge_invented(as_the_paper_says, ["primary"], [LITERAL]).claim("primary-exploration")
    assert claim.literal is not None
    (case,) = claim.literal.cases
    assert len(case.numbers) == 4
    # 99 % of the regret in the first 48 of 1,000 rounds.
    first, later = case.numbers[0].value * 48, case.numbers[1].value * 952
    assert np.isclose(first / (first + later), 0.99)
