"""The page of a run in progress, and that a report takes its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from soqo.experiments.execution import Landed, Outcome
from soqo.experiments.presentation import render_progress, write_progress


def landed(outcomes: Sequence[Outcome] = ()) -> Landed:
    return Landed(3, 8, {"intro": (3, 4), "a <b>": (0, 4)}, 12.4, lambda: list(outcomes))


def test_it_tells_what_is_done_and_reloads() -> None:
    text = render_progress(landed(), {"command": "soqo reproduce --x '<&>'"})
    assert re.search(r'<meta http-equiv="refresh" content="\d+">', text)
    assert "3 of 8 tasks of <code>soqo reproduce --x &#x27;&lt;&amp;&gt;&#x27;</code>, after 12 s" in text
    assert '<progress max="8" value="3"' in text
    assert "<li>intro <small>3 of 4</small>" in text
    assert "<li>a &lt;b&gt; <small>0 of 4</small>" in text
    assert re.search(r"Last update at \d\d:\d\d:\d\d\.", text)
    assert "<img" not in text
    assert "<script" not in text


def test_it_has_the_first_curves_of_some_settings_and_no_scripts(outcomes: dict[str, Outcome]) -> None:
    text = render_progress(landed([outcomes["sweep_1"], *[outcomes["intro"]] * 6]), {"command": ""})
    assert text.count("first 3 runs of 4 policies") == 4
    assert text.count('<img class="picture" alt="Pair: small steps, η = 1" src="data:image/svg+xml;base64,') == 4
    assert "<script" not in text


def test_it_is_written_as_the_index(tmp_path: Path) -> None:
    write_progress(tmp_path, landed(), {"command": ""})
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    written, expected = (
        re.sub(r"\d\d:\d\d:\d\d", "now", text)
        for text in ((tmp_path / "index.html").read_text(encoding="utf-8"), render_progress(landed(), {"command": ""}))
    )
    assert written == expected
