"""GLIDE with many dimensions: regret, and the time of a round.

    python benchmarks/many_dimensions.py                    all tables (an hour)
    python benchmarks/many_dimensions.py --tables regret    some of: regret, others, few, estimators, farm
    python benchmarks/many_dimensions.py --tables regret --dims 30 --alone     some dimensions, GLIDE and FTM only
    python benchmarks/many_dimensions.py --tables others --settings "r=20, Cauchy" --runs 8 --held-out 2000     one row
    python benchmarks/many_dimensions.py --runs 1 --quick   shorter, without d = 300
    python benchmarks/many_dimensions.py --tables farm --sides 10 --seeds 0     a farm of 100 turbines (ten minutes)

Regret is a median over the runs; eigenvalues are 1..4 and the noise is up to 10 unless stated otherwise. The seeds of
the first column played a part in the choice of constants, those of the second did not. Times are processor times of a
round: the mean, the 99th percentile and the largest.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

import soqo
from glide_settings import RATES, format_short
from soqo.noise import Uniform
from soqo.plants import ORACLE, Contender, WindFarm, contenders, drive
from soqo.processes import Cauchy, Gaussian, Laplace, Process
from soqo.typing import Array

TUNED, HELD_OUT = 0, 1000
"""The first runs of the two groups."""


class Setting(NamedTuple):
    """An environment with many dimensions."""

    name: str
    dim: int
    rank: int
    process: Process
    horizon: int = 1000
    values: tuple[float, float] = (1.0, 4.0)
    geometric: bool = False

    def environment(self) -> soqo.Environment:
        problem = soqo.RandomProblem(
            self.dim,
            self.rank,
            min_eigenvalue=self.values[0],
            max_eigenvalue=self.values[1] if self.rank > 1 else None,
            spacing="geometric" if self.geometric else "linear",
        )
        return soqo.Environment(problem, self.process, Uniform(10.0))


SETTINGS = tuple(
    Setting(f"d={d}, r={r}, steps of {scale:g}", d, r, Gaussian(scale), horizon)
    for d, r, horizon in ((10, 2, 1000), (30, 3, 1000), (30, 30, 1000), (100, 3, 3000), (300, 3, 2000))
    for scale in (50.0, 5.0)
)
OTHERS = (
    Setting("d=20, A 0.01..4 geometric", 20, 20, Gaussian(50.0), values=(0.01, 4.0), geometric=True),
    Setting("the same, steps of 5", 20, 20, Gaussian(5.0), values=(0.01, 4.0), geometric=True),
    Setting("d=20, r=10", 20, 10, Gaussian(50.0)),
    Setting("d=20, r=3, Laplace", 20, 3, Laplace(50.0)),
    Setting("d=20, r=3, Cauchy", 20, 3, Cauchy(1.0)),
    Setting("d=20, r=20, Cauchy", 20, 20, Cauchy(1.0)),
    Setting("d=20, r=3, A 10..100", 20, 3, Gaussian(50.0), values=(10.0, 100.0)),
    Setting("d=20, r=20, steps of 5", 20, 20, Gaussian(5.0)),
    Setting("d=20, r=3, steps of 1", 20, 3, Gaussian(1.0)),
)


def timed_run(setting: Setting, run: int) -> tuple[float, Array]:
    """Return the regret of GLIDE in one run, and the processor time of each round in milliseconds."""
    paths = setting.environment().draw(setting.horizon, 1, seed=0, first_run=run)
    A, v = np.reshape(paths.problem.A, (setting.dim, setting.dim)), paths.v[0]
    noise = np.random.default_rng([1, run]).uniform(-10.0, 10.0, setting.horizon)
    plan = soqo.Plan(A, horizon=setting.horizon)
    policy, times = soqo.GLIDE(), np.empty(setting.horizon)
    state = policy.start(np.zeros(setting.dim), setting.horizon)
    positions = np.empty_like(v)
    for t in range(setting.horizon):
        began = time.process_time()
        x, state = policy.act(state, v[t])
        acted = time.process_time()
        u = x - v[t]
        y = 0.5 * u @ A @ u + noise[t]
        resumed = time.process_time()
        state = policy.observe(state, y)
        times[t] = time.process_time() - resumed + acted - began
        positions[t] = x
    best = plan.path(np.zeros(setting.dim), v)
    return cost(A, v, positions) - cost(A, v, best), 1e3 * times


def cost(A: Array, v: Array, x: Array) -> float:
    """Return the cost of a path from the origin."""
    u, steps = x - v, np.diff(x, axis=0, prepend=0.0)
    return float(0.5 * np.einsum("ti,ij,tj->", u, A, u) + 0.5 * np.square(steps).sum())


def baseline(setting: Setting, policies: dict[str, Any], runs: int) -> float:
    """Return the lowest median regret of some policies."""
    result = soqo.simulate(setting.environment(), policies, horizon=setting.horizon, runs=runs, seed=0)
    finals = [result.regret(name)[:, -1] for name in policies]
    return float(min(np.median(np.where(np.isfinite(final), final, np.inf)) for final in finals))


def regret_table(settings: tuple[Setting, ...], runs: int, *, others: bool, held_out: int) -> None:
    """Print regret and times."""
    shown = ("FTM", "POL*", "SCaLE", "HySCaLE") if others else ("FTM",)
    ratio = " of SCaLE |" if others else ""
    print("| setting |", " | ".join(shown), f"| **GLIDE** | held out |{ratio} ms: mean | p99 | max |")
    print("|---|" + "--:|" * (len(shown) + 5 + others))
    for setting in settings:
        found = {"FTM": baseline(setting, {"FTM": soqo.FTM()}, runs)}
        if others and setting.dim <= 100:
            known: dict[str, Any] = {"noise_cap": 10.0, "rank": setting.rank, "min_eigenvalue": 1.0, "c1": 3.0}
            found["POL*"] = baseline(setting, {f"{rate:g}": soqo.POL(rate) for rate in RATES[1:]}, runs)
            found["SCaLE"] = baseline(setting, {"SCaLE": soqo.SCaLE(**known)}, min(runs, 2))
            hybrids = {f"{rate:g}": soqo.HySCaLE(**known, learning_rate=rate) for rate in RATES[2:]}
            found["HySCaLE"] = baseline(setting, hybrids, 1) if setting.dim <= 30 else np.nan
        groups = [[timed_run(setting, first + k) for k in range(runs)] for first in (TUNED, held_out)]
        medians = [float(np.median([regret for regret, _ in group])) for group in groups]
        times = np.concatenate([ms for group in groups for _, ms in group])
        cells = [format_short(found[name]) if name in found else "" for name in shown]
        cells += [format_short(medians[0]), format_short(medians[1])]
        if others:
            cells.append(f"{100.0 * medians[0] / found['SCaLE']:.1f} %" if "SCaLE" in found else "")
        cells += [f"{value:.2g}" for value in (times.mean(), np.quantile(times, 0.99), times.max())]
        print(f"| {setting.name} |", " | ".join(cells), "|", flush=True)
    print()


def few_directions(kind: str, directions: int, d: int, horizon: int, seed: int) -> tuple[Array, Array]:
    """Return A and a path of v, which moves in a random subspace with steps of 50."""
    rng = np.random.default_rng([7, seed])
    values = {"full": np.linspace(1.0, 4.0, d), "low": np.r_[np.zeros(d - 3), 1.0, 2.5, 4.0]}
    values["geometric"] = np.geomspace(0.01, 4.0, d)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    basis = np.linalg.qr(rng.standard_normal((d, directions)))[0]
    return (Q * values[kind]) @ Q.T, np.cumsum(50.0 * rng.standard_normal((horizon, directions)) @ basis.T, axis=0)


def few_directions_table(seeds: list[int], d: int = 20, horizon: int = 600) -> None:
    """Print the geometric mean of the regret where v moves in few directions, with and without probes."""
    print(f"| d={d} | without probes | **GLIDE** | probes |\n|---|--:|--:|--:|")
    for kind in ("full", "low", "geometric"):
        for directions in (1, 3):
            regrets, probes = np.zeros((2, len(seeds))), np.zeros(len(seeds))
            for k, seed in enumerate(seeds):
                A, v = few_directions(kind, directions, d, horizon, seed)
                noise = np.random.default_rng([1, seed]).uniform(-10.0, 10.0, horizon)
                for probing in (0, 1):
                    regrets[probing, k], probes[k] = play(soqo.GLIDE(probing=bool(probing)), A, v, noise)
            means = np.exp(np.log(regrets).mean(axis=1))
            print(
                f"| {kind}, {directions} of {d} directions | {format_short(means[0])} | {format_short(means[1])} |"
                f" {probes.mean():.0f} |",
                flush=True,
            )
    print()


def play(policy: soqo.GLIDE, A: Array, v: Array, noise: Array) -> tuple[float, float]:
    """Return the regret of a run, and its number of probes."""
    state, x = policy.start(np.zeros(len(A)), len(v)), np.empty_like(v)
    for t in range(len(v)):
        x[t], state = policy.act(state, v[t])
        u = x[t] - v[t]
        state = policy.observe(state, 0.5 * u @ A @ u + noise[t])
    best = soqo.Plan(A, horizon=len(v)).path(np.zeros(len(A)), v)
    return cost(A, v, x) - cost(A, v, best), float(policy.diagnostics(state)["probes"])


def estimator_table(quick: bool) -> None:
    """Print the time of SCaLE's estimate, with m = 3 r d probes of rank 3, up to 200 dimensions."""
    print("| d | probes | trace_min, s | error |\n|--:|--:|--:|--:|")
    for d in (30, 60, 100) if quick else (30, 60, 100, 150, 200):
        rng = np.random.default_rng(0)
        A = soqo.random_curvature(d, 3, min_eigenvalue=1.0, max_eigenvalue=4.0, rng=0)
        Z = 10.0 * rng.standard_normal((9 * d, d))
        noise = rng.uniform(-10.0, 10.0, len(Z))
        began = time.process_time()
        estimate = soqo.trace_min(Z, 0.5 * np.vecdot(Z @ A, Z) + noise, radius=float(np.abs(noise).sum()))
        seconds = time.process_time() - began
        error = float(np.linalg.norm(estimate.matrix - A) / np.linalg.norm(A))
        print(f"| {d} | {len(Z)} | {seconds:.2g} | {error:.2g} |", flush=True)
    print()


def farm_table(side: int, rounds: int, seeds: list[int]) -> None:
    """Print the mean cost on a wind farm at a constant wind speed, where the oracle needs one fit only."""
    farm = WindFarm(layout=np.array([(5.0 * i, 5.0 * j) for j in range(side) for i in range(side)]), constant_speed=8.0)
    known = contenders(farm, rounds=rounds, seeds=seeds)
    chosen: dict[str, Contender] = {name: known[name] for name in ("FTM", "interpolation 0.5", ORACLE, "GLIDE")}
    result = drive(farm, chosen, rounds=rounds, seeds=seeds)
    print(f"| {side * side} turbines | cost, kW | above the oracle | ms |\n|---|--:|--:|--:|")
    for name in result.names:
        above = 100.0 * (result[name].total / result[ORACLE].total - 1.0)
        print(f"| {name} | {result[name].total:.1f} | {above:+.1f} % | {result[name].milliseconds:.1f} |")
    print()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--tables", nargs="+", default=["regret", "others", "few", "estimators", "farm"])
    parser.add_argument("--dims", type=int, nargs="+", default=[10, 30, 100, 300], help="of the table of regret")
    parser.add_argument("--settings", default="", help="a part of the names of settings, for the table of others")
    parser.add_argument("--held-out", type=int, default=HELD_OUT, help="the first of the runs held out")
    parser.add_argument("--alone", action="store_true", help="without the other policies")
    parser.add_argument("--sides", type=int, nargs="+", default=[4, 6, 10], help="of the farms, in turbines")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the farms, and of few directions")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    settings = tuple(s for s in SETTINGS if s.dim in options.dims and (s.dim < 300 or not options.quick))
    if "regret" in options.tables:
        regret_table(settings, options.runs, others=not options.alone, held_out=options.held_out)
    if "others" in options.tables:
        chosen = tuple(setting for setting in OTHERS if options.settings in setting.name)
        regret_table(chosen, 3 * options.runs, others=False, held_out=options.held_out)
    if "few" in options.tables:
        few_directions_table(options.seeds)
    if "estimators" in options.tables:
        estimator_table(options.quick)
    if "farm" in options.tables:
        for side in (4,) if options.quick else options.sides:
            farm_table(side, 600, options.seeds)


if __name__ == "__main__":
    main()
