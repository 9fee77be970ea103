"""An article of the page: its heading, its description for screen readers, its table and its links."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from soqo.experiments.execution import Outcome
from soqo.experiments.presentation import render_page, render_svg, report_figures
from soqo.typing import Array

WithRegret = Callable[[Outcome, Callable[[str, Array], Array]], Outcome]


def articles(outcomes: list[Outcome]) -> dict[str, str]:
    """Return the articles of a page by their ids."""
    figures = report_figures(outcomes)
    about = {"command": "", "quick": False, "versions": {}, "code": "0", "settings": {"one": {"runs": 3, "seed": 0}}}
    page = render_page(figures, [], about, {figure.name: render_svg(figure.draw()) for figure in figures})
    found = re.findall(r'<article id="([^"]+)">(.*?)</article>', page, flags=re.DOTALL)
    return dict(found)


@pytest.fixture(scope="module")
def page(outcomes: dict[str, Outcome]) -> dict[str, str]:
    """The articles of all small settings."""
    return articles(list(outcomes.values()))


def best_of(outcome: Outcome) -> str:
    """The policy in bold in the table of an outcome."""
    (best,) = re.findall(
        r'<tr class="best"><th scope="row"><span[^>]*></span>([^<]+)', "".join(articles([outcome]).values())
    )
    return str(best)


def test_the_best_policy_is_bold_and_does_not_know_the_answer(
    outcomes: dict[str, Outcome], with_regret: WithRegret
) -> None:
    outcome, knows = outcomes["intro"], "ROBD (knows A)"
    medians = {n: outcome.median(n) for n in outcome.policies if n != knows}
    best = min(medians, key=lambda n: medians[n])
    assert best_of(outcome) == best
    assert best_of(with_regret(outcome, lambda name, r: np.full_like(r, -1e9) if name == knows else r)) == best
    worst = max(medians, key=lambda n: medians[n])
    alone = with_regret(outcome, lambda name, r: np.full_like(r, 7.0 if name == worst else np.inf))
    assert best_of(alone) == worst


def test_a_heading_is_typeset_and_unbroken_inside_of_equations(page: dict[str, str]) -> None:
    assert "<h2>Pair: small steps, η&nbsp;=&nbsp;1</h2>" in page["figure-intro"]


def test_the_description_for_screen_readers_names_the_best_policy(
    outcomes: dict[str, Outcome], page: dict[str, str]
) -> None:
    outcome = outcomes["intro"]
    (label,) = re.findall(r'<svg [^>]*role="img" aria-label="([^"]*)"', page["figure-intro"])[:1]
    assert f"After {outcome.setting.horizon} rounds {best_of(outcome)} has the lowest median" in label


def test_text_of_a_setting_is_escaped(page: dict[str, str]) -> None:
    assert "where A &amp; B are &lt;left&gt; open" in page["figure-intro"]
    assert "<left>" not in page["figure-intro"]


def test_the_table_of_a_sweep_has_the_value_with_the_smallest_median(
    outcomes: dict[str, Outcome], page: dict[str, str]
) -> None:
    swept = [outcome for outcome in outcomes.values() if outcome.setting.swept]
    table = re.sub(r"<[^>]+>", " ", page["figure-sweep"].rpartition("<table")[2])
    for outcome in swept:
        for family in {point.family for point in outcome.setting.swept.values()}:
            names = [name for name, point in outcome.setting.swept.items() if point.family == family]
            best = min(names, key=outcome.median)
            assert f"{outcome.setting.swept[best].value:g}" in table
