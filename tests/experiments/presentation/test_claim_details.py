"""A claim in full: words, rule and numbers in one fold, which is not inside of another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from soqo.experiments.judgment import Judgment
from soqo.experiments.presentation._claim_details import render_details
from soqo.experiments.presentation._claims_matrix import render_claims


@pytest.fixture(scope="module")
def text(judgment: Judgment) -> str:
    return render_claims(judgment, {"intro": ("figure-intro", "Figure 1")})


def test_a_fold_has_the_claim_its_rule_and_links_to_its_figures(text: str) -> None:
    fold = text[text.index('id="claim-some"') :].partition("</details>")[0]
    assert "It holds at c₁ = 3" in fold
    assert "<dt>Remark</dt><dd>a &lt;remark&gt;</dd>" in fold
    assert '<a href="#figure-intro">Figure 1</a>' in fold
    assert "<caption>6 readings</caption>" in fold
    none = text[text.index('id="claim-none"') :].partition("</details>")[0]
    assert '<a href="#figure-intro">Figure 1</a>, elsewhere' in none


def test_no_fold_is_inside_of_another(text: str) -> None:
    depth = deepest = 0
    for part in text.replace("</details", "<end").split("<"):
        depth += part.startswith("details") - part.startswith("end")
        deepest = max(deepest, depth)
    assert (depth, deepest) == (0, 1)


def test_rules_read_as_sentences_and_remarks_link_to_the_documentation(judgment: Judgment) -> None:
    claim = replace(
        judgment.claim("some"), unproved=True, trimmed=True, remark="The proof is in docs/explanation/theory.md."
    )
    fold = render_details(claim, list(judgment.columns.items()), {})
    assert "<dt>Rule</dt><dd>Not contradicted if slope &lt; 1.</dd>" in fold
    assert 'href="#term-docs-explanation-theory-md"' in fold
    # Where there are no means, the numbers say what they are.
    assert '<th scope="row">mean (Cauchy: trimmed)' in fold
    assert '<th scope="row">mean,' not in fold
