"""What is installed: versions, the linear algebra below NumPy, and the extras with what each of them lacks."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""The variables by which users limit the threads of BLAS."""

_DEVELOPMENT = {"dev", "docs", "all"}
"""Extras for work on soqo itself, and the sum of the others."""


@dataclass(frozen=True)
class Extra:
    """An extra of soqo.

    Attributes
    ----------
    name : str
        Its name.
    installed : dict of str to str
        The versions of its packages that are installed.
    missing : tuple of str
        The packages that are not.
    """

    name: str
    installed: dict[str, str]
    missing: tuple[str, ...]


def find_extras(requirements: list[str] | None = None) -> list[Extra]:
    """Return the extras that users install, from the metadata of the installed soqo.

    Parameters
    ----------
    requirements : list of str, optional
        Requirements in the form of the metadata, instead of soqo's own.
    """
    if requirements is None:
        requirements = metadata.requires("soqo") or []
    packages: dict[str, list[str]] = {}
    for requirement in requirements:
        found = re.match(r"(?P<name>[\w.-]+).*?;.*extra == ['\"](?P<extra>[\w-]+)['\"]", requirement)
        if found is not None and _is_for_this_platform(requirement):
            names = packages.setdefault(found["extra"], [])
            if found["name"] != "soqo":  # an extra that includes another one
                names.append(found["name"])
    return [_look_up(name, names) for name, names in packages.items() if name not in _DEVELOPMENT]


def _is_for_this_platform(requirement: str) -> bool:
    """Whether a requirement holds here: soqo excludes only Windows, for one package."""
    return os.name != "nt" or "sys_platform != " not in requirement


def _look_up(extra: str, packages: list[str]) -> Extra:
    installed, missing = {}, []
    for package in packages:
        try:
            installed[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            missing.append(package)
    return Extra(extra, installed, tuple(missing))


def describe_blas() -> str:
    """Return the name and version of NumPy's BLAS."""
    settings: Any = np.show_config(mode="dicts")
    blas = settings.get("Build Dependencies", {}).get("blas", {})
    return " ".join(str(blas[key]) for key in ("name", "version") if blas.get(key)) or "unknown"


def describe_threads() -> str:
    """Return what limits the threads of BLAS, and the processors that there are."""
    limits = [f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ]
    processors = f"{os.cpu_count() or 'an unknown number of'} processors"
    return f"{', '.join(limits) if limits else 'not limited'}, {processors}"
