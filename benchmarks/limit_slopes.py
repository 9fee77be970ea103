"""Print the slope of mean regret in log T over kappa, in twelve settings.

python benchmarks/limit_slopes.py [--rounds 100000] [--glide-rounds 10000] [--runs 100] [--glide-runs 32] [--only K]

Regret is the sum of squares 1/2 |x_t - x*_t|^2 in the norm of C^(-1), for an infinite horizon. The slope is that
between rounds T/30 and T. A control variate removes most of its variance: the second-order cost of the least-squares
estimate that LAI's own path would give with F in place of the information, whose mean is kappa / t."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import soqo
from limit_settings import Setting, policies, settings
from soqo.estimators import svec_rows
from soqo.theory import LearningConstant, learning_constant
from soqo.typing import Array

_CHUNK = 1000


@dataclass(frozen=True)
class Slope:
    """The slope over kappa, with its standard error, and the regret of the whole run."""

    ratio: float
    error: float
    total: float


class Shadow:
    """The path of LAI with the same steps and noise, and the control variate that belongs to it."""

    def __init__(self, setting: Setting, constant: LearningConstant, runs: int, seed: int) -> None:
        self._vectors = np.linalg.eigh(setting.A)[1]
        values = constant.eigenvalues
        self.c = 1.0 + values / 2.0 - np.sqrt(values + np.square(values) / 4.0)
        inverse = np.linalg.inv(constant.information)
        self._form = inverse @ constant.weight @ inverse
        # Start in the stationary distribution, so that the mean of the control variate is exact.
        burn_in = math.ceil(-20.0 / math.log(self.c.max()))
        rngs = np.random.default_rng(seed).spawn(runs)
        steps = np.stack([setting.process.steps(rng, burn_in, len(values)) for rng in rngs]) @ self._vectors
        self.u: Array = np.zeros((runs, len(values)))
        for t in range(burn_in):
            self.u = self.c * (self.u - steps[:, t])
        self._sum: Array = np.zeros((runs, len(constant.information)))

    def play(self, step: Array) -> None:
        """Move to the next round."""
        self.u = self.c * (self.u - step @ self._vectors)

    def observe(self, noise: Array) -> None:
        """Add the reading of the round."""
        self._sum += svec_rows(self.u) * noise[:, None]

    def cost(self, t: int) -> Array:
        """Return the control variate of round t + 1, from t readings."""
        return np.asarray(np.vecdot(self._sum, self._sum @ self._form) / t**2)


def measure(setting: Setting, constant: LearningConstant, policy: soqo.Policy[Any], rounds: int, runs: int) -> Slope:
    """Return the slope of a policy's mean regret."""
    d = len(setting.A)
    Q = np.linalg.eigh(setting.A)[1]
    shadow = Shadow(setting, constant, runs, seed=7)
    c, inverse = shadow.c, (Q / shadow.c) @ Q.T
    C = (Q * c) @ Q.T
    step_rngs, noise_rngs = np.random.default_rng(11).spawn(runs), np.random.default_rng(13).spawn(runs)
    problem = soqo.Problem(setting.A)
    state = policy.start(np.zeros((runs, d)), None, rng=0)
    x, v = np.zeros((runs, d)), np.zeros((runs, d))
    first = rounds // 30
    total, window, control = np.zeros((3, runs))
    for t in range(rounds):
        k = t % _CHUNK
        if k == 0:
            steps = np.stack([setting.process.steps(rng, _CHUNK, d) for rng in step_rngs])
            variates = np.stack([setting.noise.variates(rng, _CHUNK) for rng in noise_rngs])
        v = v + steps[:, k]
        planned = (x - v) @ C
        x, state = policy.act(state, v)
        u = x - v
        noise = setting.noise.perturb(variates[:, k], u, problem)
        state = policy.observe(state, 0.5 * np.vecdot(u, u @ setting.A) + noise)
        regret = 0.5 * np.vecdot(u - planned, (u - planned) @ inverse)
        total += regret
        if t >= first:
            window += regret
            control += shadow.cost(t)
        shadow.play(steps[:, k])
        shadow.observe(noise)
    expected = constant.kappa * (1.0 / np.arange(first, rounds)).sum()
    # The best multiple of the control variate, whose mean is known.
    slope = np.cov(window, control)[0, 1] / control.var(ddof=1)
    adjusted = (window - slope * (control - expected)) / expected
    relative = constant.standard_error / constant.kappa
    error = math.hypot(adjusted.std(ddof=1) / math.sqrt(runs), relative)
    return Slope(float(adjusted.mean()), error, float(total.mean()))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--glide-rounds", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--glide-runs", type=int, default=32)
    parser.add_argument("--only", type=int, nargs="*")
    parser.add_argument("--policies", nargs="*", default=["RLS", "GLIDE"])
    given = parser.parse_args()
    print(
        f"{'setting':<30}{'kappa':>9}  {'policy':<20}{'T':>8}{'runs':>6}{'slope/kappa':>13}{'error':>8}{'regret':>10}"
    )
    for index, setting in enumerate(settings()):
        if given.only and index not in given.only:
            continue
        constant = learning_constant(setting.A, setting.process, setting.noise, samples=4_000_000)
        for name, policy in policies(setting).items():
            if name not in given.policies:
                continue
            is_rls = name == "RLS"
            rounds = given.rounds if is_rls else given.glide_rounds
            runs = given.runs if is_rls else given.glide_runs
            found = measure(setting, constant, policy, rounds, runs)
            print(
                f"{setting.name:<30}{constant.kappa:>9.3g}  {name:<20}{rounds:>8}{runs:>6}{found.ratio:>13.3f}"
                f"{found.error:>8.3f}{found.total:>10.4g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
