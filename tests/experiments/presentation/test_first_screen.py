"""The first screen: a finding, one picture by means and by medians, and a small table."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from soqo import POL
from soqo.experiments.execution import Outcome
from soqo.experiments.judgment import Judgment
from soqo.experiments.presentation import ReportData, render_page
from soqo.typing import Array

WithRegret = Callable[[Outcome, Callable[[str, Array], Array]], Outcome]
MakeReport = Callable[..., ReportData]


def first_screen(data: ReportData) -> str:
    text = render_page(data)
    return text[text.index('class="finding"') : text.index('<section id="figures">')].partition('id="claims"')[0]


def test_the_finding_is_that_of_the_judgment(
    of_the_paper: Outcome, judgment: Judgment, make_report: MakeReport
) -> None:
    screen = first_screen(make_report([of_the_paper], judgment))
    assert screen.startswith('class="finding">It wins at c₁ = 3.</p>')
    # Claims are counted by kind; those that were not tested are not counted.
    told = re.sub(r"<[^>]+>", "", screen)
    assert "Experiments, 1 claim: 1 hold" in told
    assert "Theory, 1 claim: 1 fail" in told
    # What the paper only implies is counted with the matrix of claims.
    assert "mplied" not in told
    page = render_page(make_report([of_the_paper], judgment))
    assert "Of 1 claim that the paper only implies, 1 fails to the letter." in re.sub(r"<[^>]+>", "", page)


def test_the_first_sentence_stands_out_and_dashed_lines_have_one_meaning(
    of_the_paper: Outcome, judgment: Judgment, make_report: MakeReport
) -> None:
    told = replace(judgment, headline="It wins at c1 = 3. It loses at 5.")
    roles = {"FTM": "calibrated", "POL, rate 1e-4": "paper"}
    outcome = replace(of_the_paper, setting=replace(of_the_paper.setting, roles=roles))
    screen = first_screen(make_report([outcome], told))
    assert screen.startswith('class="finding">It wins at c₁ = 3.</p>\n<p class="more">It loses at 5.</p>')
    assert "Solid lines:" in screen
    assert screen.count("Dashed lines:") == 1


def test_learners_of_another_rate_are_beside_the_papers(outcomes: dict[str, Outcome], make_report: MakeReport) -> None:
    setting = outcomes["second"].setting
    (learner,) = [name for name in setting.policies if name.startswith("POL")]
    other = "POL, rate 1e-8"
    policies = {**setting.policies, other: POL(1e-8)}
    results = {
        T: replace(result, records={**{name: result[name] for name in result}, other: result[learner]})
        for T, result in outcomes["second"].results.items()
    }
    roles = {"FTM": "paper", learner: "paper"}
    screen = first_screen(make_report([Outcome(replace(setting, policies=policies, roles=roles), results)]))
    assert "POL <small>ξ = 0.0001</small></th>" in screen
    assert "POL <small>ξ = 10⁻⁸</small> <small>not in the paper</small></th>" in screen
    assert 'data-curve="POL, ξ = 10⁻⁸"' in screen


def test_without_claims_the_finding_names_the_best_policy(
    outcomes: dict[str, Outcome], make_report: MakeReport, with_regret: WithRegret
) -> None:
    def edit(name: str, shares: Array) -> Array:
        found = np.full_like(shares, 9.0)
        if name == "FTM":  # one bad run of three: a low median, and a high mean
            found[:] = [[1.0], [1.0], [100.0]]
        return found - (name == "GLIDE")

    outcome = with_regret(outcomes["second"], edit)
    assert "After 60 rounds, GLIDE has the least mean regret, 480, and FTM the least median, 60." in first_screen(
        make_report([outcome])
    )
    alone = with_regret(outcomes["second"], lambda name, r: np.full_like(r, 1.0 if name == "GLIDE" else 2.0))
    told = first_screen(make_report([alone]))
    assert "GLIDE has the least regret of 4 policies, with mean 60 and median 60." in told


def test_the_picture_is_there_by_means_and_by_medians_with_direct_labels(
    of_the_paper: Outcome, make_report: MakeReport
) -> None:
    screen = first_screen(make_report([of_the_paper]))
    assert re.findall(r'data-panel="0" data-statistic="(\w+)" data-labels', screen) == ["mean", "median"]
    assert 'data-curve="FTM"' in screen
    assert "GLIDE" not in screen


def test_the_table_has_the_means_and_medians_of_the_papers_policies(
    of_the_paper: Outcome, make_report: MakeReport
) -> None:
    table = first_screen(make_report([of_the_paper])).partition('<table class="ends"')[2]
    rows = re.findall(r'<tr role="row"><th[^>]*>(.*?)</tr>', table.partition("<tbody")[2])
    assert len(rows) == 2
    power = re.search(r"in units of 10<sup>(\d+)</sup>", table)
    unit = 10.0 ** int(power[1]) if power else 1.0
    for name, row in zip(("FTM", "POL, rate 1e-4"), rows, strict=True):
        regret = of_the_paper.regret(name)
        assert f"</span>{name.partition(',')[0]}" in row
        means, medians = re.findall(r"<b>([^/]+?)</b>", row.replace("<sup>", "").replace("</sup>", ""))
        for found, expected in ((means, regret.mean()), (medians, np.median(regret))):
            value = float(found.replace("·10", "e").replace("\N{MINUS SIGN}", "-")) * unit
            assert value == pytest.approx(float(expected), rel=5e-3)  # three digits


def test_primary_comes_first_and_a_sweep_never_does(outcomes: dict[str, Outcome], make_report: MakeReport) -> None:
    third = replace(outcomes["third"], setting=replace(outcomes["third"].setting, name="primary", figure="primary"))
    screen = first_screen(make_report([outcomes["sweep_1"], outcomes["second"], third]))
    assert 'data-chart="primary_headline"' in screen
    screen = first_screen(make_report([outcomes["sweep_1"], outcomes["second"]]))
    assert 'data-chart="second_headline"' in screen
    screen = first_screen(make_report([outcomes["sweep_1"]]))
    assert "sweep a parameter" in screen
    assert "data-chart" not in screen
