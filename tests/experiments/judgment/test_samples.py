"""Statistics over runs and resamples: means, medians, trimmed means, exponents, and the line search for c1."""

from __future__ import annotations

import numpy as np
import pytest
from invented_regret import SETTINGS, as_the_paper_says, invented_table

from soqo.experiments import Reading, Setting
from soqo.experiments.execution import resampled_runs
from soqo.experiments.judgment import Samples, trimmed_mean, tune_c1
from soqo.experiments.settings import LITERAL, plan_first_stage


def samples_of(name: str, reading: Reading = LITERAL) -> Samples:
    setting = SETTINGS[name]
    return Samples([setting], invented_table(plan_first_stage([setting], [reading]), as_the_paper_says), {})


def test_the_first_entry_is_the_statistic_of_the_runs_and_the_rest_those_of_resamples() -> None:
    samples = samples_of("primary")
    found = samples.of("primary", LITERAL, None)
    assert found is not None
    values = found["FTM"]
    mean = samples.statistic("primary", LITERAL, "FTM")
    assert mean[0] == pytest.approx(values.mean())
    # The bootstrap's standard error is that of the mean, up to the noise of the resamples.
    assert mean[1:].std() == pytest.approx(values.std() / np.sqrt(values.size), rel=0.15)
    median = samples.statistic("primary", Reading(statistic="median"), "FTM")
    assert median[0] == pytest.approx(np.median(values))
    np.testing.assert_allclose(np.median(values[resampled_runs(values.size)], axis=1), median[1:])


def test_a_policy_of_the_paper_has_the_name_of_its_reading() -> None:
    samples = samples_of("primary")
    reading = Reading(gamma2="guarantee", gradient="exact")
    found = {label: samples.policy(label, "primary", reading) for label in ("FTM", "OAL", "SCaLE", "HySCaLE")}
    assert found == {
        "FTM": "FTM",
        "OAL": "OAL/exact",
        "SCaLE": "SCaLE/guarantee/cap/3",
        "HySCaLE": "HySCaLE/guarantee/cap/exact/3",
    }


def test_means_are_trimmed_under_cauchy_steps_only() -> None:
    samples = samples_of("heavy_tails_1")
    values = np.arange(12.0)
    values[-1] = 1e9
    assert samples.reduce("heavy_tails_1", LITERAL, values)[0] == pytest.approx(np.arange(1.0, 11.0).mean())
    assert samples_of("primary").reduce("primary", LITERAL, values)[0] == pytest.approx(values.mean())
    with_infinite_end = np.append(np.arange(19.0), np.inf)
    assert trimmed_mean(with_infinite_end) == np.arange(2.0, 18.0).mean()
    assert trimmed_mean(with_infinite_end[None], 0.25).tolist() == [np.arange(5.0, 15.0).mean()]


def test_a_missing_number_counts_as_infinite() -> None:
    samples = samples_of("primary")
    values = np.ones(12)
    values[3] = np.nan
    assert samples.reduce("primary", LITERAL, values)[0] == np.inf
    assert samples.reduce("primary", Reading(statistic="median"), values)[0] == 1.0


def test_exponents_are_those_of_a_regression() -> None:
    samples = samples_of("gaussian_r1_1")
    found = samples.exponent("gaussian_r1_1", LITERAL, "SCaLE")
    horizons = samples.horizons("gaussian_r1_1", LITERAL, "SCaLE")
    regret = [samples.statistic("gaussian_r1_1", LITERAL, "SCaLE", T)[0] for T in horizons]
    assert found[0] == pytest.approx(np.polyfit(np.log(horizons), np.log(regret), 1)[0])
    assert found[0] == pytest.approx(0.6)


def test_the_line_search_takes_the_value_with_the_least_regret_for_each_statistic() -> None:
    setting = SETTINGS["gaussian_r4_1"]
    readings = [Reading(c1="tuned"), Reading(c1="tuned", statistic="median")]

    def least_at_five(_: Setting, name: str, _horizon: int) -> float:
        kind, *parts = name.split("/")
        return 1.0 + (float(parts[-1]) - 5.0) ** 2 if kind == "SCaLE" else 1.0

    table = invented_table(plan_first_stage([setting], readings), least_at_five)
    place = ("gaussian_r4_1", "linear_1", 1000)
    row = table[place].policies.index("SCaLE/algorithm/cap/5")
    table[place].regret[row, -1] = 1e9  # one run spoils the mean of the best value, and not its median
    found = tune_c1([setting], table, readings)
    assert found == {("gaussian_r4_1", "linear_1", "algorithm", "cap"): {"mean": 3.0, "median": 5.0}}
