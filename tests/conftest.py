"""Settings for all tests: hypothesis draws the same examples each time, and rounds are played by NumPy's code.

Tests of compiled functions ask for them by a fixture.
"""

from __future__ import annotations

import os

os.environ.setdefault("SOQO_FAST", "0")  # also for the programs that tests start

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
