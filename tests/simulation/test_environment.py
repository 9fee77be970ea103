"""Sample paths are coupled, repeatable, and independent of the number of runs and rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soqo import Environment, Paths, Problem, RandomProblem
from soqo.errors import ArgumentError
from soqo.noise import Adversarial, Uniform
from soqo.processes import Cauchy, Correlated, Gaussian, Laplace, Recorded, StudentT

NONSENSE: Any = 3
PROCESSES = [Gaussian(2.0), Correlated(2.0), Laplace(1.0), StudentT(1.0), Cauchy(1.0)]


def environment(process: Any = None, problem: Any = None) -> Environment:
    return Environment(
        problem or RandomProblem(3, 2, min_eigenvalue=0.1, max_eigenvalue=1.0), process or Gaussian(1.0), Uniform(1.0)
    )


def cut(paths: Paths, runs: slice, rounds: int) -> list[Any]:
    return [paths.problem.A[runs], paths.v[runs, :rounds], paths.variates[runs, :rounds]]


@settings(max_examples=40, deadline=None)
@given(
    process=st.sampled_from(PROCESSES),
    runs=st.integers(1, 5),
    more_runs=st.integers(0, 3),
    horizon=st.integers(1, 12),
    longer=st.integers(0, 9),
    seed=st.integers(0, 2**32),
)
def test_first_runs_and_rounds_do_not_depend_on_their_number(
    process: Any, runs: int, more_runs: int, horizon: int, longer: int, seed: int
) -> None:
    small = environment(process).draw(horizon, runs, seed=seed)
    large = environment(process).draw(horizon + longer, runs + more_runs, seed=seed)
    for one, other in zip(cut(small, slice(None), horizon), cut(large, slice(0, runs), horizon), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_split_draw_gives_the_same_runs() -> None:
    whole = environment().draw(9, 6, seed=4)
    piece = environment().draw(9, 2, seed=4, first_run=3)
    for one, other in zip(cut(piece, slice(None), 9), cut(whole, slice(3, 5), 9), strict=True):
        np.testing.assert_array_equal(one, other)
    probes = [rng.random() for rng in whole.policy_generators()]
    assert [rng.random() for rng in piece.policy_generators()] == probes[3:5]


def test_process_noise_and_curvature_are_drawn_independently() -> None:
    quiet = environment(Gaussian(1.0)).draw(9, 3, seed=5)
    wild = environment(Cauchy(1.0)).draw(9, 3, seed=5)
    np.testing.assert_array_equal(quiet.variates, wild.variates)
    np.testing.assert_array_equal(quiet.problem.A, wild.problem.A)
    assert not np.array_equal(quiet.v, wild.v)


def test_a_random_problem_gives_each_run_its_own_A() -> None:
    A = environment().draw(2, 4, seed=0).problem.A
    assert A.shape == (4, 3, 3)
    assert len({float(matrix[0, 0]) for matrix in A}) == 4


def test_a_given_batch_of_A_is_used_run_by_run() -> None:
    A = np.stack([np.eye(3) * k for k in range(1, 6)])
    paths = environment(problem=Problem(A)).draw(2, 2, seed=0, first_run=3)
    np.testing.assert_array_equal(paths.problem.A, A[3:5])
    with pytest.raises(ArgumentError, match=r"one A, or one for each of 6 runs, got batch shape \(5,\)"):
        environment(problem=Problem(A)).draw(2, 6, seed=0)


def test_starting_points() -> None:
    start = Environment(Problem(np.eye(2)), Gaussian(0.0), Uniform(0.0), x0=[1.0, 2.0], v0=[3.0, 4.0])
    paths = start.draw(3, 2, seed=0)
    np.testing.assert_array_equal(paths.x0, [[1.0, 2.0]] * 2)
    np.testing.assert_array_equal(paths.v, np.broadcast_to([3.0, 4.0], (2, 3, 2)))
    assert (paths.runs, paths.horizon) == (2, 3)


def test_paths_depend_on_the_seed_only() -> None:
    assert environment().draw(5, 3, seed=1) == environment().draw(5, 3, seed=1)
    assert environment().draw(5, 3, seed=1) != environment().draw(5, 3, seed=2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Environment(NONSENSE, Gaussian(1.0), Uniform(1.0)),
            "problem must be a Problem or",
        ),
        (
            lambda: Environment(Problem(np.eye(2)), NONSENSE, Uniform(1.0)),
            "process must be a Process, got int",
        ),
        (
            lambda: Environment(Problem(np.eye(2)), Gaussian(1.0), NONSENSE),
            "noise must be a Noise, got int",
        ),
        (
            lambda: Environment(Problem(np.eye(2)), Gaussian(1.0), Adversarial(1.0), x0=[1.0]),
            r"x0 must have shape \(2,\), got \(1,\)",
        ),
        (lambda: environment().draw(0, 1, seed=0), "horizon must be a positive integer, got 0"),
        (lambda: environment().draw(1, 0, seed=0), "runs must be a positive integer, got 0"),
        (lambda: environment().draw(1, 1, seed=-1), "seed must be an integer of at least 0, got -1"),
        (
            lambda: environment(Recorded(np.ones((3, 2)))).draw(1, 1, seed=0),
            "path must be for dimension 3",
        ),
    ],
)
def test_bad_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
