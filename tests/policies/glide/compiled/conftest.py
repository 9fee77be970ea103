"""Runs by compiled functions and by NumPy's code."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from soqo.policies.glide import _policy


@pytest.fixture
def use_compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Switch compiled functions on or off."""

    def use(on: bool) -> None:
        monkeypatch.setattr(_policy, "can_compile", lambda: on)

    return use
