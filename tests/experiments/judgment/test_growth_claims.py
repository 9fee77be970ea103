"""Claims about growth: exponents against bounds with a margin."""

from __future__ import annotations

import math

import pytest
from invented_regret import as_the_paper_says, judge_invented

from soqo.experiments import Setting, Status
from soqo.experiments.settings import LITERAL, SIXTEEN


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
