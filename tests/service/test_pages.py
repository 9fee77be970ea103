"""The pages, in a real browser with a plant running, and as text."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, sync_playwright

import soqo
from service_fixtures import Conditions, LiveServer

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class RunningPlant:
    """A plant that plays rounds in a thread until it is told to stop."""

    def __init__(self, server: LiveServer) -> None:
        self._server, self._stop = server, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        conditions = Conditions(dim=2)
        with soqo.Client(self._server.url) as client:
            plant = client.create(
                "roof",
                x0=[0.0, 0.0],
                low=-30.0,
                high=[30.0, float("inf")],
                actuators=["<b>north</b>", "south"],
                units="degC",
            )
            while not self._stop.is_set():
                x = plant.act(conditions.draw())
                plant.observe(conditions.reading(x))
                time.sleep(0.05)

    def __enter__(self) -> None:
        self._thread.start()
        with soqo.Client(self._server.url) as client:
            while client.plants() != ["roof"] or client.plant("roof").round < 5:
                time.sleep(0.02)

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


@pytest.fixture
def page() -> Iterator[tuple[Page, list[str]]]:
    """A page of a browser, and what goes wrong on it."""
    if CHROMIUM is None:
        pytest.skip("no browser is installed: needs chromium, chromium-browser or google-chrome (make browser)")
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        opened = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
        opened.on(
            "request",
            lambda request: (
                complaints.append(request.url)
                if "127.0.0.1" not in request.url and not request.url.startswith("data:")
                else None
            ),
        )
        yield opened, complaints
        browser.close()


def wait(page: Page, condition: str, seconds: float = 20.0) -> None:
    """Wait until something is true on a page, whose policy forbids the browser to evaluate text by itself."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


def test_values_arrive_and_a_dropped_connection_comes_back(live: LiveServer, page: tuple[Page, list[str]]) -> None:
    opened, complaints = page
    with RunningPlant(live):
        opened.goto(f"{live.url}/plants/roof")
        wait(opened, "document.querySelector('#connection').textContent === 'live'")
        wait(opened, "document.querySelectorAll('#actuators .main-svg').length >= 2")
        before = int(opened.inner_text("#round"))
        wait(opened, f"Number(document.querySelector('#round').textContent) > {before + 5}")
        assert opened.inner_text("#table tr:first-child th") == "<b>north</b>"  # a text, and not markup
        assert "degC" in opened.inner_text("#table tr:first-child [data-field=x]")
        assert opened.evaluate("document.documentElement.scrollWidth") == 390
        assert "Round" in opened.inner_text("#explain")
        assert complaints == []

        live.stop()
        wait(opened, "document.querySelector('#connection').className === 'lost'")
        live.start()
        wait(opened, "document.querySelector('#connection').className === 'live'")
        before = int(opened.inner_text("#round"))
        wait(opened, f"Number(document.querySelector('#round').textContent) > {before}")
        assert all("ERR_" in one for one in complaints), complaints  # only that the server was away

        complaints.clear()
        opened.goto(live.url)
        wait(opened, "document.querySelector('#summary').textContent.startsWith('1 plant')")
        opened.keyboard.press("Tab")
        assert opened.evaluate("document.activeElement.className") == "skip"
        opened.focus("#plants a")
        opened.keyboard.press("Enter")
        opened.wait_for_url("**/plants/roof")
        assert complaints == []


def test_a_person_logs_in_with_a_token(tmp_path: Path, page: tuple[Page, list[str]]) -> None:
    opened, complaints = page
    store = tmp_path / "s.sqlite"
    secret = soqo.service.create_token(store, "reader")
    with LiveServer(store, require_token=True) as server:
        opened.goto(server.url)
        assert opened.inner_text("h1") == "A token is needed"
        opened.fill("#token", secret)
        opened.click("button")
        wait(opened, "document.querySelector('h1').textContent === 'Plants'")
        assert complaints == []
        opened.goto("about:blank")  # or the stream holds the server


def test_pages_hold_what_is_known_without_a_script(api: httpx.Client) -> None:
    assert "There is no plant yet" in api.get("/").text
    settings: dict[str, Any] = {"low": [0.0, None, None], "high": [None, 9.0, None], "policy": "FTM"}
    api.post("/plants", json={"name": "roof", "x0": [1.0, 1.0, 1.0], **settings})
    assert '<a href="/plants/roof">roof</a>' in api.get("/").text
    page = api.get("/plants/roof", headers={"Accept": "text/html"}).text
    for text in ("No round played yet", "0 to no limit", "no limit to 9", "actuator 3", "FTM()"):
        assert text in page


def test_files_are_compressed_and_not_sent_twice(api: httpx.Client) -> None:
    for file, words in (("live.js", "EventSource"), ("live.css", "prefers-color-scheme"), ("plotly.js", "plotly.js v")):
        answer = api.get(f"/static/{file}")
        assert words in answer.text
        assert answer.headers["content-encoding"] == "gzip"
        assert api.get(f"/static/{file}", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    for other in ("__init__.py", "..%2f_gate.py", "%2e%2e%2f_gate.py"):
        assert api.get(f"/static/{other}").status_code == 404


def test_wrong_tokens_of_the_form_are_counted(api: httpx.Client) -> None:
    assert "A token is needed" in api.get("/login").text
    statuses = [api.post("/login", data={"token": "guess"}).status_code for _ in range(25)]
    assert statuses[0] == 401
    assert statuses[-1] == 429
