"""Every claim is judged, from the paper's own settings only: invented outcomes, with known answers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from invented_outcomes import SETTINGS, as_the_paper_says, claims, invented

from soqo.experiments import Setting, judge


def test_every_claim_holds_if_the_paper_is_right() -> None:
    found = claims(as_the_paper_says)
    assert len(found) == len(judge([])) > 0
    assert {claim.verdict for claim in found.values()} == {"holds"}
    assert all(claim.rule and claim.source and claim.variant for claim in found.values())


def test_no_claim_holds_if_the_paper_is_wrong_about_everything() -> None:
    def opposite(setting: Setting, name: str, T: int) -> float:
        if setting.swept:
            return math.pow(setting.swept[name].value, 1.0 if setting.name.endswith("0000") else -1.0)
        if name == "GLIDE, no drift":
            return 1.0
        if name.startswith(("SCaLE", "HySCaLE")):
            # Growing by leaps, and faster in full rank; HySCaLE the worst where tails are light.
            power = 1.6 if "_r4_" in setting.name or setting.name == "primary" else 1.2
            light = setting.name == "primary" or setting.name.startswith(("gaussian", "correlated"))
            return (2.0 if name.startswith("HySCaLE") and light else 1.0) * 100.0 * math.pow(T, power)
        return float(T)

    found = claims(opposite)
    ramp = "SCaLE pays much while it explores, which lowers what it pays per round afterwards"
    wrong = {text: claim.verdict for text, claim in found.items() if text != ramp}
    assert set(wrong.values()) == {"does not hold"}


def test_a_claim_whose_settings_were_not_run_is_not_tested() -> None:
    found = claims(as_the_paper_says, ["primary"])
    tested = [text for text, claim in found.items() if claim.verdict != "not tested"]
    assert tested == [text for text, claim in claims(as_the_paper_says).items() if claim.variant.endswith("in primary")]
    assert tested


def test_a_setting_of_ones_own_with_a_name_of_the_papers_tests_no_claim() -> None:
    own = replace(SETTINGS["primary"], policies={"FTM": SETTINGS["primary"].policies["FTM"]})
    assert {claim.verdict for claim in judge([invented(own, as_the_paper_says)])} == {"not tested"}


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_every_setting_alone_can_be_judged(name: str) -> None:
    assert len(claims(as_the_paper_says, [name])) == len(judge([]))
