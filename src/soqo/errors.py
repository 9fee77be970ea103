"""Everything that soqo raises on purpose.

::

    SoqoError
    ├── ArgumentError (ValueError)        an argument is of the wrong shape, range or kind
    ├── ProtocolError (RuntimeError)      a call at the wrong moment: observe before act, act after the last round
    ├── MissingExtraError (ImportError)   an optional dependency is not installed
    ├── FileFormatError (ValueError)      a file is damaged, foreign, or of an unknown version
    ├── BusyError (RuntimeError)          a journal is in use by another process
    └── CheckError (AssertionError)       a class breaks the contract that soqo.checks tests

Catching the built-in parent works too: an ``ArgumentError`` is a ``ValueError``.

>>> from soqo import Problem
>>> Problem([[1.0, 2.0], [3.0, 4.0]])
Traceback (most recent call last):
soqo.errors.ArgumentError: A must be symmetric, got an asymmetry of 1 (entry [0, 1])
"""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = [
    "ArgumentError",
    "BusyError",
    "CheckError",
    "FileFormatError",
    "MissingExtraError",
    "ProtocolError",
    "SoqoError",
    "require_extra",
]


class SoqoError(Exception):
    """Parent of every error that soqo raises on purpose."""


class ArgumentError(SoqoError, ValueError):
    """An argument is of the wrong shape, range or kind; the message names it."""


class ProtocolError(SoqoError, RuntimeError):
    """A call came at the wrong moment, such as ``observe`` before ``act``."""


class MissingExtraError(SoqoError, ImportError):
    """An optional dependency is not installed; the message says what to install."""


class FileFormatError(SoqoError, ValueError):
    """A file is damaged, foreign, or of a version that this soqo does not know."""


class BusyError(SoqoError, RuntimeError):
    """A journal is in use by another process."""


class CheckError(SoqoError, AssertionError):
    """A class breaks the contract that :mod:`soqo.checks` tests."""


def require_extra(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f'{module} is needed for this and is not installed: pip install "soqo[{extra}]"'
        ) from error
