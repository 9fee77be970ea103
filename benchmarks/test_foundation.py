"""Planner and learners against the literal transcription, measured side by side; ``make bench`` prints the ratios."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import literal
from soqo import LAI, POL, Environment, HySCaLE, Paths, Plan, Policy, RandomProblem, SCaLE, play
from soqo.noise import Uniform
from soqo.processes import Gaussian

RATE = 1e-8
ENVIRONMENT = Environment(
    RandomProblem(dim=4, rank=4, min_eigenvalue=0.01, max_eigenvalue=1.0), Gaussian(50.0), Uniform(10.0)
)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    value = call()
    return value, time.perf_counter() - started


def timed_with_rounds(policy: Policy[Any], paths: Paths, m: int) -> tuple[float, float]:
    """Return the time of all rounds, and of one round after the m-th."""
    reached: list[tuple[int, float]] = []

    def progress(done: int) -> None:
        if done > m:
            reached.append((done, time.perf_counter()))

    _, whole = timed(lambda: play(policy, paths, progress=progress))
    (first, begun), (last, ended) = reached[0], reached[-1]
    return whole, (ended - begun) / (last - first)


def relative_difference(one: Any, other: Any) -> float:
    """Return the largest distance between two actions, relative to the length of the other."""
    distance = np.linalg.norm(one - other, axis=-1) / np.linalg.norm(other, axis=-1)
    return float(distance.max())


def report(name: str, ours: float, theirs: float, bar: float, note: str = "") -> float:
    ratio = theirs / ours
    print(f"\n{name}: {ours:.4f} s, literal {theirs:.1f} s{note}: {ratio:,.0f}x (bar {bar:g}x)")
    return ratio


def literal_lai_runs(paths: Paths, runs: int) -> Any:
    return np.array([literal.lai(paths.problem.A[k], paths.v[k], paths.x0[k]) for k in range(runs)])


def test_pol_against_the_literal_transcription(benchmark: Any) -> None:
    paths = ENVIRONMENT.draw(horizon=1000, runs=20, seed=0)
    noise = paths.noise.bound * paths.variates
    ours = play(POL(RATE), paths)
    theirs, literal_times, our_times = [], [], []
    for k in range(paths.runs):
        # Alternate, so that a slow phase of the machine affects both; the best time of each counts.
        path, seconds = timed(partial(literal.pol, paths.problem.A[k], paths.v[k], paths.x0[k], noise[k], RATE))
        theirs.append(path)
        literal_times.append(seconds)
        our_times.append(timed(lambda: play(POL(RATE), paths))[1])
    benchmark.pedantic(lambda: play(POL(RATE), paths), rounds=5)
    literal_time = paths.runs * min(literal_times)
    note = f" ({sum(literal_times):.1f} s in all, best run times 20)"
    ratio = report("POL, d=4, T=1000, 20 runs", min(our_times), literal_time, 500, note)
    assert relative_difference(ours.x, np.array(theirs)) < 1e-9
    assert ratio >= 500


@pytest.mark.parametrize("form", ["policy, round by round", "plan, whole path"])
def test_lai_against_the_literal_transcription(benchmark: Any, form: str) -> None:
    # The literal loop takes one run at a time, so the time of a hundred is 50 times that of two.
    paths = ENVIRONMENT.draw(horizon=2000, runs=100, seed=1)
    theirs, two_runs = timed(lambda: literal_lai_runs(paths, 2))
    if form.startswith("policy"):
        ours = benchmark.pedantic(lambda: play(LAI(paths.problem.A), paths).x, rounds=7, warmup_rounds=1)
    else:
        ours = benchmark.pedantic(
            lambda: Plan(paths.problem.A, paths.horizon).path(paths.x0, paths.v),
            rounds=7,
            warmup_rounds=1,
        )
    literal_time = two_runs * paths.runs / 2
    ratio = report(
        f"LAI ({form}), d=4, T=2000, 100 runs",
        benchmark.stats["median"],
        literal_time,
        200,
        f" (2 runs took {two_runs:.1f} s, times 50)",
    )
    assert relative_difference(ours[:2], theirs) < 1e-9
    assert ratio >= 200


def test_pol_against_its_own_linear_algebra() -> None:
    """1,000 runs of 1,000 rounds take at most twice the time of their eigendecompositions and products."""
    paths = ENVIRONMENT.draw(horizon=1000, runs=1000, seed=2)
    x = np.random.default_rng(0).standard_normal((1000, 4, 1))
    matrices = paths.problem.A + np.eye(4)

    def linear_algebra() -> None:
        for _ in range(1000):
            _, vectors = np.linalg.eigh(matrices)
            inside = np.matmul(vectors.swapaxes(-1, -2), x)  # into the eigenbasis
            np.matmul(vectors, inside)  # and back: the action
            np.matmul(matrices, x)  # the prediction of the reading
            np.matmul(matrices, x)  # the hitting cost

    # Alternate, so that a slow phase of the machine affects both; the best time of each counts.
    floor, ours = np.inf, np.inf
    for _ in range(3):
        floor = min(floor, timed(linear_algebra)[1])
        ours = min(ours, timed(lambda: play(POL(RATE), paths))[1])
    print(
        f"\nPOL, d=4, T=1000, 1000 runs: {ours:.2f} s, eigh and matvec alone {floor:.2f} s: "
        f"{ours / floor:.2f}x (bar 2x, best of 3)"
    )
    assert ours <= 2.0 * floor


def test_hyscale_against_the_literal_transcription() -> None:
    """The literal loop starts from our estimate; our time is shown with probing and estimate, and without them."""
    paths = ENVIRONMENT.draw(horizon=1000, runs=20, seed=3)
    noise = paths.noise.bound * paths.variates
    policy = HySCaLE(10.0, 4, min_eigenvalue=0.01, learning_rate=RATE)
    m = policy.exploration_rounds(4)
    started = play(SCaLE(10.0, 4, min_eigenvalue=0.01), paths)
    ours, our_times, round_times, literal_times = play(policy, paths), [], [], []
    for k in range(paths.runs):  # alternately, as with POL
        start = started.diagnostics["estimate"][k]
        action = ours.x[k, m - 1]
        path, seconds = timed(partial(literal.learn, paths.problem.A[k], paths.v[k], action, noise[k], start, m, RATE))
        literal_times.append(seconds)
        # The first of three has cold caches, which is negligible for a run of four seconds.
        for _ in range(3):
            whole, each_round = timed_with_rounds(policy, paths, m)
            our_times.append(whole)
            round_times.append(each_round)
        assert relative_difference(ours.x[k, m:], path) < 1e-9
    literal_time = paths.runs * min(literal_times)
    alone = literal_time / ((1000 - m) * min(round_times))
    note = f" ({sum(literal_times):.1f} s in all, best run times 20; after the estimate alone {alone:,.0f}x)"
    ratio = report("HySCaLE, d=4, T=1000, 20 runs", min(our_times), literal_time, 500, note)
    assert ratio >= 500
