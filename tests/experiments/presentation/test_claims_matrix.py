"""The matrix of claims and readings: the status of each cell, and the numbers that it links to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from soqo.experiments.execution import Outcome
from soqo.experiments.judgment import Judgment
from soqo.experiments.presentation import ReportData, render_page


class Table(HTMLParser):
    """The rows of the matrix, each a list of cells, which are lists of (class, href) of their links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[list[tuple[str, str]]]] = []
        matrix = text[text.index('<table class="matrix">') :].partition("</table>")[0]
        self.feed(matrix[matrix.index("<tbody>") :])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "tr":
            self.rows.append([])
        elif tag == "td" and given.get("class") == "cell":
            self.rows[-1].append([])
        elif tag == "a" and "half" in given.get("class", ""):
            self.rows[-1][-1].append((given["class"].removeprefix("half "), given["href"].removeprefix("#")))


RenderClaims = Callable[[Judgment], str]


@pytest.fixture(scope="module")
def render_claims(of_the_paper: Outcome, make_report: Callable[..., ReportData]) -> RenderClaims:
    """A function that returns the part of a page about claims."""

    def render(judgment: Judgment) -> str:
        page = render_page(make_report([of_the_paper], judgment))
        return page[page.index('id="claims"') : page.index('id="figures"')]

    return render


@pytest.fixture(scope="module")
def text(judgment: Judgment, render_claims: RenderClaims) -> str:
    return render_claims(judgment)


def test_a_cell_has_the_status_by_means_and_by_medians(text: str) -> None:
    every, some = [row for row in Table(text).rows if row]
    kinds = [[kind for kind, _ in cell] for cell in some]
    assert kinds == [
        ["fails", "holds"],  # to the letter
        ["fails", "holds"],  # gamma^2 of the appendix
        ["fails", "unknown"],  # that of the guarantee
        ["fails same", "holds same"],  # c1 does not matter for this claim
        ["fails", "unknown"],  # the best reading of the first part
    ]
    # The statistic does not matter for the others: one link for the whole cell.
    assert [[kind for kind, _ in cell] for cell in every] == [
        ["holds whole"],
        *[["holds same whole"]] * 2,
        *[["holds whole"]] * 2,
    ]
    # A claim that no reading touches has one cell for all of them.
    assert re.search(r'<td class="all" colspan="6"><a href="#claim-none">.*?fails.*?it does not depend', text)


def test_every_link_leads_to_the_numbers_of_its_reading(text: str) -> None:
    rows = {}
    for anchor, row in re.findall(r'<tr id="((?!reading-)[^"]+)">(.*?)</tr>', text, flags=re.DOTALL):
        assert anchor not in rows
        rows[anchor] = re.sub(r"<[^>]+>", " ", row)
    links = [link for row in Table(text).rows for cell in row for _, link in cell]
    assert len(links) == 5 * 2 + 5
    assert set(links) <= set(rows)
    told = rows["some-guarantee-any-any-any-any-median"]
    assert "median, γ² = η max(T p , 2/\N{GREEK SMALL LETTER SIGMA})" in told
    assert "cannot be told" in told
    told = " ".join(rows["some-algorithm-any-any-any-any-mean"].split())
    assert "Figure 1: ratio 1.5·10 6 (0.25 to 3·10 6 )" in told


def test_heads_name_the_axis_and_the_value_and_no_reading_has_two_columns(text: str) -> None:
    head = text[text.index('class="matrix"') :].partition("</thead>")[0]
    assert re.findall(r'colspan="(\d)">([^<]+)', head) == [("2", "γ²"), ("1", "c₁")]
    links = re.findall(r'class="up"><a href="#([^"]+)" title="[^"]*">([^<]+)', head)
    assert [name for _, name in links] == ["to the letter", "best of the first part", "appendix", "guarantee", "tuned"]
    for anchor, _ in links:
        assert f'id="{anchor}"' in text


def test_the_share_of_readings_and_the_words_of_sections_are_there(text: str) -> None:
    assert re.findall(r"<small>(\d+ of \d+)</small>", text) == ["3 of 3", "2 of 6"]
    assert (
        "Of 2 stated and 1 implied claims that this report tests, 1 holds in every reading and 1 in some; 1 fails in "
        in text
    )
    assert "its one stated claim holds in all its settings in no reading" in text


def test_kinds_and_places_in_the_paper_are_beside_the_claims(text: str) -> None:
    matrix = text[text.index("<tbody>") :].partition("</table>")[0]
    rows = dict(re.findall(r'<a href="#claim-(\w+)">(.*?)</th>', matrix))
    assert '<small>Section 1, <a href="#figure-intro">Figure 1</a></small>' in rows["all"]
    assert '<span class="tag">implied</span>' in rows["some"]
    assert "It fails as T<sup>1/2</sup>" in rows["none"]
    fold = text[text.index('id="claim-some"') :].partition("</details>")[0]
    assert "<q>The paper says: It holds at c₁ = 3.</q>" in fold
    assert "The paper does not state the claim" in fold


def test_claims_that_were_not_tested_are_listed_with_what_they_need(text: str) -> None:
    rest = text[text.index('id="untested"') :]
    assert "1 claim, for which" in rest
    assert "Nobody knows" in rest
    assert "needs Figure 19 (Laplace, r" in rest
    assert "Nobody knows" not in text[: text.index('id="untested"')]


def test_a_claim_that_no_number_can_test_has_a_row_with_the_reason(
    judgment: Judgment, render_claims: RenderClaims
) -> None:
    claims = tuple(
        replace(claim, untestable="it is about <others>") if claim.id == "open" else claim for claim in judgment.claims
    )
    text = render_claims(replace(judgment, claims=claims))
    matrix = text.partition("</table>")[0]
    assert re.search(r'href="#claim-open">.*?not tested</span> <small>it is about &lt;others&gt;</small>', matrix)
    assert 'id="untested"' not in text


def test_a_claim_that_holds_in_part_tells_in_how_many_settings(judgment: Judgment, render_claims: RenderClaims) -> None:
    none = judgment.claim("none")
    (verdict,) = none.verdicts
    partly = replace(none, verdicts=(replace(verdict, universal=False),))
    claims = tuple(partly if claim.id == "none" else claim for claim in judgment.claims)
    matrix = render_claims(replace(judgment, claims=claims)).partition("</table>")[0]
    assert "<small>to the letter: holds in 1, fails in 1 of 2 settings</small>" in matrix
    assert "holds in part</span>" in matrix


def test_a_note_is_in_the_row_and_what_is_not_contradicted_has_a_mark_of_its_own(
    judgment: Judgment, render_claims: RenderClaims
) -> None:
    claims = [replace(judgment.claim("all"), unproved=True, note="for a fixed A")]
    claims += [claim for claim in judgment.claims if claim.id != "all"]
    matrix = render_claims(replace(judgment, claims=tuple(claims)))
    row = re.search(r'<a href="#claim-all">.*?</tr>', matrix, flags=re.DOTALL)
    assert row is not None
    assert '<small class="limit">for a fixed A</small>' in row[0]
    assert "✓" not in row[0]
    assert row[0].count(">◇</a>") > 0
    assert "(1 of them is not contradicted)" in matrix


def test_a_cell_names_its_reading(text: str) -> None:
    told = re.findall(r'<a class="half [^"]*" href="#some-[^"]*" title="([^"]*)"', text)
    assert told[0].startswith("to the letter, mean: fails")
    assert any(one.startswith("γ² = η max(T^p, 2/\N{GREEK SMALL LETTER SIGMA}), median: ") for one in told)


def test_a_fold_has_the_claim_its_rule_and_links_to_its_figures(text: str) -> None:
    fold = text[text.index('id="claim-some"') :].partition("</details>")[0]
    assert "It holds at c₁ = 3" in fold
    assert "<dt>Remark</dt><dd>a &lt;remark&gt;</dd>" in fold
    assert '<a href="#figure-intro">Figure 1' in fold
    assert "<caption>6 readings</caption>" in fold
    none = text[text.index('id="claim-none"') :].partition("</details>")[0]
    assert re.search(r'<a href="#figure-intro">Figure 1[^<]*</a>, elsewhere', none)


def test_rules_read_as_sentences_and_remarks_link_to_the_documentation(
    judgment: Judgment, render_claims: RenderClaims
) -> None:
    remark = "The proof is in docs/explanation/theory.md."
    claim = replace(judgment.claim("some"), unproved=True, trimmed=True, remark=remark)
    claims = tuple(claim if one.id == "some" else one for one in judgment.claims)
    text = render_claims(replace(judgment, claims=claims))
    fold = text[text.index('id="claim-some"') :].partition("</details>")[0]
    assert "<dt>Rule</dt><dd>Not contradicted if slope &lt; 1.</dd>" in fold
    assert 'href="#term-docs-explanation-theory-md"' in fold
    # Where there are no means, the numbers say what they are.
    assert '<th scope="row">mean (Cauchy: trimmed)' in fold
    assert '<th scope="row">mean,' not in fold


def test_chips_link_to_the_claims_of_a_figure(
    of_the_paper: Outcome, judgment: Judgment, make_report: Callable[..., ReportData]
) -> None:
    text = render_page(make_report([of_the_paper], judgment))
    group = text[text.index('id="group-intro"') :].partition("</summary>")[0]
    chips = re.findall(r'<a class="chip (\w+)" href="#(claim-\w+)"', group)
    # The third claim fails in one of two settings: this one.
    assert chips == [("holds", "claim-all"), ("fails", "claim-some"), ("fails", "claim-none")]
    for _, anchor in chips:
        assert f'id="{anchor}"' in text
    assert "implied: some" in re.sub(r"<[^>]+>", "", group)
    without = render_page(make_report([of_the_paper]))
    assert 'class="chip' not in without.partition("</style>")[2]
    assert 'id="terms"' not in without
