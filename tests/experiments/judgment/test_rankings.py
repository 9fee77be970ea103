"""Tests of rankings: the ratio that decides, and leads."""

from __future__ import annotations

from invented_regret import as_the_paper_says, judge_invented

from soqo.experiments.settings import LITERAL


def test_the_first_number_is_the_ratio_that_decides() -> None:
    claim = judge_invented(as_the_paper_says, ["primary"], [LITERAL]).claim("primary-outperform")
    assert claim.literal is not None
    (case,) = claim.literal.cases
    ratio, scale, hyscale, best = case.numbers
    assert ratio.value == max(scale.value, hyscale.value) / best.value
    assert ratio.high < 1.0
