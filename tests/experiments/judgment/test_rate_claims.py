"""Claims about how regret grows with the horizon, and about the price of exploration."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from invented_outcomes import SETTINGS, as_the_paper_says, claims, invented

from soqo.experiments import Setting, judge


def test_one_horizon_has_no_rate() -> None:
    short = replace(SETTINGS["primary"], horizons=())
    found = {claim.text: claim for claim in judge([invented(short, as_the_paper_says)])}
    assert found["the regret of SCaLE and HySCaLE grows sub-linearly"].verdict == "not tested"


@pytest.mark.parametrize(("exponent", "verdict"), [(0.4, "holds"), (0.5, "holds"), (0.9, "does not hold")])
def test_the_exponent_of_full_rank_is_read_off_the_medians(exponent: float, verdict: str) -> None:
    def grow(_: Setting, _name: str, T: int) -> float:
        return math.pow(T, exponent)

    (claim,) = [claim for text, claim in claims(grow).items() if "sqrt(T)" in text or "T^(1/2)" in text][:1]
    assert claim.verdict == verdict
    assert f"{exponent:.2f} .. {exponent:.2f}" in claim.number


def test_exploration_is_expensive_only_if_regret_is_paid_early() -> None:
    text = "SCaLE pays much while it explores, which lowers what it pays per round afterwards"
    assert claims(as_the_paper_says)[text].verdict == "holds"
    late = [invented(setting, as_the_paper_says, paid_in_rounds=setting.horizon) for setting in SETTINGS.values()]
    assert {claim.text: claim.verdict for claim in judge(late)}[text] == "does not hold"
