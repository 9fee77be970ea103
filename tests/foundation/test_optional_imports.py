"""Optional dependencies are imported when they are needed, and a missing one is named with its extra."""

from __future__ import annotations

import math
import sys

import pytest

from soqo._foundation.optional_imports import require_extra
from soqo.errors import MissingExtraError
from soqo.estimators import reference


def test_an_installed_dependency_is_returned_as_its_module() -> None:
    assert require_extra("math", "lab") is math
    assert require_extra("os.path", "lab") is sys.modules["os.path"]


def test_a_missing_extra_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(MissingExtraError, match=r'cvxpy is needed .* pip install "soqo\[cvxpy\]"'):
        reference.trace_min([[1.0]], [1.0], 0.1)


def test_the_error_of_a_missing_extra_is_an_import_error_that_keeps_its_cause() -> None:
    with pytest.raises(ImportError, match=r'absent_for_test is needed .* pip install "soqo\[lab\]"') as caught:
        require_extra("absent_for_test", "lab")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert caught.value.__cause__.name == "absent_for_test"
