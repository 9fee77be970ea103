"""What commands print: tables that line up, errors in one line, numbers in options."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from command_line import complaint, run


def test_an_error_is_one_line_however_long_its_message_is(tmp_path: Path) -> None:
    name = "a folder with spaces " * 8
    assert complaint("journal", "show", tmp_path / name) == f"there is no journal {tmp_path / name.strip()}"


def test_columns_line_up_and_lines_have_no_trailing_blanks() -> None:
    lines = run("list").stdout.splitlines()
    column = lines[0].index("what it shows")
    assert all(line[column - 2 : column] == "  " and line[column] != " " for line in lines)
    assert [line for line in lines if line != line.rstrip()] == []


def test_numbers_in_options_are_separated_by_commas(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("v_1,x_1,y\n1,0.5,0.2\n")
    assert complaint("replay", log, "--low", "1;2") == "--low must be numbers separated by commas, got '1;2'"


def test_without_the_extra_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['typer'] = None; from soqo._cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith('the soqo command needs the extra lab: pip install "soqo[lab]"')
