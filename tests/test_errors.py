"""The exception tree, and what happens without an optional dependency."""

from __future__ import annotations

import pytest

from soqo import errors


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.ArgumentError, ValueError),
        (errors.ProtocolError, RuntimeError),
        (errors.MissingExtraError, ImportError),
        (errors.FileFormatError, ValueError),
        (errors.CheckError, AssertionError),
    ],
)
def test_every_error_is_a_soqo_error_and_a_builtin_one(kind: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(kind, errors.SoqoError)
    assert issubclass(kind, builtin)


def test_a_missing_extra_says_what_to_install() -> None:
    with pytest.raises(errors.MissingExtraError, match=r'pip install "soqo\[lab\]"'):
        errors.require_extra("no_such_module_anywhere", "lab")
