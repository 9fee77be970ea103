"""What readings need: names, spectra, values of c1, and plans that share simulations."""

from __future__ import annotations

from soqo import HySCaLE, SCaLE
from soqo.experiments import Reading, find
from soqo.experiments.settings import (
    LITERAL,
    all_readings,
    plan_first_stage,
    plan_second_stage,
)


def test_the_literal_reading_is_scale_as_printed() -> None:
    (setting,) = find("primary")
    (plan,) = plan_first_stage([setting], [LITERAL])
    policies = plan.policies[1000]
    assert policies["SCaLE/algorithm/cap/3"] == setting.policies["SCaLE as printed"]
    assert policies["HySCaLE/algorithm/cap/as_printed/3"] == setting.policies["HySCaLE as printed"]
    assert policies["POL/as_printed"] == setting.policies["POL"]
    assert plan.environment == setting.environment


def test_a_handover_is_that_of_the_place_of_the_radius() -> None:
    (setting,) = find("gaussian_r1_1")
    (plan,) = plan_first_stage([setting], all_readings())
    for name, policy in plan.policies[1000].items():
        if isinstance(policy, SCaLE):
            radius = name.split("/")[2]
            assert policy.radius == radius
            assert policy.handover == ("virtual" if radius == "cap" else "direct")
    hybrids = [policy for policy in plan.policies[1000].values() if isinstance(policy, HySCaLE)]
    assert {policy.learning_rate for policy in hybrids} == {1e-6}


def test_the_second_stage_needs_what_the_line_search_chose() -> None:
    (setting,) = find("gaussian_r4_1")
    tuned = {("gaussian_r4_1", "linear_1", "algorithm", "cap"): {"mean": 2.0, "median": 10.0}}
    readings = [LITERAL, Reading(c1="tuned"), Reading(c1="tuned", statistic="median")]
    (plan,) = plan_second_stage([setting], readings, tuned)
    hybrids = {"HySCaLE/algorithm/cap/as_printed/2", "HySCaLE/algorithm/cap/as_printed/10"}
    assert set(plan.policies[400]) == {"SCaLE/algorithm/cap/2", "SCaLE/algorithm/cap/10"}
    assert set(plan.policies[1000]) == hybrids
    # The growth of HySCaLE's regret is that between the first and the last horizon.
    assert set(plan.policies[2000]) == {"SCaLE/algorithm/cap/2", "SCaLE/algorithm/cap/10", *hybrids}
