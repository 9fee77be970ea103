"""The exception tree."""

from __future__ import annotations

import pytest

from soqo import errors

BUILTINS = (ValueError, KeyError, RuntimeError, ImportError, AssertionError, ConnectionError, PermissionError)


ERRORS = [name for name in errors.__all__ if name != "SoqoError" and not name.endswith("Warning")]
WARNINGS = [name for name in errors.__all__ if name.endswith("Warning")]


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_a_soqo_error_and_a_builtin_one(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, errors.SoqoError)
    parents = [builtin.__name__ for builtin in BUILTINS if issubclass(kind, builtin)]
    assert len(parents) == 1
    assert f" {name} ({parents[0]}) " in str(errors.__doc__)


@pytest.mark.parametrize("name", WARNINGS)
def test_every_warning_is_a_soqo_warning_and_no_error(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, errors.SoqoWarning)
    assert issubclass(kind, UserWarning)
    assert not issubclass(kind, errors.SoqoError)
    assert f" {name} " in str(errors.__doc__)
