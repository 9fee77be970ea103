"""The page of a drive: its contents, and that it needs nothing else."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from soqo.plants import Drive, WindFarm, contenders, drive, write_page


@pytest.fixture(scope="module")
def result() -> Drive:
    farm = WindFarm(layout=[[0.0, 0.0], [5.0, 0.0]])
    return drive(farm, contenders(farm, rounds=30, seeds=1), rounds=30, seeds=1)


@pytest.fixture(scope="module")
def page(result: Drive, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(result, tmp_path_factory.mktemp("page") / "new" / "folder", command="soqo plants <x> & y")


def test_page_opens_with_the_result_in_a_sentence(result: Drive, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    finding = re.findall(r'<p class="finding">(.*?)</p>', text)[0]
    total = result["GLIDE"].total
    assert finding.startswith(f"GLIDE costs {total:,.2f} kW, " if total < 100.0 else f"GLIDE costs {total:,.0f} kW, ")
    assert "the benchmark that knows the shape of the cost" in finding
    assert "a deadband" in finding


def test_page_has_a_row_for_each_policy_and_escapes_the_command(result: Drive, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    rows = re.findall(r'<th scope="row"><span class="swatch policy-\d+"></span>(.*?)</th>', text)
    assert rows == list(result.names)
    assert "soqo plants &lt;x&gt; &amp; y" in text
    assert "GLIDE is told that the cost is nearly quadratic up to |x - v| = 28 deg." in text  # 20 deg for each of two
    assert "$" not in text[text.index("<body>") :]


def test_page_stands_alone_and_has_both_themes(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    addresses = re.findall(r'(?:src|srcset|href)="([^"]*)"', text)
    assert not [a for a in addresses if not a.startswith(("data:", "#", "costs.csv", "picture-"))]
    assert sum(a.startswith("data:image/svg+xml") for a in addresses) == 2
    assert {file.name for file in page.parent.iterdir()} == {
        "costs.csv",
        "index.html",
        "picture-dark.svg",
        "picture-light.svg",
    }


def test_a_browser_shows_the_picture_within_the_width_of_the_window(page: Path) -> None:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no browser on the PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for width in (1280, 390):
            view = browser.new_page(viewport={"width": width, "height": 800}, color_scheme="dark")
            view.goto(page.as_uri())
            assert view.evaluate("document.documentElement.scrollWidth") <= width
            assert view.evaluate("document.querySelector('picture img').naturalWidth") > 500
        browser.close()
