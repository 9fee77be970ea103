"""Teaches: the paper's fundamental trade-off between tracking without an estimate and estimating first.

In the paper's example (appendix "The Fundamental Trade-off"), A is diagonal. For d rounds the minimizer moves along e_1
only; in round d + i it then moves away from the player along e_{i+1}. A player that tracks v has no information about
the other entries of A when it needs them, and must guess. A player that probes along e_2, ..., e_d in the first rounds
pays for the probes, and pays more for more accurate estimates.
"""

import numpy as np

import soqo
from soqo.typing import Array

D, RUNS, STEP = 6, 200, 5.0
A = np.linspace(0.1, 4.0, D)  # the diagonal, which the player does not know
RNG = np.random.default_rng(0)
STEPS = STEP * RNG.standard_normal((2 * D - 1, RUNS))
NOISE = RNG.uniform(-1.0, 1.0, (2 * D - 1, RUNS))


def measure(u: Array, t: int, cap: float) -> Array:
    """Return the hitting cost with noise."""
    return np.asarray(0.5 * u**2 @ A + cap * NOISE[t])


def play(known: Array | None, gamma: float, cap: float) -> Array:
    """Return the cost of the first d rounds and of the others, for a player that knows A, guesses, or probes.

    ``known`` is the diagonal, or None for a player that guesses 1 where it has no estimate. With gamma > 0 it probes.
    """
    estimate = np.ones((RUNS, D)) if known is None else np.tile(known, (RUNS, 1))
    x, v, cost = np.zeros((RUNS, D)), np.zeros((RUNS, D)), np.zeros((2, RUNS))
    sums = np.zeros((2, RUNS))  # for the least-squares estimate of A_11
    for t in range(2 * D - 1):
        first = t < D
        axis = 0 if first else t - D + 1
        v = v.copy() if first else x.copy()  # later minimizers move away from the player's position
        v[:, axis] += STEPS[t]
        # The rounds after round d do not depend on the player's position in round d, so the plan ends there.
        plan = soqo.Plan(estimate[:, :, None] * np.eye(D), horizon=D - t if first else 1)
        before, x = x, plan.step(1, x, v)
        probing = bool(gamma) and 0 < t < D
        if probing:
            x = v.copy()
            x[:, t] += gamma
        u, move = x - v, x - before
        cost[0 if first else 1] += 0.5 * u**2 @ A + 0.5 * (move**2).sum(axis=1)
        y = measure(u, t, cap)
        if known is None and probing:
            estimate[:, t] = np.maximum(2.0 * y / gamma**2, 0.0)
        elif known is None and first:
            sums += np.array([0.25 * u[:, 0] ** 4, 0.5 * u[:, 0] ** 2 * y])
            estimate[:, 0] = np.maximum(sums[1] / np.maximum(sums[0], 1e-12), 0.0)
    return np.asarray(cost.mean(axis=1))


def play_glide(cap: float) -> Array:
    """Return the same costs for GLIDE, which does not know how v will move."""
    policy = soqo.GLIDE()
    state = policy.start(np.zeros((RUNS, D)), 2 * D - 1)
    x, v, cost = np.zeros((RUNS, D)), np.zeros((RUNS, D)), np.zeros((2, RUNS))
    for t in range(2 * D - 1):
        first = t < D
        v = v.copy() if first else x.copy()
        v[:, 0 if first else t - D + 1] += STEPS[t]
        before = x
        x, state = policy.act(state, v)
        u, move = x - v, x - before
        cost[0 if first else 1] += 0.5 * u**2 @ A + 0.5 * (move**2).sum(axis=1)
        state = policy.observe(state, measure(u, t, cap))
    return np.asarray(cost.mean(axis=1))


print(
    f"d = {D}, A = diag({A[0]:.2g} .. {A[-1]:.2g}), steps of {STEP:g}, mean of {RUNS} runs: cost minus that of a player"
)
print("that knows A, in the first d rounds and in the d - 1 others\n")
for cap in (1.0, 10.0):
    best = play(A, 0.0, cap)
    print(f"{f'noise up to {cap:g}':26} rounds 1..d d+1..2d-1        all")
    players = {"tracks, and guesses": play(None, 0.0, cap)}
    for gamma in (1.0, 3.0, 10.0, 30.0):
        players[f"probes with gamma = {gamma:g}"] = play(None, gamma, cap)
    players["GLIDE"] = play_glide(cap)
    for name, cost in players.items():
        first, later = cost - best
        print(f"  {name:24} {first:10.1f} {later:11.1f} {first + later:10.1f}")
    print()
