"""Keys of cells and policies: hashes of everything that determines their numbers, the user's own code included."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from soqo._simulation.environment import Environment
from soqo._storage.plain_data import describe
from soqo.errors import ArgumentError


def policy_key(policy: object) -> str:
    """Return a hash of a policy, and of the files of the user's own classes.

    Parameters
    ----------
    policy : Policy, or a function that makes one
        The policy.

    Examples
    --------
    >>> from soqo import FTM
    >>> len(policy_key(FTM()))
    32
    """
    return hash_specification({"policy": describe(policy), "user": describe_user_code(policy, "policies")})


def hash_specification(specification: Any) -> str:
    """Return a hash of plain data."""
    return hashlib.sha256(json.dumps(specification, sort_keys=True).encode()).hexdigest()[:32]


@cache
def code_version() -> str:
    """Return a hash of the source code that computes results, and of the versions of NumPy and SciPy.

    The command line, the service and the experiments, except for a few files, only choose what to compute and present
    it.

    Examples
    --------
    >>> len(code_version())
    16
    """
    digest = hashlib.sha256(f"{np.__version__} {scipy.__version__}".encode())
    root = Path(__file__).parents[2]
    computing = {Path(__file__).with_name(name) for name in ("_cells.py", "_joint_play.py", "_regrets.py")}
    excluded = {
        path for part in ("_cli", "experiments", "service") for path in root.glob(f"{part}/**/*.py")
    } - computing
    for path in sorted({*root.rglob("*.py")} - excluded):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# ---- the user's own code -------------------------------------------------------------------------------------------


def find_user_modules(environment: Environment, policies: Mapping[str, object]) -> set[str]:
    """Return the files that a worker on another machine needs: modules of the user's that are not in a package.

    Parameters
    ----------
    environment : Environment
        The environment of a cell.
    policies : mapping of str to Policy, or to a function that makes one
        Its policies.
    """
    found: dict[str, str] = {}
    _collect_user_code(environment, "environment", found)
    _collect_user_code(policies, "policies", found)
    return {path for path in found.values() if not _is_packaged(Path(path))}


def _is_packaged(path: Path) -> bool:
    """Return whether a module is in a package or installed; a worker must have such modules already."""
    return (path.parent / "__init__.py").exists() or "site-packages" in path.parts


def describe_user_code(value: Any, where: str) -> dict[str, str]:
    """Return hashes of the files that define the classes and functions of a value that are not part of soqo."""
    found: dict[str, str] = {}
    _collect_user_code(value, where, found)
    return {name: _hash_file(path) for name, path in sorted(found.items())}


def _collect_user_code(value: Any, where: str, found: dict[str, str]) -> None:
    """Add the classes and functions of a value and of its contents."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            _collect_user_code(item, f"{where}[{key!r}]", found)
    elif isinstance(value, tuple | list):
        for index, item in enumerate(value):
            _collect_user_code(item, f"{where}[{index}]", found)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        _add_user_code(type(value), found)
        for one in dataclasses.fields(value):
            if one.init:
                _collect_user_code(getattr(value, one.name), f"{where}.{one.name}", found)
    elif callable(value):
        # A worker imports it by this name, and the key of the cell has only the name.
        name = getattr(value, "__qualname__", "<unnamed>")
        if "<" in name:
            raise ArgumentError(
                f"{where} must be a policy, or a function with a name in a module, such as ROBD.for_problem, got {name}"
            )
        _add_user_code(getattr(value, "__self__", value), found)


def _add_user_code(definition: Any, found: dict[str, str]) -> None:
    module = str(definition.__module__)
    if module.partition(".")[0] != "soqo":
        found[definition.__qualname__] = getattr(sys.modules.get(module), "__file__", None) or ""


def _hash_file(path: str) -> str:
    """Return a hash of a file's contents; code that was typed at a prompt has no file, and an empty path."""
    return hashlib.sha256(Path(path).read_bytes() if path else b"").hexdigest()[:16]


# ---- work ----------------------------------------------------------------------------------------------------------
