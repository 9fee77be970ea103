"""Prepare an SVG from Matplotlib for a page: ids become unique, and colors follow the color scheme of the page."""

from __future__ import annotations

import re
from collections.abc import Iterable

_DARK_PAGE = "#1b1e24"
_FIXED = {"#000000": "#e6e8ec", "#ffffff": _DARK_PAGE}
"""Colors of ink and paper, and what they become on a dark page."""

_TITLE_HEIGHT = 18.0
"""The height of a figure's title in points. A page replaces the title by a heading."""

_MIN_CONTRAST = 4.0
"""The contrast of a line with the dark page, as WCAG measures it. WCAG requires 3."""


def inline_svg(svg: str, name: str) -> tuple[str, set[str]]:
    """Return the ``<svg>`` element for a page, and the colors in it, each replaced by a CSS variable.

    Examples
    --------
    >>> svg = '<?xml version="1.0"?><svg width="9pt" viewBox="0 0 9 9"><path id="a" style="fill: #7A1FA2"/></svg>'
    >>> inline_svg(svg, "x")
    ('<svg viewBox="0 0 9 9"><path id="x-a" style="fill: var(--c-7a1fa2)"/></svg>', {'#7a1fa2'})
    """
    text = svg[svg.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    opening, rest = text[: text.index(">")], text[text.index(">") :]
    opening = re.sub(r'\s(width|height|version|xmlns(:\w+)?)="[^"]*"', "", opening)
    text = _remove_title(opening + rest.replace("xlink:href=", "href="))
    prefix = re.sub(r"[^A-Za-z0-9_-]", "-", name)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'(url\(|href=")#([^")]+)', rf"\1#{prefix}-\2", text)
    colors = {color.lower() for color in re.findall(r": (#[0-9A-Fa-f]{6})\b", text)}
    text = re.sub(r": #([0-9A-Fa-f]{6})\b", lambda match: f": var(--c-{match[1].lower()})", text)
    return text, colors


def _remove_title(svg: str) -> str:
    """Remove the title of a figure and the space that it occupies.

    Examples
    --------
    >>> _remove_title('<svg viewBox="0 0 90 50"><g id="title"><text>T</text></g><g/></svg>')
    '<svg viewBox="0 18 90 32"><g/></svg>'
    """
    shorter, count = re.subn(r'<g id="title">.*?</g>\s*', "", svg, flags=re.DOTALL)
    if not count:
        return svg
    return re.sub(
        r'viewBox="0 0 (\S+) ([^"\s]+)"',
        lambda match: f'viewBox="0 {_TITLE_HEIGHT:g} {match[1]} {float(match[2]) - _TITLE_HEIGHT:g}"',
        shorter,
        count=1,
    )


def render_color_rules(colors: Iterable[str]) -> str:
    """Return the CSS that defines the variables of the colors, for a light and for a dark page."""
    names = sorted(colors)
    light = " ".join(f"--c-{color[1:]}: {color};" for color in names)
    dark = " ".join(f"--c-{color[1:]}: {_adapt_to_dark(color)};" for color in names)
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"


def _adapt_to_dark(color: str) -> str:
    """Return a color for the dark page: black and white are replaced, others are mixed with white as far as needed.

    Examples
    --------
    >>> _adapt_to_dark("#000000"), _adapt_to_dark("#e69f00"), _adapt_to_dark("#7a1fa2")
    ('#e6e8ec', '#e69f00', '#a567c0')
    """
    if color in _FIXED:
        return _FIXED[color]
    channels = [int(color[k : k + 2], 16) for k in (1, 3, 5)]
    for percent in range(0, 101, 2):
        mixed = "#" + "".join(f"{round(c + (255 - c) * percent / 100):02x}" for c in channels)
        if _contrast(mixed, _DARK_PAGE) >= _MIN_CONTRAST:
            break
    return mixed


def _contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colors as WCAG defines it, from 1 to 21.

    Examples
    --------
    >>> round(_contrast("#000000", "#ffffff"), 3)
    21.0
    """
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    """Return the relative luminance as WCAG defines it."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
