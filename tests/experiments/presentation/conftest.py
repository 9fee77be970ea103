"""Outcomes with regret of one's choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from soqo.experiments.execution import Outcome
from soqo.typing import Array

Edit = Callable[[str, Array], Array]


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
