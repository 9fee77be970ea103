"""The page of a run: what it says, and that a real browser shows all of it and asks for nothing else."""

from __future__ import annotations

import base64
import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo.experiments._reproduce import about, prepared, written
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.judgment import Claim
from soqo.experiments.presentation._page import best_policy

CLAIMS = (
    Claim("It holds", "Section 1", "as <printed>", "slope < 1", "0.5", "holds"),
    Claim("It holds somewhere", "Section 2", "eta = 1", "a & b", "3 of 5", "holds only if c1 > 2"),
    Claim("It fails", "Section 3", "as read", "never", "0 of 5", "does not hold"),
    Claim("Nobody knows", "Section 4", "", "", "", "not tested"),
)


@pytest.fixture(scope="module")
def index(outcomes: dict[str, Outcome], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with every kind of picture and of verdict, in a folder whose name needs quoting."""
    folder = prepared(tmp_path_factory.mktemp("page") / "a folder")
    chosen = list(outcomes.values())
    return written(chosen, CLAIMS, folder, about(chosen, "soqo reproduce --x '<&>'", True)).index


# ---- what it says --------------------------------------------------------------------------------------------------


def test_claims_come_first_with_a_word_for_each_verdict(index: Path) -> None:
    text = index.read_text(encoding="utf-8")
    claims = text[text.index('<section id="claims">') : text.index('id="figure-intro"')]
    assert re.findall(r'<tr role="row" class="(\w+)">', claims) == [
        "holds",
        "partly",
        "fails",
        "untested",
    ]
    for claim in CLAIMS:
        assert claim.text in claims
    assert "holds only if</span> c₁ &gt; 2" in claims
    assert "as &lt;printed&gt;" in claims
    assert "a &amp; b" in claims


def test_a_page_without_claims_says_so(outcomes: dict[str, Outcome], tmp_path: Path) -> None:
    chosen = [outcomes["second"]]
    page = written(chosen, [], prepared(tmp_path), about(chosen, "", False)).index
    text = page.read_text(encoding="utf-8")
    assert "test none of the paper&rsquo;s claims" in text
    assert "<dt>Command</dt>" not in text
    assert "first look" not in text


def test_it_says_where_the_numbers_come_from(index: Path) -> None:
    text = index.read_text(encoding="utf-8")
    assert "<code>soqo reproduce --x &#x27;&lt;&amp;&gt;&#x27;</code>" in text
    assert f"numpy {np.__version__}" in text
    assert "where A &amp; B are &lt;left&gt; open" in text
    assert "first look" in text


def test_the_best_policy_is_emphasized_and_is_not_told_the_answer(index: Path, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["intro"]
    knows = outcome.policies.index("ROBD (knows A)")
    final = {h: r.copy() for h, r in outcome.final.items()}
    final[60][knows] = -1e9
    medians = {n: outcome.median(n) for n in outcome.policies if n != "ROBD (knows A)"}
    assert best_policy(replace(outcome, final=final)) == min(medians, key=lambda n: medians[n])
    final[60][:] = np.inf
    final[60][2] = 7.0
    assert best_policy(replace(outcome, final=final)) == outcome.policies[2]
    text = index.read_text(encoding="utf-8")
    article = text[text.index('<article id="picture-intro">') :]
    best = re.search(r'<tr class="best"><th scope="row">(?:<span[^>]*></span>)?([^<]+)', article)
    assert best is not None
    assert best[1] == best_policy(outcome)


def test_every_link_leads_to_a_file_and_nothing_leads_to_the_network(index: Path) -> None:
    text = index.read_text(encoding="utf-8")
    links = re.findall(r'<a href="([^"#][^"]*)"', text)
    assert len(links) == 2 + 3 * 4 + 2 + (2 + 2 * 2)
    assert all((index.parent / link).is_file() for link in links)
    assert "http:" not in text
    assert "https:" not in text
    assert not re.search(r'\b(src|srcset)=|@import|url\((?!#)|<script|<link (?!rel="icon")', text)


# ---- what a browser shows ------------------------------------------------------------------------------------------

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
# The browser reads commands from descriptor 3 and answers on 4.
TRAMPOLINE = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """Headless Chromium with one tab, driven by the DevTools protocol through a pipe."""

    def __init__(self, profile: Path) -> None:
        child_in, self.out = os.pipe()
        self.inward, child_out = os.pipe()
        command = [sys.executable, "-c", TRAMPOLINE, str(child_in), str(child_out), CHROMIUM]
        self.process = subprocess.Popen(
            [*command, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(child_in, child_out),
            stderr=subprocess.DEVNULL,
        )
        os.close(child_in)
        os.close(child_out)
        self.buffer, self.count, self.session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask for something, and wait for the answer; events that come before it are kept."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.count:
            self.events.append(answer)
        assert "error" not in answer, answer
        return dict(answer["result"])

    def receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + 60.0
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.inward], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self.inward, 1 << 20) if ready else b""
            assert data, "Chromium does not answer"
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\0")
        return dict(json.loads(line))

    def open(self, path: Path, width: int, scheme: str) -> None:
        """Show a file, in a window of this width and in a light or dark scheme."""
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=phone,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def value(self, script: str) -> Any:
        """What a script in the page comes to."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """The whole page as a picture."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def complaints(self) -> list[str]:
        """Errors and warnings that the page caused, and requests for anything that is not in it."""
        found = []
        for event in self.events:
            method, parameters = event["method"], event["params"]
            if method == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith(("file:", "data:")):
                    found.append(f"request for {url}")
            elif method in (
                "Runtime.exceptionThrown",
                "Runtime.consoleAPICalled",
                "Log.entryAdded",
            ):
                found.append(json.dumps(parameters))
        return found

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(timeout=30)
        os.close(self.out)
        os.close(self.inward)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("needs chromium, chromium-browser or google-chrome (make browser)")
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


VIEWS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_a_browser_shows_every_picture_and_complains_about_nothing(
    index: Path, browser: Browser, width: int, scheme: str
) -> None:
    browser.open(index, width, scheme)
    sizes = browser.value(
        "[...document.querySelectorAll('.picture svg')].map(s => s.getBoundingClientRect())"
        ".map(r => [r.width, r.height])"
    )
    assert len(sizes) == 5
    assert all(w > 300 and h > 150 for w, h in sizes)
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value("document.querySelectorAll('.picture svg text').length") > 100
    assert browser.complaints() == []
    # Kept for who wants to look: pytest names the folder.
    browser.screenshot(index.with_name(f"{width}_{scheme}.png"))


def test_the_browser_would_complain(browser: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<img src='http://127.0.0.1:9/x.png'><script>nothing()</script>", encoding="utf-8")
    browser.open(bad, 800, "light")
    complaints = " ".join(browser.complaints())
    assert "request for http://127.0.0.1:9/x.png" in complaints
    assert "nothing is not defined" in complaints


def test_ids_are_unique_and_every_reference_is_found(index: Path, browser: Browser) -> None:
    browser.open(index, 1280, "light")
    ids = browser.value("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    text = index.read_text(encoding="utf-8")
    references = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    assert references <= set(ids)
    assert len(references) > 20


def test_headings_are_in_order_and_pictures_have_names(index: Path, browser: Browser) -> None:
    browser.open(index, 1280, "light")
    levels = browser.value("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    names = browser.value("[...document.querySelectorAll('svg')].map(s => s.ariaLabel)")
    assert all(len(name) > 60 for name in names)
    assert len(set(names)) == len(names)
    assert browser.value("[...document.querySelectorAll('table')].every(t => t.caption)")


def test_a_dark_page_has_light_text_and_lines(index: Path, browser: Browser) -> None:
    script = """(() => {
      const of = (s, p) => getComputedStyle(document.querySelector(s))[p];
      const frame = [...document.querySelectorAll('svg path')].map(e => getComputedStyle(e).stroke);
      return [of('body', 'backgroundColor'), of('.picture svg text', 'fill'), frame.includes('rgb(0, 0, 0)')];
    })()"""
    browser.open(index, 1280, "light")
    assert browser.value(script) == ["rgb(244, 245, 247)", "rgb(28, 31, 36)", True]
    browser.open(index, 1280, "dark")
    assert browser.value(script) == ["rgb(18, 20, 24)", "rgb(230, 232, 236)", False]
