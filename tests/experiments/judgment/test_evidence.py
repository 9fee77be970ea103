"""All evidence of a run: what the settings allow, and nothing without settings of the paper."""

from __future__ import annotations

from soqo.experiments import find
from soqo.experiments.judgment import gather_evidence
from soqo.experiments.settings import LITERAL


def test_evidence_is_that_of_the_settings_that_were_simulated() -> None:
    found = gather_evidence(find("gaussian_r4_1"), [], {}, [LITERAL], runs=2)
    assert [(split.setting, split.gamma2, split.radius) for split in found.split] == [
        ("gaussian_r4_1", "algorithm", "cap")
    ]
    assert found.rub == ()
    assert [(risk.rank, risk.dim) for risk in found.risk] == [(1, 4), (4, 4)]
    assert "theorem5" in found.checks


def test_settings_of_ones_own_have_no_evidence() -> None:
    found = gather_evidence([], [], {}, [LITERAL], runs=2)
    assert (found.risk, found.checks) == ((), {})
