"""What a report consists of reaches the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from soqo.experiments import Setting, presentation, reproduce
from soqo.experiments.presentation import ReportData


def test_the_page_gets_every_outcome_its_curves_and_the_pictures(
    small: dict[str, Setting], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[ReportData] = []

    def render(data: ReportData) -> str:
        seen.append(data)
        return "a page"

    monkeypatch.setattr(presentation, "render_page", render)
    chosen = [small["second"], small["sweep_1"]]
    index = reproduce(chosen, tmp_path, workers=1).index
    (data,) = seen
    assert index.read_text(encoding="utf-8") == "a page"
    assert [outcome.setting.name for outcome in data.outcomes] == ["second", "sweep_1"]
    assert set(data.curves) == {"second", "sweep_1"}
    assert {figure.name for figure in data.figures} == set(data.svgs) == {"second", "sweep"}
    assert data.judgment is None
