"""The exception tree."""

from __future__ import annotations

from soqo import errors

BUILTINS = (ValueError, KeyError, RuntimeError, ImportError, AssertionError, ConnectionError, PermissionError)


ERRORS = [name for name in errors.__all__ if name != "SoqoError" and not name.endswith("Warning")]
WARNINGS = [name for name in errors.__all__ if name.endswith("Warning")]


def test_every_error_is_a_soqo_error_and_a_builtin_one() -> None:
    for name in ERRORS:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.SoqoError), name
        parents = [builtin.__name__ for builtin in BUILTINS if issubclass(kind, builtin)]
        assert len(parents) == 1, name
        assert f" {name} ({parents[0]}) " in str(errors.__doc__)


def test_every_warning_is_a_soqo_warning_and_no_error() -> None:
    for name in WARNINGS:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.SoqoWarning), name
        assert issubclass(kind, UserWarning), name
        assert not issubclass(kind, errors.SoqoError), name
        assert f" {name} " in str(errors.__doc__)
