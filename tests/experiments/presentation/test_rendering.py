"""Figures as text and as files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from soqo.experiments.execution import Outcome
from soqo.experiments.presentation import new_figure, regret_figure, render_svg, save_figure, write_atomically


def test_an_svg_contains_text_and_is_reproducible(outcomes: dict[str, Outcome], tmp_path: Path) -> None:
    one = render_svg(regret_figure(outcomes["intro"]))
    two = save_figure(regret_figure(outcomes["intro"]), tmp_path / "two.svg")
    assert two.read_text(encoding="utf-8") == one
    root = ElementTree.fromstring(one)
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"GLIDE", "horizon T", "Pair: small steps, η = 1"} <= texts
    assert [path.name for path in tmp_path.iterdir()] == ["two.svg"]


def test_a_file_that_cannot_be_written_keeps_its_content(tmp_path: Path) -> None:
    path = write_atomically(tmp_path / "note.png", b"old")
    assert write_atomically(path, "new, η = 1\r\n").read_bytes() == "new, η = 1\r\n".encode()
    figure = new_figure(4.0, 3.0)
    figure.text(0.5, 0.5, r"$\frac{$")
    with pytest.raises(ValueError, match="frac"):
        save_figure(figure, path)
    assert path.read_bytes() == "new, η = 1\r\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_importing_the_package_does_not_import_matplotlib() -> None:
    code = "import soqo.experiments.presentation, sys; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
