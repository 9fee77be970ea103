"""The exceptions that soqo raises on purpose, and the categories of its warnings.

::

    SoqoError
    ├── ArgumentError (ValueError)           an argument has the wrong shape, range or type
    ├── UnknownNameError (KeyError)          a name that a result, a summary or another mapping does not have
    ├── ProtocolError (RuntimeError)         a call at the wrong time: observe before act, act after the last round
    ├── MissingExtraError (ImportError)      an optional dependency is not installed
    ├── FileFormatError (ValueError)         a file is damaged, not soqo's, or of an unknown version
    ├── BusyError (RuntimeError)             a journal is in use by another process
    ├── InterruptedRunError (RuntimeError)   Ctrl-C stopped a run of settings; finished cells are on disk
    ├── ComputationError (RuntimeError)      a part of a run of settings failed; finished cells are on disk
    ├── UnavailableError (ConnectionError)   a server or its store does not answer; the call can be repeated
    ├── AccessError (PermissionError)        a server refuses a token, or a token does not allow this
    └── CheckError (AssertionError)          a class violates the contract that soqo.checks tests

Each is also a built-in exception: an ``ArgumentError`` is a ``ValueError``.

::

    SoqoWarning (UserWarning)
    ├── PortabilityWarning     a journal that another program could not resume
    └── CallbackWarning        a callback of a controller that raised an exception

>>> from soqo import Problem
>>> Problem([[1.0, 2.0], [3.0, 4.0]])
Traceback (most recent call last):
soqo.errors.ArgumentError: A must be symmetric, got an asymmetry of 1 (entry [0, 1])
"""

from __future__ import annotations

__all__ = [
    "AccessError",
    "ArgumentError",
    "BusyError",
    "CallbackWarning",
    "CheckError",
    "ComputationError",
    "FileFormatError",
    "InterruptedRunError",
    "MissingExtraError",
    "PortabilityWarning",
    "ProtocolError",
    "SoqoError",
    "SoqoWarning",
    "UnavailableError",
    "UnknownNameError",
]


class SoqoError(Exception):
    """The base class of all exceptions that soqo raises on purpose."""


class ArgumentError(SoqoError, ValueError):
    """An argument of the wrong shape, range or type; the message names it."""


class UnknownNameError(SoqoError, KeyError):
    """A name that a mapping does not have; the message lists the names that it has."""

    def __str__(self) -> str:
        return Exception.__str__(self)  # a KeyError would show the repr of the message


class ProtocolError(SoqoError, RuntimeError):
    """A call at the wrong time, such as ``observe`` before ``act``."""


class MissingExtraError(SoqoError, ImportError):
    """An optional dependency that is not installed; the message names the extra to install."""


class FileFormatError(SoqoError, ValueError):
    """A file that is damaged, not written by soqo, or of an unknown version."""


class BusyError(SoqoError, RuntimeError):
    """A journal that is in use by another process."""


class InterruptedRunError(SoqoError, RuntimeError):
    """Ctrl-C stopped a run of settings; the finished cells are on disk, and the same call resumes."""


class ComputationError(SoqoError, RuntimeError):
    """A part of a run of settings failed; the finished cells are on disk."""


class UnavailableError(SoqoError, ConnectionError):
    """A server or its store does not answer; the same call can be repeated later."""


class AccessError(SoqoError, PermissionError):
    """A server refuses a token, or the token does not allow this."""


class CheckError(SoqoError, AssertionError):
    """A violation of the contract that :mod:`soqo.checks` tests."""


class SoqoWarning(UserWarning):
    """The base class of all warnings of soqo."""


class PortabilityWarning(SoqoWarning):
    """A journal holds a class that another program could not find, such as one of the script that is run."""


class CallbackWarning(SoqoWarning):
    """A callback of a controller raised an exception; the call of the controller took effect."""
