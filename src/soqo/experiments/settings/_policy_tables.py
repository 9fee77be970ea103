"""The policies of a settings file: tables of arguments with a kind, sweeps, and what the setting supplies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from soqo._simulation.environment import Environment
from soqo._simulation.simulate import check_names
from soqo.experiments.settings._constructors import Constructor, import_policy, known_arguments, policy_constructors
from soqo.experiments.settings._setting import SweepPoint
from soqo.experiments.settings._toml_line_numbers import Node

_ABOUT_A_POLICY = ("name", "kind", "role", "single_horizon")
"""The keys of a policy's table that are not its arguments."""

ROLES = ("paper", "calibrated", "ours")
"""What a policy is: the paper's own, the paper's with other defaults, or another one."""


def build(constructor: Constructor, node: Node, made: Mapping[str, Any] | None = None) -> Any:
    """Build an object from a table of its arguments, some of which may be made already."""
    table = node.table()
    for key, inner in table.items():
        if key not in constructor.arguments:
            allowed = ", ".join(constructor.arguments) or "no arguments"
            inner.fail(f"{key!r} is unknown to {constructor.name}; it has {allowed}")
    for key in constructor.required:
        if key not in table:
            node.child(key).fail(f"{key} is missing: {constructor.name} needs it")
    try:
        return constructor.make(**{key: inner.value for key, inner in table.items()} | dict(made or {}))
    except Exception as error:  # a user's class may raise anything
        word = re.match(r"\w*", str(error))
        (table.get(word[0], node) if word else node).fail(str(error))


def read_policies(whole: Node, environment: Environment) -> dict[str, Any]:
    """Return the policies, the sweeps, the roles, and the policies that are played at one horizon."""
    node = whole.table().get("policy", replace(whole, value=[], merged=None))
    entries = node.items()
    if not entries:
        node.fail("policy is missing: at least one [[policy]] with a kind")
    common = whole.child("common", {})
    _check_common(common, entries)
    supplied = {
        **{key: replace(common, value=value) for key, value in known_arguments(environment).items()},
        **common.table(),
    }
    adjusted = _read_adjusted(whole.child("adjust", {}), entries)
    policies: dict[str, object] = {}
    swept: dict[str, SweepPoint] = {}
    roles: dict[str, str] = {}
    single: set[str] = set()
    for entry in entries:
        name = _policy_name(entry)
        constructor = _policy_constructor(entry.child("kind"))
        role, alone = entry.child("role", "").value, entry.child("single_horizon", False).value
        if role not in ("", *ROLES):
            entry.child("role").fail(f"role must be one of {', '.join(ROLES)}, got {role!r}")
        if not isinstance(alone, bool):
            entry.child("single_horizon").fail(f"single_horizon must be true or false, got {alone!r}")
        given = {key: inner for key, inner in entry.table().items() if key not in _ABOUT_A_POLICY}
        for label, arguments, point in _expand_sweep(name, constructor, {**given, **adjusted.get(name, {})}):
            if label in policies:
                entry.fail(f"name must be unique, got {label!r} twice")
            entry.child("name").attempt(partial(check_names, {label: None}))
            policies[label] = _make_policy(constructor, replace(entry, merged=arguments), supplied)
            swept |= {label: point} if point is not None else {}
            roles |= {label: role} if role else {}
            single |= {label} if alone else set()
    return {"policies": policies, "swept": swept, "roles": roles, "single_horizon": frozenset(single)}


def _make_policy(constructor: Constructor, node: Node, supplied: Mapping[str, Node]) -> object:
    """Build a policy from its own arguments and from those that the setting supplies."""
    own = node.table()
    if constructor.from_problem:
        for inner in own.values():
            inner.fail(f"{constructor.name} knows A and takes no arguments")
        return constructor.make
    known = {key: inner for key, inner in supplied.items() if key in constructor.arguments}
    return build(constructor, replace(node, merged={**known, **own}))


def _read_adjusted(node: Node, entries: Sequence[Node]) -> dict[str, Mapping[str, Node]]:
    """Return the arguments that the setting changes, by the name of the policy."""
    tables = [entry.value for entry in entries if isinstance(entry.value, dict)]
    names = [str(table.get("name", table.get("kind"))) for table in tables]
    for name, arguments in node.table().items():
        if name not in names:
            arguments.fail(f"{name!r} must be a policy of the file, one of {', '.join(names)}")
        if not isinstance(arguments.value, dict):
            arguments.fail(f"{name} must be a table of arguments, got {arguments.value!r}")
    return {name: arguments.table() for name, arguments in node.table().items()}


def _policy_name(entry: Node) -> str:
    node = entry.child("name" if "name" in entry.table() else "kind", "")
    if not isinstance(node.value, str):
        node.fail(f"{node.name} must be a string, got {node.value!r}")
    return str(node.value)


def _policy_constructor(node: Node) -> Constructor:
    known, name = policy_constructors(), node.value
    if isinstance(name, str) and name in known:
        return known[name]
    if not isinstance(name, str) or ":" not in name:
        node.fail(f"kind must be one of {', '.join(known)}, or 'module:Class', got {name!r}")
    folder = Path(node.document.source).parent.resolve()
    return node.attempt(lambda: import_policy(name, folder))


def _check_common(common: Node, entries: Sequence[Node]) -> None:
    """Refuse common arguments that no policy has, since they would have no effect."""
    own = [entry for entry in entries if isinstance(entry.value, dict) and ":" in str(entry.value.get("kind"))]
    constructors = [*policy_constructors().values(), *(_policy_constructor(entry.child("kind")) for entry in own)]
    allowed = list(dict.fromkeys(key for constructor in constructors for key in constructor.arguments))
    for key, inner in common.table().items():
        if key not in allowed:
            inner.fail(f"{key!r} is unknown to every policy; they have {', '.join(allowed)}")


def _expand_sweep(
    name: str, constructor: Constructor, arguments: Mapping[str, Node]
) -> Iterator[tuple[str, Mapping[str, Node], SweepPoint | None]]:
    """Yield one policy, or one for each value of a list of numbers."""
    swept = [key for key, node in arguments.items() if isinstance(node.value, list) and key not in constructor.arrays]
    if not swept:
        yield name, arguments, None
        return
    if len(swept) > 1:
        arguments[swept[1]].fail(f"one sweep at a time, got {' and '.join(swept)}")
    key, node = swept[0], arguments[swept[0]]
    if not node.value:
        node.fail(f"{key} must be a number or a list of numbers, got an empty list")
    for inner in node.items():
        value = inner.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            inner.fail(f"{key} must be a list of numbers for a sweep, got {value!r} in it")
    for inner in node.items():
        point = SweepPoint(name, key, float(inner.value))
        yield f"{name}, {key} {inner.value:g}", {**arguments, key: replace(node, value=inner.value)}, point
