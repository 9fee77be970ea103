"""Rules: a claim is tested where its settings were simulated with enough horizons."""

from __future__ import annotations

from dataclasses import replace

import pytest
from invented_regret import SETTINGS, as_the_paper_says, invented_table

from soqo.experiments import Status
from soqo.experiments.judgment import RULES, SECTIONS, Evidence, Samples
from soqo.experiments.settings import AXES, LITERAL, plan_first_stage


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_names_settings_axes_and_a_section_that_exist(rule: object) -> None:
    from soqo.experiments.judgment import ClaimRule

    assert isinstance(rule, ClaimRule)
    assert set(rule.settings) <= set(SETTINGS)
    assert set(rule.axes) <= set(AXES)
    assert rule.section in SECTIONS


def test_a_claim_about_growth_needs_several_horizons() -> None:
    (rule,) = [rule for rule in RULES if rule.id == "primary-sublinear"]
    setting = SETTINGS["primary"]
    for horizons, status in ((setting.horizons, Status.HOLDS), ((1000,), Status.UNTESTED)):
        chosen = replace(setting, horizons=horizons)
        table = invented_table(plan_first_stage([chosen], [LITERAL]), as_the_paper_says)
        assert rule.judge(Samples([chosen], table, {}), Evidence(), [LITERAL]).status is status
