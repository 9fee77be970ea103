"""One look for all figures: a color per policy, safe for the color-blind (Okabe and Ito), and quiet axes."""

from __future__ import annotations

import re
from typing import Any

from soqo.errors import require_extra

__all__ = ["BOUNDS", "COLORS", "RC", "SMALL", "VARIANTS", "look", "ordered", "symbols"]

COLORS = {
    "LAI": "#000000",
    "FTM": "#D55E00",
    "ROBD": "#009E73",
    "POL": "#0072B2",
    "OAL": "#CC79A7",
    "SCaLE": "#E69F00",
    "HySCaLE": "#56B4E9",
    "GLIDE": "#7A1FA2",
}
"""By policy; the same everywhere."""

OTHERS = ("#7F7F7F", "#8C564B", "#B8A800")
"""For policies that have no color of their own, in the order they come."""

BOUNDS = {
    "Theorem 1": "#6FB7E0",
    "Theorem 2": "#888888",
    "Theorem 3": "#3FA796",
    "Theorem 4": "#117733",
    "Theorem 5": "#117733",
    "Corollary 1": "#882255",
    "Second order": "#AA4499",
}
"""By statement of the theory: muted, none of them a policy's, and darker for lines that lie on others."""

VARIANTS = {"corrected": "--", "as_printed": ":", "appendix": "-."}
"""The line style of a bound, by variant."""

SMALL = "#666666"
"""The color of captions."""

SYMBOLS = {
    "eta": "η",
    "sigma_r": "σᵣ",
    "sigma_v": "σᵥ",
    "c1": "c₁",
    "x0": "x₀",
    "v0": "v₀",
}
"""How the paper writes what a setting's text spells out."""

STYLES = ("-", "--", ":", "-.")

RC: dict[str, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.dpi": 110,
    "font.size": 9.5,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "savefig.bbox": "tight",
    "svg.fonttype": "none",
    "svg.hashsalt": "soqo",
}
"""Settings for ``matplotlib.rc_context``; the salt makes an SVG the same from run to run."""


def look(names: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """Color and line style for each name.

    A policy is told by the first word of its name; variants of one policy share its color and differ in line style.
    What is as printed in the paper is dashed.

    Examples
    --------
    >>> look(("FTM", "POL, rate 1e-6", "POL, rate 1e-8"))["POL, rate 1e-8"]
    ('#0072B2', '--')
    >>> look(("SCaLE as printed",))["SCaLE as printed"]
    ('#E69F00', '--')
    """
    taken: dict[str, list[str]] = {}
    colors = dict(COLORS)
    looks = {}
    for name in names:
        family = name.replace(",", " ").split()[0]
        used = taken.setdefault(family, [])
        wanted = ("--", *STYLES) if "as printed" in name else STYLES
        free = [style for style in wanted if style not in used]
        style = free[0] if free else STYLES[len(used) % len(STYLES)]
        used.append(style)
        unknown = len(colors) - len(COLORS)
        color = colors.setdefault(family, OTHERS[unknown % len(OTHERS)])
        looks[name] = (color, style)
    return looks


def symbols(text: str) -> str:
    """A text with the paper's symbols.

    Examples
    --------
    >>> symbols("Heavy tails: sigma_r = 0.01, eta = 50")
    'Heavy tails: σᵣ = 0.01, η = 50'
    """
    return re.sub(rf"\b({'|'.join(SYMBOLS)})\b", lambda found: SYMBOLS[found[1]], text)


def ordered(count: int) -> list[str]:
    """Colors in an order that the eye follows, from dark to light, without the ends that paper would swallow.

    Examples
    --------
    >>> ordered(2)
    ['#482475', '#7ad151']
    """
    colors = require_extra("matplotlib.colors", "lab")
    viridis = require_extra("matplotlib", "lab").colormaps["viridis"]
    return [colors.to_hex(viridis(0.1 + 0.7 * k / max(1, count - 1))) for k in range(count)]
