"""A saved fleet continues as it would have; other files are refused with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import FTM, RLS, Controller, Fleet, Policy
from soqo.errors import ArgumentError, FileFormatError, PortabilityWarning


def steer(fleet: Fleet, rounds: range) -> Any:
    """Return the actions of some rounds, in which not all plants play."""
    actions = []
    for t in rounds:
        rng = np.random.default_rng(t)
        names = [name for name in fleet.names if rng.random() < 0.7]
        if names:
            actions.append(fleet.act(3.0 * rng.standard_normal((len(names), 2)), names))
            fleet.observe(rng.uniform(0.0, 4.0, len(names)), names)
    return np.concatenate(actions)


def test_a_saved_fleet_continues_to_the_bit_with_a_journal_of_its_own(tmp_path: Path) -> None:
    fleet = Fleet(RLS(), np.zeros((4, 2)), rate=1.0, switching_weight=[1.0, 4.0])
    steer(fleet, range(20))
    fleet.act(np.ones((1, 2)), [2])
    saved = fleet.save(tmp_path / "saved")
    again = Fleet.load(saved, tmp_path / "journal", durability="process")
    assert again.pending == fleet.pending == (2,)
    expected = steer(fleet, range(20, 40))
    np.testing.assert_array_equal(steer(again, range(20, 40)), expected)
    again.close()
    resumed = Fleet.resume(tmp_path / "journal")
    np.testing.assert_array_equal(resumed.x, fleet.x)
    np.testing.assert_array_equal(resumed.diagnostics()["estimate"], fleet.diagnostics()["estimate"])
    log = Fleet.read_log(tmp_path / "journal", 1)  # the rounds since it was loaded
    assert len(log) == int(fleet.round[1]) - int(Fleet.load(saved).round[1])
    np.testing.assert_array_equal(log.x0, Fleet.load(saved).x[1])


def test_other_files_are_refused(tmp_path: Path) -> None:
    fleet = Fleet(FTM(), np.zeros((2, 1)), journal=tmp_path / "journal")
    with pytest.raises(ArgumentError, match="path must not be a journal"):
        fleet.save(tmp_path / "journal")
    with pytest.raises(FileFormatError, match=r"is a journal: use Fleet\.resume"):
        Fleet.load(tmp_path / "journal")
    with pytest.raises(FileNotFoundError, match="there is no saved fleet"):
        Fleet.load(tmp_path / "none")
    one = Controller(FTM(), [0.0]).save(tmp_path / "controller")
    with pytest.raises(FileFormatError, match="is not a file of this kind"):
        Fleet.load(one)
    saved = fleet.save(tmp_path / "saved")
    with pytest.raises(FileFormatError, match="is not a file of this kind"):
        Controller.load(saved)
    data = bytearray(saved.read_bytes())
    data[-20] ^= 1
    saved.write_bytes(data)
    with pytest.raises(FileFormatError, match="saved"):
        Fleet.load(saved)


def test_a_policy_that_another_program_could_not_find_is_reported(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Local(Policy[None]):
        def decide(self, state: Any, v: Any) -> Any:
            return v, None

    with pytest.warns(PortabilityWarning, match="another program could not resume the journal: .*Local") as caught:
        Fleet(Local(), [[0.0]], journal=tmp_path / "journal")
    assert caught[0].filename == __file__
    Fleet(Local(), [[0.0]])  # warnings are errors: without a journal there is none
