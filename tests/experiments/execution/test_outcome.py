"""An outcome hands out the results of its horizons, and statistics over the runs with intervals."""

from __future__ import annotations

import numpy as np
import pytest

from soqo import Result
from soqo.errors import ArgumentError
from soqo.experiments import Outcome


def test_regret_is_that_of_the_result_of_a_horizon(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["intro"]
    assert outcome.horizons == (20, 40, 60, 80)
    assert outcome.runs == 3
    for horizon in outcome.horizons:
        result: Result = outcome.results[horizon]
        for policy in outcome.policies:
            last = result.regret(policy)[:, -1]
            np.testing.assert_array_equal(outcome.regret(policy, horizon), last)
            assert outcome.median(policy, horizon) == np.median(last)
            assert outcome.summary(horizon)[policy].median == np.median(last)


def test_the_default_is_the_setting_s_own_horizon_which_has_every_round(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["intro"]
    assert outcome.curve("FTM").shape == (3, outcome.setting.horizon)
    np.testing.assert_array_equal(outcome.curve("FTM")[:, -1], outcome.regret("FTM"))
    np.testing.assert_array_equal(outcome.regret("FTM"), outcome.regret("FTM", outcome.setting.horizon))


def test_an_unknown_horizon_is_named(outcomes: dict[str, Outcome]) -> None:
    with pytest.raises(ArgumentError, match=r"horizon must be one of \[20, 40, 60, 80\], got 50"):
        outcomes["intro"].regret("FTM", 50)


def test_outcomes_of_the_same_numbers_are_equal(outcomes: dict[str, Outcome]) -> None:
    one, other = outcomes["intro"], outcomes["second"]
    assert one == Outcome(one.setting, dict(one.results))
    assert one != other
