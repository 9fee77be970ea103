"""A policy for a plant: with its switching weight, its angles and its limits around it, in this order."""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo.errors import ArgumentError
from soqo.policies._base import Policy
from soqo.policies._known_curvature import KnownCurvature
from soqo.policies._periodic import Periodic
from soqo.policies._wrappers import Limited, match_switching_weight
from soqo.typing import ArrayLike


def wrap_for_plant(
    policy: Policy[Any],
    *,
    switching_weight: ArrayLike | None,
    low: ArrayLike | None,
    high: ArrayLike | None,
    rate: ArrayLike | None = None,
    period: ArrayLike | None = None,
) -> Policy[Any]:
    """Return the policy for a plant with this switching weight, these limits and positions that may be angles.

    Parameters
    ----------
    policy : Policy
        The policy, in coordinates where the switching cost is unweighted if a weight or a limit is given.
    switching_weight : None, float, array_like of shape (d,) or (d, d)
        The weight W, as in :class:`soqo.Problem`.
    low, high, rate : float or array_like of shape (d,), or None
        The limits, as in :class:`Limited`.
    period : float or array_like of shape (d,), or None
        The period of positions that are angles, as in :class:`Periodic`.

    Raises
    ------
    ArgumentError
        If the policy is in plant coordinates already, or knows an A that is in the coordinates of another plant.

    Examples
    --------
    >>> from soqo import FTM
    >>> wrap_for_plant(FTM(), switching_weight=2.0, low=None, high=[1.0, 3.0])
    Limited(policy=Weighted(policy=FTM(), switching_weight=array(2.)), high=array([1., 3.]))
    """
    if not isinstance(policy, Policy):
        raise ArgumentError(f"policy must be a Policy, got {type(policy).__name__}")
    given = any(value is not None for value in (low, high, rate, period, switching_weight))
    if given and policy.in_plant_coordinates:
        raise ArgumentError(
            "policy must be for an unweighted switching cost where low, high, rate, period or switching_weight is "
            f"given, got a {type(policy).__name__}: give the policy inside of it"
        )
    if not policy.in_plant_coordinates:
        _check_curvature(policy, switching_weight)
    wrapped = match_switching_weight(policy, switching_weight)
    if period is not None:
        wrapped = Periodic(wrapped, period)
    if low is None and high is None and rate is None:
        return wrapped
    return Limited(wrapped, low=low, high=high, rate=rate)


def _check_curvature(policy: Policy[Any], switching_weight: ArrayLike | None) -> None:
    """Refuse a policy that knows an A in the coordinates of another plant, also inside of a guard."""
    inner: Any = policy
    while isinstance(inner, Policy) and not isinstance(inner, KnownCurvature):
        inner = getattr(inner, "policy", None)
    if inner is None or inner.has_curvature_for(switching_weight):
        return
    name = type(inner).__name__
    made = "no switching weight" if inner.plain_for is None else f"the switching weight {inner.plain_for}"
    asked = "has none" if switching_weight is None else f"has {np.asarray(switching_weight)}"
    raise ArgumentError(
        f"policy must be a {name} whose A is for the switching weight of the plant, got one for {made}, and the plant "
        f"{asked}: use {name}.for_problem(Problem(A, switching_weight)) with A in the units of the plant"
    )
