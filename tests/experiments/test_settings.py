"""The catalogue: what the paper fixes, and names that can be looked up."""

from __future__ import annotations

import pytest

from soqo.errors import ArgumentError
from soqo.experiments.settings import SETTINGS, setting
from soqo.problem import RandomProblem
from soqo.processes import Correlated


def test_the_primary_evaluation_is_the_papers() -> None:
    primary = setting("primary")
    problem, process = primary.environment.problem, primary.environment.process
    assert isinstance(problem, RandomProblem)
    assert isinstance(process, Correlated)
    assert (problem.dim, problem.rank, problem.smallest) == (4, 4, 0.01)
    assert (process.scale, process.alpha, process.form) == (50.0, 0.7, "mixture")
    assert (primary.environment.noise.cap, primary.horizon, primary.runs) == (10.0, 1000, 20)


def test_names_are_unique_and_each_setting_says_its_source_and_reading() -> None:
    assert len({s.name for s in SETTINGS}) == len(SETTINGS)
    assert all(s.source and s.reading and s.title for s in SETTINGS)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match="figure must be one of 'primary', got 'first'"):
        setting("first")
