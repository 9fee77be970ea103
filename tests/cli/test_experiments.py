"""The commands for experiments: real processes, real files, errors in one line."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import soqo
from command_line import COMMAND, ENVIRONMENT, complaint, run
from soqo.experiments import catalogue

SPEC = """
name = "tiny"
title = "A tiny plant"
horizon = 40
runs = 12
problem = { dim = 2, rank = 2, min_eigenvalue = 0.5, max_eigenvalue = 1.0 }
process = { kind = "Gaussian", scale = 20.0 }
noise = { kind = "Uniform", cap = 5.0 }
policy = [{ kind = "FTM" }, { kind = "SCaLE" }]
"""

CELL = re.compile(
    r"cell done=(\d+) total=(\d+) setting=(\S+) horizon=(\d+) first_run=(\d+) runs=(\d+) "
    r"policies=\d+ kept=(yes|no) seconds=(\d+\.\d)"
)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(SPEC)
    return path


# ---- simulations ---------------------------------------------------------------------------------------------------


def test_reproduce_prints_claims_and_a_table_and_says_where_the_report_is(tmp_path: Path) -> None:
    out = tmp_path / "here"
    done = run("reproduce", "primary", "--quick", "--runs", "2", "--out", out, "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "ROBD (knows A)" in done.stdout
    assert "Primary evaluation" in done.stdout
    assert re.search(r"^The main claim of the paper's primary .*holds in \w+ of 20 ways", done.stdout, re.M)
    assert "\nVerdicts of 2 runs are provisional.\n" in done.stdout
    assert re.search(r"^Read to the letter, by means of 2 runs: of 5 claims about experiments", done.stdout, re.M)
    assert re.search(
        r"^  SCaLE and HySCaLE significantly outperform all baselines\n    to the letter: ", done.stdout, re.M
    )
    assert re.search(r"^not tested: \d+ claims", done.stdout, re.M)
    assert done.stdout.endswith(f"report: {out / 'index.html'}\n")
    assert (out / "index.html").stat().st_size > 0
    lines = done.stderr.splitlines()
    assert lines
    cells = [CELL.fullmatch(line) for line in lines]
    assert all(cell is not None and cell[3] == "primary" for cell in cells), done.stderr
    # Two stages: the second one simulates what the line search for c1 chose.
    assert sum(cell is not None and cell[1] == cell[2] for cell in cells) == 2


def kept_cells(lines: str) -> list[str]:
    """Whether each cell was there already, as its line says."""
    cells = [CELL.fullmatch(line) for line in lines.splitlines()]
    assert all(cells), lines
    return [cell[7] for cell in cells if cell]


def test_simulate_runs_a_file_and_resumes(spec: Path, tmp_path: Path) -> None:
    first = run("simulate", spec, "--out", tmp_path / "out", "--workers", "2", "--runs", "22")
    assert first.returncode == 0, first.stderr
    assert "tiny: A tiny plant\nregret against LAI after 40 rounds, 22 runs:" in first.stdout
    assert re.search(r"^SCaLE .*0/22$", first.stdout, flags=re.MULTILINE)
    assert kept_cells(first.stderr) == ["no", "no"]
    assert not (tmp_path / "out" / "claims.csv").exists()  # it is not about the paper
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "claims.csv" not in page
    more = run("simulate", spec, "--out", tmp_path / "out", "--workers", "1", "--runs", "40")
    assert more.returncode == 0, more.stderr
    assert kept_cells(more.stderr) == ["yes", "no"]


def test_ctrl_c_exits_with_130_and_the_same_command_resumes(spec: Path, tmp_path: Path) -> None:
    spec.write_text(SPEC.replace("horizon = 40", "horizon = 3000").replace("runs = 12", "runs = 400"))
    command = [*COMMAND, "simulate", str(spec), "--out", str(tmp_path), "--workers", "2"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    assert CELL.fullmatch(first.strip()), first + process.stderr.read()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    cells, last = err.splitlines()[:-1], err.splitlines()[-1]
    assert all(CELL.fullmatch(line) for line in cells)
    found = re.fullmatch(
        r"soqo: interrupted with (\d+) of 20 tasks done, which are stored in (.*); the same command resumes from there",
        last,
    )
    assert found, err
    assert 1 <= int(found[1]) <= len(list(Path(found[2]).glob("*.nc"))) <= int(found[1]) + 1
    assert not list(Path(found[2]).glob(".*.tmp"))


def test_on_a_terminal_there_is_a_bar_in_place_of_lines(spec: Path, tmp_path: Path) -> None:
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "simulate", str(spec), "--out", str(tmp_path), "--workers", "1"],
        stdout=subprocess.PIPE,
        stderr=inner,
        env={**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(inner)
    shown = b""
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        try:
            piece = os.read(outer, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(outer)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert b"report: " in out
    assert "cells (tiny)" in shown.decode()
    assert "1/1" in shown.decode()
    assert "cell done=" not in shown.decode()


# ---- the other commands --------------------------------------------------------------------------------------------


def test_list_names_every_figure_and_panel() -> None:
    done = run("list")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) == 1 + len(catalogue())
    for setting, line in zip(catalogue(), lines[1:], strict=True):
        assert setting.name in line
        assert setting.title in line
        assert line.endswith(setting.source)


def test_policies_names_kinds_and_arguments() -> None:
    done = run("policies")
    assert done.returncode == 0
    assert "POL: Passive online learner" in done.stdout
    assert "    learning_rate: must be given\n" in done.stdout
    assert "    c1: 3.0\n" in done.stdout
    assert "module:Class: " in done.stdout


def test_tune_prints_a_curve_and_writes_files(spec: Path, tmp_path: Path) -> None:
    done = run("tune", spec, "--values", "1,2,8", "--runs", "4", "--out", tmp_path / "tuned")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(r"^best c1 = \d, 95% interval \d .. \d, ", done.stdout, flags=re.MULTILINE)
    assert done.stdout.count("#") >= 3
    for suffix in (".csv", ".png", ".svg"):
        path = tmp_path / "tuned" / f"tiny_tune_c1{suffix}"
        assert path.stat().st_size > 0
        assert f"wrote {path}" in done.stdout


def test_bounds_prints_a_table_and_writes_files(spec: Path, tmp_path: Path) -> None:
    done = run("bounds", spec, "--horizons", "10,20,40", "--runs", "4", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith("tiny: A tiny plant\n\nSCaLE of the setting: m = 12 exploration rounds")
    assert re.search(r"^ +T = 10 +20 +40$", done.stdout, flags=re.MULTILINE)
    assert re.search(r"^  Theorem 1, as printed +- +\S+ +\S+$", done.stdout, flags=re.MULTILINE)
    assert re.search(r"^at or above the exact regret at every T: ", done.stdout, flags=re.MULTILINE)
    for suffix in (".csv", ".png", ".svg"):
        path = tmp_path / "out" / f"tiny_bounds{suffix}"
        assert path.stat().st_size > 0
        assert f"wrote {path}" in done.stdout


def test_estimate_prints_the_matrix_and_its_certificate(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((12, 2))
    y = 0.5 * np.square(Z) @ [2.0, 1.0] + rng.uniform(-0.01, 0.01, 12)
    data = tmp_path / "data.csv"
    np.savetxt(data, np.c_[Z, y], delimiter=",", header="z1,z2,y", comments="")
    done = run("estimate", data)
    assert done.returncode == 0, done.stderr
    fields = dict(re.findall(r"^(\w+): (.*)$", done.stdout, flags=re.MULTILINE))
    assert fields["status"].startswith("solved")
    assert fields["rank"] == "2"
    estimate = soqo.trace_min(Z, y, float(fields["radius"]))
    assert float(fields["trace"]) == pytest.approx(np.trace(estimate.matrix), rel=1e-4)
    assert float(fields["residual"]) == pytest.approx(estimate.residual, rel=1e-4)
    bound = re.match(r"the trace is at least (\S+),", fields["certificate"])
    assert bound
    assert float(bound[1]) == pytest.approx(estimate.dual, rel=1e-4)
    assert float(fields["gap"]) < 1e-5
    matrix = [[float(cell) for cell in line.split()] for line in done.stdout.splitlines()[2:4]]
    np.testing.assert_allclose(matrix, estimate.matrix, atol=1e-4)


# ---- mistakes ------------------------------------------------------------------------------------------------------


def test_wrong_arguments_are_one_line(spec: Path) -> None:
    assert complaint("reproduce", "nothing") == (
        "figure must be one of 'intro', 'primary', 'heavy_tails', 'rank_deficient', 'sensitivity', "
        "'appendix', or a panel that soqo list shows, got 'nothing'"
    )
    assert complaint("simulate", spec, "--runs", "0") == "runs must be a positive integer, got 0"
    assert "--runs" in complaint("simulate", spec, "--runs", "many")
    both = complaint("simulate", spec, "--workers", "2", "--scheduler", "tcp://127.0.0.1:1")
    assert both == "--workers and --scheduler exclude each other"
    assert complaint("tune", spec, "--values", "1,x").startswith("--values must be numbers")
    assert complaint("bounds", spec, "--horizons", "20,40.5") == (
        "--horizons must be whole numbers separated by commas, got '20,40.5'"
    )
    assert complaint("bounds", spec, "--horizons", "40,20") == (
        "horizons must be increasing numbers of rounds, got [40, 20]"
    )
    giant = complaint("bounds", spec, "--horizons", "20,40000000000000")
    assert giant.startswith("runs and horizon must fit into a memory of")


GREEDY = """
from dataclasses import dataclass
import numpy as np
import soqo

@dataclass(frozen=True)
class Greedy(soqo.Policy[None]):
    c1: float = 1.0

    def begin(self, x0, horizon, rng):
        np.empty(2**57)

    def decide(self, state, v):
        return v, None
"""


def test_lack_of_memory_is_one_line(spec: Path) -> None:
    (spec.parent / "greedy_for_test.py").write_text(GREEDY)
    spec.write_text(SPEC.replace('{ kind = "SCaLE" }', '{ kind = "greedy_for_test:Greedy" }'))
    assert complaint("tune", spec) == "out of memory: fewer or shorter runs need less"


def test_wrong_files_are_one_line(spec: Path, tmp_path: Path) -> None:
    spec.write_text(SPEC.replace("runs = 12", "rums = 12"))
    assert complaint("simulate", spec).startswith(f"{spec}, line 5: 'rums' is unknown; allowed are")
    assert complaint("tune", tmp_path / "no.toml") == f"there is no file {tmp_path / 'no.toml'}"
    data = tmp_path / "data.csv"
    data.write_text("z1,y\n1,two\n")
    expected = f"{data}, line 2, column y: the cell must be a finite number, got 'two'"
    assert complaint("estimate", data) == expected
    missing = tmp_path / "missing.csv"
    assert complaint("estimate", missing) == f"{missing}: No such file or directory"
    data.write_text("z1,y\n1,2\n")
    assert complaint("estimate", data, "--method", "least_absolute_deviations", "--radius", "3") == (
        "radius must be None for least_absolute_deviations, which has none, got 3.0"
    )
    spec.write_text(SPEC)
    assert str(data) in complaint("simulate", spec, "--out", data)
