"""The page of the API shows every route of the document."""

from __future__ import annotations

import html
import re
from pathlib import Path

import httpx


def test_every_route_and_field_is_shown(api: httpx.Client) -> None:
    document, page = api.get("/openapi.json").json(), api.get("/docs").text
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert f'<span class="method">{method.upper()}</span> <code>{html.escape(path)}</code>' in page
            assert operation["summary"] in page
    assert "switching_weight" in page
    assert "list of list of number" in page
    assert "1/2 (x - x_prev)&#x27;W(x - x_prev)" in page  # escaped
    assert not re.search(r"<script|https?://(?!127\.0\.0\.1)", page)


def test_templates_and_scripts_load_nothing_from_elsewhere() -> None:
    import soqo.service

    folder = Path(soqo.service.__file__).parent
    for file in (*folder.glob("static/*"), *folder.glob("templates/*")):
        assert not re.search(r"https?://(?!127\.0\.0\.1)|<script>|style=|onclick", file.read_text(encoding="utf-8")), (
            file.name
        )
