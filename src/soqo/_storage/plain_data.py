"""Conversion of configuration and state to plain data and back: a tree of JSON values, and arrays.

Unlike a pickle, this data cannot run code: reading looks up registered classes (`registry`) and builds them through
their constructors, which validate their arguments.

>>> from soqo.processes import Gaussian
>>> tree, arrays = pack(Gaussian(scale=[1.0, 2.0]))
>>> tree
{'tag': 'Gaussian', 'version': 1, 'fields': {'scale': {'array': '0'}}}
>>> unpack(tree, arrays)
Gaussian(scale=array([1., 2.]))
>>> describe(Gaussian(scale=50.0))
{'class': 'Gaussian', 'scale': 50.0}
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from soqo._storage.legacy_names import legacy_tag
from soqo._storage.registry import build, portability_problem, tag_of
from soqo.errors import ArgumentError, FileFormatError

_MAX_DEPTH = 100
"""No record has more levels; a file with more is refused before Python's stack overflows."""

_MAX_DESCRIBED = 1000
"""A description writes out arrays of up to this many entries, and the hash of larger ones."""


def pack(value: Any) -> tuple[Any, dict[str, np.ndarray[Any, Any]]]:
    """Split a record into a tree that JSON can hold and the arrays that it refers to by name."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    return _pack(value, arrays, "value"), arrays


def _pack(value: Any, arrays: dict[str, np.ndarray[Any, Any]], where: str) -> Any:
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        name = str(len(arrays))
        arrays[name] = value
        return {"array": name}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_pack(item, arrays, f"{where}[{i}]") for i, item in enumerate(value)]}
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ArgumentError(f"{where} must have strings as keys, got {list(value)}")
        return {"mapping": {k: _pack(item, arrays, f"{where}[{k!r}]") for k, item in value.items()}}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            f.name: _pack(getattr(value, f.name), arrays, f"{where}.{f.name}")
            for f in dataclasses.fields(value)
            if f.init
        }
        tag, version = tag_of(type(value))
        return {"tag": tag, "version": version, "fields": fields}
    raise ArgumentError(
        f"{where} must be an array, a number, a string, None, or a dataclass, tuple, list or mapping "
        f"of these, got {type(value).__name__}"
    )


def unpack(tree: Any, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Any:
    """Return the record that :func:`pack` split.

    Whatever the tree holds, it raises no error but a :class:`FileFormatError`.
    """
    try:
        return _unpack(tree, arrays, 0)
    except FileFormatError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FileFormatError(f"the record is damaged: {error}") from error


def _unpack(tree: Any, arrays: Mapping[str, np.ndarray[Any, Any]], depth: int) -> Any:
    if not isinstance(tree, dict | list):
        return tree
    if depth > _MAX_DEPTH:
        raise FileFormatError(f"the record has more than {_MAX_DEPTH} levels")
    match tree:
        case {"array": str(name)}:
            if name not in arrays:
                raise FileFormatError(f"array {name!r} is missing from the record")
            return arrays[name]
        case {"tuple": list(items)}:
            return tuple(_unpack(item, arrays, depth + 1) for item in items)
        case {"list": list(items)}:
            return [_unpack(item, arrays, depth + 1) for item in items]
        case {"mapping": dict(items)}:
            return {key: _unpack(item, arrays, depth + 1) for key, item in items.items()}
        case {"tag": str(tag), "version": version, "fields": dict(fields)}:
            return build(tag, version, {key: _unpack(item, arrays, depth + 1) for key, item in fields.items()})
        case {"class": str(name), "fields": dict(fields)}:  # written by 0.1.0
            built = {key: _unpack(item, arrays, depth + 1) for key, item in fields.items()}
            return build(legacy_tag(name), 0, built)
    keys = sorted(tree) if isinstance(tree, dict) else "of a list"
    raise FileFormatError(f"the record holds an unknown entry with keys {keys}")


def portability_problems(value: Any) -> list[str]:
    """Return why another program could not build a record from a file, for each class in it that it could not find."""
    if isinstance(value, tuple | list):
        return [problem for item in value for problem in portability_problems(item)]
    if isinstance(value, Mapping):
        return [problem for item in value.values() for problem in portability_problems(item)]
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return []
    own = portability_problem(type(value))
    inner = (getattr(value, field.name) for field in dataclasses.fields(value) if field.init)
    return [*([] if own is None else [own]), *(problem for item in inner for problem in portability_problems(item))]


def describe(value: Any) -> Any:
    """Return a record as readable JSON: arrays written out, or their hash if they are large."""
    if isinstance(value, np.ndarray | np.generic):
        if value.size <= _MAX_DESCRIBED:
            return value.tolist()
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"shape": list(value.shape), "dtype": str(value.dtype), "sha256": digest}
    if isinstance(value, tuple | list):
        return [describe(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: describe(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
        return {"class": type(value).__qualname__, **fields}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(owner := getattr(value, "__self__", None), type):
        return f"{owner.__qualname__}.{value.__name__}"  # LAI.for_problem, not that of its parent class
    return getattr(value, "__qualname__", type(value).__qualname__)


def same(one: Any, other: Any) -> bool:
    """Return whether two records are bit-identical (NaN equals NaN)."""
    tree, arrays = pack(one)
    other_tree, other_arrays = pack(other)
    return (
        repr(tree) == repr(other_tree)
        and arrays.keys() == other_arrays.keys()
        and all(
            array.dtype == other_arrays[name].dtype
            and array.shape == other_arrays[name].shape
            and np.array_equal(array, other_arrays[name], equal_nan=array.dtype.kind == "f")
            for name, array in arrays.items()
        )
    )
