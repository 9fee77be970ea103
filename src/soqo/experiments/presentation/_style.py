"""Colors and line styles of policies, safe for color-blind readers (Okabe and Ito), symbols, and dark pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from zlib import crc32

from soqo._foundation.optional_imports import require_extra

POLICY_COLORS = {
    "LAI": "#000000",
    "FTM": "#D55E00",
    "ROBD": "#009E73",
    "POL": "#0072B2",
    "OAL": "#CC79A7",
    "SCaLE": "#E69F00",
    "HySCaLE": "#56B4E9",
    "GLIDE": "#7A1FA2",
}
"""Fixed colors. Any other policy gets one of ``_OTHER_COLORS``, so this table need not grow."""

_OTHER_COLORS = ("#8C564B", "#1F2BD1", "#9DC44E", "#5A2A4E", "#4A4A10", "#B1893B", "#6B5BFF", "#80D8A0")

CAPTION_COLOR = "#666666"
"""The gray of captions and of auxiliary lines."""

_SYMBOLS = {
    "A_hat": "Â",
    "alpha": "\N{GREEK SMALL LETTER ALPHA}",
    "alpha_1": "\N{GREEK SMALL LETTER ALPHA}₁",
    "alpha_2": "\N{GREEK SMALL LETTER ALPHA}₂",
    "beta_1": "β₁",
    "beta_2": "β₂",
    "delta": "δ",
    "epsilon": "ε",
    "eta": "η",
    "gamma^2": "γ²",
    "gamma^4": "γ⁴",
    "gamma": "\N{GREEK SMALL LETTER GAMMA}",
    "Sigma": "Σ",
    "sigma_min": "σₘᵢₙ",
    "sigma_r": "σᵣ",
    "sigma_v": "σᵥ",
    "sigma": "\N{GREEK SMALL LETTER SIGMA}",
    "c1": "c₁",
    "C1": "C₁",
    "C2": "C₂",
    "x0": "x₀",
    "v0": "v₀",
    "xi": "ξ",
    "Omega": "Ω",
    "Theta": "Θ",
}
"""The paper's symbols for names that the text of a setting spells out."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LINE_STYLES = ("-", "--", ":", "-.")


def policy_styles(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return a color and a line style for each name of a policy.

    The first word of a name identifies the policy. Names of one policy share its color and differ in line style: the
    first one is solid, and one with "as printed" comes before the others. A policy without a fixed color gets one that
    depends on its name only, unless another policy among ``names`` has it already.

    Parameters
    ----------
    names : iterable of str
        The labels of the lines in one figure, such as "POL, rate 1e-8".

    Returns
    -------
    dict of str to (str, str)
        By name, the color as a hexadecimal code and the line style as Matplotlib writes it.

    Examples
    --------
    >>> policy_styles(["FTM", "POL, rate 1e-6", "POL, rate 1e-8"])["POL, rate 1e-8"]
    ('#0072B2', '--')
    >>> policy_styles(["SCaLE", "SCaLE as printed"])["SCaLE"]
    ('#E69F00', '--')
    """
    colors = dict(POLICY_COLORS)
    used: dict[str, int] = {}
    styles = {}
    listed = list(names)
    for name in sorted(listed, key=lambda name: "as printed" not in name):  # a stable order
        policy = name.replace(",", " ").split()[0]
        color = colors.setdefault(policy, _choose_color(policy, set(colors.values())))
        styles[name] = (color, _LINE_STYLES[used.get(color, 0) % len(_LINE_STYLES)])
        used[color] = used.get(color, 0) + 1
    return {name: styles[name] for name in listed}


def _choose_color(policy: str, taken: set[str]) -> str:
    """Return the first free color, counted from the one that a checksum of the name selects."""
    start = crc32(policy.encode()) % len(_OTHER_COLORS)
    order = _OTHER_COLORS[start:] + _OTHER_COLORS[:start]
    return next((color for color in order if color not in taken), order[0])


def sequential_colors(count: int) -> list[str]:
    """Return colors for an ordered parameter, from dark to light, that stand out on white (extra ``lab``).

    Parameters
    ----------
    count : int
        The number of colors.

    Returns
    -------
    list of str
        Hexadecimal codes.

    Examples
    --------
    >>> sequential_colors(2)
    ['#482475', '#7ad151']
    """
    colors = require_extra("matplotlib.colors", "lab")
    viridis = require_extra("matplotlib", "lab").colormaps["viridis"]
    return [colors.to_hex(viridis(0.1 + 0.7 * k / max(1, count - 1))) for k in range(count)]


def typeset(text: str) -> str:
    """Replace the names of parameters in a text by the paper's symbols, and powers of ten by exponents.

    Examples
    --------
    >>> typeset("Heavy tails: sigma_r = 0.01, eta = 50, rate 1e-6")
    'Heavy tails: σᵣ = 0.01, η = 50, rate 10⁻⁶'
    """
    names = "|".join(map(re.escape, _SYMBOLS))
    named = re.sub(rf"\b({names})\b", lambda match: _SYMBOLS[match[1]], text)
    return re.sub(r"\b1e(-?\d+)\b", lambda match: f"10{match[1].translate(_SUPERSCRIPTS)}", named)


# ---- colors of pages -----------------------------------------------------------------------------------------------

_DARK_PAGE = "#1b1e24"
_FIXED = {"#000000": "#e6e8ec", "#ffffff": _DARK_PAGE}
"""Colors of ink and paper, and what they become on a dark page."""

_MIN_CONTRAST = 4.0
"""The contrast of a line with the dark page, as WCAG measures it. WCAG requires 3."""


def color_variable(color: str) -> str:
    """Return the CSS variable of a color, which differs on light and dark pages."""
    return f"--c-{color[1:].lower()}"


def render_color_rules(colors: Iterable[str]) -> str:
    """Return the CSS that defines the variables of the colors, for a light and for a dark page."""
    names = sorted(colors)
    light = " ".join(f"{color_variable(color)}: {color};" for color in names)
    dark = " ".join(f"{color_variable(color)}: {_adapt_to_dark(color)};" for color in names)
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
