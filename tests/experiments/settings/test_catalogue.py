"""The catalogue: what the paper fixes, names that can be looked up, and settings in words."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from soqo import RandomProblem, SCaLE
from soqo.errors import ArgumentError
from soqo.experiments import Setting, catalogue, figures, find
from soqo.experiments.settings import describe_setting
from soqo.processes import Cauchy, Correlated, Gaussian, Laplace, Process

# The figures of the paper's numerical section by the names of their files, and how many panels each has.
PAPER = {
    "intro": ("intro_plots", 1),
    "primary": ("general_experiment", 1),
    "heavy_tails": ("heavy_tails", 2),
    "rank_deficient": ("experiments-rank", 2),
    "sensitivity": ("hyperparameter", 5),
    "appendix": ("Appendix", 16),
}
PROCESSES = {"gaussian": Gaussian, "correlated": Correlated, "cauchy": Cauchy, "laplace": Laplace}


def scale_of(process: Process) -> Any:
    """Return the size of its steps."""
    assert isinstance(process, Gaussian | Correlated | Cauchy | Laplace)
    return process.scale


def problem_of(setting: Setting) -> RandomProblem:
    problem = setting.environment.problem
    assert isinstance(problem, RandomProblem)
    return problem


def c1_of(setting: Setting) -> float:
    policy = setting.policies["SCaLE"]
    assert isinstance(policy, SCaLE)
    return policy.c1


def test_every_figure_of_the_paper_is_there() -> None:
    assert {name: len(panels) for name, panels in figures().items()} == {
        name: count for name, (_, count) in PAPER.items()
    }
    for name, (file, _) in PAPER.items():
        assert all(file in setting.source for setting in figures()[name])


def test_names_are_unique_and_each_setting_has_a_source_and_a_note() -> None:
    assert len({s.name for s in catalogue()}) == len(catalogue()) == 27
    assert all(s.source and s.note and s.title for s in catalogue())
    assert not {s.name for s in catalogue()} & (set(figures()) - {"intro", "primary"})


def test_all_settings_are_of_dimension_four_and_give_scale_what_it_must_know() -> None:
    for setting in catalogue():
        problem = problem_of(setting)
        assert problem.dim == 4
        policies = [p for p in setting.policies.values() if isinstance(p, SCaLE)]
        assert policies, setting.name
        for policy in policies:
            assert policy.noise_cap == setting.environment.noise.bound
            assert (policy.rank, policy.min_eigenvalue) == (problem.rank, problem.min_eigenvalue)


def test_the_primary_evaluation_is_the_papers() -> None:
    (primary,) = find("primary")
    problem, process = problem_of(primary), primary.environment.process
    assert isinstance(process, Correlated)
    assert (problem.dim, problem.rank, problem.min_eigenvalue) == (4, 4, 0.01)
    assert (process.scale, process.alpha, process.form) == (50.0, 0.7, "mixture")
    assert (primary.environment.noise.bound, primary.horizon, primary.runs) == (10.0, 1000, 20)
    assert c1_of(primary) == 3.0


@pytest.mark.parametrize(
    ("figure", "kind", "scale"), [("heavy_tails", Cauchy, 1.0), ("rank_deficient", Gaussian, 50.0)]
)
def test_the_case_studies_are_the_papers(figure: str, kind: type, scale: float) -> None:
    panels = find(figure)
    assert [problem_of(s).min_eigenvalue for s in panels] == [0.01, 1.0]
    for setting in panels:
        process = setting.environment.process
        assert isinstance(process, kind)
        assert scale_of(process) == scale
        assert problem_of(setting).rank == 1
        assert (setting.environment.noise.bound, c1_of(setting), setting.horizon) == (50.0, 10.0, 400)


def test_sensitivity_sweeps_c1_at_five_caps() -> None:
    panels = find("sensitivity")
    assert [s.environment.noise.bound for s in panels] == [1.0, 10.0, 100.0, 1000.0, 10000.0]
    for setting in panels:
        assert set(setting.swept) == set(setting.policies)
        values = [s.value for s in setting.swept.values() if s.family == "SCaLE"]
        assert values == sorted(values)
        assert (values[0], values[-1], len(values)) == (0.7, 10.0, 10)
        for name, swept in setting.swept.items():
            policy = setting.policies[name]
            assert isinstance(policy, SCaLE)
            assert (swept.parameter, policy.c1) == ("c1", swept.value)


@pytest.mark.parametrize(("process", "rank", "sigma"), list(itertools.product(PROCESSES, (1, 4), ("1", "0.01"))))
def test_the_appendix_has_the_papers_numbers(process: str, rank: int, sigma: str) -> None:
    (setting,) = find(f"{process}_r{rank}_{sigma}")
    assert setting.figure == "appendix"
    problem, steps = problem_of(setting), setting.environment.process
    assert (problem.dim, problem.rank, problem.min_eigenvalue) == (4, rank, float(sigma))
    assert type(steps) is PROCESSES[process]
    assert scale_of(steps) == (1.0 if process == "cauchy" else 50.0)
    assert setting.environment.noise.bound == (1.0 if process in ("cauchy", "laplace") else 10.0)
    if isinstance(steps, Correlated):
        assert (steps.alpha, steps.form) == (0.7, "additive")


def test_titles_name_the_simulated_numbers() -> None:
    for setting in catalogue():
        named = dict(re.findall(r"(eta|sigma_r) = ([\d.]+)", setting.title))
        if "eta" in named:
            assert float(named["eta"]) == setting.environment.noise.bound, setting.name
        if "sigma_r" in named:
            assert float(named["sigma_r"]) == problem_of(setting).min_eigenvalue, setting.name


def test_a_name_is_a_figure_or_a_panel_and_others_are_refused() -> None:
    assert find("appendix") == figures()["appendix"]
    assert [s.name for s in find("cauchy_r1_1")] == ["cauchy_r1_1"]
    with pytest.raises(ArgumentError, match=r"figure must be one of 'intro', .*, got 'first'"):
        find("first")


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


def test_every_setting_of_the_paper_has_a_label_of_its_own_with_its_figure() -> None:
    labels = {setting.name: describe_setting(setting.name) for setting in catalogue()}
    assert len(set(labels.values())) == len(labels)
    assert labels["intro"] == "Figure 1"
    assert labels["primary"] == "Figure 3 (correlated, r = d = 4, sigma_r = 0.01)"
    assert labels["cauchy_r1_0.01"] == "Figure 18 (Cauchy, r = 1, sigma_r = 0.01)"
    assert labels["sensitivity_10000"] == "Figure 6 (eta = 10000)"


def test_what_follows_a_comma_is_kept_and_other_names_stay() -> None:
    assert describe_setting("rank_deficient_1, LAI's play") == "Figure 5 (Gaussian, r = 1, sigma_r = 1), LAI's play"
    assert describe_setting("mine") == "mine"
