"""The catalogue: what the paper fixes, and names that can be looked up."""

from __future__ import annotations

import pytest

from soqo.errors import ArgumentError
from soqo.experiments.settings import catalogue, figures, find
from soqo.problem import RandomProblem
from soqo.processes import Correlated


def test_the_primary_evaluation_is_the_papers() -> None:
    (primary,) = find("primary")
    problem, process = primary.environment.problem, primary.environment.process
    assert isinstance(problem, RandomProblem)
    assert isinstance(process, Correlated)
    assert (problem.dim, problem.rank, problem.smallest) == (4, 4, 0.01)
    assert (process.scale, process.alpha, process.form) == (50.0, 0.7, "mixture")
    assert (primary.environment.noise.cap, primary.horizon, primary.runs) == (10.0, 1000, 20)


def test_names_are_unique_and_each_setting_says_its_source_and_reading() -> None:
    assert len({s.name for s in catalogue()}) == len(catalogue())
    assert all(s.source and s.reading and s.title for s in catalogue())


def test_a_figure_is_all_its_panels_and_a_panel_is_itself() -> None:
    assert [s.name for s in find("sensitivity")] == [s.name for s in figures()["sensitivity"]]
    assert len(find("sensitivity")) == 5
    assert len(find("appendix")) == 16
    assert [s.name for s in find("sensitivity_10")] == ["sensitivity_10"]
    assert sum(map(len, figures().values())) == len(catalogue())


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match=r"figure must be one of 'intro', .* got 'first'"):
        find("first")
