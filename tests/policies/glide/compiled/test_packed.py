"""The compact form of a memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from compiled_states import rounds_of

from soqo import GLIDE
from soqo._storage.plain_data import describe, pack, unpack
from soqo.policies._runs import rows_key
from soqo.policies.glide._compiled import _packed
from soqo.policies.glide._compiled._packed import CompiledMemory, is_packable, with_plain_memory
from soqo.policies.glide._memory import GlideMemory


def test_a_memory_is_the_same_in_both_forms() -> None:
    for acted, _, _ in rounds_of(GLIDE(), rounds=40, wrong=0.1, load=50.0):
        compact = _packed.pack(acted.memory)
        assert compact.plain == acted.memory
        assert compact == acted.memory
        assert acted.memory == compact
        assert compact != 3
        again = _packed.pack(compact.plain)
        for name in ("table", "root", "factor", "buffer", "starts", "runs", "recent"):
            np.testing.assert_array_equal(getattr(again, name), getattr(compact, name))
        np.testing.assert_array_equal(compact.alarms, acted.memory.alarms)


def test_files_hold_the_plain_form() -> None:
    *_, (acted, _, _) = rounds_of(GLIDE(), rounds=10)
    compact = _packed.pack(acted.memory)
    assert isinstance(unpack(*pack(compact)), GlideMemory)
    assert unpack(*pack(compact)) == compact
    assert str(describe(compact)) == str(describe(acted.memory))  # NaN is not equal to itself


def test_runs_are_taken_from_either_form() -> None:
    policy = GLIDE()
    *_, (acted, _, _) = rounds_of(policy, rounds=10)
    compact = _packed.pack(acted.memory)
    index = np.array([2, 0])
    assert policy.take_runs(compact, index) == policy.take_runs(acted.memory, index)
    assert policy.join_runs([compact, acted.memory]) == policy.join_runs([acted.memory, acted.memory])
    assert compact.runs_key() == rows_key(acted.memory)
    assert policy.shift_rounds(compact, 3) == policy.shift_rounds(acted.memory, 3)


def test_a_memory_with_a_context_or_a_forecast_is_not_compact() -> None:
    policy = GLIDE()
    state = policy.start(np.zeros(2))
    assert is_packable(state.memory)
    _, with_context = policy.act(state, np.ones(2), context=np.ones(1))
    _, with_forecast = policy.act(state, np.ones(2), forecast=np.ones((1, 2)))
    assert not is_packable(with_context.memory)
    assert not is_packable(with_forecast.memory)


def test_a_state_is_given_to_numpy_in_the_plain_form(use_compiled: Callable[[bool], None]) -> None:
    use_compiled(True)
    policy = GLIDE()
    _, state = policy.act(policy.start(np.zeros(2)), np.ones(2))
    assert isinstance(state.memory, CompiledMemory)
    plain = with_plain_memory(state)
    assert isinstance(plain.memory, GlideMemory)
    assert with_plain_memory(plain) is plain
    assert policy.counts(state)["alarms"] == 0.0
