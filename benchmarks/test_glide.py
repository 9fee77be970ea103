"""The computing time of GLIDE: many runs against POL, and a round of one stream."""

from __future__ import annotations

import time

import numpy as np
import pytest

from soqo import GLIDE, POL, Environment, RandomProblem, play
from soqo.noise import Uniform
from soqo.processes import Gaussian


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("full rank", RandomProblem(4, 4, min_eigenvalue=0.01, max_eigenvalue=1.0)),
        ("rank 1", RandomProblem(4, 1, min_eigenvalue=1.0)),
    ],
)
def test_a_thousand_runs_against_pol(name: str, problem: RandomProblem) -> None:
    paths = Environment(problem, Gaussian(50.0), Uniform(10.0)).draw(1000, 1000, seed=0)
    times = []
    for policy in (POL(1e-8), GLIDE(), POL(1e-8)):
        started = time.perf_counter()
        play(policy, paths)
        times.append(time.perf_counter() - started)
    ratio = times[1] / min(times[0], times[2])
    print(
        f"\n1,000 runs x 1,000 rounds, d=4, {name}: GLIDE {times[1]:.1f} s, POL {min(times[0], times[2]):.1f} s: "
        f"{ratio:.1f}x (bar 10x; the faster of two runs of POL, before and after)"
    )
    assert ratio <= 10.0


@pytest.mark.parametrize("rank", [10, 2])
def test_a_round_of_one_stream(rank: int) -> None:
    rng = np.random.default_rng(0)
    A = RandomProblem(10, rank, min_eigenvalue=1.0, max_eigenvalue=4.0).draw(rng).A
    policy, v, times = GLIDE(), np.zeros(10), []
    state = policy.start(np.zeros(10))
    for _ in range(1000):
        v = v + 50.0 * rng.standard_normal(10)
        started = time.perf_counter()
        x, state = policy.act(state, v)
        between = time.perf_counter()
        y = 0.5 * (x - v) @ A @ (x - v) + rng.uniform(-10.0, 10.0)
        resumed = time.perf_counter()
        state = policy.observe(state, y)
        times.append(time.perf_counter() - resumed + between - started)
    median, slowest = float(np.median(times)), max(times)
    print(
        f"\none stream, d=10, rank {rank}: act and observe {1e3 * median:.2f} ms (median of 1,000; bar 1 ms), "
        f"{1e3 * np.mean(times):.2f} ms on average, {1e3 * slowest:.0f} ms at most"
    )
    assert median < 1e-3


@pytest.mark.parametrize("rank", [30, 3])
def test_a_run_with_hundreds_of_unknowns(rank: int) -> None:
    environment = Environment(
        RandomProblem(30, rank, min_eigenvalue=1.0, max_eigenvalue=4.0), Gaussian(50.0), Uniform(10.0)
    )
    paths = environment.draw(1000, 1, seed=0)
    started = time.perf_counter()
    play(GLIDE(), paths)
    seconds = time.perf_counter() - started
    print(f"\none run of 1,000 rounds, d=30, rank {rank}: {seconds:.0f} s (bar 60 s)")
    assert seconds < 60.0
