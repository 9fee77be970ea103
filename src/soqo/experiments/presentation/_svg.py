"""Put an SVG that Matplotlib wrote into a page: ids that no other picture has, colors that follow the page."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["adapted", "color_rules"]

INK, PAPER = "#000000", "#ffffff"
DARK_PAPER = "#1b1e24"
TITLE_ID, TITLE_HEIGHT = "title", 18.0
"""The group that holds a picture's title, and how many points it takes at the top: a page has a heading for it."""

CONTRAST = 4.0
"""Of a line against the dark page, as WCAG measures it; it asks for 3 at least."""


def adapted(svg: str, name: str) -> tuple[str, set[str]]:
    """The ``<svg>`` element for a page, and the colors in it, each of which has become a variable.

    Examples
    --------
    >>> svg = '<?xml version="1.0"?><svg width="9pt" viewBox="0 0 9 9"><path id="a" style="fill: #7A1FA2"/></svg>'
    >>> adapted(svg, "x")
    ('<svg viewBox="0 0 9 9"><path id="x-a" style="fill: var(--c-7a1fa2)"/></svg>', {'#7a1fa2'})
    """
    text = svg[svg.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    opening, rest = text[: text.index(">")], text[text.index(">") :]
    opening = re.sub(r'\s(width|height|version|xmlns(:\w+)?)="[^"]*"', "", opening)
    text = opening + rest.replace("xlink:href=", "href=")
    text = without_title(text)
    prefix = re.sub(r"[^A-Za-z0-9_-]", "-", name)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'(url\(|href=")#([^")]+)', rf"\1#{prefix}-\2", text)
    colors = {found.lower() for found in re.findall(r": (#[0-9A-Fa-f]{6})\b", text)}
    text = re.sub(r": #([0-9A-Fa-f]{6})\b", lambda found: f": var(--c-{found[1].lower()})", text)
    return text, colors


def without_title(svg: str) -> str:
    """An SVG without the group of its title, and without the room for it.

    Examples
    --------
    >>> without_title('<svg viewBox="0 0 90 50"><g id="title"><text>T</text></g><g/></svg>')
    '<svg viewBox="0 18 90 32"><g/></svg>'
    """
    shorter, found = re.subn(rf'<g id="{TITLE_ID}">.*?</g>\s*', "", svg, flags=re.DOTALL)
    if not found:
        return svg
    box = re.compile(r'viewBox="0 0 (\S+) ([^"\s]+)"')
    return box.sub(
        lambda m: f'viewBox="0 {TITLE_HEIGHT:g} {m[1]} {float(m[2]) - TITLE_HEIGHT:g}"',
        shorter,
        count=1,
    )


def color_rules(colors: Iterable[str]) -> str:
    """The variables for a light page, and for a dark one what can be told from its ground."""
    names = sorted(colors)
    light = " ".join(f"--c-{color[1:]}: {color};" for color in names)
    dark = " ".join(f"--c-{color[1:]}: {on_dark(color)};" for color in names)
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"


def on_dark(color: str) -> str:
    """A color for the dark page: ink and paper change places, others become lighter until they stand out.

    Examples
    --------
    >>> on_dark("#000000"), on_dark("#e69f00"), on_dark("#7a1fa2")
    ('#e6e8ec', '#e69f00', '#a567c0')
    """
    if color == INK:
        return "#e6e8ec"
    if color == PAPER:
        return DARK_PAPER
    channels = [int(color[k : k + 2], 16) for k in (1, 3, 5)]
    for step in range(0, 101, 2):
        mixed = "#" + "".join(f"{round(c + (255 - c) * step / 100):02x}" for c in channels)
        if contrast(mixed, DARK_PAPER) >= CONTRAST:
            break
    return mixed


def contrast(one: str, other: str) -> float:
    """The ratio of the luminances of two colors, from 1 to 21.

    Examples
    --------
    >>> round(contrast("#000000", "#ffffff"), 3)
    21.0
    """
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(color: str) -> float:
    """Relative luminance as WCAG defines it."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
