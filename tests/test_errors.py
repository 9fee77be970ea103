"""The exception tree, and the error for an optional dependency that is not installed."""

from __future__ import annotations

import sys

import pytest

from soqo import errors
from soqo.estimators import reference

BUILTINS = (ValueError, KeyError, RuntimeError, ImportError, AssertionError)


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name != "SoqoError"])
def test_every_error_is_a_soqo_error_and_a_builtin_one(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, errors.SoqoError)
    parents = [builtin.__name__ for builtin in BUILTINS if issubclass(kind, builtin)]
    assert len(parents) == 1
    assert f" {name} ({parents[0]}) " in str(errors.__doc__)


def test_a_missing_extra_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(errors.MissingExtraError, match=r'cvxpy is needed .* pip install "soqo\[cvxpy\]"'):
        reference.trace_min([[1.0]], [1.0], 0.1)
