"""A picture in a page: no id twice, every reference kept, colors that stand out on a dark ground."""

from __future__ import annotations

import re

import pytest

from soqo.experiments.presentation._style import COLORS, OTHERS, SMALL, ordered
from soqo.experiments.presentation._svg import DARK_PAPER, adapted, color_rules, contrast, on_dark

SVG = """<?xml version="1.0"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" height="8pt" viewBox="0 0 9 38" version="1.1">
<metadata>made http://by.somebody</metadata><defs><style type="text/css">*{x: y}</style></defs>
<g id="title"><text style="fill: #123456">Title</text></g>
<defs><path id="mark" d="M 0 0" style="stroke: #000000"/></defs>
<g clip-path="url(#clip)"><use xlink:href="#mark" style="fill: #7A1FA2"/></g>
<clipPath id="clip"><rect/></clipPath></svg>
"""


def test_ids_and_references_are_prefixed_alike() -> None:
    text, _ = adapted(SVG, "heavy_tails_0.01")
    ids = set(re.findall(r'\bid="([^"]+)"', text))
    assert ids == {"heavy_tails_0-01-mark", "heavy_tails_0-01-clip"}
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', text)) == ids


def test_nothing_points_outside_and_the_title_is_left_to_the_page() -> None:
    text, _ = adapted(SVG, "x")
    assert "http" not in text
    assert "Title" not in text
    assert "<style" not in text
    assert text.startswith('<svg viewBox="0 18 9 20">')


def test_colors_become_variables_that_the_rules_define() -> None:
    text, colors = adapted(SVG, "x")
    assert colors == {"#000000", "#7a1fa2"}
    light, dark = color_rules(colors).split("\n")
    for used in re.findall(r"var\((--c-\w+)\)", text):
        assert f"{used}: " in light
        assert f"{used}: " in dark
    assert "--c-7a1fa2: #7a1fa2;" in light
    assert "--c-7a1fa2: #7a1fa2;" not in dark


@pytest.mark.parametrize("color", [*COLORS.values(), *OTHERS, SMALL, *ordered(5)])
def test_every_color_stands_out_on_the_dark_page(color: str) -> None:
    assert contrast(on_dark(color.lower()), DARK_PAPER) >= 3.0
