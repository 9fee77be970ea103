"""What a reading means in a setting: the spectrum of A, and c1."""

from __future__ import annotations

from soqo import RandomProblem
from soqo.experiments import find
from soqo.experiments.settings import AXES, c1_values, canonical_spectrum, with_spectrum


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
