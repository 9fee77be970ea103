"""Numbers and formulas as HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from html import escape

from soqo._simulation.summary import format_short
from soqo.experiments.presentation._style import typeset


def render_text(text: str) -> str:
    """Return a text as HTML, with the paper's symbols, powers above and indices below the line.

    Examples
    --------
    >>> render_text("R_val grows as T^(1/2), and |eta|_1 & T^p do not")
    'R<sub>val</sub> grows as T<sup>1/2</sup>, and |η|<sub>1</sub> &amp; T<sup>p</sup> do not'
    """
    shown = re.sub(r"\bsqrt\(", "√(", escape(typeset(text)))
    shown = re.sub(r"\^\((-?[\w/]+)\)|\^(-?\w+)", lambda match: f"<sup>{match[1] or match[2]}</sup>", shown)
    return re.sub(r"(?<=[RCxv|])_(val|basis|[\dt*])(?![\w/])", r"<sub>\1</sub>", shown)


def common_unit(values: Iterable[float]) -> int:
    """Return the power of ten in which several numbers are short: that of the smallest, if none is far above it.

    Examples
    --------
    >>> common_unit([1.4e5, 4.6e6]), common_unit([2.0, 3e9]), common_unit([0.2, 12.0])
    (5, 0, 0)
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value]
    if not sizes or max(sizes) >= 1e3 * min(sizes) or max(sizes) < 1e3:
        return 0
    return math.floor(math.log10(min(sizes)))


def format_number(value: float) -> str:
    """Format a number in the style of the axes.

    Examples
    --------
    >>> [format_number(value) for value in (0.25, -1.23e6, float("inf"))]
    ['0.25', '−1.23·10<sup>6</sup>', '∞']
    """
    if not math.isfinite(value):
        return "∞"
    digits, _, exponent = format_short(value).replace("-", "\N{MINUS SIGN}").partition("e")
    return f"{digits}·10<sup>{exponent}</sup>" if exponent else digits


def format_interval(low: float, high: float) -> str:
    """Format the ends of an interval.

    Examples
    --------
    >>> format_interval(0.1, 2.5)
    '0.1 to 2.5'
    """
    return f"{format_number(low)} to {format_number(high)}"


def pluralize(count: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> pluralize(1, "setting"), pluralize(5, "setting")
    ('1 setting', '5 settings')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
