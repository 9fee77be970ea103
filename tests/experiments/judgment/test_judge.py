"""All claims together: invented regret for which the verdict of every claim is known, in every reading."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from invented_regret import SETTINGS, as_the_paper_says, judge_invented

from soqo.experiments import Judgment, Reading, Setting, Status
from soqo.experiments.settings import LITERAL, all_readings

ABOUT_REGRET = [
    *("primary-outperform", "primary-scale-outperforms", "primary-lead-grows", "primary-exploration", "primary-hybrid"),
    *("primary-sublinear", "cauchy-scale-wins", "cauchy-small-sigma", "cauchy-learners-fail", "cauchy-sublinear"),
    *("rank-outperform", "rank-order", "rank-order-scale", "c1-u-shape", "c1-three", "c1-constant"),
    *("appendix-outperform", "light-tails-hybrid", "theorem1", "theorem1-sublinear", "theorem1-full-rank"),
    *("theorem1-deficient", "laplace-learners-fail", "laplace-sublinear", "rank-order-same-parameters"),
    *("cauchy-scale-wins-appendix", "cauchy-small-sigma-appendix", "cauchy-sublinear-appendix"),
]


@pytest.fixture(scope="module")
def true() -> Judgment:
    return judge_invented(as_the_paper_says)


def test_if_the_paper_is_right_every_claim_about_regret_holds_in_every_reading(true: Judgment) -> None:
    for name in ABOUT_REGRET:
        claim = true.claim(name)
        assert claim.counts[Status.HOLDS] == len(claim.verdicts) > 0, claim.summary
        assert claim.summary in ("holds in every reading", "holds", "not contradicted in every reading")
    # Claims that need evidence beside regret are not tested without it.
    assert {claim.id for claim in true.claims if not claim.verdicts and not claim.untestable} == {
        *("rub-learners", "remark2-inconsistent", "remark1-risk", "figure2-noise", "proposition1", "theorem2"),
        *("theorem3", "theorem3-sigma-r", "theorem4", "theorem5", "corollary1", "equal-contribution"),
        *("scale-order", "tight-full-rank", "epsilon-squared", "tight-degenerate", "estimate-bound"),
        *("statistical-consistency", "statistical-consistency-figures", "movement-costs"),
        *("switching-overpowers", "tradeoff-blind", "tradeoff-cost"),
    }
    assert "of 15 claims about experiments, 15 hold; of 1 claim about theory, 1 is not contradicted" in true.finding
    assert "makes 15 of 15 hold" in true.finding
    assert "Of the 8 claims that SCaLE or HySCaLE beats another policy, 8 hold in full." in true.finding


def test_claims_that_no_number_can_test_say_why(true: Judgment) -> None:
    found = [claim for claim in true.claims if claim.untestable]
    assert {claim.id for claim in found} == {
        *("first-algorithm", "interpolation-class", "tradeoff-orthogonal", "trace-norm"),
    }
    for claim in found:
        assert claim.status is Status.UNTESTED
        assert claim.summary == f"not tested: {claim.untestable}"


def test_the_headline_tells_the_primary_evaluation_in_plain_words(true: Judgment) -> None:
    assert true.headline.startswith(
        "The main claim of the paper's primary evaluation, that SCaLE and HySCaLE both outperform all baselines, holds "
        "in 20 of 20 ways to read what the text leaves open; 0 cannot be told with 12 runs. SCaLE alone beats all "
        "baselines in 20 of 20, and loses in 0; 0 cannot be told."
    )
    # 100 T^1.2 for baselines and T^0.4 for SCaLE at T = 1,000; all runs differ by a common factor.
    share = f"{1000.0**-0.8 / 100.0:.3g}".replace("e-0", "e-")
    assert f"it has {share} times ({share} to {share}) the mean regret of the best baseline" in true.headline
    assert "for 3 of 3 spectra of A, and for 3 if the baselines have that rate too" in true.headline
    assert "while by means SCaLE, so calibrated, wins for 3." in true.headline
    assert true.headline.endswith(
        "SCaLE outperforms all baselines in 8 of 8 with sigma_r = 1 and in 8 of 8 with sigma_r = 0.01."
    )

    def slow_baselines_win(setting: Setting, name: str, T: int) -> float:
        best = name in ("POL/slow", "OAL/slow") and setting.name == "primary"
        return 1e-3 if best else as_the_paper_says(setting, name, T)

    told = judge_invented(slow_baselines_win, ["primary"]).headline
    assert "for 3 of 3 spectra of A, and for 0 if the baselines have that rate too" in told
    assert "sigma_r" not in told
    assert judge_invented(as_the_paper_says, ["heavy_tails_1"]).headline == ""


def test_every_claim_quotes_the_paper(true: Judgment) -> None:
    for claim in true.claims:
        assert claim.quote.endswith("."), claim.id


def test_each_part_of_the_paper_has_a_reading_in_which_all_its_claims_hold(true: Judgment) -> None:
    for section in true.sections:
        if section.id in ("introduction", "tradeoff"):  # what these claim needs evidence beside regret
            assert section.summary == "not tested"
            continue
        if section.id == "appendix":
            assert section.summary == "its claims are only implied"
            continue
        assert section.all_hold
        assert section.best == LITERAL
        assert section.summary.startswith(
            (f"all {section.stated} stated claims hold in every", "its one", "both stated")
        )


def test_the_columns_are_the_literal_reading_and_one_change_at_a_time(true: Judgment) -> None:
    assert next(iter(true.columns.items())) == ("to the letter", LITERAL)
    changed = [reading.changes() for reading in true.columns.values()]
    assert [len(change) for change in changed] == [0, *[1] * 9]
    for claim in true.tested:
        for reading in true.columns.values():
            assert claim.verdict(reading) is not None


def test_a_claim_that_holds_in_one_reading_only_says_so() -> None:
    def only_guarantee(setting: Setting, name: str, T: int) -> float:
        value = as_the_paper_says(setting, name, T)
        return value if "SCaLE" not in name or "guarantee" in name else 1e9 * T * T

    claim = judge_invented(only_guarantee, ["primary"]).claim("primary-scale-outperforms")
    assert {status: count for status, count in claim.counts.items() if count} == {Status.HOLDS: 2, Status.FAILS: 18}
    assert claim.charitable is not None
    assert claim.charitable.reading == Reading(gamma2="guarantee")
    assert claim.summary == (
        "to the letter: fails; of 20 readings: holds in 2, fails in 18; at best (gamma^2 = eta max(T^p, 2/sigma)): "
        "holds"
    )


def test_no_reading_that_makes_all_claims_of_a_section_hold_is_reported() -> None:
    def never_hybrid(setting: Setting, name: str, T: int) -> float:
        return 1e9 * T if name.startswith("HySCaLE") else as_the_paper_says(setting, name, T)

    judgment = judge_invented(never_hybrid, ["primary"])
    (section,) = [section for section in judgment.sections if section.id == "primary"]
    assert section.all_hold == ()
    assert section.summary.startswith("no reading makes all 4 stated claims hold; at most ")


def test_what_the_runs_do_not_tell_is_said_with_their_number() -> None:
    def close(_: Setting, name: str, T: int) -> float:
        return {"SCaLE": 3.0, "FTM": 3.05}.get(name.split("/")[0], 9.0) * T

    def judge_close(paired: bool) -> str:
        judgment = judge_invented(close, ["primary"], [LITERAL], spread=0.3, paired=paired)
        return judgment.claim("primary-scale-outperforms").summary

    # If good runs are good for every policy, differences of a percent are visible; otherwise they are not.
    assert judge_close(paired=True) == "holds"
    assert judge_close(paired=False) == "cannot be told with 12 runs"


def test_claims_of_settings_that_were_not_run_are_not_tested() -> None:
    judgment = judge_invented(as_the_paper_says, ["primary"])
    assert {claim.section for claim in judgment.tested} == {"primary"}
    for claim in judgment.claims:
        if claim.section == "tuning":
            assert claim.summary == "not tested"


def test_readings_that_mean_the_same_in_a_setting_are_counted_once() -> None:
    readings = all_readings()
    judgment = judge_invented(as_the_paper_says, ["rank_deficient_0.01", "rank_deficient_1"], readings)
    claim = judgment.claim("rank-outperform")
    # gamma^2, radius, gradient, statistic, and c1 of the captions or tuned: file names say what the captions say.
    assert len(claim.verdicts) == 3 * 3 * 2 * 2 * 2
    assert claim.verdict(Reading(c1="elsewhere")) is claim.verdict(LITERAL)
    assert claim.verdict(Reading(spectrum="geometric")) is claim.verdict(LITERAL)
    assert claim.verdict(Reading(c1="tuned")) is not claim.verdict(LITERAL)


def failing(name: str, factor: float) -> Sequence[str]:
    def worse(setting: Setting, policy: str, T: int) -> float:
        bad = policy.startswith("SCaLE") and setting.name == name
        return factor * T * T if bad else as_the_paper_says(setting, policy, T)

    claim = judge_invented(worse, [n for n in SETTINGS if "_r" in n and "rank" not in n], [LITERAL]).claim(
        "appendix-outperform"
    )
    verdict = claim.literal
    assert verdict is not None
    return [case.setting for case in verdict.cases if case.status is Status.FAILS]


def test_the_setting_in_which_a_claim_fails_is_named() -> None:
    assert failing("laplace_r4_1", 1e6) == ["laplace_r4_1"]
