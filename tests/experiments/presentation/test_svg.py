"""An SVG in a page: unique ids, complete references, and colors that stand out on a dark page."""

from __future__ import annotations

import re

import pytest

from soqo import policies
from soqo.experiments.judgment import Evidence
from soqo.experiments.presentation import (
    CAPTION_COLOR,
    ReportData,
    ReportFigure,
    policy_styles,
    render_page,
    sequential_colors,
)

SVG = """<?xml version="1.0"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" height="8pt" viewBox="0 0 9 38" version="1.1">
<metadata>made http://by.somebody</metadata><defs><style type="text/css">*{x: y}</style></defs>
<g id="title"><text style="fill: #123456">Title</text></g>
<defs><path id="mark" d="M 0 0" style="stroke: #000000"/></defs>
<g clip-path="url(#clip)"><use xlink:href="#mark" style="fill: #7A1FA2"/></g>
<clipPath id="clip"><rect/></clipPath></svg>
"""
ABOUT = {"command": "", "quick": False, "versions": {}, "code": "", "settings": {"mine": {"runs": 1, "seed": 0}}}
DARK_PAGE = "#1b1e24"
COLORS = [
    *(color for color, _ in policy_styles([*policies.__all__, *map(str, range(8))]).values()),
    CAPTION_COLOR,
    *sequential_colors(5),
]


def page_of(svg: str, name: str = "x") -> str:
    """A page with one figure."""
    figure = ReportFigure(name, name, "A heading", "", "", ())
    return render_page(ReportData((), {}, None, Evidence(), (figure,), {name: svg}, ABOUT))


def element(page: str) -> str:
    return page[page.index("<svg ") : page.index("</svg>")]


def variables(page: str) -> tuple[dict[str, str], dict[str, str]]:
    """The colors of the light and of the dark page."""
    light, dark = [line for line in page.splitlines() if ":root { --c-" in line]
    return dict(re.findall(r"(--c-\w+): (#\w+);", light)), dict(re.findall(r"(--c-\w+): (#\w+);", dark))


def contrast(one: str, other: str) -> float:
    """By the definition of WCAG 2.1."""

    def luminance(color: str) -> float:
        parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        r, g, b = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_ids_and_references_get_the_same_prefix() -> None:
    text = element(page_of(SVG, "heavy_tails_0.01"))
    ids = set(re.findall(r'\bid="([^"]+)"', text))
    assert ids == {"heavy_tails_0-01-mark", "heavy_tails_0-01-clip"}
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', text)) == ids


def test_nothing_refers_to_the_network_and_a_heading_replaces_the_title() -> None:
    text = element(page_of(SVG))
    assert "http" not in text
    assert "Title" not in text
    assert "<style" not in text
    assert 'viewBox="0 18 9 20"' in text


def test_colors_become_variables_that_the_page_defines() -> None:
    page = page_of(SVG)
    light, dark = variables(page)
    assert light == {"--c-000000": "#000000", "--c-7a1fa2": "#7a1fa2"}
    assert set(re.findall(r"var\((--c-\w+)\)", element(page))) == set(light) == set(dark)
    assert dark["--c-7a1fa2"] != "#7a1fa2"


@pytest.mark.parametrize("color", dict.fromkeys(COLORS))
def test_every_color_stands_out_on_the_dark_page(color: str) -> None:
    _, dark = variables(page_of(f'<svg viewBox="0 0 9 9"><path style="stroke: {color}"/></svg>'))
    (adapted,) = dark.values()
    assert contrast(adapted, DARK_PAGE) >= 3.0
