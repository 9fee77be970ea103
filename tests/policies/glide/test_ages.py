"""Ages at which something is due."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.policies.glide._ages import Ages


@pytest.mark.parametrize("count", [1, 5, 40])
def test_ages_of_any_number_of_runs_are_found(count: int) -> None:
    due, ages = {2.0, 5.0, 31.0}, Ages([5.0, 2.0, 31.0])
    runs = np.arange(float(count))
    expected = [age in due for age in runs]
    assert ages.contain(runs).tolist() == expected
    assert ages.contain_any(runs) == any(expected)
    assert not ages.contain_any(runs + 100.0)
