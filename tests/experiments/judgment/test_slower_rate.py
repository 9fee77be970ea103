"""A learning rate that is not in the paper is in remarks only."""

from __future__ import annotations

from invented_regret import as_the_paper_says, judge_invented

from soqo.experiments import Setting, Status


def test_slower_learners_of_ours_are_in_the_remark_only() -> None:
    def slow_wins(setting: Setting, name: str, T: int) -> float:
        return 0.1 if name.endswith("/slow") else as_the_paper_says(setting, name, T)

    claim = judge_invented(slow_wins, ["primary"]).claim("primary-scale-outperforms")
    assert claim.status is Status.HOLDS
    assert "holds in 0 of 20 readings" in claim.remark
    assert (
        "holds in 20 of 20 readings"
        in judge_invented(as_the_paper_says, ["primary"]).claim("primary-scale-outperforms").remark
    )


def test_medians_are_told_for_each_spectrum_beside_the_best_baseline_of_both_rates() -> None:
    def invented(_: Setting, name: str, _horizon: int) -> float:
        return {"SCaLE/slow": 1.0, "HySCaLE/slow": 2.0, "POL/slow": 4.0, "OAL/slow": 5.0}.get(name, 8.0)

    remark = judge_invented(invented, ["primary"], spread=0.0).claim("primary-outperform").remark
    told = "1 and 2, the best of FTM, POL and OAL 8 at 1e-6 and 4 at 1e-8"
    for spectrum in ("linear 1", "linear 10", "geometric"):
        assert f"in Figure 3 (correlated, r = d = 4, sigma_r = 0.01), spectrum {spectrum}: {told}" in remark
