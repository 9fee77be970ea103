"""Readings after which beliefs are fitted, split or dropped, one at a time from the states of a run by NumPy's code."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_states import assert_same_memory, rounds_of

from soqo import GLIDE
from soqo.policies.glide._compiled import engine
from soqo.policies.glide._compiled._general_readings import room
from soqo.policies.glide._compiled._packed import pack


@pytest.mark.parametrize(("wrong", "load"), [(0.0, 0.0), (0.1, 0.0), (0.0, 500.0)])
@pytest.mark.parametrize("d", [1, 3])
def test_all_runs_learn_as_by_numpy(d: int, wrong: float, load: float) -> None:
    policy, several, left_out = GLIDE(), 0, 0
    for acted, y, learned in rounds_of(policy, d=d, runs=2, rounds=50, wrong=wrong, load=load):
        after, left, _ = engine.learn(
            *(pack(acted.memory), policy._model(d), acted.u, y),
            own_rounds=np.full(2, acted.round),
            round_number=acted.round,
            base_load=True,
        )
        left_out += left.size > 0
        if not left.size:
            assert_same_memory(after.plain, learned.memory)
            several += learned.memory.beliefs.owner.size > 2
    assert several > 2  # rounds in which a run has several beliefs
    assert left_out < 25


def test_there_is_room_for_all_beliefs() -> None:
    table = np.zeros((4, 40))
    table[:, 4] = [3.0, 3.0, 9.0, 9.0]  # the ages
    starts, ages = np.array([0, 1, 4]), np.array([10.0, np.inf])
    assert room(table, starts, np.array([0, 0]), ages) == 4
    assert room(table, starts, np.array([1, 0]), ages) == 3 + 3
    assert room(table, starts, np.array([0, 1]), ages) == 1 + 12
