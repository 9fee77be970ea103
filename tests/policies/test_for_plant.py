"""A policy for a plant: weight, angles and limits go around it in this order, and none of them twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, LAI, Guarded, Limited, Periodic, Problem, Weighted
from soqo.errors import ArgumentError
from soqo.policies import wrap_for_plant

NOTHING: dict[str, Any] = {"switching_weight": None, "low": None, "high": None}
W = [1.0, 4.0]


def test_wrappers_are_those_that_are_needed_in_their_order() -> None:
    policy = FTM()
    assert wrap_for_plant(policy, **NOTHING) is policy
    assert wrap_for_plant(policy, **{**NOTHING, "switching_weight": W}) == Weighted(policy, W)
    assert wrap_for_plant(policy, **NOTHING, period=360.0) == Periodic(policy, 360.0)
    assert wrap_for_plant(policy, **{**NOTHING, "low": 0.0}, rate=2.0) == Limited(policy, low=0.0, rate=2.0)
    everything = wrap_for_plant(policy, switching_weight=W, low=-9.0, high=9.0, rate=2.0, period=[360.0, np.inf])
    assert everything == Limited(Periodic(Weighted(policy, W), [360.0, np.inf]), low=-9.0, high=9.0, rate=2.0)


def test_a_policy_in_plant_coordinates_is_refused_if_anything_is_given() -> None:
    for given in ({"period": 360.0}, {"rate": 1.0}):
        with pytest.raises(ArgumentError, match=r"policy must be for an unweighted .* got a Weighted"):
            wrap_for_plant(Weighted(FTM(), W), **NOTHING, **given)
    with pytest.raises(ArgumentError, match="policy must be a Policy, got int"):
        wrap_for_plant(3, **NOTHING)  # type: ignore[arg-type]


def test_a_known_curvature_must_be_for_the_weight_of_the_plant() -> None:
    problem = Problem(np.eye(2), W)
    weighted = {**NOTHING, "switching_weight": W}
    assert isinstance(wrap_for_plant(LAI.for_problem(problem), **weighted, period=360.0), Periodic)
    for policy in (LAI(np.eye(2)), Guarded(LAI(np.eye(2)))):
        with pytest.raises(ArgumentError, match="policy must be a LAI whose A is for the switching weight"):
            wrap_for_plant(policy, **weighted)
    assert wrap_for_plant(GLIDE(), **weighted) == Weighted(GLIDE(), W)
