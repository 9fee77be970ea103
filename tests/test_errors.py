"""The exception tree."""

from __future__ import annotations

import pytest

from soqo import errors

BUILTINS = (ValueError, KeyError, RuntimeError, ImportError, AssertionError)


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name != "SoqoError"])
def test_every_error_is_a_soqo_error_and_a_builtin_one(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, errors.SoqoError)
    parents = [builtin.__name__ for builtin in BUILTINS if issubclass(kind, builtin)]
    assert len(parents) == 1
    assert f" {name} ({parents[0]}) " in str(errors.__doc__)
