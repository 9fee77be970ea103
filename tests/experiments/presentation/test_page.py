"""The page of a report: its contents, and that it works in a browser, by mouse and keyboard, and without scripts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from soqo import SCaLE
from soqo.experiments import reproduce
from soqo.experiments.execution import Landed, Outcome
from soqo.experiments.judgment import Judgment
from soqo.experiments.presentation import ReportData, render_page, write_progress
from soqo.experiments.settings import Setting

MakeReport = Callable[..., ReportData]


@pytest.fixture(scope="module")
def text(outcomes: dict[str, Outcome], of_the_paper: Outcome, judgment: Judgment, make_report: MakeReport) -> str:
    """A page with every kind of figure and of verdict."""
    explores = replace(outcomes["second"].setting, name="explores", figure="explores")
    policies = {**explores.policies, "FTM": SCaLE(1.0, 2, min_eigenvalue=0.1, c1=2.0)}  # 2 * 2 * 2 rounds
    invented = replace(outcomes["second"], setting=replace(explores, policies=policies))
    every = [of_the_paper, *(outcome for name, outcome in outcomes.items() if name != "intro"), invented]
    return render_page(make_report(every, judgment, "soqo reproduce --x '<&>'", quick=True))


# ---- contents ------------------------------------------------------------------------------------------------------


def test_the_finding_comes_first_then_the_claims_then_the_figures(text: str) -> None:
    places = [text.index(part) for part in ('class="finding"', 'id="headline"', 'id="claims"', 'id="figures"')]
    assert places == sorted(places)


def test_a_page_without_claims_has_none(outcomes: dict[str, Outcome], make_report: MakeReport) -> None:
    text = render_page(make_report([outcomes["second"]]))
    assert 'id="claims"' not in text
    assert "<title>Simulated regret</title>" in text
    assert "claims.json" not in text
    assert "<dt>Command</dt>" not in text
    assert "first look" not in text
    assert "Not in this report" not in text


def test_it_states_the_origin_of_the_numbers(text: str) -> None:
    assert "<code>soqo reproduce --x &#x27;&lt;&amp;&gt;&#x27;</code>" in text
    assert f"numpy {np.__version__}" in text
    assert "first look" in text


def test_figures_of_the_paper_that_were_not_run_are_listed_with_their_command(text: str) -> None:
    rest = text[text.index("Not in this report") :].partition("</ul>")[0]
    assert "<code>soqo reproduce primary</code>" in rest
    assert "<code>soqo reproduce heavy_tails</code>" in rest
    assert "soqo reproduce intro" not in rest


def test_every_link_leads_to_a_file_and_none_to_the_network(small: dict[str, Setting], tmp_path: Path) -> None:
    index = reproduce(list(small.values()), tmp_path / "a folder", workers=1).index
    text = index.read_text(encoding="utf-8")
    links = re.findall(r'<a href="([^"#][^"]*)"', text)
    assert len(links) > 2 + 3 * 4 + 2 + (2 + 2 * 2)
    assert all((index.parent / link).is_file() for link in links)
    assert "http:" not in text
    assert "https:" not in text
    assert not re.search(r'\b(src|srcset)=|@import|url\((?!#)|<link (?!rel="icon")', text)


def test_the_page_is_one_file_below_6_megabytes(text: str) -> None:
    # The compressed charting library is a third of the limit; the paper's 27 figures need less than another third.
    assert len(text.encode()) < 3e6


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
VIEWS: list[tuple[int, Scheme]] = [(1280, "light"), (390, "dark")]


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


def show(
    browser: Browser, path: Path, width: int = 1280, scheme: Scheme = "light", *, scripts: bool = True, place: str = ""
) -> View:
    """Open a file in a window of this width, with a light or dark color scheme."""
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        is_mobile=width < 600,
        java_script_enabled=scripts,
    )
    view = View(context.new_page(), [])
    view.page.on("console", lambda message: view.complaints.append(message.text))
    view.page.on("pageerror", lambda error: view.complaints.append(error.message))

    def check(url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            view.complaints.append(f"request for {url}")

    view.page.on("request", lambda request: check(request.url))
    view.page.goto(path.as_uri() + place)
    return view


def wait_until(page: Page, condition: str) -> None:
    """Wait until an expression is true; the page's own policy forbids Playwright's way, which evaluates texts."""
    for _ in range(500):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    raise AssertionError(condition)


@pytest.fixture(scope="module")
def desk(browser: Browser, index: Path) -> Page:
    """The page on a desk, with its first charts drawn."""
    page = show(browser, index).page
    wait_until(page, "document.querySelectorAll('.headline .drawn').length === 2")
    return page


def lines(chart: Locator) -> int:
    """The number of lines in the first panel of a chart; intervals are not lines."""
    return int(chart.locator(".touch").first.evaluate("n => n.data.filter(t => t.hoverinfo !== 'skip').length"))


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_a_browser_shows_everything_without_complaints(
    index: Path, browser: Browser, width: int, scheme: Scheme
) -> None:
    page, complaints = show(browser, index, width, scheme)
    page.wait_for_selector(".headline .drawn")
    page.get_by_role("button", name="Open all folds").click()
    for place in page.locator(".panel:has(.plot)").all():
        place.scroll_into_view_if_needed()
    wait_until(page, "document.querySelectorAll('.plot:not(.drawn)').length === 0")
    for figure in page.locator(".touch .main-svg:first-of-type").all():
        box = figure.bounding_box()
        assert box is not None
        assert box["width"] > 250
        assert box["height"] > 150
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


def test_the_first_screen_holds_the_finding_the_picture_and_the_table(desk: Page) -> None:
    desk.evaluate("scrollTo(0, 0)")
    for selector in (".finding", ".headline", ".ends"):
        box = desk.locator(selector).bounding_box()
        assert box is not None
        assert 0 <= box["y"] < box["y"] + box["height"] <= 800, selector


def test_hover_tells_the_values_at_a_round_below_the_chart(desk: Page, of_the_paper: Outcome) -> None:
    desk.evaluate("scrollTo(0, 0)")
    box = desk.locator(".headline .touch .nsewdrag").first.bounding_box()
    assert box is not None
    desk.mouse.move(box["x"] + box["width"] - 2, box["y"] + 0.5 * box["height"])
    told = desk.locator(".headline .readout").first.text_content() or ""
    assert told.startswith("round t = 60")
    assert not desk.locator(".headline .hoverlayer").first.text_content()  # nothing covers the curves
    value = re.search(r"FTM: (\S+) \(", told)
    assert value is not None
    digits, _, power = value[1].partition("·10")
    exponent = int(power.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")) or 0)
    mean = of_the_paper.regret("FTM").mean()
    assert float(digits) * 10**exponent == pytest.approx(mean, rel=5e-3)  # three digits
    desk.mouse.move(0, 0)


def test_curves_can_be_switched_off_and_on(desk: Page) -> None:
    chart = desk.locator(".headline")
    button = chart.get_by_role("button", name="FTM")
    assert lines(chart) == 2
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    wait_until(desk, "document.querySelector('.headline .touch').data.every(t => t.name !== 'FTM')")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    wait_until(desk, "document.querySelector('.headline .touch').data.some(t => t.name === 'FTM')")


def test_the_axis_can_be_linear_or_logarithmic_and_intervals_on(desk: Page) -> None:
    chart = desk.locator(".headline")
    kind = "document.querySelector('.headline .touch').layout.yaxis.type"
    chart.get_by_role("button", name="Log").click()
    wait_until(desk, f"{kind} === 'log'")
    chart.get_by_role("button", name="Linear").click()
    wait_until(desk, f"{kind} === 'linear'")
    chart.get_by_role("button", name="Intervals").click()
    wait_until(desk, "document.querySelector('.headline .touch').data.length === 4")
    chart.get_by_role("button", name="Intervals").click()
    wait_until(desk, "document.querySelector('.headline .touch').data.length === 2")


def test_a_figure_shows_means_or_medians(desk: Page, of_the_paper: Outcome) -> None:
    desk.evaluate("location.hash = '#figure-intro'")
    chart = desk.locator("#figure-intro > [data-chart]")
    chart.locator(".drawn").first.wait_for()
    last = "n => n.data.find(t => t.name === 'FTM').y.at(-1)"
    node = chart.locator(".touch").first  # regret by horizon
    ends = of_the_paper.regret("FTM", 80)
    assert node.evaluate(last) == pytest.approx(ends.mean(), rel=1e-3)
    chart.get_by_role("button", name="Median").click()
    wait_until(desk, "document.querySelector('#figure-intro .statistic').textContent === 'median'")
    assert node.evaluate(last) == pytest.approx(np.median(ends), rel=1e-3)


def test_folds_open_by_link_by_keyboard_and_by_button(index: Path, browser: Browser) -> None:
    page = show(browser, index).page
    cell = page.locator(".matrix a.half").first
    target = str(cell.get_attribute("href"))
    assert not page.locator(f"[id='{target[1:]}']").is_visible()
    cell.focus()
    page.keyboard.press("Enter")
    page.locator(f"[id='{target[1:]}']").wait_for(state="visible")
    fold = page.locator("#group-pair")
    fold.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert fold.get_attribute("open") is not None
    page.keyboard.press("Enter")
    assert fold.get_attribute("open") is None
    # A link to a figure with several settings opens the first of them.
    page.evaluate("location.hash = '#group-pair'")
    fold.locator(":scope > details[open]").first.wait_for(state="attached")
    assert fold.locator(":scope > details[open]").count() == 1
    page.get_by_role("button", name="Open all folds").click()
    assert page.locator("main details:not([open])").count() == 0


def test_arrow_keys_read_the_values_of_a_chart(desk: Page, of_the_paper: Outcome) -> None:
    desk.locator(".headline .touch").first.focus()
    for _ in range(3):
        desk.keyboard.press("ArrowRight")
    told = desk.locator(".headline [aria-live]").first.text_content() or ""
    match = re.match(r"round t 3: FTM (\S+), POL", told)
    assert match is not None
    assert float(match[1].replace("\N{MINUS SIGN}", "-")) == pytest.approx(
        of_the_paper.curve("FTM")[:, 2].mean(), rel=5e-3
    )
    wait_until(desk, "document.querySelector('.headline .readout').textContent.startsWith('round t = 3')")


def test_the_first_rounds_can_be_looked_at_where_a_policy_explores(desk: Page) -> None:
    desk.evaluate("location.hash = '#figure-explores'")
    chart = desk.locator("#figure-explores > [data-chart]")
    wait_until(desk, "document.querySelectorAll('#figure-explores .drawn').length === 2")
    chart.get_by_role("button", name="First rounds").click()
    shown = "document.querySelectorAll('#figure-explores .touch')[1].layout.xaxis.range"
    wait_until(desk, f"{shown} && {shown}[1] === 4 * 8")
    assert desk.locator("#figure-second").get_by_role("button", name="First rounds", include_hidden=True).count() == 0


def test_the_numbers_can_be_read_without_scripts(index: Path, browser: Browser) -> None:
    page, complaints = show(browser, index, scripts=False)
    assert page.locator(".ends").is_visible()
    assert page.locator(".headline noscript p").is_visible()
    page.locator("#group-pair summary").first.click()
    page.locator("#group-pair details summary").first.click()
    page.locator("#figure-second summary", has_text="Table").click()
    assert page.locator("#figure-second .summary").is_visible()
    assert page.locator(".controls button").count() == 0
    assert complaints == []


def test_ids_are_unique_and_every_reference_exists(index: Path, text: str, browser: Browser) -> None:
    ids = show(browser, index, scripts=False).page.locator("[id]").evaluate_all("nodes => nodes.map(n => n.id)")
    assert len(ids) == len(set(ids))
    references = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    assert references <= set(ids)
    assert len(references) > 20


def test_headings_are_in_order_and_pictures_have_descriptions(index: Path, browser: Browser) -> None:
    page = show(browser, index, scripts=False).page
    levels = page.locator("h1,h2,h3,h4").evaluate_all("nodes => nodes.map(n => +n.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    names = page.locator(".plot[role=img]").evaluate_all("nodes => nodes.map(n => n.ariaLabel)")
    assert all(len(name) > 60 for name in names)
    assert page.locator("table").evaluate_all("nodes => nodes.every(t => t.caption)")


def test_a_dark_page_has_light_text_and_the_charts_follow(desk: Page) -> None:
    font = "document.querySelector('.headline .touch').layout.font.color"
    paper = "getComputedStyle(document.body).backgroundColor"
    assert (desk.evaluate(font), desk.evaluate(paper)) == ("#1c1f24", "rgb(244, 245, 247)")
    desk.emulate_media(color_scheme="dark")
    wait_until(desk, f"{font} === '#e6e8ec'")
    assert desk.evaluate(paper) == "rgb(18, 20, 24)"
    desk.emulate_media(color_scheme="light")


def test_a_run_in_progress_shows_its_report_when_it_is_there(
    outcomes: dict[str, Outcome], text: str, browser: Browser, tmp_path: Path
) -> None:
    state = Landed(3, 8, {"intro": (3, 4), "second": (0, 4)}, 12.4, lambda: [outcomes["intro"]])
    write_progress(tmp_path, state, {"command": "soqo reproduce"})
    page, complaints = show(browser, tmp_path / "index.html", 390, "dark")
    assert page.get_by_role("progressbar").first.get_attribute("value") == "3"
    assert page.locator("img.picture").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    (tmp_path / "index.html").write_text(text, encoding="utf-8")
    page.wait_for_selector(".finding", timeout=10_000)
    assert complaints == []
