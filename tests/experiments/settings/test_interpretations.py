"""Interpretations of the paper: their values, names and sources, and what they mean in a setting."""

from __future__ import annotations

import pytest

from soqo import RandomProblem
from soqo.errors import ArgumentError
from soqo.experiments import Reading, Setting, catalogue, find
from soqo.experiments.settings import (
    AXES,
    LITERAL,
    all_readings,
    c1_values,
    canonical_spectrum,
    few_readings,
    with_spectrum,
)


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


def test_spectra_that_are_the_same_are_simulated_once() -> None:
    one, full = find("gaussian_r1_1")[0], find("gaussian_r4_1")[0]
    assert {canonical_spectrum(one, value.key) for value in AXES["spectrum"]} == {"linear_1"}
    assert {canonical_spectrum(full, value.key) for value in AXES["spectrum"]} == {"linear_1", "geometric"}
    (primary,) = find("primary")
    problems = [with_spectrum(primary, value.key).problem for value in AXES["spectrum"]]
    assert all(isinstance(problem, RandomProblem) for problem in problems)
    assert [(p.max_eigenvalue, p.spacing) for p in problems if isinstance(p, RandomProblem)] == [
        (1.0, "linear"),
        (10.0, "linear"),
        (1.0, "geometric"),
    ]


def test_c1_is_that_of_the_caption_of_the_text_or_of_a_grid() -> None:
    (primary,) = find("primary")
    assert c1_values(primary, "captions") == (3.0,)
    assert c1_values(primary, "elsewhere") == (5.0,)  # m = 80 = 5 * 4 * 4
    assert c1_values(find("correlated_r1_0.01")[0], "elsewhere") == (15.0,)
    assert c1_values(find("laplace_r1_1")[0], "elsewhere") == c1_values(find("laplace_r1_1")[0], "captions") == (5.0,)
    assert 3.0 in c1_values(primary, "tuned")
