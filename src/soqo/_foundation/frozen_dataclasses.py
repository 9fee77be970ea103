"""Equality, hash and repr of dataclasses that hold arrays, and their fast copy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

_Record = TypeVar("_Record")

_SHOWN_ENTRIES = 16
"""A repr writes out arrays of up to this many entries, and the shape of larger ones."""


class Value:
    """Base class of ``@dataclass(frozen=True)`` with arrays: two instances with equal fields are equal.

    Derived fields (``init=False``) do not count. NaN equals NaN, so that an object always equals its copy. The repr
    leaves out defaults and the fields with ``repr=False``.

    Examples
    --------
    >>> from soqo.processes import Gaussian
    >>> Gaussian(scale=[1.0, 2.0]) == Gaussian(scale=[1.0, 2.0])
    True
    >>> Gaussian(scale=[1.0, 2.0])
    Gaussian(scale=array([1., 2.]))
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # ``dataclass`` generates these methods only where the class itself has none, and its own cannot compare arrays.
        for name in ("__eq__", "__hash__", "__repr__"):
            if name not in vars(cls):
                setattr(cls, name, getattr(cls, name))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(_equal(value, getattr(other, name)) for name, value in _fields(self))

    def __hash__(self) -> int:
        return hash((type(self), *(_hashable(value) for _, value in _fields(self))))

    def __repr__(self) -> str:
        fields: dict[str, dataclasses.Field[Any]] = getattr(self, "__dataclass_fields__", {})
        shown = [
            f"{field.name}={_short(getattr(self, field.name))}"
            for field in fields.values()
            if field.init and field.repr and not _equal(getattr(self, field.name), field.default)
        ]
        return f"{type(self).__qualname__}({', '.join(shown)})"


def _fields(value: Any) -> list[tuple[str, Any]]:
    if not dataclasses.is_dataclass(value):  # a class without the decorator, which its attributes define
        return list(vars(value).items())
    return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value) if field.init]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray | np.generic) and isinstance(other, np.ndarray | np.generic):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fM"))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return False
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list) and type(one) is type(other):
        return len(one) == len(other) and all(map(_equal, one, other))
    return one is other or bool(one == other) or (one != one and other != other)  # NaN


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        # -0.0 equals 0.0, and a scalar of NumPy equals an array without axes.
        if not value.ndim:
            return _hashable(value.item())
        return value.shape, (value if value.dtype.kind == "M" else np.asarray(value) + 0.0).tobytes()
    if isinstance(value, Mapping):
        return tuple((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, tuple | list):
        return tuple(map(_hashable, value))
    return "nan" if value != value else value  # the hash of NaN depends on the object


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > _SHOWN_ENTRIES:
        return f"array(shape={value.shape})"
    return repr(value)


def evolve(record: _Record, **fields: Any) -> _Record:
    """Copy a frozen dataclass with other values in some of its fields.

    It does what ``dataclasses.replace`` does in a third of the time, which matters for the states that change every
    round: it copies the instance dictionary and runs no constructor, so nothing is checked or derived again.

    Examples
    --------
    >>> from soqo.processes import Gaussian
    >>> evolve(Gaussian(scale=1.0), scale=2.0)
    Gaussian(scale=2.0)
    """
    result = object.__new__(type(record))
    object.__setattr__(result, "__dict__", record.__dict__ | fields)
    return result


def set_fields(record: object, **fields: Any) -> None:
    """Set fields of a frozen dataclass in its ``__post_init__``."""
    for name, value in fields.items():
        object.__setattr__(record, name, value)


def freeze(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Forbid writing to an array, and return it: configuration is frozen down to its numbers."""
    array.flags.writeable = False
    return array
