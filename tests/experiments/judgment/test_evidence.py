"""Evidence beside regret: estimates, queries and costs, against what is computed from paths and actions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from soqo import SCaLE, simulate
from soqo.experiments import find, judge, run
from soqo.experiments.judgment import (
    Evidence,
    Status,
    estimate_by_probes,
    gather_evidence,
    measure_movement,
    measure_risk,
    measure_rub,
)
from soqo.experiments.settings import LITERAL


def test_evidence_is_that_of_the_settings_that_were_simulated() -> None:
    found = gather_evidence(find("gaussian_r4_1"), [], {}, [LITERAL], runs=2)
    (split,) = found.split
    assert (split.setting.name, split.gamma2, split.radius) == ("gaussian_r4_1", "algorithm", "cap")
    assert found.rub == ()
    assert [(risk.rank, risk.dim) for risk in found.risk] == [(1, 4), (4, 4)]
    assert "theorem5" in found.checks


def test_settings_of_ones_own_have_no_evidence() -> None:
    found = gather_evidence([], [], {}, [LITERAL], runs=2)
    assert (found.risk, found.checks) == ((), {})


def test_estimates_do_not_depend_on_later_rounds() -> None:
    (setting,) = find("gaussian_r1_1")
    found = estimate_by_probes(setting, "algorithm", "cap", 200, runs=2)
    printed = setting.policies["SCaLE as printed"]
    assert isinstance(printed, SCaLE)
    whole = simulate(setting.environment, {"SCaLE": printed}, horizon=200, runs=2, seed=setting.seed)
    np.testing.assert_allclose(found.estimate, whole["SCaLE"].diagnostics["estimate"], rtol=1e-6, atol=1e-9)
    assert found.m == printed.exploration_rounds(4) == 12
    assert found.probe_variance == printed.probe_variance(4, 200)


def test_errors_and_their_bound_are_those_of_the_probes() -> None:
    (setting,) = find("gaussian_r4_1")
    found = estimate_by_probes(setting, "algorithm", "exact", 2000, runs=2)
    assert found.m == 48
    assert found.probe_variance == pytest.approx(np.sqrt(10.0 * 2000.0))
    # The noise of the first 48 rounds of the setting's own paths.
    noise = 10.0 * setting.environment.draw(49, 2, seed=setting.seed).variates[:, :48]
    np.testing.assert_allclose(found.guaranteed, np.abs(noise).sum(axis=1) / (48 * found.probe_variance))
    singular = np.linalg.svd(found.estimate - found.A, compute_uv=False)
    np.testing.assert_allclose(found.error, singular.sum(axis=1))


def test_an_estimate_of_a_weak_signal_is_zero_to_the_letter_and_not_with_a_long_horizon() -> None:
    (setting,) = find("gaussian_r1_0.01")
    short, long = (estimate_by_probes(setting, "algorithm", "cap", T, runs=4) for T in (2000, 200_000))
    np.testing.assert_allclose(short.error, 0.01, rtol=1e-3)  # the nuclear norm of A
    assert np.median(long.error) < 0.9 * 0.01


def test_the_parts_of_regret_nearly_cancel_in_full_rank_and_their_sum_is_not_negative() -> None:
    value, basis = estimate_by_probes(find("gaussian_r4_1")[0], "guarantee", "residual", 2000, runs=3).split()
    assert (value + basis > 0.0).all()
    assert (value + basis < 0.5 * np.abs(value)).all()


def test_gaussian_probes_spread_well_and_queries_of_learners_do_not() -> None:
    found = measure_rub(find("heavy_tails_1")[0], runs=6)
    at_40 = {name: ratios[found.queries.index(40)] for name, ratios in found.ratios.items()}
    assert at_40["SCaLE"].max() < 4.0
    for learner in ("POL", "OAL", "HySCaLE"):
        assert np.median(at_40[learner]) > 5.0 * np.median(at_40["SCaLE"])
    assert np.median(found.errors["HySCaLE"]) > np.median(found.errors["SCaLE"])


def test_every_difference_is_seen_as_soon_as_there_are_as_many_probes_as_unknowns() -> None:
    """A difference of two symmetric matrices of rank 1 has 2 d - 2 free numbers up to scale, one of rank d has d(d+1)/2
    - 1: that many probes can be zero at once."""
    assert measure_risk(1, 4).first_consistent == 2 * 4 - 1
    assert measure_risk(4, 4).first_consistent == 4 * 5 // 2
    claim = judge([], {}, {}, [LITERAL], Evidence(risk=(measure_risk(1, 4), measure_risk(4, 4)))).claim("remark1-risk")
    assert claim.status is Status.HOLDS


def test_ftm_pays_for_the_steps_of_v_only_and_probes_are_summed_up_to_their_last_round(tmp_path: Path) -> None:
    (setting,) = find("rank_deficient_1")
    policies = {name: setting.policies[name] for name in ("FTM", "SCaLE as printed")}
    outcome = run([replace(setting, policies=policies, horizons=())], tmp_path, runs=3, workers=1)[0]
    found = measure_movement(outcome)
    v = setting.environment.draw(400, 3, seed=setting.seed).v
    steps = np.diff(v, axis=1, prepend=0.0)
    np.testing.assert_allclose(found.switching["FTM"], 0.5 * (steps**2).sum(axis=(1, 2)))
    assert (found.hitting["FTM"] == 0.0).all()
    result = outcome.results[400]
    np.testing.assert_allclose(
        found.probing_hitting["SCaLE as printed"], result["SCaLE as printed"].hitting[:, :40].sum(axis=1)
    )
    np.testing.assert_allclose(
        found.switching["LAI"] + found.hitting["LAI"],
        (result.benchmark_hitting + result.benchmark_switching).sum(axis=1),
    )
