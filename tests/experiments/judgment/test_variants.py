"""The words of a verdict: in which variants of the text and in which settings a claim holds."""

from __future__ import annotations

from invented_outcomes import SETTINGS, as_the_paper_says, claims

from soqo.experiments import Setting
from soqo.experiments.judgment import decide_verdict


def test_a_claim_that_holds_in_one_variant_only_says_so() -> None:
    def only_calibrated(setting: Setting, name: str, T: int) -> float:
        value = as_the_paper_says(setting, name, T)
        return 1e9 * T * T if "as printed" in name else value

    found = claims(only_calibrated)
    first = found["SCaLE and HySCaLE significantly outperform all baselines"]
    assert first.verdict == "holds only if calibrated"
    everywhere = found["SCaLE outperforms all baselines in the appendix's settings"]
    assert everywhere.verdict == "holds only if calibrated"
    assert everywhere.number.startswith("as printed: in 0 of 16; calibrated: in 16 of 16")


def test_a_claim_that_holds_against_badly_tuned_learners_only_says_so() -> None:
    def tuned(setting: Setting, name: str, T: int) -> float:
        if "1e-8" in name or ("as printed" in name and not setting.swept):
            return 0.1 if "1e-8" in name else 1e9 * T
        return as_the_paper_says(setting, name, T)

    text = "SCaLE and HySCaLE significantly outperform all baselines"
    assert claims(tuned)[text].verdict == "holds only if calibrated and the learners' rate is 1e-6"


def test_a_claim_that_holds_in_some_settings_names_their_common_property() -> None:
    def only_full_rank(setting: Setting, name: str, T: int) -> float:
        bad = name.startswith("SCaLE") and "_r1_" in setting.name
        return 1e9 if bad else as_the_paper_says(setting, name, T)

    text = "SCaLE outperforms all baselines in the appendix's settings"
    assert claims(only_full_rank)[text].verdict == "holds only if r = 4"

    def one_exception(setting: Setting, name: str, T: int) -> float:
        bad = name == "SCaLE" and setting.name == "laplace_r4_1"
        return 1e9 if bad or "as printed" in name else as_the_paper_says(setting, name, T)

    assert claims(one_exception)[text].verdict == "holds only if calibrated and not in laplace_r4_1"


def test_verdict_names_a_bound_of_the_noise() -> None:
    names = [f"sensitivity_{eta}" for eta in (1, 10, 100, 1000, 10000)]
    kept = dict(zip(names, [True, True, True, False, False], strict=True))
    settings = {name: SETTINGS[name] for name in names}
    nothing = dict.fromkeys(names, False)
    assert decide_verdict({"as printed": kept}, settings) == "holds only if eta is at most 100"
    both = {"as printed": nothing, "calibrated": kept}
    assert decide_verdict(both, settings) == "holds only if calibrated and eta is at most 100"
    assert decide_verdict({"as printed": nothing}, settings) == "does not hold"
