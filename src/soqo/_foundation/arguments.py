"""Checks of arguments, with errors that name the argument, what was expected and what was given."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from soqo._foundation.blas import is_finite_quick
from soqo.errors import ArgumentError
from soqo.typing import Array


def instance(name: str, value: object, *kinds: type) -> None:
    """Raise an error unless a value is an instance of one of the classes."""
    if not isinstance(value, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        article = "an" if expected[0] in "AEIOU" else "a"
        raise ArgumentError(f"{name} must be {article} {expected}, got {type(value).__name__}")


def integer(name: str, value: Any, *, least: int, most: int | None = None) -> int:
    """Return an integer of at least ``least``; NumPy integers are accepted, booleans and floats are not."""
    expected = "a positive integer" if least == 1 else f"an integer of at least {least}"
    try:
        result = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        result = None
    if result is not None and most is not None and result > most:
        raise ArgumentError(f"{name} must be at most {most:,}, got {result}")
    if result is None or result < least:
        raise ArgumentError(f"{name} must be {expected}, got {value if result is None else result!r}")
    return result


def horizon_or_none(value: Any) -> int | None:
    """Return a horizon: a positive integer, or None if it is unknown or infinite."""
    return None if value is None else integer("horizon", value, least=1)


def number(
    name: str, value: Any, *, least: float = -math.inf, above: float = -math.inf, most: float = math.inf
) -> float:
    """Return a finite real number within the given bounds (``above`` is exclusive)."""
    try:
        result = math.nan if isinstance(value, str | bytes | bool | np.bool_) else float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if math.isfinite(result) and least <= result <= most and result > above:
        return result
    bounds = [
        f"{relation} {bound:g}"
        for relation, bound in (("at least", least), ("above", above), ("at most", most))
        if math.isfinite(bound)
    ]
    expected = " ".join(["a finite number", " and ".join(bounds)]).strip()
    raise ArgumentError(f"{name} must be {expected}, got {value!r}")


def numbers(name: str, value: Any, *, copy: bool = True) -> Array:
    """Return an array of real numbers, by default as a copy; masked entries become NaN."""
    if type(value) is np.ndarray and value.dtype == np.float64:  # the usual case, in every round
        return value.copy() if copy else value
    if type(value) is float:  # a reading of one plant
        return np.array(value)
    given = value
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "fiu":
        kind = f"dtype {given.dtype}" if isinstance(given, np.ndarray) else type(given).__name__
        raise ArgumentError(f"{name} must be an array of real numbers, got {kind}")
    return np.array(array, dtype=np.float64, copy=copy or None)


def finite_array(name: str, value: Any, *, copy: bool = True) -> Array:
    """Return an array of finite numbers, by default as a copy."""
    result = numbers(name, value, copy=copy)
    if not is_finite_quick(result) and not np.isfinite(result).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        place = f" at {list(where)}" if where else ""
        raise ArgumentError(f"{name} must be finite, got {result[where]}{place}")
    return result


def vector(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Return a copy as an array of finite numbers of exactly this shape."""
    result = finite_array(name, value)
    if result.shape != shape:
        raise ArgumentError(f"{name} must have shape {shape}, got {result.shape}")
    return result


def file_path(name: str, value: Any) -> Path:
    """Return the path of a file; an integer, which Python's functions take for an open file, is refused."""
    try:
        text = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ArgumentError(f"{name} must be a path, got {value!r}")
    return Path(text)


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return one of a few allowed words."""
    words = list(allowed)
    if value not in words:
        listed = ", ".join(repr(word) for word in words)
        raise ArgumentError(f"{name} must be one of {listed}, got {value!r}")
    return str(value)
