"""From tests on runs and resamples to statuses, and the words of a verdict."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from soqo.experiments import Claim, Reading, Status
from soqo.experiments.judgment import Case, Kind, Number, Verdict, decide, measure
from soqo.experiments.settings import LITERAL


def claim(*statuses: tuple[Status, ...]) -> Claim:
    """A claim under readings that differ in gamma^2, each with a status for every setting."""
    verdicts = [
        Verdict(Reading(gamma2=gamma2).on(["gamma2"]), tuple(Case(f"setting {k}", one) for k, one in enumerate(row)))
        for gamma2, row in zip(("algorithm", "appendix", "guarantee"), statuses, strict=False)
    ]
    return Claim(
        id="c",
        kind=Kind.EXPERIMENT,
        text="a claim",
        source="somewhere",
        quote="They claim.",
        section="primary",
        rule="a rule",
        settings=("setting 0",),
        runs=20,
        verdicts=tuple(verdicts),
    )


def test_the_summary_names_the_literal_status_the_counts_and_the_best_reading() -> None:
    found = claim((Status.FAILS, Status.HOLDS), (Status.UNKNOWN, Status.HOLDS), (Status.HOLDS, Status.HOLDS))
    assert found.summary == (
        "to the letter: holds in part (holds in 1, fails in 1 of 2 settings); of 3 readings: holds in 1, holds in part "
        "in 1, cannot be told in 1; at best (gamma^2 = eta max(T^p, 2/sigma)): holds"
    )
    assert claim((Status.UNKNOWN,)).summary == "cannot be told with 20 runs"
    assert claim((Status.HOLDS,), (Status.HOLDS,)).summary == "holds in every reading"
    assert claim().summary == "not tested"


def test_the_most_charitable_reading_holds_in_most_settings_and_of_equals_is_the_most_literal() -> None:
    found = claim((Status.FAILS, Status.FAILS), (Status.HOLDS, Status.FAILS), (Status.HOLDS, Status.FAILS))
    assert found.charitable is not None
    assert found.charitable.reading.gamma2 == "appendix"
    unknown = claim((Status.FAILS,), (Status.UNKNOWN,))
    assert unknown.charitable is not None
    assert unknown.charitable.reading.gamma2 == "appendix"


def test_a_verdict_is_found_by_the_axes_that_matter() -> None:
    found = claim((Status.FAILS,), (Status.HOLDS,))
    assert found.axes == ("gamma2",)
    assert found.verdict(Reading(gamma2="appendix", c1="tuned", statistic="median")) is found.verdicts[1]
    assert found.verdict(LITERAL) is found.literal is found.verdicts[0]


def test_the_case_of_a_setting_is_that_of_the_literal_reading() -> None:
    found = claim((Status.FAILS, Status.HOLDS), (Status.HOLDS, Status.HOLDS))
    case = found.case("setting 1")
    assert case is not None
    assert case.status is Status.HOLDS
    assert found.case("elsewhere") is None


def test_a_number_shows_its_interval() -> None:
    assert str(Number("regret", 1234567.0, 1.0, 2e6)) == "regret 1.23e6 (1 .. 2e6)"
    assert str(Number("probes", 7.0)) == "probes 7"


def test_one_failure_refutes_a_theorem_and_leaves_an_observation_true_in_part() -> None:
    cases = (Case("one", Status.HOLDS), Case("other", Status.FAILS), Case("third", Status.UNKNOWN))
    assert Verdict(LITERAL, cases).status is Status.PARTLY
    assert Verdict(LITERAL, cases, universal=True).status is Status.FAILS
    assert Verdict(LITERAL, cases[1:]).status is Status.FAILS
    assert Verdict(LITERAL, (cases[0], cases[2])).status is Status.UNKNOWN
    assert Verdict(LITERAL, cases).tally == "holds in 1, fails in 1, cannot be told in 1 of 3 settings"
    assert Verdict(LITERAL, cases[:1]).tally == ""
    assert [case.setting for case in Verdict(LITERAL, cases).decisive] == ["other", "third", "one"]


def test_what_is_not_proved_is_not_contradicted_and_trimmed_means_are_named() -> None:
    found = replace(claim((Status.HOLDS,)), unproved=True, trimmed=True)
    assert found.summary == "not contradicted"
    assert found.word(Status.FAILS) == "fails"
    assert (found.mean_name, claim((Status.HOLDS,)).mean_name) == ("mean (Cauchy: trimmed)", "mean")


def bootstrap(samples: np.ndarray) -> np.ndarray:
    picks = np.random.default_rng(1).integers(samples.size, size=(2000, samples.size))
    return np.concatenate([[samples.mean()], samples[picks].mean(axis=1)])


@pytest.mark.parametrize(("mean", "status"), [(-1.0, "holds"), (1.0, "fails"), (0.02, "cannot be told")])
def test_a_status_is_that_of_the_interval(mean: float, status: str) -> None:
    values = bootstrap(mean + np.random.default_rng(0).standard_normal(20))
    case = decide("mine", values < 0.0, True, 20, measure("difference", values))
    assert case.status == status


def test_intervals_cover_the_mean_about_as_often_as_they_say() -> None:
    """Of 400 samples of 20 normal numbers with mean zero, the sign is decided in about 5 to 10 percent."""
    decided = 0
    for seed in range(400):
        samples = np.random.default_rng(seed).standard_normal(20)
        picks = np.random.default_rng(10_000 + seed).integers(20, size=(400, 20))
        values = np.concatenate([[samples.mean()], samples[picks].mean(axis=1)])
        decided += decide("mine", values < 0.0, True, 20).status is not Status.UNKNOWN
    # The percentile bootstrap of 20 runs is somewhat narrow; three standard errors around 7 %.
    assert 0.03 < decided / 400 < 0.12


def test_few_runs_tell_nothing() -> None:
    values = np.full(100, -1.0)
    assert decide("mine", values < 0.0, True, 5).status is Status.UNKNOWN
    assert decide("mine", values < 0.0, True, 6).status is Status.HOLDS


def test_a_test_without_an_answer_is_unknown() -> None:
    known = np.zeros(100, np.bool_)
    assert decide("mine", np.ones(100, np.bool_), known, 20).status is Status.UNKNOWN
    known[1:] = True
    assert decide("mine", np.ones(100, np.bool_), known, 20).status is Status.UNKNOWN


def test_numbers_that_are_not_finite_have_no_interpolated_interval() -> None:
    number = measure("regret", np.array([math.inf, 1.0, math.inf, math.inf]))
    assert (number.value, number.low, number.high) == (math.inf, 1.0, math.inf)
    nothing = measure("exponent", np.full(4, math.nan))
    assert math.isnan(nothing.value)
    assert math.isnan(nothing.low)
    assert str(nothing) == "exponent nan"


def test_one_failure_decides_and_one_unknown_leaves_it_open() -> None:
    assert Status.all([Status.HOLDS, Status.HOLDS]) is Status.HOLDS
    assert Status.all([Status.HOLDS, Status.UNKNOWN]) is Status.UNKNOWN
    assert Status.all([Status.UNTESTED, Status.UNKNOWN]) is Status.UNTESTED
    assert Status.all([Status.UNKNOWN, Status.FAILS]) is Status.FAILS


def test_resamples_without_an_answer_count_for_neither_side() -> None:
    passed, known = np.ones(100, np.bool_), np.ones(100, np.bool_)
    known[-10:] = False
    assert decide("mine", passed, known, 20).status is Status.UNKNOWN
    assert decide("mine", ~passed, known, 20).status is Status.UNKNOWN
    known[-10:-1] = True
    assert decide("mine", passed, known, 20).status is Status.HOLDS
    assert decide("mine", ~passed, known, 20).status is Status.FAILS
