"""Groups of the paper's settings: in the order of its figures, each with the rank and steps that its name says."""

from __future__ import annotations

import re

from soqo import RandomProblem
from soqo.experiments import find

SIXTEEN = [setting.name for setting in find("appendix")]


def test_the_appendix_is_in_the_order_of_the_papers_figures() -> None:
    numbers = []
    for name in SIXTEEN:
        found = re.search(r"Figure (\d+)", find(name)[0].source)
        assert found is not None
        numbers.append(int(found[1]))
    assert numbers == list(range(7, 23))


def test_titles_have_the_parameters_of_their_settings() -> None:
    for name in SIXTEEN:
        (setting,) = find(name)
        problem, noise = setting.environment.problem, setting.environment.noise
        assert isinstance(problem, RandomProblem)
        for parameter, value in (("r", problem.rank), ("sigma_r", problem.min_eigenvalue), ("eta", noise.bound)):
            assert f", {parameter} = {value:g}" in setting.title
        policy = setting.policies["SCaLE as printed"]
        assert setting.title.endswith(f", c1 = {policy.c1:g}")  # type: ignore[attr-defined]


def test_steps_have_a_covariance_unless_they_are_cauchys() -> None:
    for name in SIXTEEN:
        covariance = find(name)[0].environment.process.covariance(4)
        assert (covariance is None) == name.startswith("cauchy")


def test_a_setting_of_deficient_rank_has_one_of_full_rank_with_the_same_steps() -> None:
    for value in ("0.01", "1"):
        names = f"rank_deficient_{value}", f"gaussian_r4_{value}"
        deficient, full = (find(name)[0].environment for name in names)
        assert deficient.process == full.process
        assert isinstance(deficient.problem, RandomProblem)
        assert isinstance(full.problem, RandomProblem)
        assert (deficient.problem.rank, full.problem.rank) == (1, 4)
        assert deficient.problem.min_eigenvalue == full.problem.min_eigenvalue
