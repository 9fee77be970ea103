"""Outcomes with regret of one's choice, and reports with invented verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from soqo.experiments.execution import Outcome
from soqo.experiments.judgment import Case, Claim, Evidence, Judgment, Kind, Number, Section, Status, Verdict
from soqo.experiments.presentation import ReportData, report_figures
from soqo.experiments.settings import LITERAL, Reading, all_readings
from soqo.typing import Array

Edit = Callable[[str, Array], Array]

ROLES = {"FTM": "paper", "POL, rate 1e-4": "paper"}
"""The roles of policies in the small settings; ROBD and GLIDE are not in the paper."""


@pytest.fixture(scope="session")
def with_regret() -> Callable[[Outcome, Edit], Outcome]:
    """A function that replaces the regret per round, shape (runs, rounds), of each policy in an outcome."""

    def edit_outcome(outcome: Outcome, edit: Edit) -> Outcome:
        results = {}
        for horizon, result in outcome.results.items():
            shares = {name: edit(name, result.regret(name, per_round=True)) for name in result}
            records = {name: replace(result[name], regret=shares[name]) for name in result}
            results[horizon] = replace(result, records=records)
        return replace(outcome, results=results)

    return edit_outcome


@pytest.fixture(scope="session")
def of_the_paper(outcomes: dict[str, Outcome]) -> Outcome:
    """An outcome of which two policies are the paper's, with sources and a contradiction."""
    setting = replace(
        outcomes["intro"].setting,
        source="Section 1, Figure 1 (a test)",
        roles=ROLES,
        sources={"sigma_r": "caption: 0.1", "x0": "our choice: <0>"},
        contradictions=("The caption has c1 = 3 & the text c1 = 5.",),
    )
    return replace(outcomes["intro"], setting=setting)


@pytest.fixture(scope="session")
def judgment() -> Judgment:
    """Four claims: one holds in every reading, one in some, one in none, and one was not tested."""
    status = {"mean": Status.FAILS, "median": Status.HOLDS}
    some = [
        Verdict(reading, (Case("intro", status[str(reading.statistic)], (Number("ratio", 1.5e6, 0.25, 3e6),)),))
        for reading in all_readings(["gamma2", "statistic"])
    ]
    some[-1] = Verdict(some[-1].reading, (Case("intro", Status.UNKNOWN, (Number("ratio <1>", 0.5),)),))
    every = [
        Verdict(r, (Case("intro", Status.HOLDS, (Number("slope", 0.5, 0.4, 0.6),)),)) for r in all_readings(["c1"])
    ]
    refuted = (Case("intro", Status.FAILS), Case("second", Status.HOLDS))
    none = [Verdict(Reading(*[None] * 6), refuted, universal=True)]
    claims = (
        claim("all", Kind.EXPERIMENT, "It holds & holds", "Section 1, Figure 1", "first", ("intro",), every),
        claim("some", Kind.IMPLIED, "It holds at c1 = 3", "Section 2", "first", ("intro",), some, "a <remark>"),
        claim("none", Kind.THEORY, "It fails as T^(1/2)", "Theorem 3", "second", ("intro", "elsewhere"), none),
        claim("open", Kind.EXPERIMENT, "Nobody knows", "Section 4", "second", ("laplace_r4_1",), ()),
    )
    sections = (
        Section("first", "The first part", ("all", "some"), 1, 6, (), replace(LITERAL, statistic="median"), 2),
        Section("second", "The second part", ("none",), 1, 6, (), LITERAL, 0),
    )
    columns = {
        "to the letter": LITERAL,
        "appendix": Reading(gamma2="appendix"),
        "guarantee": Reading(gamma2="guarantee"),
        "tuned": Reading(c1="tuned"),
        "best of the first part": Reading(gamma2="guarantee", c1="tuned"),
        "best of the second part": LITERAL,
    }
    return Judgment(claims, sections, columns, "It wins at c1 = 3.", "To the letter, 1 of 3 claims holds at c1 = 3.")


def claim(
    name: str,
    kind: Kind,
    text: str,
    source: str,
    section: str,
    settings: tuple[str, ...],
    verdicts: Sequence[Verdict],
    remark: str = "",
) -> Claim:
    """A claim with 3 runs."""
    quote, rule = f"The paper says: {text}.", "slope < 1"
    return Claim(
        id=name,
        kind=kind,
        text=text,
        source=source,
        quote=quote,
        section=section,
        rule=rule,
        settings=settings,
        remark=remark,
        runs=3,
        verdicts=tuple(verdicts),
    )


MakeReport = Callable[..., ReportData]


@pytest.fixture(scope="session")
def make_report() -> MakeReport:
    """A function that returns the report on some outcomes."""

    def make(
        outcomes: Sequence[Outcome],
        judgment: Judgment | None = None,
        command: str = "",
        quick: bool = False,
        evidence: Evidence | None = None,
    ) -> ReportData:
        found = evidence or Evidence()
        figures = report_figures(outcomes, found)
        about = {
            "command": command,
            "quick": quick,
            "versions": {"numpy": np.__version__},
            "code": "0123456789abcdef",
            "settings": {o.setting.name: {"runs": o.runs, "seed": o.setting.seed} for o in outcomes},
        }
        return ReportData(tuple(outcomes), judgment, found, tuple(figures), about)

    return make
