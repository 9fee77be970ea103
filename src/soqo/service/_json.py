"""What clients and servers exchange, as JSON has it: numbers, limits, and policies as tables.

A policy is a kind and its arguments, as in a settings file. No table can name code outside of soqo.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from soqo import policies
from soqo.errors import ArgumentError
from soqo.policies import Policy

_MAX_DEPTH = 4
"""How deep wrappers may be nested."""


@cache
def kinds() -> dict[str, type[Policy[Any]]]:
    """Return the policies that a table can name.

    Examples
    --------
    >>> "GLIDE" in kinds(), "Policy" in kinds()
    (True, False)
    """
    found = {name: getattr(policies, name) for name in policies.__all__}
    return {
        name: made
        for name, made in found.items()
        if isinstance(made, type) and issubclass(made, Policy) and not inspect.isabstract(made)
    }


def policy_from_table(table: Any, *, depth: int = 0) -> Policy[Any]:
    """Make a policy from a table with its kind and arguments, or from its kind.

    Examples
    --------
    >>> policy_from_table({"kind": "Guarded", "policy": {"kind": "GLIDE", "noise_cap": 0.5}, "ratio": 1.1})
    Guarded(policy=GLIDE(noise_cap=0.5), ratio=1.1)
    """
    if isinstance(table, str):
        table = {"kind": table}
    if not isinstance(table, Mapping) or not isinstance(table.get("kind"), str):
        raise ArgumentError(f'policy must have a kind, as in {{"kind": "GLIDE"}}, got {_shown(table)}')
    if depth > _MAX_DEPTH:
        raise ArgumentError(f"policy must not be nested deeper than {_MAX_DEPTH} times")
    arguments = {key: value for key, value in table.items() if key != "kind"}
    made = kinds().get(table["kind"])
    if made is None:
        raise ArgumentError(f"policy must be one of {', '.join(kinds())}, got {_shown(table['kind'])}")
    known = [field.name for field in _fields(made) if field.init]
    for key in arguments:
        if key not in known:
            raise ArgumentError(f"policy {made.__name__} has no argument {_shown(key)}; it has {', '.join(known)}")
    if "policy" in known and "policy" in arguments:
        arguments["policy"] = policy_from_table(arguments["policy"], depth=depth + 1)
    try:
        return made(**arguments)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise ArgumentError(f"policy {made.__name__}: {error}") from error


def policy_to_table(policy: Policy[Any]) -> dict[str, Any]:
    """Return the table of a policy: its kind, and the arguments that are not the defaults.

    Examples
    --------
    >>> import soqo
    >>> policy_to_table(soqo.GLIDE(noise_cap=0.5))
    {'kind': 'GLIDE', 'noise_cap': 0.5}
    """
    name = type(policy).__name__
    if kinds().get(name) is not type(policy):
        raise ArgumentError(f"policy must be one of soqo's own, since a server runs no other code, got {name}")
    table: dict[str, Any] = {"kind": name}
    for field in _fields(policy):
        value = getattr(policy, field.name)
        if field.init and not _is_default(field, value):
            table[field.name] = policy_to_table(value) if isinstance(value, Policy) else _plain(value)
    return table


def _fields(policy: Any) -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields of a policy, each of which is a dataclass."""
    return dataclasses.fields(policy)


def _is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    default = field.default
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return default is not None and default is not dataclasses.MISSING and np.array_equal(value, default)
    return bool(value == default)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


# ---- numbers and limits ----------------------------------------------------------------------------------------------


def to_numbers(name: str, value: Any) -> Any:
    """Return numbers, of the argument with this name, as JSON has them."""
    try:
        array = np.asarray(value)
        if array.dtype.kind != "b":
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be numbers, got {value!r}") from None
    return array.tolist()


def from_numbers(value: Any) -> Any:
    """Return lists of numbers as arrays, with NaN for what is not known."""
    if isinstance(value, list):
        return np.array(value, dtype=np.float64)
    return math.nan if value is None else value


def plain_numbers(value: Any) -> Any:
    """Return arrays as lists, also those of a mapping, with None for what is not finite.

    Examples
    --------
    >>> plain_numbers(np.array([1.0, np.nan]))
    [1.0, None]
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return [plain_numbers(one) for one in value]
    if isinstance(value, dict):
        return {name: plain_numbers(one) for name, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_limits(value: Any) -> Any:
    """Return a setting as JSON has it: None where there is no limit."""
    if isinstance(value, str | int):
        return value
    if isinstance(value, Sequence) and all(isinstance(one, str) for one in value):
        return list(value)
    found = plain_numbers(np.asarray(value, dtype=np.float64))
    return None if isinstance(found, list) and all(one is None for one in found) else found


def from_limits(value: Any, unlimited: float) -> Any:
    """Return a setting from JSON: an array with this value for entries without a limit."""
    if isinstance(value, list):
        return np.array([unlimited if entry is None else entry for entry in value])
    return value
