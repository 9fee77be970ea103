"""One look for all figures: a color per policy, safe for the color-blind (Okabe and Ito), and quiet axes."""

from __future__ import annotations

from typing import Any

__all__ = ["COLORS", "RC", "look"]

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

    Examples
    --------
    >>> look(("FTM", "POL, rate 1e-6", "POL, rate 1e-8"))["POL, rate 1e-8"]
    ('#0072B2', '--')
    """
    styles = ("-", "--", ":", "-.")
    seen: dict[str, int] = {}
    colors = dict(COLORS)
    looks = {}
    for name in names:
        family = name.replace(",", " ").split()[0]
        variant = seen.get(family, 0)
        seen[family] = variant + 1
        unknown = len(colors) - len(COLORS)
        color = colors.setdefault(family, OTHERS[unknown % len(OTHERS)])
        looks[name] = (color, styles[variant % len(styles)])
    return looks
