"""FTM plays v."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM
from soqo.checks import POLICY_CHECKS, Scenario


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_ftm_passes_the_contract_checks(check: Any) -> None:
    check(FTM(), Scenario())


def test_ftm_plays_v() -> None:
    policy = FTM()
    v = np.array([[1.0, 2.0], [3.0, 4.0]])
    x, _ = policy.act(policy.start(np.zeros((2, 2))), v)
    np.testing.assert_array_equal(x, v)
