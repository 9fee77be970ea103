"""Readings of the paper: their values, names and sources."""

from __future__ import annotations

import pytest

from soqo import RandomProblem
from soqo.errors import ArgumentError
from soqo.experiments import Reading, Setting, catalogue
from soqo.experiments.settings import AXES, LITERAL, all_readings, few_readings


def test_every_value_of_every_axis_is_in_a_reading_and_the_literal_one_comes_first() -> None:
    every = all_readings()
    assert every[0] == LITERAL
    assert len(set(every)) == len(every) == 3 * 3 * 2 * 3 * 3 * 2
    few = few_readings()
    assert set(few) <= set(every)
    for axis, values in AXES.items():
        assert {getattr(reading, axis) for reading in few} == {value.key for value in values}
    assert len({reading.key for reading in every}) == len(every)


def test_an_unknown_value_is_named() -> None:
    with pytest.raises(ArgumentError, match="gamma2 must be one of 'algorithm', 'appendix', 'guarantee', got 'mine'"):
        Reading(gamma2="mine")


@pytest.mark.parametrize("setting", [s for s in catalogue() if s.name != "intro"], ids=lambda s: s.name)
def test_every_parameter_of_a_setting_of_the_paper_has_a_source(setting: Setting) -> None:
    assert {"d", "r", "sigma_r", "steps", "sigma_v", "eta", "c1", "T", "runs", "seed", "x0, v0"} <= set(setting.sources)
    problem = setting.environment.problem
    assert isinstance(problem, RandomProblem)
    # Where only the smallest eigenvalue is given, the others are ours.
    assert (problem.rank == 1) == ("other eigenvalues" not in setting.sources)
    assert f"{setting.environment.noise.bound:g}" in setting.sources["eta"] or setting.swept
    kinds = ("caption", "text", "file name", "our choice")
    assert all(text.startswith(kinds) for text in setting.sources.values())
