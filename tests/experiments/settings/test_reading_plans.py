"""What readings need: names, spectra, values of c1, and plans that share simulations."""

from __future__ import annotations

from soqo import HySCaLE, RandomProblem, SCaLE
from soqo.experiments import Reading, find
from soqo.experiments.settings import (
    AXES,
    LITERAL,
    all_readings,
    c1_values,
    canonical_spectrum,
    plan_first_stage,
    plan_second_stage,
    with_spectrum,
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


def test_spectra_that_are_the_same_are_simulated_once() -> None:
    one, full = find("gaussian_r1_1")[0], find("gaussian_r4_1")[0]
    assert {canonical_spectrum(one, value.key) for value in AXES["spectrum"]} == {"linear_1"}
    assert {canonical_spectrum(full, value.key) for value in AXES["spectrum"]} == {"linear_1", "geometric"}
    (primary,) = find("primary")
    problems = [with_spectrum(primary, value.key).problem for value in AXES["spectrum"]]
    assert all(isinstance(problem, RandomProblem) for problem in problems)
    assert [(p.max_eigenvalue, p.spacing) for p in problems if isinstance(p, RandomProblem)] == [
        (1.0, "linear"),
        (10.0, "linear"),
        (1.0, "geometric"),
    ]


def test_c1_is_that_of_the_caption_of_the_text_or_of_a_grid() -> None:
    (primary,) = find("primary")
    assert c1_values(primary, "captions") == (3.0,)
    assert c1_values(primary, "elsewhere") == (5.0,)  # m = 80 = 5 * 4 * 4
    assert c1_values(find("correlated_r1_0.01")[0], "elsewhere") == (15.0,)
    assert c1_values(find("laplace_r1_1")[0], "elsewhere") == c1_values(find("laplace_r1_1")[0], "captions") == (5.0,)
    assert 3.0 in c1_values(primary, "tuned")


def test_the_second_stage_needs_what_the_line_search_chose() -> None:
    (setting,) = find("gaussian_r4_1")
    tuned = {("gaussian_r4_1", "linear_1", "algorithm", "cap"): {"mean": 2.0, "median": 10.0}}
    readings = [LITERAL, Reading(c1="tuned"), Reading(c1="tuned", statistic="median")]
    (plan,) = plan_second_stage([setting], readings, tuned)
    assert set(plan.policies[2000]) == {"SCaLE/algorithm/cap/2", "SCaLE/algorithm/cap/10"}
    assert set(plan.policies[1000]) == {*("HySCaLE/algorithm/cap/as_printed/2", "HySCaLE/algorithm/cap/as_printed/10")}
