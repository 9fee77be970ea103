"""The commands for plants: journals, logs, replays and pictures, in real processes with real files."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soqo
from command_line import complaint, run
from plant_logs import half_steps
from soqo import GLIDE, Controller, Log

LOG = half_steps(2, 60, switching_weight=[1.0, 4.0])


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A journal of twelve rounds, two of them without a reading."""
    path = tmp_path / "plant.journal"
    options: dict[str, Any] = {"low": -50.0, "switching_weight": [1.0, 4.0], "period": [360.0, np.inf]}
    with Controller(GLIDE(), [0.0, 0.0], journal=path, **options) as controller:
        for t in range(12):
            controller.act(LOG.v[t])
            controller.observe(np.nan if t in (3, 7) else LOG.y[t])
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return LOG.write(tmp_path / "log.csv")


# ---- journals ------------------------------------------------------------------------------------------------------


def test_journal_show_prints_the_policy_its_state_and_the_last_rounds(journal: Path) -> None:
    before = journal.read_bytes()
    done = run("journal", "show", journal, "--rounds", "3")
    assert done.returncode == 0, done.stderr
    facts = dict(re.findall(r"^(\w+): +(.*)$", done.stdout, flags=re.MULTILINE))
    assert facts["policy"] == "GLIDE()"
    assert facts["rounds"] == "12, 10 with a reading"
    assert (facts["low"], facts["weight"], facts["period"]) == ("-50.0", "[1.0, 4.0]", "[360.0, inf]")
    assert facts["state"].startswith("Round 12 completed: GLIDE is ")
    assert facts["size"].startswith(f"{len(before)} bytes")
    header, *rows = done.stdout.rstrip().splitlines()[-4:]
    assert header.split() == ["round", "v_1", "v_2", "x_1", "x_2", "y"]
    log = Log.read(journal)
    for t, row in zip((9, 10, 11), rows, strict=True):
        expected = [t + 1, *log.v[t], *log.x[t], log.y[t]]
        assert [float(cell) for cell in row.split()] == pytest.approx(expected, rel=1e-5)
    assert journal.read_bytes() == before


def test_journal_show_works_before_the_first_round_and_in_the_middle_of_one(tmp_path: Path) -> None:
    controller = Controller(GLIDE(), [0.0], journal=tmp_path / "journal")  # in use
    assert "No round played yet" in run("journal", "show", tmp_path / "journal").stdout
    controller.act([1.0])
    shown = run("journal", "show", tmp_path / "journal").stdout
    assert "Round 1 waits for its reading" in shown
    assert shown.splitlines()[-1].split()[-1] == "-"
    controller.observe(0.5)


def test_journal_check_says_whether_it_can_be_resumed(journal: Path) -> None:
    data = journal.read_bytes()
    done = run("journal", "check", journal)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{journal}: can be resumed (12 rounds, 24 calls, {len(data)} bytes)\n"
    journal.write_bytes(data[:-3])  # a crash in the middle of the last record
    cut = run("journal", "check", journal)
    assert cut.returncode == 0
    assert "12 rounds, 23 calls" in cut.stdout
    assert re.search(r"^the last \d+ bytes are an incomplete record", cut.stdout, flags=re.MULTILINE)
    assert journal.read_bytes() == data[:-3]  # it is not repaired
    damaged = bytearray(data)
    damaged[100] ^= 1  # long before the end
    journal.write_bytes(damaged)
    assert "is damaged at byte" in complaint("journal", "check", journal)


def test_journal_export_writes_csv_and_parquet(journal: Path, tmp_path: Path) -> None:
    log = Log.read(journal)
    done = run("journal", "export", journal)
    assert done.stdout == f"wrote {tmp_path / 'plant.csv'}: 12 rounds\n", done.stderr
    run("journal", "export", journal, "--out", tmp_path / "log.parquet")
    for name in ("plant.csv", "log.parquet"):
        exported = Log.read(tmp_path / name)
        np.testing.assert_array_equal(exported.x, log.x)
        np.testing.assert_array_equal(exported.y, log.y)
        np.testing.assert_array_equal(np.asarray(exported.switching_weight), [1.0, 4.0])


def test_other_files_are_no_journals(table: Path, tmp_path: Path) -> None:
    for command in ("show", "check", "export"):
        assert "is not a journal" in complaint("journal", command, table)
        assert complaint("journal", command, tmp_path / "none").startswith("there is no ")


# ---- replays -------------------------------------------------------------------------------------------------------


def test_replay_prints_what_other_policies_would_have_cost(table: Path) -> None:
    done = run("replay", table, "--policy", "GLIDE", "--policy", "GLIDE(offset=false, noise_cap=2)", "--draws", "8")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == str(soqo.replay(GLIDE(), Log.read(table), draws=8))
    assert second == str(soqo.replay(GLIDE(offset=False, noise_cap=2.0), Log.read(table), draws=8))
    assert "95 %" in first


def test_check_gives_a_verdict_and_an_exit_code(table: Path, tmp_path: Path) -> None:
    log = half_steps(1, 120, switching_weight=1.0)
    done = run("check", log.write(tmp_path / "good.csv"), "--draws", "4", "--policy", "FTM")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{soqo.check_log(log, policy=soqo.FTM(), draws=4)}\n"
    assert done.stdout.startswith("Suitable")
    upside_down = replace(log, y=-log.y).write(tmp_path / "bad.csv")
    done = run("check", upside_down, "--draws", "4", "--policy", "FTM", "--switching-weight", "2")
    assert done.returncode == 1
    assert done.stderr == ""
    assert done.stdout.startswith("Not suitable as it is: hitting cost\n")
    assert "check the sign of y" in done.stdout.splitlines()[-1]
    assert complaint("check", table, "--switching-weight", "0") == "switching_weight must be positive, got 0"
    assert complaint("check", table, "--draws", "1") == "draws must be an integer of at least 4, got 1"


def test_replay_takes_weights_and_limits_from_options(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    rows = np.c_[LOG.v, LOG.x, LOG.y]
    np.savetxt(path, rows, delimiter=",", header="v_1,v_2,x_1,x_2,y", comments="")
    options = ["--switching-weight", "1,4", "--low=-40", "--high", "40,50", "--x0", "0,0", "--draws", "4"]
    options += ["--rate", "2", "--period", "360,inf"]
    plant: dict[str, Any] = {"low": -40.0, "high": [40.0, 50.0], "rate": 2.0, "period": [360.0, np.inf]}
    log = Log.read(path, switching_weight=[1.0, 4.0], x0=[0.0, 0.0], **plant)
    assert run("replay", path, *options).stdout == f"{soqo.replay(GLIDE(), log, draws=4)}\n"
    note, found = run("replay", path, "--draws", "4").stdout.splitlines()
    assert "--switching-weight" in note
    assert found != str(soqo.replay(GLIDE(), log, draws=4))


def test_replay_of_a_journal(journal: Path) -> None:
    assert run("replay", journal, "--draws", "4").stdout == f"{soqo.replay(GLIDE(), journal, draws=4)}\n"


def test_mistakes_are_one_line(table: Path, tmp_path: Path) -> None:
    assert complaint("replay", table, "--policy", "GLID").startswith("policy must be one of FTM, GLIDE,")
    assert complaint("replay", tmp_path / "no.csv") == f"there is no log {tmp_path / 'no.csv'}"
    assert complaint("replay", table, "--draws", "1") == "draws must be an integer of at least 4, got 1"
    table.write_text("v_1,x_1,y\n1,2,3\n1,two,3\n")
    expected = f"{table}: line 3, column x_1: the cell must be a number, got 'two'"
    assert complaint("replay", table) == expected
    assert complaint("plot", table) == expected


# ---- pictures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["journal", "csv", "parquet"])
def test_plot_draws_journals_and_tables(kind: str, journal: Path, tmp_path: Path) -> None:
    path = journal if kind == "journal" else Log.read(journal).write(tmp_path / f"log.{kind}")
    done = run("plot", path, "--theme", "dark")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"wrote {path.with_suffix('.png')}\n"
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_plot_options(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "plant.svg"
    assert run("plot", table, "--out", out, "--last", "20", "--policy", "RLS(noise=0.5)").returncode == 0
    text = out.read_text()
    assert "log.csv: 20 rounds" in text
    assert "RLS expected" in text
    assert run("plot", table, "--out", out, "--no-learn").returncode == 0
    assert "as measured" in out.read_text()


def test_mistakes_of_plot_are_one_line(table: Path, journal: Path, tmp_path: Path) -> None:
    assert "--out must end with one of" in complaint("plot", table, "--no-learn", "--out", tmp_path / "x.txt")
    assert "--theme" in complaint("plot", table, "--theme", "blue")
    target = tmp_path / "journal.png"
    target.write_bytes(journal.read_bytes())
    assert "--out must not be a log or a journal" in complaint("plot", table, "--no-learn", "--out", target)
    assert target.read_bytes() == journal.read_bytes()
