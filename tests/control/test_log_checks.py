"""The arguments of a log are checked, with errors that name them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import Log
from soqo.errors import ArgumentError

V = np.cumsum(np.random.default_rng(0).standard_normal((6, 2)), axis=0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"v": [1.0, 2.0]}, r"v must have shape \(T, d\), got \(2,\)"),
        ({"v": np.full((6, 2), np.inf)}, "v must be finite"),
        ({"x": V[:5]}, r"x must have shape \(6, 2\), got \(5, 2\)"),
        ({"y": np.zeros(5)}, r"y must have shape \(6,\), got \(5,\)"),
        ({"y": np.full(6, np.inf)}, "y must be finite, or NaN"),
        ({"x0": 0.0}, r"x0 must have shape \(2,\), got \(\)"),
        ({"horizon": 5}, "horizon must be at least the 6 rounds of the log, got 5"),
        ({"switching_weight": [1.0, 2.0, 3.0]}, "switching_weight must be for 2 actuators"),
        ({"switching_weight": -1.0}, "switching_weight must be positive"),
        ({"actuators": ["a"]}, "actuators must have one entry for each of the 2 actuators"),
        ({"units": ["a", 3]}, "units must be a list of texts"),
        ({"factor": np.ones(5)}, r"factor must have shape \(6,\), got \(5,\)"),
        ({"factor": -np.ones(6)}, "factor must be at least 0, got -1.0"),
        ({"unit": np.zeros(6)}, "unit must be above 0, got 0.0"),
        ({"unit": np.full(6, np.nan)}, "unit must be finite"),
        ({"active": np.ones((6, 2))}, r"active must be True or False, with shape \(6, 2\), got float64"),
        ({"active": np.ones(6, dtype=bool)}, r"active must be True or False, with shape \(6, 2\), got bool of \(6,\)"),
        ({"covariates": np.ones(6)}, r"covariates must have shape \(6, k\), got \(6,\)"),
        ({"covariates": np.ones((6, 0))}, r"covariates must have shape \(6, k\), got \(6, 0\)"),
        ({"covariates": [[1.0, np.nan]] * 6}, "covariates must be finite, or NaN in a whole row, got .* in round 1"),
        ({"covariates": np.full((6, 1), np.inf)}, "covariates must be finite, or NaN in a whole row"),
        ({"at": V[:5]}, r"at must have shape \(6, 2\), got \(5, 2\)"),
        ({"at": np.full((6, 2), np.inf)}, "at must be finite, or NaN for the position"),
    ],
)
def test_invalid_input_is_named(changed: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"v": V, "x": V, "y": np.zeros(6), "x0": np.zeros(2), **changed}
    with pytest.raises(ArgumentError, match=message):
        Log(**given)
