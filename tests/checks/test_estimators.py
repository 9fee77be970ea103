"""Every public estimator keeps the contract, and estimators that break one promise each are caught."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from soqo import psd_least_absolute_deviations, psd_least_squares, trace_min
from soqo.checks import ESTIMATOR_CHECKS, Scenario, check_estimator
from soqo.errors import CheckError

SOUND = partial(trace_min, radius=2.5)


@pytest.mark.parametrize("dim", [1, 3, 4])
@pytest.mark.parametrize(
    "estimator",
    [SOUND, psd_least_absolute_deviations, psd_least_squares],
    ids=["trace_min", "psd_least_absolute_deviations", "ls"],
)
@pytest.mark.parametrize("check", ESTIMATOR_CHECKS, ids=lambda check: check.__name__)
def test_estimator_keeps_the_contract(check: Any, estimator: Any, dim: int) -> None:
    check(estimator, Scenario(dim=dim))


def negative(Z: Any, y: Any) -> Any:
    found = psd_least_absolute_deviations(Z, y)
    return replace(found, matrix=found.matrix - np.eye(Z.shape[1]))


def lopsided(Z: Any, y: Any) -> Any:
    found = psd_least_absolute_deviations(Z, y)
    return replace(found, matrix=found.matrix + np.triu(np.full_like(found.matrix, 1e-9), 1))


def boastful(Z: Any, y: Any) -> Any:
    return replace(psd_least_absolute_deviations(Z, y), residual=0.0)


def too_sure(Z: Any, y: Any) -> Any:
    found = psd_least_absolute_deviations(Z, y)
    return replace(found, dual=found.primal + 1.0)


def grasping(Z: Any, y: Any) -> Any:
    found = psd_least_absolute_deviations(Z, y)
    y += 1.0
    return found


def forgetful(Z: Any, y: Any) -> Any:
    return (
        psd_least_absolute_deviations(Z[:20], y[:20])
        if Z.ndim == 2 and len(Z) == len(y) == 40
        else psd_least_absolute_deviations(Z, y)
    )


def careless(Z: Any, y: Any) -> Any:
    return psd_least_absolute_deviations(np.nan_to_num(np.atleast_2d(Z)), y)


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (lambda *_: np.eye(3), "matrix"),
        (negative, "matrix"),
        (lopsided, "matrix"),
        (boastful, "numbers"),
        (too_sure, "numbers"),
        (grasping, "purity"),
        (forgetful, "numbers|invariance"),
        (careless, "refusals"),
    ],
)
def test_a_broken_estimator_is_caught(broken: Any, check: str) -> None:
    with pytest.raises(CheckError, match=f"^({check}): "):
        check_estimator(broken)


def test_what_is_no_estimator_is_refused() -> None:
    with pytest.raises(CheckError, match="must be callable, got int"):
        check_estimator(3)
