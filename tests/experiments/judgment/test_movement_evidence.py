"""Hitting and switching costs apart: against costs computed from actions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from soqo.experiments import find, run
from soqo.experiments.judgment import measure_movement


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
