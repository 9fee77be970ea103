"""Environments and their parts can be packed and built again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import Change, Environment, Problem, RandomProblem
from soqo._storage.plain_data import pack, unpack
from soqo.noise import Adversarial, Uniform
from soqo.processes import Cauchy, Correlated, Gaussian, Laplace, Recorded, StudentT

W = np.array([[3.0, 0.5], [0.5, 1.0]])
PARTS = [
    Problem(np.eye(2), W),
    RandomProblem(2, 1, min_eigenvalue=0.1, switching_weight=[1.0, 2.0]),
    Change(3),
    Change(6, np.eye(2), duration=3),
    Gaussian(W),
    Correlated([1.0, 2.0], alpha=0.5, form="additive"),
    Laplace(),
    StudentT(2.0, df=1.5),
    Cauchy(3.0),
    Recorded(np.ones((5, 2))),
    Uniform(2.0),
    Adversarial(1.0, aim="overstate"),
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_a_part_of_an_environment_can_be_packed_and_built_again(part: Any) -> None:
    assert unpack(*pack(part)) == part


def test_an_environment_with_changes_can_be_packed_and_built_again() -> None:
    world = Environment(
        RandomProblem(2, 2, min_eigenvalue=0.1, max_eigenvalue=1.0),
        Gaussian(2.0),
        Uniform(1.0),
        x0=[1.0, -2.0],
        changes=(Change(3), Change(6, W, duration=3)),
    )
    again = unpack(*pack(world))
    assert again == world
    assert again.draw(9, 2, seed=1) == world.draw(9, 2, seed=1)
