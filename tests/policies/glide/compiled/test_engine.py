"""Calls of compiled functions for a batch."""

from __future__ import annotations

import numpy as np
from compiled_states import rounds_of

from soqo import GLIDE
from soqo.policies._runs import take_rows
from soqo.policies.glide._compiled import engine
from soqo.policies.glide._compiled._packed import pack


def test_runs_are_inserted_at_their_places() -> None:
    *_, (acted, _, _) = rounds_of(GLIDE(), rounds=15, wrong=0.2)
    whole = pack(acted.memory)
    inserted = np.array([1])
    counts = np.diff(whole.starts)
    kept = np.repeat(np.arange(3) != 1, counts)
    starts = np.concatenate([[0], np.cumsum(np.where(np.arange(3) == 1, 0, counts))])
    factor = whole.factor[kept] if len(whole.factor) else whole.factor
    without = whole.replace(
        table=whole.table[kept], root=whole.root[kept], factor=factor, buffer=whole.buffer[kept], starts=starts
    )
    part = pack(take_rows(acted.memory, inserted))
    assert engine.insert_runs(without, part, inserted) == whole


def test_ages_are_sorted_and_end_with_infinity() -> None:
    own = engine._constants(GLIDE()._model(3))
    for ages in (own.fit_ages, own.busy_ages, own.review_ages, own.base_load_ages, own.offset_ages, own.fresh_ages):
        assert (np.diff(ages) > 0.0).all()
        assert np.isinf(ages[-1])
    frequent = set(range(1, own.frequent + 1))
    assert set(own.fit_ages) | set(own.review_ages) | frequent == set(own.busy_ages)
