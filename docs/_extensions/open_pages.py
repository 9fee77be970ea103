"""Open every page of the built site in a browser, narrow and dark, wide and light; fail if one is not as it should be.

    python docs/_extensions/open_pages.py build/site [FOLDER FOR SCREENSHOTS]

A page must have no error on the console, must request nothing but files of the site, must not be wider than the window,
and its links inside of the site must lead somewhere. The search must find a word.
"""

from __future__ import annotations

import shutil
import sys
import urllib.parse
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import sync_playwright

WIDTHS = (390, 1280)
SCHEMES: tuple[Literal["dark", "light"], ...] = ("dark", "light")
LINKS = "[...document.querySelectorAll('article a[href]')].map(a => a.getAttribute('href'))"
WIDEST = """() => {
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  return wide > 0 ? wide : 0;
}"""


def main(site: Path, pictures: Path | None) -> int:
    """Return the number of faults."""
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser_path is None:
        print("docs-check: no browser on the PATH")
        return 1
    pages = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
    faults: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for width, scheme in zip(WIDTHS, SCHEMES, strict=True):
            view = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            heard = listen(view)
            for page in pages:
                heard.clear()
                view.goto(page.as_uri())
                name = page.relative_to(site)
                too_wide = view.evaluate(WIDEST)
                faults += [f"{name} at {width}: {fault}" for fault in heard]
                faults += [f"{name} at {width}: {too_wide} pixels too wide"] if too_wide else []
                if width == WIDTHS[-1]:
                    faults += [f"{name}: no target for {link}" for link in dead_links(view, page)]
                if pictures is not None:
                    target = pictures / f"{str(name).replace('/', '_')}-{width}-{scheme}.png"
                    view.screenshot(path=target)
        faults += check_search(view, site)
        browser.close()
    print("\n".join(faults))
    print(f"docs-check: {len(pages)} pages at {WIDTHS[0]} and {WIDTHS[1]} pixels, {len(faults)} faults")
    return len(faults)


def listen(view: Any) -> list[str]:
    """Collect errors of the console and requests for anything but files."""
    heard: list[str] = []
    view.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    view.on("pageerror", lambda error: heard.append(str(error)))
    view.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:")) else heard.append(f"asks {request.url}"),
    )
    return heard


def dead_links(view: Any, page: Path) -> list[str]:
    """Return the links to files or anchors of the site that do not exist."""
    found: list[str] = view.evaluate(LINKS)
    dead = []
    for link in found:
        address, _, anchor = link.partition("#")
        if urllib.parse.urlparse(link).scheme:
            continue
        target = (page.parent / urllib.parse.unquote(address)) if address else page
        text = target.read_text(encoding="utf-8") if target.suffix == ".html" and target.exists() else ""
        if not target.exists() or (anchor and text and f'id="{urllib.parse.unquote(anchor)}"' not in text):
            dead.append(link)
    return dead


def check_search(view: Any, site: Path) -> list[str]:
    """Search for a word as a reader would, from disk."""
    view.goto(f"{(site / 'search.html').as_uri()}?q=journal")
    try:
        view.wait_for_selector("#search-results li a", timeout=10_000)
    except Exception as error:
        return [f"the search finds nothing: {error}"]
    return []


if __name__ == "__main__":
    sys.exit(min(1, main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]) if len(sys.argv) > 2 else None)))
