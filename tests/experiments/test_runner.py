"""A run leaves figure, table and numbers, and a second run leaves the same ones."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from soqo import Result
from soqo.experiments.runner import Outcome, reproduce
from soqo.experiments.settings import setting


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return reproduce(setting("primary"), tmp_path_factory.mktemp("out") / "deep", runs=3)


def test_every_file_is_what_its_name_says(outcome: Outcome) -> None:
    png, svg, table, numbers = outcome.files
    assert png.read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [row["policy"] for row in rows] == list(outcome.result)
    for row in rows:
        regret = outcome.result.regret(row["policy"])[:, -1]
        assert float(row["median"]) == pytest.approx(np.median(regret))
        assert int(row["runs"]) == 3
    loaded = Result.load(numbers)
    np.testing.assert_array_equal(loaded.regret("FTM"), outcome.result.regret("FTM"))


def test_the_same_seed_gives_the_same_files(outcome: Outcome, tmp_path: Path) -> None:
    again = reproduce(setting("primary"), tmp_path, runs=3)
    for one, other in zip(outcome.files[1:3], again.files[1:3], strict=True):
        assert one.read_bytes() == other.read_bytes()
