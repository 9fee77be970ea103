"""Claims that a check decides, and claims that nothing can decide."""

from __future__ import annotations

import pytest
from invented_regret import as_the_paper_says, judge_invented

from soqo.experiments import Status
from soqo.experiments.judgment import RULES, Case, Evidence, Samples
from soqo.experiments.settings import LITERAL


@pytest.mark.parametrize(("status", "told"), [(Status.HOLDS, "not contradicted"), (Status.FAILS, "fails")])
def test_a_claim_has_the_cases_of_its_check(status: Status, told: str) -> None:
    (rule,) = [rule for rule in RULES if rule.id == "theorem4"]
    claim = rule.judge(Samples([], {}, {}), Evidence(checks={"theorem4": (Case("r < d", status),)}), [LITERAL])
    assert claim.summary == told


def test_a_claim_that_nothing_can_decide_is_listed_even_without_settings() -> None:
    judgment = judge_invented(as_the_paper_says, ["heavy_tails_1"], [LITERAL])
    assert judgment.claim("first-algorithm").untestable
