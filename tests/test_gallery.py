"""Every program of the gallery draws its picture, and is short."""

from __future__ import annotations

from pathlib import Path

import pytest

from gallery_pages import draw, scripts

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("script", scripts(), ids=lambda script: script.stem)
def test_a_program_of_the_gallery_draws_its_picture_in_the_theme(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    (picture,) = draw(script, tmp_path, themes=["dark"])  # the light one is what the programs say
    assert "#15171c" in picture.read_text(encoding="utf-8")
    assert "#ffffff" not in picture.read_text(encoding="utf-8").partition("</defs>")[0]


def test_a_program_of_the_gallery_has_about_twenty_lines() -> None:
    for script in scripts():
        lines = [line for line in script.read_text(encoding="utf-8").splitlines() if line.strip()]
        assert len(lines) <= 26, script.name
