"""Constructors that a settings file or a text can name: their arguments, defaults, and what a setting supplies."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import math
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from soqo import policies
from soqo._model.problem import RandomProblem
from soqo._simulation.environment import Environment
from soqo.errors import ArgumentError


class _Required:
    """The type of the marker for arguments without a default."""

    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()
"""The default of an argument that must be given."""

KNOWN_ARGUMENTS = {
    "noise_cap": "from the noise, unless given",
    "rank": "from the problem, unless given or unknown",
    "min_eigenvalue": "from the problem, unless given or unknown",
    "covariance": "that of the process's steps, unless given; none if the process is not a martingale",
}
"""The arguments of policies that are known from the setting, and where each of them comes from."""


def known_arguments(environment: Environment) -> dict[str, Any]:
    """Return the arguments of policies that are known from an environment, by name.

    Parameters
    ----------
    environment : Environment
        The environment of a setting.

    Examples
    --------
    >>> from soqo import Environment, Problem, noise, processes
    >>> known_arguments(Environment(Problem([[1.0]]), processes.Gaussian(5.0), noise.Uniform(2.0)))
    {'noise_cap': 2.0}
    """
    problem = environment.problem
    bound = environment.noise.bound
    known: dict[str, Any] = {"noise_cap": bound} if math.isfinite(bound) else {}
    if isinstance(problem, RandomProblem) and problem.switching_weight is None:
        known |= {"rank": problem.rank, "min_eigenvalue": problem.min_eigenvalue}
        if environment.process.is_martingale:
            with suppress(ArgumentError):  # the simulation refuses a scale of another dimension
                known["covariance"] = environment.process.covariance(problem.dim)
    return known


@dataclass(frozen=True)
class Constructor:
    """A class or function that a table of a settings file calls.

    Attributes
    ----------
    name : str
        Its name in files.
    make : callable
        It takes the arguments by name or, if ``from_problem``, the problem.
    arguments : mapping of str to default
        The default of each argument, or ``REQUIRED``.
    summary : str
        The first line of its docstring.
    arrays : frozenset of str
        The arguments that are arrays, for which a list is one value and not a sweep.
    from_problem : bool
        Whether it makes a policy from the problem and takes no other arguments, since the policy knows A.
    """

    name: str
    make: Callable[..., Any]
    arguments: Mapping[str, Any]
    summary: str
    arrays: frozenset[str] = frozenset()
    from_problem: bool = False

    @classmethod
    def of(cls, made: type, name: str = "") -> Constructor:
        """Return the constructor of a dataclass, whose arguments are its fields.

        Parameters
        ----------
        made : type
            The dataclass.
        name : str
            Its name in files; the name of the class by default.

        Examples
        --------
        >>> from soqo import POL
        >>> dict(Constructor.of(POL).arguments)
        {'learning_rate': required, 'initial': None, 'gradient': 'exact'}
        """
        if not dataclasses.is_dataclass(made):
            raise ArgumentError(f"{made.__name__} must be a dataclass")
        fields = [field for field in dataclasses.fields(made) if field.init]
        arguments = {field.name: _default_of(field) for field in fields}
        arrays = frozenset(field.name for field in fields if "Array" in str(field.type))
        return cls(name or made.__name__, made, arguments, _first_line(made), arrays)

    @property
    def required(self) -> list[str]:
        """The arguments that have no default."""
        return [key for key, default in self.arguments.items() if default is REQUIRED]


@cache
def policy_constructors() -> dict[str, Constructor]:
    """Return the policies that a settings file can name, in alphabetical order.

    These are the policies of :mod:`soqo.policies` except the wrappers. A policy with a method ``for_problem`` is made
    from the problem. One with a method ``as_printed`` is listed a second time, with the defaults of the paper. A file
    can also name a policy of the user's own, as ``"module:Class"``.

    Examples
    --------
    >>> list(policy_constructors())[:4]
    ['FTM', 'GLIDE', 'HySCaLE', 'HySCaLE.as_printed']
    """
    found: dict[str, Constructor] = {}
    for name in sorted(policies.__all__, key=str.casefold):
        made: Any = getattr(policies, name)
        is_policy = isinstance(made, type) and issubclass(made, policies.Policy) and not inspect.isabstract(made)
        if not is_policy or _is_wrapper(made):
            continue
        if hasattr(made, "for_problem"):
            found[name] = Constructor(name, made.for_problem, {}, _first_line(made), from_problem=True)
            continue
        found[name] = Constructor.of(made)
        if hasattr(made, "as_printed"):
            found[f"{name}.as_printed"] = _as_printed(made)
    return found


def import_policy(name: str, folder: Path) -> Constructor:
    """Import a policy ``"module:Class"`` from a module that Python finds or that is in the folder."""
    module, _, attribute = name.partition(":")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # a user's module may raise anything
        reason = " ".join(str(error).split())
        raise ArgumentError(
            f"kind must be a class that Python can import, got {name!r}: {type(error).__name__}: {reason}"
        ) from error
    if not (isinstance(found, type) and issubclass(found, policies.Policy)):
        raise ArgumentError(f"kind must be a soqo.Policy, got {name!r}")
    if not dataclasses.is_dataclass(found):
        raise ArgumentError(f"kind must be a dataclass, got {name!r}")
    return Constructor.of(found, name)


def _is_wrapper(made: Any) -> bool:
    """Return whether a policy wraps another one, which a table cannot name."""
    return any(field.name == "policy" for field in dataclasses.fields(made))


def _as_printed(made: Any) -> Constructor:
    """Return the constructor of the policy as the paper prints it, which has other defaults."""
    parameters = inspect.signature(made.as_printed).parameters.values()
    given = {p.name: 1 for p in parameters if p.kind is not p.VAR_KEYWORD and p.default is p.empty}
    example, plain = made.as_printed(**given), Constructor.of(made)
    arguments = {key: REQUIRED if key in given else getattr(example, key) for key in plain.arguments}
    name, summary = f"{made.__name__}.as_printed", _first_line(made.as_printed)
    return Constructor(name, made.as_printed, arguments, summary, plain.arrays)


def _default_of(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return REQUIRED


def _first_line(documented: Any) -> str:
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def classes_of_kind(module: Any, parent: type) -> dict[str, type]:
    """Return the classes of a module that a table can name as its kind."""
    classes = {name: kind for name in module.__all__ if isinstance(kind := getattr(module, name), type)}
    return {name: kind for name, kind in classes.items() if issubclass(kind, parent) and kind is not parent}


# ---- a policy in one line of text -----------------------------------------------------------------------------------


def parse_policy(text: str) -> policies.Policy[Any]:
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
    if not isinstance(made, policies.Policy):
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
