"""Whether the values that a file gives to the fields of a record have the types that the class declares.

The check is for soqo's own records, whose annotations are complete. It looks at the kind of a value and at the classes
inside of tuples and lists; shapes are the business of the class that uses the record.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

from soqo.errors import FileFormatError
from soqo.typing import ArrayLike

_ARRAY_LIKE = get_args(ArrayLike)
_NUMERIC = "biuf"
_SCALARS: dict[type, str] = {bool: "b", int: "iu", float: "iuf"}
"""The kinds of NumPy scalars that may stand for a Python number: those of an array without axes."""


def check_field_types(kind: type, fields: Mapping[str, Any]) -> None:
    """Raise a :class:`FileFormatError` that names the first field whose value does not have its declared type."""
    for name, expected in _hints(kind).items():
        if name in fields and not _conforms(fields[name], expected):
            raise FileFormatError(
                f"{kind.__qualname__}.{name} must be {_describe(expected)}, got {type(fields[name]).__name__}"
            )


@cache
def _hints(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except NameError:  # an annotation that only a type checker can resolve
        return {}


def _conforms(value: Any, expected: Any) -> bool:
    """Return whether a value has a type; types that this function does not know accept anything."""
    if expected is Any or isinstance(expected, TypeVar):
        return True
    if expected is None or expected is types.NoneType:
        return value is None
    origin, arguments = get_origin(expected), get_args(expected)
    if origin in (Union, types.UnionType):
        # ArrayLike is a union itself, whose members become those of the union that it is part of.
        if set(_ARRAY_LIKE) <= set(arguments):
            arguments = tuple(one for one in arguments if one not in _ARRAY_LIKE)
            if _is_array_like(value):
                return True
        return any(_conforms(value, one) for one in arguments)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if expected in _SCALARS:
        return _is_scalar(value, expected)
    if origin is tuple:
        return isinstance(value, tuple) and _conform_items(value, arguments)
    base = expected if origin is None else origin
    if base is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype.kind in _NUMERIC
    if isinstance(base, type) and issubclass(base, Mapping | Sequence) and arguments and base is not str:
        items = value.values() if isinstance(value, Mapping) else value
        return isinstance(value, base) and all(_conforms(item, arguments[-1]) for item in items)
    return not isinstance(base, type) or isinstance(value, base)


def _is_scalar(value: Any, expected: type) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in _SCALARS[expected]
    if expected is float and type(value) is int:
        return True
    return type(value) is expected


def _is_array_like(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(_is_array_like(item) for item in value)
    return isinstance(value, int | float | np.ndarray)


def _conform_items(value: tuple[Any, ...], arguments: tuple[Any, ...]) -> bool:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return all(_conforms(item, arguments[0]) for item in value)
    return len(value) == len(arguments) and all(map(_conforms, value, arguments))


def _describe(expected: Any) -> str:
    return expected.__name__ if isinstance(expected, type) else str(expected).replace("typing.", "")
