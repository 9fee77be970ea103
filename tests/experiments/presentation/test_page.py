"""The page of a report: its contents, and that a browser shows all of it and requests nothing else."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from soqo.experiments import reproduce
from soqo.experiments.execution import Outcome
from soqo.experiments.judgment import Claim
from soqo.experiments.presentation import render_page, render_svg, report_figures
from soqo.experiments.settings import Setting
from soqo.typing import Array

WithRegret = Callable[[Outcome, Callable[[str, Array], Array]], Outcome]

CLAIMS = (
    Claim("It holds", "Section 1", "as <printed>", "slope < 1", "0.5", "holds"),
    Claim("It holds somewhere", "Section 2", "eta = 1", "a & b", "3 of 5", "holds only if c1 > 2"),
    Claim("It fails", "Section 3", "corrected", "never", "0 of 5", "does not hold"),
    Claim("Nobody knows", "Section 4", "", "", "", "not tested"),
)


def page_of(outcomes: Sequence[Outcome], claims: Sequence[Claim], command: str = "", quick: bool = False) -> str:
    """The page about some outcomes."""
    figures = report_figures(outcomes)
    about = {
        "command": command,
        "quick": quick,
        "versions": {"numpy": np.__version__},
        "code": "0123456789abcdef",
        "settings": {o.setting.name: {"runs": o.runs, "seed": o.setting.seed} for o in outcomes},
    }
    return render_page(figures, claims, about, {figure.name: render_svg(figure.draw()) for figure in figures})


@pytest.fixture(scope="module")
def text(outcomes: dict[str, Outcome]) -> str:
    """A page with every kind of figure and of verdict."""
    return page_of(list(outcomes.values()), CLAIMS, "soqo reproduce --x '<&>'", quick=True)


# ---- contents ------------------------------------------------------------------------------------------------------


def test_claims_come_first_with_a_word_for_each_verdict(text: str) -> None:
    claims = text[text.index('<section id="claims">') : text.index('<section id="group-intro">')]
    assert re.findall(r'<tr role="row" class="(\w+)">', claims) == ["holds", "partly", "fails", "untested"]
    for claim in CLAIMS:
        assert claim.text in claims
    assert "holds only if</span> c₁ &gt; 2" in claims
    assert 'data-label="Variant">as &lt;printed&gt;' in claims
    assert "a &amp; b" in claims


def test_verdicts_are_counted(text: str) -> None:
    counts = text[text.index('<ul class="counts">') :].partition("</ul>")[0]
    found = re.findall(r"</span> ([a-z ]+)</span> (\d+)", counts)
    assert found == [("holds", "1"), ("holds only if", "1"), ("does not hold", "1"), ("not tested", "1")]


def test_a_page_without_claims_says_so(outcomes: dict[str, Outcome]) -> None:
    text = page_of([outcomes["second"]], [])
    assert "test none of the paper&rsquo;s claims" in text
    assert "<h1>Simulated regret</h1>" in text
    assert "claims.csv" not in text
    assert "<dt>Command</dt>" not in text
    assert "first look" not in text


def test_it_states_the_origin_of_the_numbers(text: str) -> None:
    assert "<code>soqo reproduce --x &#x27;&lt;&amp;&gt;&#x27;</code>" in text
    assert f"numpy {np.__version__}" in text
    assert "<strong>Note.</strong> where A &amp; B are &lt;left&gt; open" in text
    assert "first look" in text


def test_every_link_leads_to_a_file_and_none_to_the_network(small: dict[str, Setting], tmp_path: Path) -> None:
    index = reproduce(list(small.values()), tmp_path / "a folder", workers=1).index
    text = index.read_text(encoding="utf-8")
    links = re.findall(r'<a href="([^"#][^"]*)"', text)
    assert len(links) == 2 + 3 * 4 + 2 + (2 + 2 * 2)
    assert all((index.parent / link).is_file() for link in links)
    assert "http:" not in text
    assert "https:" not in text
    assert not re.search(r'\b(src|srcset)=|@import|url\((?!#)|<script|<link (?!rel="icon")', text)


# ---- display -------------------------------------------------------------------------------------------------------

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]
Scheme = Literal["light", "dark"]
VIEWS: list[tuple[int, Scheme]] = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


class View(NamedTuple):
    """A page in the browser, and its complaints: messages, errors, and requests for anything outside of the page."""

    page: Page
    complaints: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no browser is installed: needs chromium, chromium-browser or google-chrome (make browser)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def index(text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page in a folder whose name needs quoting."""
    folder = tmp_path_factory.mktemp("page") / "a folder"
    folder.mkdir()
    (folder / "index.html").write_text(text, encoding="utf-8")
    return folder / "index.html"


def show(browser: Browser, path: Path, width: int = 1280, scheme: Scheme = "light") -> View:
    """Open a file in a window of this width, with a light or dark color scheme."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, is_mobile=width < 600)
    view = View(context.new_page(), [])
    view.page.on("console", lambda message: view.complaints.append(message.text))
    view.page.on("pageerror", lambda error: view.complaints.append(error.message))

    def check(url: str) -> None:
        if not url.startswith(("file:", "data:")):
            view.complaints.append(f"request for {url}")

    view.page.on("request", lambda request: check(request.url))
    view.page.goto(path.as_uri())
    return view


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_a_browser_shows_every_figure_without_complaints(
    index: Path, browser: Browser, width: int, scheme: Scheme
) -> None:
    page, complaints = show(browser, index, width, scheme)
    figures = page.locator(".plot svg").all()
    assert len(figures) == 5
    for figure in figures:
        assert figure.is_visible()
        box = figure.bounding_box()
        assert box is not None
        assert box["width"] > 300
        assert box["height"] > 150
    assert page.locator(".plot svg text").count() > 100
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # The screenshot stays in pytest's temporary folder for inspection.
    page.screenshot(path=index.with_name(f"{width}_{scheme}.png"), full_page=True)
    assert complaints == []


def test_the_browser_would_complain(browser: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<img src='http://127.0.0.1:9/x.png'><script>nothing()</script>", encoding="utf-8")
    complaints = show(browser, bad).complaints
    assert "request for http://127.0.0.1:9/x.png" in complaints
    assert "nothing is not defined" in complaints


def test_ids_are_unique_and_every_reference_exists(index: Path, text: str, browser: Browser) -> None:
    ids = show(browser, index).page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    references = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    assert references <= set(ids)
    assert len(references) > 20


def test_headings_are_in_order_and_figures_have_descriptions(index: Path, browser: Browser) -> None:
    page = show(browser, index).page
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    names = page.evaluate("[...document.querySelectorAll('svg')].map(s => s.ariaLabel)")
    assert all(len(name) > 60 for name in names)
    assert len(set(names)) == len(names)
    assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.caption)")


def test_a_dark_page_has_light_text_and_lines(index: Path, browser: Browser) -> None:
    script = """(() => {
      const of = (s, p) => getComputedStyle(document.querySelector(s))[p];
      const frame = [...document.querySelectorAll('svg path')].map(e => getComputedStyle(e).stroke);
      return [of('body', 'backgroundColor'), of('.plot svg text', 'fill'), frame.includes('rgb(0, 0, 0)')];
    })()"""
    light = show(browser, index, scheme="light").page.evaluate(script)
    assert light == ["rgb(244, 245, 247)", "rgb(28, 31, 36)", True]
    dark = show(browser, index, scheme="dark").page.evaluate(script)
    assert dark == ["rgb(18, 20, 24)", "rgb(230, 232, 236)", False]
