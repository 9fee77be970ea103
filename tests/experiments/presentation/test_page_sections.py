"""An article of the page: its chart, its tables, the sources of its setting and its links."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from soqo.experiments.execution import Outcome
from soqo.experiments.judgment import Judgment
from soqo.experiments.presentation import ReportData, render_page
from soqo.typing import Array

WithRegret = Callable[[Outcome, Callable[[str, Array], Array]], Outcome]
MakeReport = Callable[..., ReportData]


def articles(data: ReportData) -> dict[str, str]:
    """Return the articles of a page by their ids."""
    return dict(re.findall(r'<article id="([^"]+)">(.*?)</article>', render_page(data), flags=re.DOTALL))


@pytest.fixture(scope="module")
def page(outcomes: dict[str, Outcome], make_report: MakeReport) -> dict[str, str]:
    """The articles of all small settings."""
    return articles(make_report(list(outcomes.values())))


def test_the_policy_with_the_lowest_median_is_bold_and_does_not_know_the_answer(
    outcomes: dict[str, Outcome], with_regret: WithRegret, make_report: MakeReport
) -> None:
    def best_of(outcome: Outcome) -> str:
        text = articles(make_report([outcome]))["figure-intro"]
        (best,) = re.findall(r'<tr class="best"><th scope="row"><span[^>]*></span>([^<]+)', text)
        return str(best)

    outcome, knows = outcomes["intro"], "ROBD (knows A)"
    medians = {n: outcome.median(n) for n in outcome.policies if n != knows}
    best = min(medians, key=lambda n: medians[n])
    assert best_of(outcome) == best
    assert best_of(with_regret(outcome, lambda name, r: np.full_like(r, -1e9) if name == knows else r)) == best


def test_policies_that_are_not_in_the_paper_are_in_a_fold_and_below_in_the_table(
    of_the_paper: Outcome, make_report: MakeReport
) -> None:
    text = articles(make_report([of_the_paper]))["figure-intro"]
    main, beside = text.split("Beside the paper")
    assert "GLIDE" not in main
    assert 'data-chart="intro_beside"' in beside
    rows = re.findall(r'<tr[^>]*><th scope="row"><span[^>]*></span>([^<]+)', beside)
    assert rows == ["FTM", "POL, ξ = 0.0001", "ROBD (knows A)", "GLIDE"]


def test_every_parameter_has_its_source_and_contradictions_are_listed(
    of_the_paper: Outcome, make_report: MakeReport, page: dict[str, str]
) -> None:
    text = articles(make_report([of_the_paper]))["figure-intro"]
    assert "Settings and their sources, 1 contradiction" in text
    assert '<th scope="row">σᵣ</th><td>caption: 0.1</td>' in text
    assert "our choice: &lt;0&gt;" in text
    assert "<li>The caption has c₁ = 3 &amp; the text c₁ = 5.</li>" in text
    assert "their sources" not in page["figure-intro"]


def test_the_picture_has_a_description_with_the_values_at_its_end(
    outcomes: dict[str, Outcome], page: dict[str, str]
) -> None:
    label = re.findall(r'class="plot" role="img" aria-label="([^"]*)"', page["figure-second"])[0]
    assert label.startswith("Pair: one horizon. Regret up to round t, mean of 3 runs. At the right end: ")
    assert f"FTM {outcomes['second'].regret('FTM').mean():.3g}" in label


def test_text_of_a_setting_is_escaped(page: dict[str, str]) -> None:
    assert "<strong>Note.</strong> where A &amp; B are &lt;left&gt; open" in page["figure-intro"]


def test_the_table_of_a_sweep_has_the_values_with_the_smallest_mean_and_median(
    outcomes: dict[str, Outcome], page: dict[str, str]
) -> None:
    table = re.sub(r"<[^>]+>", " ", page["figure-sweep"].rpartition("<table")[2])
    for outcome, label in ((outcomes["sweep_1"], "η = 1"), (outcomes["sweep_9"], "η = 9")):
        for family in {point.family for point in outcome.setting.swept.values()}:
            names = [name for name, point in outcome.setting.swept.items() if point.family == family]
            means = {name: outcome.regret(name).mean() for name in names}
            for statistic, best in (
                ("mean", min(names, key=lambda n: means[n])),
                ("median", min(names, key=outcome.median)),
            ):
                value = outcome.setting.swept[best].value
                assert re.search(rf"\s{family} +{label} +{statistic} +{value:g} ", table)


def test_a_fold_tells_the_least_regret_and_that_of_scale_as_printed(
    outcomes: dict[str, Outcome], with_regret: WithRegret, make_report: MakeReport
) -> None:
    setting = outcomes["second"].setting
    policies = {"FTM": setting.policies["FTM"], "SCaLE as printed": setting.policies["GLIDE"]}
    results = {
        horizon: replace(result, records={"FTM": result["FTM"], "SCaLE as printed": result["GLIDE"]})
        for horizon, result in outcomes["second"].results.items()
    }
    outcome = Outcome(replace(setting, policies=policies), results)
    known = with_regret(outcome, lambda name, r: np.full_like(r, 1.0 if name == "FTM" else 5.0))
    assert '<small class="result">mean regret of FTM: 60; SCaLE as printed: 300</small>' in render_page(
        make_report([known])
    )


def test_rows_of_costs_have_the_means_of_the_papers_policies_and_of_the_benchmark(
    of_the_paper: Outcome, make_report: MakeReport
) -> None:
    table = articles(make_report([of_the_paper]))["figure-intro"].partition('class="split"')[2].partition("</table>")[0]
    rows = re.findall(r'<th scope="row">.*?</span>(.*?)</th>(.*?)</tr>', table, flags=re.DOTALL)
    assert [name.partition(",")[0] for name, _ in rows] == ["LAI", "FTM", "POL"]
    result = of_the_paper.results[of_the_paper.setting.horizon]
    expected = [(result.benchmark_hitting, result.benchmark_switching)]
    expected += [(result[name].hitting, result[name].switching) for name in ("FTM", "POL, rate 1e-4")]
    totals = [tuple(float(np.mean(part.sum(axis=1))) for part in parts) for parts in expected]
    largest = max(map(sum, totals))
    power = re.search(r"in units of 10<sup>(\d+)</sup>", table)
    unit = 10.0 ** int(power[1]) if power else 1.0
    for (_, row), parts in zip(rows, totals, strict=True):
        shown = re.findall(r'<td class="number">([^<]*(?:<sup>[^<]*</sup>)?)</td>', row)
        for text, value in zip(shown, parts, strict=True):
            number = float(re.sub("</?sup>", "", text).replace("·10", "e"))
            assert number * unit == pytest.approx(value, rel=5e-3)
        widths = [float(width) for width in re.findall(r"width:([\d.]+)%", row)]
        np.testing.assert_allclose(widths, [100.0 * part / largest for part in parts], atol=0.06)


def test_words_that_the_paper_does_not_have_are_explained(
    of_the_paper: Outcome, judgment: Judgment, make_report: MakeReport
) -> None:
    text = render_page(make_report([of_the_paper], judgment))
    terms = dict(re.findall(r'<div id="(term-[^"]+)"><dt>([^<]+)', text))
    assert {"GLIDE", "soqo", "handover", "radius", "to the letter", "LAI", "reading", "implied"} <= set(terms.values())
    assert set(re.findall(r'class="term" href="#([^"]+)"', text)) <= set(terms)
