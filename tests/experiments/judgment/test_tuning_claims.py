"""Claims about c1: where the median regret is smallest, and whether it is a valley."""

from __future__ import annotations

import numpy as np
import pytest
from invented_outcomes import SETTINGS, claims

from soqo.experiments import Setting


@pytest.mark.parametrize("best", [0.7, 3.0, 10.0])
def test_the_best_c1_is_where_the_median_is_smallest(best: float) -> None:
    def valley(setting: Setting, name: str, _: int) -> float:
        return float(1.0 + np.log(setting.swept[name].value / best) ** 2)

    found = claims(valley, [name for name in SETTINGS if name.startswith("sensitivity")])
    assert (found["the best c1 is about 3"].verdict == "holds") == (best == 3.0)
    assert (found["regret as a function of c1 is U-shaped"].verdict == "holds") == (best == 3.0)
    assert found["the best c1 stays almost constant from eta = 1 to 10,000"].verdict == "holds"
    assert f"best c1 {best:g}, {best:g}" in found["the best c1 is about 3"].number
