"""The streams of a batch."""

from __future__ import annotations

import numpy as np

import soqo
from soqo.checks import check_policy
from soqo.policies.glide._large._memory import LargeMemory


def test_the_contract_holds_with_many_dimensions() -> None:
    check_policy(soqo.GLIDE(), dim=13, rounds=8)


def test_runs_are_taken_and_joined() -> None:
    memory = LargeMemory.start((3,), 13)
    first, rest = memory.take_runs(np.array([0])), memory.take_runs(np.array([1, 2]))
    assert LargeMemory.join_runs([first, rest]) == memory
    assert first.runs_key() == rest.runs_key()
