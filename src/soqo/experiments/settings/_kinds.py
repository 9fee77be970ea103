"""What a file can name: policies by their kinds, with their arguments and defaults."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soqo._environment import Environment
from soqo._problem import RandomProblem
from soqo.errors import ArgumentError
from soqo.policies._base import Policy
from soqo.policies._known import FTM, LAI, ROBD
from soqo.policies._learners import OAL, POL
from soqo.policies._scale import HySCaLE, SCaLE
from soqo.policies.glide._policy import GLIDE

__all__ = ["KINDS", "REQUIRED", "TOLD", "Kind", "own_kind", "policy_kinds", "told"]


class Required:
    """Stands where an argument has no default."""

    def __repr__(self) -> str:
        return "required"


REQUIRED = Required()


@dataclass(frozen=True)
class Kind:
    """Something that a table of arguments can make.

    Attributes
    ----------
    name : str
    make : callable
        Takes the arguments by name; for a policy that knows A, it takes the problem instead.
    arguments : mapping of str to default
        ``REQUIRED`` where there is none.
    summary : str
        The first line of its description.
    knows : bool
        Whether it is made from the problem, and takes no arguments.
    """

    name: str
    make: Callable[..., Any]
    arguments: Mapping[str, Any]
    summary: str
    knows: bool = False

    @classmethod
    def of(cls, made: type, name: str = "") -> Kind:
        """A dataclass by its fields.

        Examples
        --------
        >>> from soqo import POL
        >>> dict(Kind.of(POL).arguments)
        {'learning_rate': required, 'initial': None, 'gradient': 'exact'}
        """
        if not dataclasses.is_dataclass(made):
            raise ArgumentError(f"{made.__name__} must be a dataclass")
        arguments = {f.name: default_of(f) for f in dataclasses.fields(made) if f.init}
        return cls(name or made.__name__, made, arguments, first_line(made))

    @classmethod
    def printed(cls, made: Any, name: str) -> Kind:
        """A policy as the paper has it, whose defaults are others."""
        needed = {"noise_cap": 1.0, "rank": 1, "min_eigenvalue": 1.0}
        example = made.as_printed(**needed)
        arguments = {key: REQUIRED if key in needed else getattr(example, key) for key in Kind.of(made).arguments}
        return cls(name, made.as_printed, arguments, first_line(made.as_printed))

    @property
    def required(self) -> list[str]:
        """The arguments that have no default."""
        return [key for key, default in self.arguments.items() if default is REQUIRED]


def default_of(field: dataclasses.Field[Any]) -> Any:
    """The default of a field."""
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return REQUIRED


def first_line(documented: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(documented) or "").partition("\n")[0]


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind.of(FTM),
        Kind("LAI", LAI.for_problem, {}, first_line(LAI), knows=True),
        Kind("ROBD", ROBD.for_problem, {}, first_line(ROBD), knows=True),
        Kind.of(POL),
        Kind.of(OAL),
        Kind.of(SCaLE),
        Kind.printed(SCaLE, "SCaLE.as_printed"),
        Kind.of(HySCaLE),
        Kind.printed(HySCaLE, "HySCaLE.as_printed"),
        Kind.of(GLIDE),
    )
}
"""The policies that a file can name; those which know A take no arguments."""


def policy_kinds() -> list[Kind]:
    """The policies that a file can name, beside ``"module:Class"`` for your own.

    Examples
    --------
    >>> [kind.name for kind in policy_kinds()][:4]
    ['FTM', 'LAI', 'ROBD', 'POL']
    """
    return list(KINDS.values())


def own_kind(name: str, folder: Path) -> Kind:
    """A policy of the user's own, ``"module:Class"``, from a module that Python finds or that is in the folder."""
    module, _, attribute = name.partition(":")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # a module of the user's may raise anything
        reason = " ".join(str(error).split())
        raise ArgumentError(
            f"kind must be a class that Python finds, got {name!r}: {type(error).__name__}: {reason}"
        ) from error
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise ArgumentError(f"kind must be a soqo.Policy, got {name!r}")
    if not dataclasses.is_dataclass(found):
        raise ArgumentError(f"kind must be a dataclass, got {name!r}")
    return Kind.of(found, name)


TOLD = {
    "noise_cap": "the noise's, unless given",
    "rank": "the problem's, unless given or unknown",
    "min_eigenvalue": "the problem's, unless given or unknown",
    "covariance": "that of the process's steps, unless given, or none if it is no martingale",
}
"""What a policy learns from its setting."""


def told(environment: Environment) -> dict[str, Any]:
    """What a setting knows that some policies must be told."""
    problem = environment.problem
    known: dict[str, Any] = {"noise_cap": environment.noise.cap}
    if isinstance(problem, RandomProblem) and problem.switching_weight is None:
        known |= {"rank": problem.rank, "min_eigenvalue": problem.min_eigenvalue}
        if environment.process.is_martingale:
            with suppress(ArgumentError):  # a scale for another dimension is for the simulation to refuse
                known["covariance"] = environment.process.covariance(problem.dim)
    return known
