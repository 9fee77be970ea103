"""The section of evidence has a fold for each kind, with its numbers."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from soqo.experiments import find
from soqo.experiments.execution import Outcome
from soqo.experiments.judgment import EstimationRisk, Evidence, estimate_by_probes
from soqo.experiments.presentation import ReportData, render_page

MakeReport = Callable[..., ReportData]


def render(make_report: MakeReport, outcomes: dict[str, Outcome], evidence: Evidence) -> str:
    return render_page(make_report([outcomes["second"]], evidence=evidence))


def cells(text: str, name: str) -> list[list[str]]:
    """The rows of the table in a fold, as plain text."""
    fold = text[text.index(f'id="{name}"') :].partition("</details>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", fold.partition("<tbody>")[2])
    return [[re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def test_tables_have_the_numbers(make_report: MakeReport, outcomes: dict[str, Outcome]) -> None:
    estimates = (estimate_by_probes(find("gaussian_r4_1")[0], "algorithm", "cap", 2000, runs=2),)
    tails = {("heavy_tails_1", "POL & co"): np.array([0.0, 1e6, 2e6, 3e6, 34e6])}
    tuned = {"primary": {"mean": 7.0, "median": 2.5}}
    text = render(make_report, outcomes, Evidence(estimates=estimates, tails=tails, tuned_c1=tuned))
    ((name, gamma2, radius, horizon, *parts),) = cells(text, "evidence-split")
    assert (name, gamma2, radius, horizon, len(parts)) == ("gaussian_r4_1", "algorithm", "cap", "2000", 3)
    ((setting, policy, *numbers),) = cells(text, "evidence-tails")
    assert (setting, policy) == ("heavy_tails_1", "POL &amp; co")
    assert (numbers[2], numbers[-2], numbers[-1]) == ("2·106", "8·106", "85 %")
    assert cells(text, "evidence-c1") == [["primary", "7", "2.5"]]
    assert "Remark 1" not in text


def test_remark_1_has_a_chart(make_report: MakeReport, outcomes: dict[str, Outcome]) -> None:
    evidence = Evidence(risk=(EstimationRisk(1, 2, (2, 3), np.array([[0.0, 0.0], [0.1, 0.2]])),))
    text = render(make_report, outcomes, evidence)
    assert 'data-chart="risk"' in text
    assert "no error is unseen from m = 3 on" in text


def test_there_is_no_section_without_evidence(make_report: MakeReport, outcomes: dict[str, Outcome]) -> None:
    assert 'id="evidence"' not in render(make_report, outcomes, Evidence())
