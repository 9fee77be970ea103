"""The memory of GLIDE, and how files of earlier versions become it."""

from __future__ import annotations

import numpy as np

from soqo import GLIDE
from soqo._storage.plain_data import pack, unpack
from soqo._storage.registry import build
from soqo.policies.glide._memory import GlideMemory


def test_a_memory_is_equal_to_its_copy_from_a_file() -> None:
    policy = GLIDE()
    state = policy.start(np.zeros((2, 3)))
    for t in range(6):
        x, state = policy.act(state, np.full((2, 3), float(t)))
        state = policy.observe(state, np.square(x - t).sum(axis=1))
    memory = state.memory
    assert isinstance(memory, GlideMemory)
    assert unpack(*pack(memory)) == memory


def test_a_memory_without_a_hedge_played_for_its_estimate() -> None:
    memory = GLIDE().start(np.zeros((1, 2))).memory
    fields = {name: value for name, value in memory.__dict__.items() if name not in ("played", "companion")}
    old = build("GLIDE.memory", 3, fields)
    assert old.played == memory.spectrum
    assert old.companion is None
