"""What LAI and ROBD, the policies that know A, have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import LAI, ROBD, Policy, Problem, random_curvature
from soqo.errors import ArgumentError

A = random_curvature(3, 2, min_eigenvalue=0.1, max_eigenvalue=4.0, rng=np.random.default_rng(0))


@pytest.mark.parametrize("policy", [LAI(np.zeros((1, 1))), ROBD(np.zeros((1, 1)))], ids=repr)
def test_without_curvature_a_policy_keeps_its_position_however_far_v_is(policy: Policy[Any]) -> None:
    x, _ = policy.act(policy.start([0.1]), [1e18])
    assert x[0] == 0.1


def test_for_problem_takes_A_in_plain_coordinates() -> None:
    problem = Problem(A, switching_weight=4.0)
    for policy in (LAI.for_problem(problem), ROBD.for_problem(problem)):
        np.testing.assert_allclose(np.asarray(policy.A), A / 4.0)
        assert policy.plain_for == 4.0
        assert policy.has_curvature_for(4.0 * np.eye(3))
        assert not any(policy.has_curvature_for(weight) for weight in (None, 2.0, [4.0, 4.0, 5.0], np.eye(2)))
    assert LAI.for_problem(Problem(A)) == LAI(A)
    assert LAI(A).has_curvature_for(None)
    assert LAI(A).has_curvature_for([1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LAI(np.ones(3)), "A must be square"),
        (lambda: LAI(A, plain_for=[1.0, 2.0]), "plain_for must be for dimension 3 as A is, got 2"),
        (
            lambda: LAI(A).start(np.zeros(2)),
            r"A must be one matrix \(2, 2\) or one per run .* got shape \(3, 3\)",
        ),
        (
            lambda: LAI(np.stack([A, A])).start(np.zeros(3)),
            r"A must be one matrix \(3, 3\) or one per run .* got shape \(2, 3, 3\)",
        ),
    ],
)
def test_an_A_of_the_wrong_shape_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
