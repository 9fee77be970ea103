"""Regrets: parts of policies and of runs join, names change, and a file keeps every bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soqo.errors import FileFormatError
from soqo.experiments.execution import Regrets


def invented(names: str, runs: int = 3, seed: int = 0) -> Regrets:
    rng = np.random.default_rng(seed)
    shape = (len(names), runs)
    return Regrets(tuple(names), rng.normal(size=shape), rng.normal(size=shape), rng.random(shape) < 0.5)


def test_policies_and_runs_join() -> None:
    one, other = invented("ab"), invented("c", seed=1)
    both = Regrets.join_policies([one, other])
    assert both.policies == ("a", "b", "c")
    np.testing.assert_array_equal(both["c"], other["c"])
    longer = Regrets.join_runs([one, invented("ab", runs=2, seed=2)])
    assert longer.runs == 5
    np.testing.assert_array_equal(longer["b"][:3], one["b"])
    assert both.choose(["c", "a"]).policies == ("c", "a")


def test_a_policy_can_have_several_names() -> None:
    renamed = invented("ab").rename({"first": "a", "again": "a"})
    assert renamed.policies == ("first", "again")
    np.testing.assert_array_equal(renamed["first"], renamed["again"])


def test_a_file_keeps_every_bit_and_damage_is_noticed(tmp_path: Path) -> None:
    regrets, path = invented("abc"), tmp_path / "file.npz"
    regrets.save(path)
    assert Regrets.load(path) == regrets
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FileFormatError, match="is damaged"):
        Regrets.load(path)
