"""Readings that every belief expects, one at a time from the states of a run by NumPy's code."""

from __future__ import annotations

import numpy as np
from compiled_states import assert_same_memory, rounds_of

from soqo import GLIDE
from soqo.policies.glide._compiled import engine
from soqo.policies.glide._compiled._layout import Constants
from soqo.policies.glide._compiled._packed import pack
from soqo.policies.glide._compiled._quiet_readings import learn_quiet


def test_quiet_runs_learn_as_by_numpy_and_others_are_marked() -> None:
    policy, quiet = GLIDE(), 0
    own: Constants = engine._constants(policy._model(2))
    for acted, y, learned in rounds_of(policy, rounds=80, wrong=0.02):
        before = pack(acted.memory)
        table, buffer, runs = before.table.copy(), before.buffer.copy(), before.runs.copy()
        root, recent = np.empty_like(before.root), np.empty_like(before.recent)
        status, expected = np.empty(3, dtype=np.int64), np.empty(3)
        left = learn_quiet(
            *(table, before.root, root, buffer, before.starts, runs, before.recent, recent, acted.u, y),
            *(np.full(3, acted.round), acted.round, own.sizes, own.bias, own.kappa, own.trusted_distance),
            *(own.busy_ages, status, expected),
        )
        assert left == np.count_nonzero(status)
        if not left:
            quiet += 1
            after = before.replace(table=table, root=root, buffer=buffer, runs=runs, recent=recent)
            assert_same_memory(after.plain, learned.memory)
    assert 20 < quiet < 80


def test_a_run_without_a_reading_stays_as_it_is() -> None:
    policy = GLIDE()
    *_, (acted, _, _) = rounds_of(policy, rounds=30)
    before = pack(acted.memory)
    after, left, _ = engine.learn(
        *(before, policy._model(2), acted.u, np.full(3, np.nan)),
        own_rounds=np.full(3, acted.round),
        round_number=acted.round,
        base_load=True,
    )
    assert not left.size
    assert after == before
