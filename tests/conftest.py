"""Settings for all tests: hypothesis draws the same examples each time, and rounds are played by NumPy's code.

Tests of compiled functions ask for them by a fixture. They are a group, which one worker runs: the functions are
compiled once, and not by each worker.
"""

from __future__ import annotations

import os
from collections.abc import Callable

os.environ.setdefault("SOQO_FAST", "0")  # also for the programs that tests start

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what calls compiled functions."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        if {"compiled", "_compiled"} & set(item.path.parts) or "use_compiled" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("compiled"))


@pytest.fixture
def use_compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Switch compiled functions on or off."""

    def use(on: bool) -> None:
        monkeypatch.setattr("soqo.policies.glide._policy.can_compile", lambda: on)

    return use
