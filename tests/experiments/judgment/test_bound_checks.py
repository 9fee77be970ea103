"""Checks of bounds: a false bound would be found out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from soqo.experiments import Status
from soqo.experiments.judgment._bound_checks import check_bound
from soqo.theory import Bound, theorem4, theorem5


@pytest.mark.parametrize("bound", [theorem4, theorem5])
def test_a_bound_that_is_too_small_is_violated_by_a_random_case(bound: object) -> None:
    def smaller(*arguments: object, **options: object) -> Bound:
        found = bound(*arguments, **options)  # type: ignore[operator]
        return replace(found, terms={name: 1e-4 * value for name, value in found.terms.items()})  # type: ignore[no-any-return]

    case = check_bound(smaller, deficient=bound is theorem4)
    assert case.status is Status.FAILS
