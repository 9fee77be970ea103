"""The section of evidence has a fold for each kind, with its numbers."""

from __future__ import annotations

import re

import numpy as np

from soqo.experiments.judgment import EstimationRisk, Evidence, SpectralSplit, Tail
from soqo.experiments.presentation._evidence_charts import risk_chart
from soqo.experiments.presentation._evidence_section import render_evidence

SPLIT = SpectralSplit("primary", "algorithm", "cap", 2000, np.array([3.0, 1.0, 2.0]), np.array([-2.5, -9.0, -1.0]))
TAIL = Tail("heavy_tails_1", "POL & co", {0.5: 2e6}, {0.1: 3e6}, 4e9, 0.875)


def cells(text: str, name: str) -> list[str]:
    """The cells of the table in a fold, as plain text."""
    fold = text[text.index(f'id="{name}"') :].partition("</details>")[0]
    return [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td>(.*?)</td>", fold)]


def test_tables_have_the_numbers() -> None:
    text = render_evidence(
        Evidence(split=(SPLIT,), tails=(TAIL,), tuned_c1={"primary": {"mean": 7.0, "median": 2.5}}), {}
    )
    assert cells(text, "evidence-split") == ["primary", "algorithm", "cap", "2000", "2", "\N{MINUS SIGN}2.5", "0.5"]
    assert cells(text, "evidence-tails") == ["heavy_tails_1", "POL &amp; co", "2·106", "3·106", "4·109", "88 %"]
    assert cells(text, "evidence-c1") == ["primary", "7", "2.5"]
    assert Evidence.TAIL_REASON in text
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
