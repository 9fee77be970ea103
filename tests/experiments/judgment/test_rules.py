"""Rules: a claim is tested where its settings were simulated with enough horizons."""

from __future__ import annotations

from dataclasses import replace

import pytest
from invented_regret import SETTINGS, as_the_paper_says, invented_table

from soqo.experiments import Status
from soqo.experiments.judgment import RULES, SECTIONS, Case, ClaimRule, Evidence, Kind, Samples
from soqo.experiments.settings import AXES, LITERAL, plan_first_stage


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_names_axes_and_a_section_that_exist_and_a_test_or_why_there_is_none(rule: ClaimRule) -> None:
    assert set(rule.axes) <= set(AXES)
    assert rule.section in SECTIONS
    assert (rule.test is None) == bool(rule.untestable)
    if rule.settings and rule.kind is not Kind.PART:
        assert rule.label  # chips beside figures need it


def test_a_claim_about_growth_needs_several_horizons() -> None:
    (rule,) = [rule for rule in RULES if rule.id == "primary-sublinear"]
    setting = SETTINGS["primary"]
    for horizons, status in ((setting.horizons, Status.HOLDS), ((1000,), Status.UNTESTED)):
        chosen = replace(setting, horizons=horizons)
        table = invented_table(plan_first_stage([chosen], [LITERAL]), as_the_paper_says)
        assert rule.judge(Samples([chosen], table, {}), [LITERAL]).status is status


@pytest.mark.parametrize(("status", "told"), [(Status.HOLDS, "not contradicted"), (Status.FAILS, "fails")])
def test_a_claim_about_theory_has_the_cases_of_its_check(status: Status, told: str) -> None:
    (rule,) = [rule for rule in RULES if rule.id == "theorem4"]
    evidence = Evidence(checks={"theorem4": (Case("r < d", status),)})
    assert rule.judge(Samples([], {}, {}, evidence), [LITERAL]).summary == told
