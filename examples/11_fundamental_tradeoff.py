"""Teaches: the paper's fundamental trade-off, and what it costs to track without estimating or to estimate first.

The paper's example (appendix "The Fundamental Trade-off"): A is diagonal. For d rounds the minimizer moves along e_1
only; in round d + i it then stands off the player along e_{i+1}. Whoever tracks has learned nothing about the other
entries of A when they are needed, and must guess; whoever probes along e_2, ..., e_d meanwhile pays for it, the more so
the more exact the answer is to be.
"""

import numpy as np

import soqo
from soqo._planner import contraction

D, RUNS, STEP = 6, 200, 5.0
A = np.linspace(0.1, 4.0, D)  # the diagonal; the entries that are needed later are unknown
RNG = np.random.default_rng(0)
STEPS = STEP * RNG.standard_normal((2 * D - 1, RUNS))
NOISE = RNG.uniform(-1.0, 1.0, (2 * D - 1, RUNS))


def variant(u: np.ndarray, t: int, cap: float) -> np.ndarray:
    """The hitting cost with noise."""
    return np.asarray(0.5 * u**2 @ A + cap * NOISE[t])


def play(known: np.ndarray | None, gamma: float, cap: float) -> np.ndarray:
    """The cost of the first d rounds and of the others, for a player who knows the diagonal, guesses, or probes.

    ``known`` is the diagonal, or None for a player who guesses 1 where it has no estimate. With gamma > 0 it probes.
    """
    estimate = np.ones((RUNS, D)) if known is None else np.tile(known, (RUNS, 1))
    x, v, cost = np.zeros((RUNS, D)), np.zeros((RUNS, D)), np.zeros((2, RUNS))
    rows = np.zeros((2, RUNS))  # for A_11 by least squares
    for t in range(2 * D - 1):
        first = t < D
        axis = 0 if first else t - D + 1
        v = v.copy() if first else x.copy()  # later minimizers stand off where the player stands
        v[:, axis] += STEPS[t]
        # What comes after round d does not depend on where the player then is: it looks no further.
        C = contraction(estimate, D - t if first else 1)
        before, x = x, v + C * (x - v)
        probing = bool(gamma) and 0 < t < D
        if probing:
            x = v.copy()
            x[:, t] += gamma
        u, move = x - v, x - before
        cost[0 if first else 1] += 0.5 * u**2 @ A + 0.5 * (move**2).sum(axis=1)
        y = variant(u, t, cap)
        if known is None and probing:
            estimate[:, t] = np.maximum(2.0 * y / gamma**2, 0.0)
        elif known is None and first:
            rows += np.array([0.25 * u[:, 0] ** 4, 0.5 * u[:, 0] ** 2 * y])
            estimate[:, 0] = np.maximum(rows[1] / np.maximum(rows[0], 1e-12), 0.0)
    return np.asarray(cost.mean(axis=1))


def glide(cap: float) -> np.ndarray:
    """The same for GLIDE, which knows nothing of the plan."""
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
        state = policy.observe(state, variant(u, t, cap))
    return np.asarray(cost.mean(axis=1))


print(f"d = {D}, A = diag({A[0]:.2g} .. {A[-1]:.2g}), steps of {STEP:g}, mean of {RUNS} runs: cost beyond a player")
print("who knows A, in the first d rounds and in the d - 1 others\n")
for cap in (1.0, 10.0):
    best = play(A, 0.0, cap)
    print(f"{f'noise up to {cap:g}':26} rounds 1..d d+1..2d-1        all")
    players = {"tracks, and guesses": play(None, 0.0, cap)}
    for gamma in (1.0, 3.0, 10.0, 30.0):
        players[f"probes with gamma = {gamma:g}"] = play(None, gamma, cap)
    players["GLIDE"] = glide(cap)
    for name, cost in players.items():
        first, later = cost - best
        print(f"  {name:24} {first:10.1f} {later:11.1f} {first + later:10.1f}")
    print()
