"""Files that earlier versions wrote can still be loaded and resumed, and go on as they would have then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soqo

FOLDER = Path(__file__).parent / "data"
CASES = [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in sorted(FOLDER.glob("*/*.json"))]


def test_every_public_policy_has_files_of_the_first_version() -> None:
    kept = {path.stem.partition("_")[0] for path in (FOLDER / "0.1.0").glob("*.json")}
    first = {"FTM", "LAI", "ROBD", "POL", "OAL", "SCaLE", "HySCaLE", "GLIDE", "Weighted", "Limited"}
    assert kept == first


@pytest.mark.parametrize("path", CASES)
@pytest.mark.parametrize("source", ["saved", "journal"])
def test_a_controller_goes_on_as_the_version_that_wrote_it_would_have(source: str, path: Path, tmp_path: Path) -> None:
    expected = json.loads(path.read_text(encoding="utf-8"))
    controller = opened(source, path, tmp_path)
    assert controller.round == expected["round"]
    np.testing.assert_array_equal(controller.pending, expected["pending"])
    controller.observe(expected["y"])
    for k, (v0, v1, *action, y) in enumerate(expected["rows"]):
        x = controller.act([v0, v1])
        # Another processor adds up in another order, and a learner carries the last digit on.
        np.testing.assert_allclose(x, action, rtol=1e-7, atol=1e-7)
        if k == 7:
            controller.observe(np.nan)
        else:
            controller.observe(y, applied=x + 0.1 if k == 11 else None)
    controller.close()


def opened(source: str, path: Path, tmp_path: Path) -> soqo.Controller:
    if source == "saved":
        return soqo.Controller.load(path.with_suffix(".controller"))
    journal = Path(shutil.copy(path.with_suffix(".journal"), tmp_path))
    return soqo.Controller.resume(journal, durability="process")


@pytest.mark.parametrize("path", CASES)
def test_what_was_loaded_is_saved_in_the_present_format(path: Path, tmp_path: Path) -> None:
    controller = soqo.Controller.load(path.with_suffix(".controller"))
    again: Any = soqo.Controller.load(controller.save(tmp_path / "again"))
    assert b"soqo." not in (tmp_path / "again").read_bytes(), "a file must not hold module paths"
    assert again.explain() == controller.explain()
    assert b"soqo." in path.with_suffix(".controller").read_bytes()
