"""The section of evidence has a fold for each kind, with its numbers."""

from __future__ import annotations

import re

import numpy as np

from soqo.experiments import find
from soqo.experiments.judgment import EstimationRisk, Evidence, estimate_by_probes
from soqo.experiments.presentation._evidence_charts import risk_chart
from soqo.experiments.presentation._evidence_section import render_evidence
from soqo.experiments.presentation._numbers import format_number


def cells(text: str, name: str) -> list[str]:
    """The cells of the table in a fold, as plain text."""
    fold = text[text.index(f'id="{name}"') :].partition("</details>")[0]
    return [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td>(.*?)</td>", fold)]


def test_tables_have_the_numbers() -> None:
    estimates = (estimate_by_probes(find("gaussian_r4_1")[0], "algorithm", "cap", 2000, runs=2),)
    tails = {("heavy_tails_1", "POL & co"): np.array([0.0, 1e6, 2e6, 3e6, 34e6])}
    tuned = {"primary": {"mean": 7.0, "median": 2.5}}
    text = render_evidence(Evidence(estimates=estimates, tails=tails, tuned_c1=tuned), {})
    value, basis = estimates[0].split()
    told = [format_number(float(np.median(part))) for part in (value, basis, value + basis)]
    plain = [re.sub(r"<[^>]+>", "", number) for number in told]
    assert cells(text, "evidence-split") == ["gaussian_r4_1", "algorithm", "cap", "2000", *plain]
    assert cells(text, "evidence-tails")[:2] == ["heavy_tails_1", "POL &amp; co"]
    assert cells(text, "evidence-tails")[4] == "2·106"
    assert cells(text, "evidence-tails")[-2:] == ["8·106", "85 %"]
    assert cells(text, "evidence-c1") == ["primary", "7", "2.5"]
    assert "Remark 1" not in text


def test_remark_1_has_a_chart() -> None:
    evidence = Evidence(risk=(EstimationRisk(1, 2, (2, 3), np.array([[0.0, 0.0], [0.1, 0.2]])),))
    chart = risk_chart(evidence)
    assert chart is not None
    text = render_evidence(evidence, {"risk": chart})
    assert 'data-chart="risk"' in text
    assert text.count("<details") == 1


def test_there_is_no_section_without_evidence() -> None:
    assert render_evidence(Evidence(), {}) == ""
