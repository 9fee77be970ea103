"""Every example runs, quietly, opens with what it teaches, prints what documents show, and is a notebook."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from notebooks import execute, running_kernel, to_notebook
from printed_output import assert_same_but_for_round_off

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
CONSOLE = re.compile(r"```console\n\$ python examples/(\S+\.py)\n(.*?)```", flags=re.DOTALL)
SHOWN = [block for path in DOCUMENTS for block in CONSOLE.findall(path.read_text(encoding="utf-8"))]
"""The names of examples that documents run, and what they show."""


def test_there_are_examples_and_they_are_numbered() -> None:
    assert len(EXAMPLES) >= 5
    assert [path.name[:2] for path in EXAMPLES] == [f"{k + 1:02d}" for k in range(len(EXAMPLES))]
    assert {name for name, _ in SHOWN} <= {path.name for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs_without_a_warning_and_prints_what_documents_show(path: Path, tmp_path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith('"""Teaches: ')
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr == ""
    assert not list(tmp_path.iterdir()), "an example left files behind"
    for name, output in SHOWN:
        if name == path.name:
            assert_same_but_for_round_off(done.stdout, output)


def test_the_committed_log_is_what_its_example_writes(tmp_path: Path) -> None:
    (script,) = [path for path in EXAMPLES if path.name.endswith("_plant_log.py")]
    subprocess.run([sys.executable, str(script), str(tmp_path / "log.csv")], check=True, capture_output=True)
    assert (tmp_path / "log.csv").read_text() == script.with_name("plant_log.csv").read_text()


# ---- notebooks -------------------------------------------------------------------------------------------------------


def statements(source: str) -> str:
    """Return a program without comments and layout."""
    return ast.unparse(ast.parse(source))


def test_a_notebook_has_the_statements_of_its_example() -> None:
    for path in EXAMPLES:
        source = path.read_text(encoding="utf-8")
        text, *cells = to_notebook(source).cells
        assert text.cell_type == "markdown"
        assert text.source.startswith("# ")
        joined = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        program = source.split('"""', 2)[2]
        assert statements(joined) == statements(re.sub(r"\basyncio\.run\(", "await (", program)), path.name


def test_a_plain_and_an_asynchronous_notebook_run(tmp_path: Path) -> None:
    """The others have the statements that were run above; `make docs` runs them."""
    chosen = [path.read_text(encoding="utf-8") for path in EXAMPLES]
    asynchronous = next(source for source in chosen if "asyncio.run(" in source)
    with running_kernel(str(tmp_path)) as kernel:
        for source in (chosen[0], asynchronous):
            assert execute(to_notebook(source), kernel).strip()
