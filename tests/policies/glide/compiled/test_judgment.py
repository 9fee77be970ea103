"""Which beliefs are kept, and what readings cost them, against NumPy's functions."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_states import rounds_of

from soqo import GLIDE
from soqo.policies.glide._beliefs import _selection
from soqo.policies.glide._compiled._judgment import base_load, negative_penalty, select, total_weight
from soqo.policies.glide._compiled._packed import pack
from soqo.policies.glide._outliers import negative_penalty as numpy_penalty


def test_weights_base_loads_and_penalties_are_those_of_numpy() -> None:
    policy = GLIDE()
    model = policy._model(2)
    for _, _, state in rounds_of(policy, rounds=25, wrong=0.1, load=100.0):
        memory = state.memory
        table, posterior = pack(memory).table, memory.beliefs.posterior
        np.testing.assert_allclose([total_weight(row) for row in table], memory.beliefs.total, rtol=1e-12)
        found = [base_load(row, model.size) for row in table]
        np.testing.assert_allclose(found, posterior.base_load(), rtol=1e-9, atol=1e-9)
        y, density = np.full(len(table), -3.0), np.full(len(table), -1.0)
        expected = numpy_penalty(model, posterior, y, density)
        penalties = [negative_penalty(row, -3.0, -1.0, float(model.kappa), model.unknowns, model.size) for row in table]
        np.testing.assert_allclose(penalties, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_same_beliefs_are_kept_as_by_numpy(seed: int) -> None:
    policy, rng = GLIDE(), np.random.default_rng(seed)
    *_, (_, _, state) = rounds_of(policy, rounds=12)
    model, row = policy._model(2), pack(state.memory).table[0]
    count = 9
    table = np.tile(row, (count, 1))
    table[:, 0] = rng.normal(0.0, 6.0, count)  # the log weights
    table[:, 5] = np.where(rng.random(count) < 0.3, 99.0, 0.0)  # until when a belief is protected
    keep = np.empty(count, dtype=np.bool_)
    best = select(table, np.arange(count), count, 50, model.unknowns, keep)
    total = np.array([total_weight(one) for one in table])
    expected, leader = _selection(
        model, np.zeros(count, dtype=np.int64), total, table[:, 17], table[:, 25], table[:, 5], 50
    )
    np.testing.assert_array_equal(keep, expected)
    assert best == leader[0]
