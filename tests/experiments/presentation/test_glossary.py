"""The terms of the page: each can be linked to, and those that the page links to exist."""

from __future__ import annotations

import re

from soqo.experiments.presentation._glossary import render_glossary, render_term


def test_words_that_the_paper_does_not_have_are_explained() -> None:
    text = re.sub(r"<[^>]+>", "|", render_glossary())
    for word in (
        "GLIDE",
        "soqo",
        "handover",
        "radius",
        "to the letter",
        "holds in part",
        "LAI",
        "ROBD",
        "reading",
        "calibrated",
        "implied",
    ):
        assert f"||{word}||" in text, word


def test_a_term_links_to_its_meaning() -> None:
    link = re.search(r'href="#([^"]+)"', render_term("as printed", "As printed"))
    assert link is not None
    assert f'id="{link[1]}"' in render_glossary()
