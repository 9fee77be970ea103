"""The solvers of the reference agree with each other, and a missing one is named."""

from __future__ import annotations

import numpy as np
import pytest
from instances import instance

from soqo.errors import ArgumentError
from soqo.estimators import reference


def test_scs_and_clarabel_agree() -> None:
    _, Z, y, noise = instance(3, d=3, noise=0.1)
    radius = float(np.abs(noise).sum())
    values = [reference.trace_min(Z, y, radius, solver=solver).value for solver in ("SCS", "CLARABEL")]
    assert values[0] == pytest.approx(values[1], rel=1e-3)


def test_an_unknown_solver_is_named() -> None:
    with pytest.raises(ArgumentError, match=r"solver must be one that CVXPY finds, .* got 'NONE'"):
        reference.psd_least_absolute_deviations(np.ones((2, 1)), np.ones(2), solver="NONE")
