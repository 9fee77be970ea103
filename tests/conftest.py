"""Settings for all tests: hypothesis draws the same examples each time, and rounds are played by NumPy's code.

Tests of compiled functions ask for them by a fixture.
"""

from __future__ import annotations

import os
from collections.abc import Callable

os.environ.setdefault("SOQO_FAST", "0")  # also for the programs that tests start

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture
def use_compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Switch compiled functions on or off."""

    def use(on: bool) -> None:
        monkeypatch.setattr("soqo.policies.glide._policy.can_compile", lambda: on)

    return use
