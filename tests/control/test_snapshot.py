"""Snapshots of a controller are decoded as they were encoded; other files are refused with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from soqo import FTM, LAI, Controller, Limited, Weighted
from soqo._control.snapshot import decode_snapshot
from soqo._storage.checksummed import seal
from soqo._storage.codec import encode
from soqo._storage.plain_data import pack, unpack
from soqo.errors import FileFormatError

MAGIC = b"soqo-controller 1\n"


@dataclass(frozen=True)
class UserPolicy(FTM):
    """A policy of a user."""


def test_other_files_are_refused_with_a_reason(tmp_path: Path) -> None:
    good = encode(Controller(UserPolicy(), [1.0])._steering.snapshot())
    name = f"{__name__}:UserPolicy".encode()
    assert name in good
    unknown = good.replace(name, name.replace(b"UserPolicy", b"LostPolicy"))
    newer = MAGIC.replace(b"1", b"2")
    for contents, reason in (
        (b"", "is not a file of this kind"),
        (b"PK\3\4 something else", "is not a file of this kind: it does not begin with"),
        (seal(newer, good), "has layout b'2', and soqo .* reads layout b'1'"),
        (seal(MAGIC, unknown), "LostPolicy', which is not a dataclass known here"),
        (seal(MAGIC, encode(FTM())), "must hold the state of a controller, got a FTM"),
        (seal(MAGIC, b"short"), "cannot be read by soqo"),
    ):
        (tmp_path / "file").write_bytes(contents)
        with pytest.raises(FileFormatError, match=reason) as caught:
            Controller.load(tmp_path / "file")
        assert str(tmp_path / "file") in str(caught.value)
    with pytest.raises(FileNotFoundError, match=r"there is no saved controller .*missing"):
        Controller.load(tmp_path / "missing")


def test_a_snapshot_is_decoded_as_it_was_encoded() -> None:
    snapshot = Controller(FTM(), [1.0, 2.0], horizon=9, low=-3.0, switching_weight=[1.0, 4.0])._steering.snapshot()
    assert decode_snapshot(encode(snapshot), "file", alone=True) == snapshot


def test_the_first_files_of_a_controller_are_decoded_with_the_defaults_of_new_settings() -> None:
    """Also with an A in plain coordinates, of which these did not say for which switching weight it is."""
    plain, weight = LAI(np.eye(2)), np.array([1.0, 4.0])
    state = Limited(Weighted(plain, weight), low=-3.0).start([1.0, 2.0])
    policy, arrays = pack({"policy": plain, "low": np.array(-3.0), "weight": weight, "state": state})
    fields = policy["mapping"]
    assert fields["policy"]["version"] == 2
    fields["policy"]["version"] = 1
    del fields["policy"]["fields"]["plain_for"]
    plant = {"low": fields["low"], "high": None, "switching_weight": fields["weight"]}
    tree = {
        "tag": "Controller",
        "version": 1,
        "fields": {"policy": fields["policy"], "state": fields["state"], "missed": 3, **plant},
    }
    found = unpack(tree, arrays)
    assert (found.rate, found.v_limits, found.actuators, found.units, found.period) == (None,) * 5
    assert (found.timestamps, found.seed, found.policy) == (False, None, plain)
    assert found.player() == Limited(Weighted(plain, [1.0, 4.0]), low=-3.0)
    assert found.is_alone
    assert (found.dim, int(found.missed), found.batches[0].state) == (2, 3, state)
