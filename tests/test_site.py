"""The site: generated pages have every public name and every command, and every page is in a list of pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import api_pages
import command_pages
import generated_pages
import http_pages
from plain_docstrings import escape_text
from test_docstrings import CONSTANTS, OBJECTS, owner_of

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages that are generated from the code, in a folder of their own."""
    folder = tmp_path_factory.mktemp("generated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generated_pages, "FOLDER", folder)
        api_pages.write_pages()
        command_pages.write_page()
        http_pages.write_page()
    return folder


def test_every_public_name_is_documented_once(generated: Path) -> None:
    pages = [path.read_text(encoding="utf-8") for path in (generated / "api").glob("*.rst")]
    found = [name for page in pages for name in re.findall(r"^\.\. (?:auto\w+|py:data):: (\S+)$", page, re.MULTILINE)]
    modules = {name for page in pages for name in re.findall(r"^\.\. automodule:: (\S+)$", page, re.MULTILINE)}
    names = sorted(set(found) - modules)
    assert len(names) == len([name for name in found if name not in modules]), "a name has two places"
    expected = {name for name in OBJECTS if owner_of(name) is None}
    # Where a name can be imported from several modules, both pick the shortest, so only the module may differ.
    assert {name.rpartition(".")[2] for name in [*expected, *CONSTANTS]} == {name.rpartition(".")[2] for name in names}


def test_every_command_and_option_is_shown(generated: Path) -> None:
    text = (generated / "cli.rst").read_text(encoding="utf-8")
    for command in (
        "soqo doctor",
        "soqo reproduce",
        "soqo journal export",
        "soqo token create",
        "soqo plants wind-farm",
    ):
        assert re.search(rf"^{command}\n-+$", text, flags=re.MULTILINE), command
    assert "``--scheduler ADDRESS``" in text
    assert "Default: ``results``" in text


def test_every_request_and_field_is_shown(generated: Path) -> None:
    text = (generated / "http.rst").read_text(encoding="utf-8")
    for request in ("POST /plants", "POST /plants/{name}/rounds", "GET /metrics"):
        assert re.search(rf"^{re.escape(request)}\n-+$", text, flags=re.MULTILINE), request
    assert "``switching_weight``" in text


def test_norms_and_products_are_no_markup() -> None:
    assert escape_text("1/2 |x - v|^2 in ``|x|``") == "1/2 \\|x - v\\|^2 in ``|x|``"
    assert escape_text("shape (*batch, d)") == "shape (\\*batch, d)"


def test_every_page_is_in_a_list_of_pages() -> None:
    listed = set()
    for index in DOCS.rglob("index.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", index.read_text(encoding="utf-8"), flags=re.DOTALL):
            for entry in (line for line in block.splitlines() if line and not line.startswith(":")):
                base = DOCS if entry.startswith("/") else index.parent
                listed |= {path.resolve() for path in base.glob(f"{entry.lstrip('/')}.md")}
    pages = {path.resolve() for path in DOCS.rglob("*.md")} - {(DOCS / "index.md").resolve()}
    assert pages == listed
