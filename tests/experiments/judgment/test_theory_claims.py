"""Claims about theory: Theorem 1 against simulated regret, and Theorem 3 against exact regret."""

from __future__ import annotations

import pytest
from invented_regret import as_the_paper_says, judge_invented

from soqo.experiments import Setting, Status, find
from soqo.experiments.settings import LITERAL


@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.HOLDS), (1e9, Status.FAILS)])
def test_regret_is_compared_with_the_bound_of_theorem_1(factor: float, status: Status) -> None:
    def scaled(setting: Setting, name: str, T: int) -> float:
        return factor * as_the_paper_says(setting, name, T)

    claim = judge_invented(scaled, [one.name for one in find("appendix")], [LITERAL]).claim("theorem1")
    assert claim.status is status
    assert not any(name.startswith(("correlated", "cauchy")) for name in claim.settings)
