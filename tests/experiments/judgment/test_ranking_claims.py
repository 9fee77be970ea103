"""Claims about which policy is better than which: each follows the medians of the policies that it names."""

from __future__ import annotations

import pytest
from invented_outcomes import as_the_paper_says, claims

from soqo.experiments import Setting


@pytest.mark.parametrize(("power", "verdict"), [(0.5, "holds"), (1.0, "does not hold"), (1.5, "does not hold")])
def test_a_lead_grows_only_if_regret_grows_more_slowly_than_that_of_the_baselines(power: float, verdict: str) -> None:
    def grow(_: Setting, name: str, T: int) -> float:
        return T**power if name.startswith("SCaLE") else 10.0 * T

    assert claims(grow, ["primary"])["SCaLE's lead over the baselines grows with the horizon"].verdict == verdict


@pytest.mark.parametrize(("factor", "verdict"), [(0.9, "holds"), (1.1, "does not hold")])
def test_hyscale_is_compared_with_the_best_learner(factor: float, verdict: str) -> None:
    def compare(_: Setting, name: str, _horizon: int) -> float:
        return {"H": factor, "P": 1.0, "O": 3.0}.get(name[0], 2.0)

    text = "gradient steps help only on top of SCaLE's estimate: HySCaLE is better than POL and OAL"
    assert claims(compare, ["primary"])[text].verdict == verdict


@pytest.mark.parametrize(("margin", "verdict"), [(2.1, "holds"), (1.9, "does not hold")])
def test_significantly_better_under_cauchy_steps_means_twice(margin: float, verdict: str) -> None:
    def compare(_: Setting, name: str, _horizon: int) -> float:
        return 1.0 if name.startswith("SCaLE") else margin

    text = "gradient methods (POL, OAL, HySCaLE) fail under Cauchy steps, and SCaLE is significantly better"
    assert claims(compare)[text].verdict == verdict


def test_the_lead_under_cauchy_steps_must_exist_and_be_larger_for_the_small_eigenvalue() -> None:
    text = "under Cauchy steps SCaLE's lead is largest where sigma_r is small"

    def reversed_lead(setting: Setting, name: str, T: int) -> float:
        value = as_the_paper_says(setting, name, T)
        return 10.0 * value if name.startswith("SCaLE") and setting.name == "heavy_tails_0.01" else value

    assert claims(as_the_paper_says)[text].verdict == "holds"
    assert claims(reversed_lead)[text].verdict == "does not hold"
