"""Functions that are compiled to machine code, where the extra ``fast`` is installed.

The extra installs Numba. Nothing in soqo needs it: what is compiled exists in NumPy as well, which is the reference.
The environment variable ``SOQO_FAST=0`` switches compiled functions off.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np

_F = TypeVar("_F", bound=Callable[..., Any])

NO, YES = cast(bool, np.bool_(False)), cast(bool, np.bool_(True))
"""Arguments for large compiled functions, which would be compiled once more for each literal ``False`` and ``True``."""


@cache
def can_compile() -> bool:
    """Return whether functions are compiled: Numba is installed, and ``SOQO_FAST`` is not 0."""
    return os.environ.get("SOQO_FAST", "1") != "0" and importlib.util.find_spec("numba") is not None


def compiled(function: _F) -> _F:
    """Compile a function when it is called for the first time, and keep the machine code in a file.

    A module whose functions have this decorator imports Numba, so it is imported only if :func:`can_compile`. Divisions
    by zero give infinity as in NumPy, sums may be added in another order, and other threads run meanwhile.
    """
    from numba import njit

    options: Any = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}
    return cast(_F, njit(**options)(function))
