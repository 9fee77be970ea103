"""Which beliefs are kept, and what readings cost them, against NumPy's functions."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_states import rounds_of

from soqo import GLIDE
from soqo.policies.glide._beliefs import _selection
from soqo.policies.glide._compiled._judgment import (
    base_load,
    log_correct_again,
    log_wrong,
    negative_penalty,
    select,
    total_weight,
)
from soqo.policies.glide._compiled._layout import AGE, IN_A_ROW, READINGS, REJECTED
from soqo.policies.glide._compiled._packed import pack
from soqo.policies.glide._outliers import LOG_ERROR_RANGE, log_first_wrong, log_next_wrong, log_tail
from soqo.policies.glide._outliers import log_correct_again as numpy_correct_again
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


@pytest.mark.parametrize("in_a_row", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("rejected", [2.0, 300.0])
@pytest.mark.parametrize("age", [2.0, 500.0, 1e5])
def test_the_probability_of_wrong_readings_is_that_of_numpy(age: float, rejected: float, in_a_row: float) -> None:
    policy = GLIDE()
    *_, (_, _, state) = rounds_of(policy, rounds=12)
    p, row = policy._model(2).unknowns, pack(state.memory).table[0].copy()
    row[[AGE, READINGS, REJECTED, IN_A_ROW]] = age, age, rejected, in_a_row
    n, r, k = np.array([age]), np.array([rejected]), np.array([in_a_row])
    for error in (0.5, 7.0, 12.0):
        first = log_first_wrong(n, n, r, p) + log_tail(np.array([(error / 2.0) ** 2]), r)
        expected = (log_next_wrong(k, r) if in_a_row else first) - LOG_ERROR_RANGE - np.log(max(error, 2.0))
        assert log_wrong(row, error, 2.0, p) == pytest.approx(expected[0], rel=1e-12)
    assert log_correct_again(row) == pytest.approx(numpy_correct_again(log_next_wrong(k, r))[0], rel=1e-9, abs=1e-12)


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
