"""The commands for simulated plants."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import complaint, run


@pytest.mark.parametrize(
    ("name", "header", "row"),
    [("wind-farm", "direction,speed", "{},9"), ("data-center", "utilization", "0.{}")],
)
def test_a_plant_is_driven_along_a_trace_and_a_page_is_written(
    name: str, header: str, row: str, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("\n".join([header, *(row.format(10 + k) for k in range(20))]))
    done = run("plants", name, "--trace", trace, "--rounds", "12", "--seeds", "1", "--out", tmp_path / "page")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["FTM", "deadband", "interpolation", "LAI,"]
    assert lines[-1] == f"page: {tmp_path / 'page' / 'index.html'}"
    assert f"soqo plants {name} --trace" in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")


def test_a_trace_that_is_too_short_or_wrong_is_one_line(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("direction,speed\n10,8\n")
    assert complaint("plants", "wind-farm", "--trace", trace) == (
        "rounds must be at most 1, the length of the trace, got 1000"
    )
    assert "must have the columns utilization" in complaint("plants", "data-center", "--trace", trace)


def test_the_group_alone_prints_its_help() -> None:
    done = run("plants")
    assert done.returncode == 0
    assert "wind-farm" in done.stdout
    assert "data-center" in done.stdout
