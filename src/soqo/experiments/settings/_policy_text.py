"""A policy in one line of text, as the command line takes it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from soqo.errors import ArgumentError
from soqo.experiments.settings._constructors import Constructor, import_policy, policy_constructors
from soqo.policies import Policy


def parse_policy(text: str) -> Policy[Any]:
    """Make a policy from a text: a kind of the settings files, with arguments in parentheses.

    Parameters
    ----------
    text : str
        Such as ``"GLIDE"``, ``"GLIDE(noise_cap=0.5, offset=false)"`` or ``"module:Class"``. Values are written as in
        TOML. A table of TOML is accepted too, as in ``'{ kind = "POL", learning_rate = 1e-3 }'``.

    Returns
    -------
    Policy
        The policy.

    Raises
    ------
    ArgumentError
        If there is no such kind, or if an argument is unknown, missing or invalid.

    Examples
    --------
    >>> parse_policy("GLIDE(noise_cap=0.5, offset=false)")
    GLIDE(offset=False, noise_cap=0.5)
    """
    name, arguments = _split(text.strip())
    constructor = _find(name)
    if constructor.from_problem:
        raise ArgumentError(f"policy must not know A, which a log does not hold, got {name}")
    for key in arguments:
        if key not in constructor.arguments:
            allowed = ", ".join(constructor.arguments) or "no arguments"
            raise ArgumentError(f"policy {name} has no argument {key!r}; it has {allowed}")
    if missing := [key for key in constructor.required if key not in arguments]:
        raise ArgumentError(f"policy {name} needs {', '.join(missing)}, as in {name}({missing[0]}=...)")
    try:
        made = constructor.make(**arguments)
    except Exception as error:  # a user's class may raise anything
        raise ArgumentError(f"policy {name}: {error}") from error
    if not isinstance(made, Policy):
        raise ArgumentError(f"policy must be a soqo.Policy, got {type(made).__name__}")
    return made


def _split(text: str) -> tuple[str, dict[str, Any]]:
    """Return the kind and the arguments in a text."""
    if text.startswith("{"):
        table = _parse_table(text, text)
        name = table.pop("kind", None)
        if not isinstance(name, str):
            raise ArgumentError(f'policy must have a kind, as in {{ kind = "GLIDE" }}, got {text!r}')
        return name, table
    match = re.fullmatch(r"([^\s()]+)\s*(?:\((.*)\))?", text, flags=re.DOTALL)
    if match is None:
        raise ArgumentError(f"policy must be a kind, such as GLIDE or GLIDE(noise_cap=0.5), got {text!r}")
    return match[1], _parse_table(f"{{{match[2]}}}", text) if match[2] else {}


def _parse_table(table: str, text: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = tomllib.loads(f"table = {table}")["table"]
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError(
            f'policy must have values as in TOML, such as 0.5, true or "text", got {text!r} ({error})'
        ) from None
    return found


def _find(name: str) -> Constructor:
    known = policy_constructors()
    if name in known:
        return known[name]
    if ":" not in name:
        raise ArgumentError(f"policy must be one of {', '.join(known)}, or 'module:Class', got {name!r}")
    return import_policy(name, Path.cwd())
