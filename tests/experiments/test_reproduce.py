"""A run writes figures, tables, data and a page, and a second run writes the same files."""

from __future__ import annotations

import csv
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soqo
from soqo import Result
from soqo.errors import ArgumentError, SoqoWarning
from soqo.experiments import CellProgress, Report, Setting, find, quick_setting, reproduce
from soqo.experiments.execution import code_version


@pytest.fixture(scope="module")
def report(small: dict[str, Setting], tmp_path_factory: pytest.TempPathFactory) -> Report:
    out = tmp_path_factory.mktemp("out") / "deep" / "er"
    return reproduce(list(small.values()), out, workers=1, command="soqo reproduce <all>")


def test_the_folder_holds_what_the_report_lists_and_the_cells(report: Report) -> None:
    out = report.index.parent
    found = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    cells = {name for name in found if name.startswith("cells/")}
    names = ("intro", "second", "third", "sweep_1", "sweep_9")
    pictures = ("intro", "curvature", "second", "third", "sweep")
    assert found - cells == {
        *(f"figures/{name}.{suffix}" for name in pictures for suffix in ("svg", "png")),
        *(f"tables/{name}.csv" for name in names),
        *(f"data/{name}.nc" for name in names),
        *(f"data/intro_T{horizon}.nc" for horizon in (20, 40, 80)),
        "claims.csv",
        "claims.json",
        "about.json",
        "index.html",
    }
    assert {p.relative_to(out).as_posix() for p in report.files} == found - cells
    # Four for the horizons, and one for each other setting; but the second has the environment of the first, and the
    # first sweep too, each with policies of its own in the same file.
    assert len(cells) == 6
    assert (out / "figures" / "intro.png").read_bytes().startswith(b"\x89PNG")


def test_a_table_has_a_row_for_every_policy_and_horizon(report: Report) -> None:
    outcome = report.outcomes[0]
    text = (report.index.parent / "tables" / "intro.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert [(r["policy"], int(r["horizon"])) for r in rows] == [
        (name, horizon) for horizon in (20, 40, 60, 80) for name in outcome.policies
    ]
    for row in rows:
        regret = outcome.regret(row["policy"], int(row["horizon"]))
        assert float(row["mean"]) == pytest.approx(regret.mean())
        assert float(row["median"]) == np.median(regret)
        assert float(row["lower_quartile"]) == np.quantile(regret, 0.25)
        assert float(row["upper_quartile"]) == np.quantile(regret, 0.75)
        assert float(row["median_low_0.95"]) <= float(row["median"]) <= float(row["median_high_0.95"])
        assert (row["runs"], row["diverged"]) == ("3", "0")


def test_an_infinite_regret_is_in_the_table_without_a_warning(small: dict[str, Setting], tmp_path: Path) -> None:
    """A process that moves too far for its squares to be numbers."""
    second = small["second"]
    environment = replace(second.environment, process=soqo.processes.Gaussian(1e160))
    far = replace(second, environment=environment, policies={"FTM": soqo.FTM()}, horizon=5)
    report = reproduce([far], tmp_path, workers=1)
    text = (tmp_path / "tables" / "second.csv").read_text(encoding="utf-8")
    (row,) = csv.DictReader(text.splitlines())
    assert not np.isfinite(float(row["mean"]))
    assert row["diverged"] == str(report.outcomes[0].runs)


def test_numbers_claims_and_facts_are_in_files(report: Report) -> None:
    out = report.index.parent
    outcome = report.outcomes[0]
    for name in outcome.policies:
        curves = Result.load(out / "data" / "intro.nc").regret(name)
        np.testing.assert_array_equal(curves, outcome.curve(name))
        end = Result.load(out / "data" / "intro_T20.nc").regret(name)
        np.testing.assert_array_equal(end[:, 0], outcome.regret(name, 20))
    rows = list(csv.DictReader((out / "claims.csv").read_text(encoding="utf-8").splitlines()))
    assert report.judgment is not None
    # The settings have the names of the paper's and other policies: no claim is judged from them.
    assert [row["claim"] for row in rows] == [claim.id for claim in report.judgment.claims]
    assert all(row["status"].startswith("not tested") for row in rows)
    assert json.loads((out / "claims.json").read_text(encoding="utf-8")) == report.judgment.to_dict()
    about: dict[str, Any] = json.loads((out / "about.json").read_text(encoding="utf-8"))
    assert about["command"] == "soqo reproduce <all>"
    assert about["versions"]["soqo"] == soqo.__version__
    assert about["versions"]["numpy"] == np.__version__
    assert about["code"] == code_version()
    assert about["quick"] is False
    intro = about["settings"]["intro"]
    assert (intro["seed"], intro["runs"], intro["horizons"]) == (0, 3, [20, 40, 60, 80])
    assert intro["note"] == "where A & B are <left> open"


def test_the_same_numbers_give_the_same_files(report: Report, small: dict[str, Setting], tmp_path: Path) -> None:
    again = reproduce(list(small.values()), tmp_path, workers=1, command="soqo reproduce <all>")
    assert len(again.files) == len(report.files)
    for one, other in zip(report.files, again.files, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_a_second_call_takes_the_cells_that_are_there(
    report: Report, small: dict[str, Setting], tmp_path: Path
) -> None:
    shutil.copytree(report.index.parent / "cells", tmp_path / "cells")
    reports: list[CellProgress] = []
    reproduce([small["second"]], tmp_path, workers=1, progress=reports.append)
    assert reports
    assert all(report.kept for report in reports)


def test_runs_and_quick_make_it_smaller(small: dict[str, Setting], tmp_path: Path) -> None:
    many = replace(small["intro"], runs=12)
    quick = reproduce([many], tmp_path, quick=True, workers=1).outcomes[0]
    assert (quick.runs, quick.horizons) == (8, (20, 60, 80))
    assert "first look" in (tmp_path / "index.html").read_text(encoding="utf-8")
    two = reproduce([many], tmp_path, runs=2, quick=True, workers=1).outcomes[0]
    assert two.runs == 2
    # The runs of a smaller experiment are the first ones of a larger one.
    for name in two.policies:
        np.testing.assert_array_equal(two.regret(name, 60), quick.regret(name, 60)[:2])


def test_quick_keeps_settings_without_horizons_and_with_few() -> None:
    (intro,) = find("intro")
    assert quick_setting(replace(intro, horizons=())).horizons == ()
    assert quick_setting(replace(intro, horizons=(7,))).horizons == (7,)
    assert quick_setting(replace(intro, horizons=(7, 9))).horizons == (7, 9)
    assert quick_setting(replace(intro, horizons=(1, 2, 3, 4, 5))).horizons == (1, 3, 5)
    assert quick_setting(replace(intro, runs=2)).runs == 2


def test_a_figure_that_cannot_be_drawn_does_not_cost_the_rest(
    small: dict[str, Setting], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("no ink")

    monkeypatch.setattr("soqo.experiments.presentation.save_figure", fail)
    with pytest.warns(SoqoWarning, match="figure .* could not be drawn: no ink"):
        report = reproduce(list(small.values())[:1], tmp_path, workers=1)
    assert report.index.exists()
    assert {".csv", ".nc", ".json", ".html"} <= {path.suffix for path in report.files}


@pytest.mark.parametrize("where", [".", "figures", "cells"])
def test_a_file_in_place_of_a_folder_is_named_before_anything_runs(
    small: dict[str, Setting], tmp_path: Path, where: str
) -> None:
    out = tmp_path / "out"
    file = out / where
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("mine", encoding="utf-8")
    cells: list[CellProgress] = []
    with pytest.raises(ArgumentError, match=r"out must be a folder, and .* is a file"):
        reproduce([small["second"]], out, workers=1, progress=cells.append)
    assert not cells
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(os.name != "posix", reason="a path below a device is a thing of POSIX")
def test_a_folder_that_cannot_be_made_is_a_clear_error(small: dict[str, Setting]) -> None:
    with pytest.raises(ArgumentError, match=r"out must be a writable folder, and /dev/null/out is not: Not a dir"):
        reproduce([small["second"]], "/dev/null/out", workers=1)


def test_bad_arguments_are_named(small: dict[str, Setting], tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="settings must be at least one"):
        reproduce([], tmp_path)
    with pytest.raises(ArgumentError, match="runs"):
        reproduce([small["second"]], tmp_path, runs=0)
    with pytest.raises(ArgumentError, match="different names"):
        reproduce([small["second"], small["second"]], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(
    report: Report, small: dict[str, Setting], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(report.index.parent, tmp_path, dirs_exist_ok=True)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        reproduce([small["second"]], tmp_path, workers=1)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
