"""Numbers as HTML."""

from __future__ import annotations

import math

from soqo._simulation.summary import format_short


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
