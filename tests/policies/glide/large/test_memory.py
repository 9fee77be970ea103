"""The streams of a batch."""

from __future__ import annotations

import dataclasses

import numpy as np

import soqo
from soqo._foundation.frozen_dataclasses import evolve
from soqo._storage.registry import build
from soqo.checks import check_policy
from soqo.policies.glide._large._memory import LargeMemory


def test_the_contract_holds_with_many_dimensions() -> None:
    check_policy(soqo.GLIDE(), dim=13, rounds=8)


def test_runs_are_taken_and_joined() -> None:
    memory = LargeMemory.start((3,), 13)
    first, rest = memory.take_runs(np.array([0])), memory.take_runs(np.array([1, 2]))
    assert LargeMemory.join_runs([first, rest]) == memory
    assert first.runs_key() == rest.runs_key()


def test_files_of_the_first_version_go_on_without_probes() -> None:
    memory = LargeMemory.start((2,), 13)
    new = ("moment", "directions", "probes", "last_probe", "next_probe")
    fields = {field.name: getattr(memory, field.name) for field in dataclasses.fields(memory) if field.name not in new}
    assert build("GLIDE.many_dimensions", 1, fields) == memory


def test_rounds_of_probes_are_shifted_with_the_others() -> None:
    memory = evolve(LargeMemory.start((2,), 13), last_probe=np.array([0.0, 5.0]))
    np.testing.assert_array_equal(memory.shift_rounds(3).last_probe, [0.0, 8.0])
