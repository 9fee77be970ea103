"""The picture of a log with what a policy expected of its readings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plant_logs import half_steps
from soqo import FTM, Log

LOG = half_steps(2, 40)


def title(log: Log, **options: Any) -> str:
    """The title of the panel of readings."""
    return next(text for axes in log.plot(**options).axes if (text := axes.get_title(loc="left")).startswith("Read"))


def test_a_policy_that_does_not_estimate_leaves_that_to_glide() -> None:
    assert title(LOG, policy=FTM()) == "Readings, and what GLIDE expected"


@pytest.mark.parametrize("learn", [True, False])
def test_a_log_with_everything_that_plants_tell_is_drawn(learn: bool) -> None:
    log = Log(
        np.mod(LOG.v, 360.0),
        np.mod(LOG.x, 360.0),
        LOG.y,
        x0=LOG.x0,
        factor=np.linspace(0.0, 2.0, 40),
        unit=np.linspace(0.5, 2.0, 40),
        active=np.random.default_rng(0).random((40, 2)) > 0.2,
        at=np.mod(LOG.x + 0.25, 360.0),
        period=360.0,
    )
    assert title(log, learn=learn).startswith("Readings")
