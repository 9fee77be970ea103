"""Every public estimator satisfies the contract, and estimators that violate one property each are caught."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from soqo import psd_least_absolute_deviations, psd_least_squares, trace_min
from soqo.checks import check_estimator
from soqo.errors import CheckError


@pytest.mark.parametrize("dim", [1, 3, 4])
@pytest.mark.parametrize(
    "estimator",
    [partial(trace_min, radius=2.5), psd_least_absolute_deviations, psd_least_squares],
    ids=["trace_min", "psd_least_absolute_deviations", "psd_least_squares"],
)
def test_estimator_satisfies_the_contract(estimator: Any, dim: int) -> None:
    check_estimator(estimator, dim=dim)


def indefinite(Z: Any, y: Any) -> Any:
    found = psd_least_absolute_deviations(Z, y)
    return replace(found, matrix=found.matrix - np.eye(Z.shape[1]))


def asymmetric(Z: Any, y: Any) -> Any:
    found = psd_least_absolute_deviations(Z, y)
    return replace(found, matrix=found.matrix + np.triu(np.full_like(found.matrix, 1e-9), 1))


def wrong_residual(Z: Any, y: Any) -> Any:
    return replace(psd_least_absolute_deviations(Z, y), residual=0.0)


def wrong_dual(Z: Any, y: Any) -> Any:
    found = psd_least_absolute_deviations(Z, y)
    return replace(found, dual=found.primal + 1.0)


def changes_y(Z: Any, y: Any) -> Any:
    found = psd_least_absolute_deviations(Z, y)
    y += 1.0
    return found


def ignores_readings(Z: Any, y: Any) -> Any:
    return (
        psd_least_absolute_deviations(Z[:20], y[:20])
        if Z.ndim == 2 and len(Z) == len(y) == 40
        else psd_least_absolute_deviations(Z, y)
    )


def accepts_nan(Z: Any, y: Any) -> Any:
    return psd_least_absolute_deviations(np.nan_to_num(np.atleast_2d(Z)), y)


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (lambda *_: np.eye(3), "matrix"),
        (indefinite, "matrix"),
        (asymmetric, "matrix"),
        (wrong_residual, "numbers"),
        (wrong_dual, "numbers"),
        (changes_y, "purity"),
        (ignores_readings, "numbers|invariance"),
        (accepts_nan, "refusals"),
    ],
)
def test_a_broken_estimator_is_caught(broken: Any, check: str) -> None:
    with pytest.raises(CheckError, match=f"^({check}): "):
        check_estimator(broken)


def test_an_object_that_is_not_callable_is_refused() -> None:
    with pytest.raises(CheckError, match="must be callable, got int"):
        check_estimator(3)  # type: ignore[arg-type]  # on purpose
