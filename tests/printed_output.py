"""Compare what a program prints with what a document shows."""

from __future__ import annotations

import re

NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")

CHAOTIC = re.compile("1e-0?6|as printed|overshoots")
"""Lines about learners that overshoot, which amplify the round-off of another CPU."""


def assert_same_but_for_round_off(printed: str, shown: str) -> None:
    """The same words, and numbers that differ by two units of their last digit at most; 15 % in chaotic lines."""
    space = re.compile(r"\s+")
    lines, expected = (text.strip("\n").split("\n") for text in (printed, shown))
    assert len(lines) == len(expected)
    for line, other in zip(lines, expected, strict=True):
        assert space.sub(" ", NUMBER.sub("#", line)) == space.sub(" ", NUMBER.sub("#", other))
        for one, two in zip(NUMBER.findall(line), NUMBER.findall(other), strict=True):
            near = 0.15 * abs(float(two)) if CHAOTIC.search(other) else 2.01 * last_digit(two)
            assert abs(float(one) - float(two)) <= near, (line, other)


def last_digit(number: str) -> float:
    """Return the value of a unit of the last digit: 0.01e5 for ``1.17e5``."""
    mantissa, _, exponent = number.partition("e")
    return float(f"1e{int(exponent or 0) - len(mantissa.partition('.')[2])}")
