"""Every program of the gallery draws its picture, in both themes, and is short."""

from __future__ import annotations

from pathlib import Path

import pytest

from gallery_pages import draw, scripts

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("script", scripts(), ids=lambda script: script.stem)
def test_a_program_of_the_gallery_draws_two_pictures(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    light, dark = draw(script, tmp_path)
    assert light.read_text(encoding="utf-8") != dark.read_text(encoding="utf-8")
    assert "#15171c" in dark.read_text(encoding="utf-8")


def test_a_program_of_the_gallery_has_about_twenty_lines() -> None:
    for script in scripts():
        lines = [line for line in script.read_text(encoding="utf-8").splitlines() if line.strip()]
        assert len(lines) <= 26, script.name
