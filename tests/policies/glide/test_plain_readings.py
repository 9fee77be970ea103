"""A reading that every belief expects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from disturbed_plants import FULL, JUMPS, QUIET

from soqo import GLIDE, Environment, simulate
from soqo.policies.glide import _readings
from soqo.policies.glide._plain_readings import learn_plain


@pytest.mark.parametrize("environment", [FULL, QUIET, JUMPS], ids=["full", "quiet", "jumps"])
def test_plain_readings_are_learned_as_all_others_are_to_the_last_bit(
    environment: Environment, monkeypatch: Any
) -> None:
    def regret(learn: Any) -> Any:
        monkeypatch.setattr(_readings, "learn_plain", learn)
        return simulate(environment, {"GLIDE": GLIDE()}, horizon=120, runs=1, seed=3)["GLIDE"].regret

    outcomes = []

    def counted(*args: Any, **options: Any) -> Any:
        after = learn_plain(*args, **options)
        outcomes.append(after is not None)
        return after

    quick = regret(counted)
    # Fits and reviews take a third of these first rounds.
    assert np.mean(outcomes) > 0.5

    def never(*_: Any, **__: Any) -> None:
        return None

    np.testing.assert_array_equal(quick, regret(never))
