"""The words of a verdict, and of the claims of a part of the paper together."""

from __future__ import annotations

from dataclasses import replace

from soqo.experiments import Claim, Reading, Status
from soqo.experiments.judgment import Case, Kind, Number, Verdict
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
