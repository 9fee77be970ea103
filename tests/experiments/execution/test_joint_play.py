"""Policies that are played together do what they do alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import soqo
from soqo import FTM, GLIDE, OAL, POL, ROBD, HySCaLE, SCaLE
from soqo.errors import ArgumentError
from soqo.experiments import find
from soqo.experiments.execution import play_jointly

GIVEN: dict[str, Any] = {"noise_cap": 10.0, "rank": 4, "min_eigenvalue": 0.01}
POLICIES: dict[str, object] = {
    "FTM": FTM(),
    "ROBD": ROBD.for_problem,
    "POL": POL(1e-6, gradient="as_printed"),
    "OAL": OAL(1e-6, gradient="as_printed"),
    "slow": POL(1e-9),
    "SCaLE": SCaLE(**GIVEN),
    "printed": SCaLE.as_printed(**GIVEN),
    "exact": SCaLE(**GIVEN, radius="exact", fallback="none"),
    "HySCaLE": HySCaLE(**GIVEN),
    "HySCaLE printed": HySCaLE.as_printed(**GIVEN),
    "HySCaLE exact": HySCaLE.as_printed(**GIVEN, radius="exact"),
    "no room": SCaLE(**GIVEN, c1=100.0),
    "GLIDE": GLIDE(),
}


@pytest.mark.parametrize("name", ["primary", "gaussian_r4_0.01"])
def test_they_do_what_they_do_alone(name: str) -> None:
    environment = find(name)[0].environment
    together = play_jointly(POLICIES, environment.draw(150, 3, seed=1))
    assert list(together) == list(POLICIES)
    alone = soqo.simulate(environment, POLICIES, horizon=150, runs=3, seed=1, record=True)
    assert alone.actions is not None
    for policy in POLICIES:
        np.testing.assert_allclose(together[policy].x, alone.actions[policy], rtol=1e-7, atol=1e-5)
        np.testing.assert_array_equal(together[policy].diverged, alone[policy].diverged)


def test_company_does_not_change_a_bit() -> None:
    """So that a cell can be computed in any parts."""
    paths = find("primary")[0].environment.draw(120, 2, seed=0)
    together = play_jointly(POLICIES, paths)
    for name, entry in POLICIES.items():
        np.testing.assert_array_equal(together[name].x, play_jointly({name: entry}, paths)[name].x)


def test_environments_beyond_the_paper_are_played_round_by_round() -> None:
    environment = replace(find("primary")[0].environment, meters=(soqo.meters.Dropout(0.5),))
    entries = {"SCaLE": POLICIES["SCaLE"], "POL": POLICIES["POL"]}
    together = play_jointly(entries, environment.draw(80, 2, seed=0))
    alone = soqo.simulate(environment, entries, horizon=80, runs=2, seed=0, record=True)
    assert alone.actions is not None
    for name in entries:
        np.testing.assert_array_equal(together[name].x, alone.actions[name])


def test_an_error_names_the_policy() -> None:
    paths = find("primary")[0].environment.draw(80, 2, seed=0)
    with pytest.raises(ArgumentError, match=r"policies\['too high'\]: rank must be at most the dimension 4"):
        play_jointly({"too high": SCaLE(10.0, 5, min_eigenvalue=0.01, c1=1.0)}, paths)
