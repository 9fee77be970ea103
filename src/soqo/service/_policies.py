"""Policies as tables: a kind and its arguments, as in a settings file. No table can name code outside of soqo."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
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
