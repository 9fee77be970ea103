"""The names in files of 0.1.0 lead to the classes that are registered today, or to fields that are migrated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import soqo
from soqo._storage.legacy_names import legacy_tag
from soqo._storage.plain_data import unpack
from soqo._storage.registry import build
from soqo.errors import FileFormatError

FILES = (Path(__file__).parent.parent / "data" / "0.1.0").glob("*.controller")
RETIRED = {"GLIDE.belief", "GLIDE.outliers"}
"""Classes that are no more: their fields are read for the class that held them."""

NAMES = {name.decode() for file in FILES for name in re.findall(rb"soqo[\w.]*:\w+", file.read_bytes())}


def test_every_name_in_files_of_the_first_version_leads_to_a_class_or_to_fields() -> None:
    assert len(NAMES) >= 20
    for name in NAMES:
        if legacy_tag(name) == "Controller":  # it becomes the state of some plants
            continue
        if legacy_tag(name) in RETIRED:
            assert build(legacy_tag(name), 0, {"a": 1}) == {"a": 1}
            continue
        # A class of this tag is known, because only its version is refused.
        with pytest.raises(FileFormatError, match=f"'{legacy_tag(name)}' has version 1000000 in the file"):
            build(legacy_tag(name), 10**6, {})


def test_different_classes_of_the_first_version_have_different_tags() -> None:
    assert len({legacy_tag(name) for name in NAMES}) == len({name.partition(":")[2] for name in NAMES})


def test_a_legacy_name_is_read_as_version_0_with_its_migration() -> None:
    old = {
        "class": "soqo.policies.wrappers:Weighted",
        "fields": {"policy": {"class": "soqo.policies.known:FTM", "fields": {}}, "switching": 4.0},
    }
    assert unpack(old, {}) == soqo.Weighted(soqo.FTM(), switching_weight=4.0)


@pytest.mark.parametrize("name", ["mine:Drift", "soqo_extras:Belief", "tests.soqo.policies:LAI", "Drift"])
def test_a_class_of_a_user_keeps_its_name(name: str) -> None:
    assert legacy_tag(name) == name
