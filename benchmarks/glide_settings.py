"""Compare GLIDE with the paper's policies, in settings that favor it and in others.

    python benchmarks/glide_settings.py                    all tables (half an hour, most of it for d = 30)
    python benchmarks/glide_settings.py --runs 6           a quick version
    python benchmarks/glide_settings.py --tables changes   some of: regret, refinements,
                                                           growth, changes, outliers

Regret after 1,000 rounds, median and mean over the runs. The columns with a star are the best of a grid of tuning
parameters in each setting, chosen in hindsight by the median regret: the learning rate of POL and HySCaLE, and the
number and the variance of SCaLE's probes. GLIDE always has its defaults.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

import sixteen_settings
import soqo
from soqo.noise import Adversarial, Noise, Uniform
from soqo.policies import draw_per_run
from soqo.processes import Gaussian, Process
from soqo.typing import Array, Rng

ROUNDS = 1000
LATE_ROUNDS = 200
HORIZONS = (200, 400, 1000, 2000)
RATES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
PROBE_FACTORS = tuple((c, g) for c in (1.0, 2.0) for g in (0.01, 0.1, 1.0, 10.0))
"""Factors on the number of SCaLE's probes and on their variance."""


@dataclass(frozen=True)
class RareJumps(Process):
    """Steps that are zero with probability 0.96 and normal with this scale otherwise."""

    scale: float

    @property
    def is_martingale(self) -> bool:
        return True

    def covariance(self, dim: int) -> Any:
        return self.scale**2 / 25.0 * np.eye(dim)

    def steps(self, rng: np.random.Generator, horizon: int, dim: int) -> Any:
        draws = rng.standard_normal((horizon, dim + 1))
        return self.scale * draws[:, 1:] * (draws[:, :1] > 1.7507)  # the 96th percentile of the normal distribution


@dataclass(frozen=True, eq=False)
class Restarted(soqo.Policy[tuple[soqo.State[Any], Array]]):
    """A policy that restarts in a given round from its current position.

    Its memory is the state of the inner policy and a seed for each run, since the restart needs random numbers too.
    """

    policy: soqo.Policy[Any]
    round: int

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> tuple[soqo.State[Any], Array]:
        inner = self.policy.start(x0, horizon, rng)
        return inner, draw_per_run(rng, x0.shape[:-1], lambda generator: np.asarray(generator.integers(2**31), float))

    def decide(self, state: soqo.State[Any], v: Array) -> tuple[Array, tuple[Any, Array]]:
        inner, seeds = state.memory
        if state.round == self.round - 1:
            left = None if state.horizon is None else state.horizon - state.round
            generators = [np.random.default_rng(int(seed)) for seed in seeds]
            inner = self.policy.start(state.x, left, generators)
        x, inner = self.policy.act(inner, v)
        return x, (inner, seeds)

    def learn(self, state: soqo.State[Any], y: Array) -> tuple[soqo.State[Any], Array]:
        inner, seeds = state.memory
        return self.policy.observe(inner, y, applied=state.x), seeds


@dataclass(frozen=True, eq=False)
class WithOutliers(soqo.Policy[soqo.State[Any]]):
    """A policy whose reading is replaced by another value in some rounds. Its memory is the inner policy's state."""

    policy: soqo.Policy[Any]
    rounds: tuple[int, ...]
    value: float

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> soqo.State[Any]:
        return self.policy.start(x0, horizon, rng)

    def decide(self, state: soqo.State[Any], v: Array) -> tuple[Array, soqo.State[Any]]:
        return self.policy.act(state.memory, v)

    def learn(self, state: soqo.State[Any], y: Array) -> soqo.State[Any]:
        reading = np.full_like(y, self.value) if state.round in self.rounds else y
        return self.policy.observe(state.memory, reading, applied=state.x)

    def diagnostics(self, state: soqo.State[Any]) -> dict[str, Any]:
        return self.policy.diagnostics(state.memory)


@dataclass(frozen=True)
class Setting:
    """An environment, and the parameters of SCaLE for it."""

    name: str
    environment: soqo.Environment
    cap: float
    rank: int
    sigma: float
    c1: float
    runs: int = 24


def paper_settings() -> Iterator[Setting]:
    """Yield the sixteen settings of the paper's appendix."""
    for s in sixteen_settings.settings():
        yield Setting(s.name, s.environment(), s.cap, s.rank, s.sigma, s.c1)


def other_settings() -> Iterator[Setting]:
    """Yield settings with scarce, biased or plentiful information, and with a wrong prior."""

    def of(
        name: str,
        process: Process,
        dim: int = 4,
        rank: int = 4,
        values: tuple[float, float] = (1.0, 4.0),
        noise: Noise | None = None,
        spacing: Literal["linear", "geometric"] = "linear",
        runs: int = 24,
    ) -> Setting:
        problem = soqo.RandomProblem(
            dim, rank, min_eigenvalue=values[0], max_eigenvalue=values[1] if rank > 1 else None, spacing=spacing
        )
        noise = noise or Uniform(10.0)
        c1 = 3.0 if rank > 1 else 10.0
        environment = soqo.Environment(problem, process, noise)
        return Setting(name, environment, noise.bound, rank, values[0], c1, runs)

    one_direction = Gaussian(np.diag([50.0, 0.0, 0.0, 0.0]))
    yield of("steps of 0.1", Gaussian(0.1))
    yield of("steps of 1", Gaussian(1.0))
    yield of("steps of 1, A 0.01..1", Gaussian(1.0), values=(0.01, 1.0), spacing="geometric")
    yield of("one direction, r=1", one_direction, rank=1)
    yield of("one direction, r=4", one_direction)
    yield of("rare jumps", RareJumps(50.0))
    yield of("d=10", Gaussian(50.0), dim=10, rank=10, runs=12)
    yield of("d=10, r=2", Gaussian(50.0), dim=10, rank=2, runs=12)
    yield of("d=10, steps of 1", Gaussian(1.0), dim=10, rank=10, runs=12)
    yield of("d=30", Gaussian(50.0), dim=30, rank=30, runs=4)
    yield of("d=30, r=3", Gaussian(50.0), dim=30, rank=3, runs=4)
    for aim in ("overstate", "understate", "flatten"):
        for scale in (50.0, 1.0):
            noise = Adversarial(10.0, aim)
            yield of(f"noise that {aim}s, steps {scale:g}", Gaussian(scale), noise=noise)
    yield of("A 10..100", Gaussian(50.0), values=(10.0, 100.0))
    yield of("A 10..100, steps of 1", Gaussian(1.0), values=(10.0, 100.0))


def format_short(value: float) -> str:
    """Format a number with three digits, in as few characters as possible."""
    return f"{value:.3g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def policies(setting: Setting) -> dict[str, dict[str, Any]]:
    """Return the columns, and for each the policies of which the best is shown."""
    known: dict[str, Any] = {"noise_cap": setting.cap, "rank": setting.rank, "min_eigenvalue": setting.sigma}
    d = setting.environment.dim
    variance = soqo.SCaLE(**known).probe_variance(d, ROUNDS)

    def scale(kind: Callable[..., Any], c: float, g: float, **options: Any) -> Any:
        return kind(**known, c1=c * setting.c1, gamma2=g * variance, **options)

    hybrids = {
        f"{c:g} {g:g} {rate:g}": scale(soqo.HySCaLE, c, g, learning_rate=rate)
        for c, g in PROBE_FACTORS[:4]
        for rate in RATES[2:]
    }
    return {
        "FTM": {"": soqo.FTM()},
        "POL*": {f"{rate:g}": soqo.POL(rate) for rate in RATES},
        "SCaLE": {"": soqo.SCaLE(**known, c1=setting.c1)},
        "SCaLE*": {f"{c:g} {g:g}": scale(soqo.SCaLE, c, g) for c, g in PROBE_FACTORS},
        "HySCaLE*": hybrids,
        "GLIDE": {"": soqo.GLIDE()},
        "robust": {"": soqo.GLIDE(robust=True)},
        "knows cap": {"": soqo.GLIDE(noise_cap=setting.cap)},
        "RLS": {"": soqo.RLS(setting.cap / math.sqrt(3.0))},
    }


def best_regret(setting: Setting, candidates: dict[str, Any], horizon: int) -> tuple[float, float]:
    """Return the median and mean of the final regret of the candidate with the lowest median."""
    result = soqo.simulate(setting.environment, candidates, horizon=horizon, runs=setting.runs, seed=0)
    finals = [result.regret(name)[:, -1] for name in candidates]
    finals = [np.where(np.isfinite(final), final, np.inf) for final in finals]
    final = min(finals, key=lambda values: float(np.median(values)))
    return float(np.median(final)), float(final.mean())


def regret_table(title: str, rows: list[Setting]) -> list[dict[str, float]]:
    """Print the median and mean regret of every policy, and the ratios of GLIDE's; return the medians."""
    columns = list(policies(rows[0]))
    print(f"\n{title}: median (mean) regret after {ROUNDS} rounds")
    print("setting".ljust(34), *(c.rjust(20) for c in columns), " /SCaLE  /best")
    medians = []
    for setting in rows:
        named = {c: {f"{c} {k}".strip(): p for k, p in found.items()} for c, found in policies(setting).items()}
        cells = {c: best_regret(setting, found, ROUNDS) for c, found in named.items()}
        row = {c: median for c, (median, _) in cells.items()}
        best = min(row[c] for c in columns[:5])
        shown = (f"{format_short(median)} ({format_short(mean)})".rjust(20) for median, mean in cells.values())
        ratios = f"{row['GLIDE'] / row['SCaLE']:8.4f} {row['GLIDE'] / best:6.2f}"
        print(setting.name.ljust(34), *shown, ratios, flush=True)
        medians.append(row)
    return medians


def summarize_sixteen(medians: list[dict[str, float]], rows: list[Setting]) -> None:
    """Print the geometric mean of GLIDE's ratio to SCaLE without the use of correlation."""
    plain = [best_regret(s, {"GLIDE": soqo.GLIDE(drift=False)}, ROUNDS)[0] for s in rows]
    ratios = np.array([p / row["SCaLE"] for p, row in zip(plain, medians, strict=True)])
    drift = sum(row["GLIDE"] < 0.0 for row in medians)
    print(
        f"GLIDE(drift=False) over SCaLE: geometric mean {np.exp(np.log(ratios).mean()):.4f}, "
        f"largest {ratios.max():.3f}; with drift, {drift} of 16 regrets are negative (below LAI)"
    )


def refinement_table(rows: list[Setting]) -> None:
    """Print the median regret of RLS, and of GLIDE with one refinement after the other."""
    off: dict[str, Any] = {
        "bias": "none",
        "probing": False,
        "alarms": False,
        "base_load": False,
        "offset": False,
        "drift": False,
    }
    columns: dict[str, Any] = {"posterior": soqo.GLIDE(**off)}
    for name, options in (
        ("+ probes", {"probing": True}),
        ("+ bias", {"bias": "auto"}),
        ("+ beliefs", {"alarms": True}),
        ("+ base load", {"base_load": True, "offset": True}),
        ("+ drift", {"drift": True}),
    ):
        off |= options
        columns[name] = soqo.GLIDE(**off)
    print(f"\nRLS, and GLIDE with one refinement after the other: median regret after {ROUNDS} rounds")
    print("setting".ljust(24), "RLS".rjust(11), *(name.rjust(11) for name in columns))
    ratios: dict[str, list[float]] = {name: [] for name in columns}
    for setting in rows:
        found = {"RLS": soqo.RLS(setting.cap / math.sqrt(3.0)), **columns}
        result = soqo.simulate(setting.environment, found, horizon=ROUNDS, runs=setting.runs, seed=0)
        row = {name: float(np.median(result.regret(name)[:, -1])) for name in found}
        print(setting.name.ljust(24), *(format_short(value).rjust(11) for value in row.values()), flush=True)
        for name in columns:
            if row[name] > 0.0 and row["RLS"] > 0.0:
                ratios[name].append(row[name] / row["RLS"])
    means = (f"{np.exp(np.mean(np.log(values))):.3f} ({len(values)})".rjust(11) for values in ratios.values())
    print("of RLS, geometric mean".ljust(36), *means)


def growth_table(rows: list[Setting]) -> None:
    """Print the growth of regret with the horizon, of GLIDE and of RLS."""
    print("\nMedian regret against the horizon and its exponent: GLIDE(drift=False), and RLS")
    print("setting".ljust(34), *(f"T={T}".rjust(10) for T in HORIZONS), "  exponent", f"RLS T={ROUNDS}", "  exponent")
    for setting in rows:
        cells = []
        for policy, shown in ((soqo.GLIDE(drift=False), HORIZONS), (soqo.RLS(setting.cap / math.sqrt(3.0)), (ROUNDS,))):
            found = [best_regret(setting, {"policy": policy}, T)[0] for T in HORIZONS]
            slope = np.polyfit(np.log(HORIZONS), np.log(np.maximum(found, 1e-12)), 1)[0]
            cells += [format_short(found[HORIZONS.index(T)]).rjust(10) for T in shown] + [f"{slope:10.2f}"]
        print(setting.name.ljust(34), *cells, flush=True)


def change_table(runs: int) -> None:
    """Print the regret with a sudden change of A in round 500, and with a rotation over rounds 300 to 700."""
    problem, process, noise = (
        soqo.RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0),
        Gaussian(50.0),
        Uniform(10.0),
    )
    constant = soqo.Environment(problem, process, noise)
    scale = soqo.SCaLE(10.0, 4, min_eigenvalue=1.0)
    entries: dict[str, soqo.Policy[Any]] = {
        "GLIDE": soqo.GLIDE(),
        "without alarms": soqo.GLIDE(alarms=False),
        "window 200": soqo.GLIDE(window=200.0),
        "SCaLE": scale,
        "SCaLE, restarted": scale,
        "HySCaLE": soqo.HySCaLE(10.0, 4, min_eigenvalue=1.0, learning_rate=1e-8),
        "RLS": soqo.RLS(10.0 / math.sqrt(3.0)),
        "POL 1e-6": soqo.POL(1e-6),
        "FTM": soqo.FTM(),
    }
    without = soqo.simulate(constant, entries, horizon=ROUNDS, runs=runs, seed=0)
    for title, change, done in (
        ("A changes in round 500", soqo.Change(500), 500),
        ("A rotates over rounds 300 to 700", soqo.Change(300, duration=400), 700),
    ):
        restarted = {**entries, "SCaLE, restarted": Restarted(scale, done)}
        result = soqo.simulate(replace(constant, changes=(change,)), restarted, horizon=ROUNDS, runs=runs, seed=0)
        print(f"\n{title}: medians over {runs} runs of regret, and of regret per round since")
        recovery_table(result, without, done)


def recovery_table(result: soqo.Result, without: soqo.Result, done: int) -> None:
    """Print the regret, and the regret per round 4p to 6p rounds after the end of the change (p = 10 unknowns).

    For comparison, print that of a run without changes: of the same age, in the same rounds, and over all rounds. The
    ratios are in parentheses.
    """
    age = slice(40, 60)
    late = slice(done - 1 + age.start, done - 1 + age.stop)

    def per_round(result: soqo.Result, name: str, rounds: slice) -> float:
        return float(np.median(result[name].low_variance_regret[:, rounds].mean(axis=1)))

    heads = (f"{late.start + 1}..{late.stop}", "of this age", "of this round", "of all rounds")
    widths = (10, 16, 16, 16)
    shown = " ".join(head.rjust(width) for head, width in zip(heads, widths, strict=True))
    print("policy".ljust(16), "regret".rjust(10), shown, " alarms")
    for name in result:
        final = format_short(float(np.median(result.regret(name)[:, -1]))).rjust(10)
        found = per_round(result, name, late)
        others = (
            per_round(without, name, age),
            per_round(without, name, late),
            float(np.median(without.regret(name)[:, -1])) / ROUNDS,
        )
        cells = (f"{format_short(other)} ({format_short(found / other)})".rjust(16) for other in others)
        print(
            name.ljust(16),
            final,
            format_short(found).rjust(10),
            *cells,
            alarms(result, without, name),
            flush=True,
        )


def alarms(result: soqo.Result, without: soqo.Result, name: str) -> str:
    """Describe the number of alarms, the rounds of the last ones, and the number of false alarms."""
    found, false = result[name].diagnostics, without[name].diagnostics
    if "alarms" not in found:
        return ""
    last = found["last_alarm"]
    return (
        f" {found['alarms'].mean():.2f} per run, the last in round {last.min():.0f}..{last.max():.0f}; "
        f"without changes {false['alarms'].mean():.2f}"
    )


def outlier_table(runs: int) -> None:
    """Print the effect of outliers of several sizes in several rounds."""
    problem = soqo.RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0)
    environments = {
        "steps of 50, noise up to 10": soqo.Environment(problem, Gaussian(50.0), Uniform(10.0)),
        "steps of 1, noise up to 0.1": soqo.Environment(problem, Gaussian(1.0), Uniform(0.1)),
    }
    rounds_of = {
        "round 201": (201,),
        "every 250th": (250, 500, 750),
        "201 and 202": (201, 202),
        "round 3": (3,),
    }
    values = (1e2, 1e4, 1e6, -1e4)
    glide = soqo.GLIDE()
    for title, environment in environments.items():
        entries: dict[str, soqo.Policy[Any]] = {"none": glide}
        for when, rounds in rounds_of.items():
            entries |= {f"{when} {value:g}": WithOutliers(glide, rounds, value) for value in values}
        result = soqo.simulate(environment, entries, horizon=ROUNDS, runs=runs, seed=0)
        clean = result["none"].low_variance_regret
        print(f"\nOutliers, {title}: regret relative to that without them, median and worst of {runs}")
        print(f"runs, and in parentheses over the last {LATE_ROUNDS} rounds alone; outliers found and alarms per run")
        heads = (f"y = {value:g}".rjust(20) for value in values)
        print("outlier in".ljust(12), *heads, " found  alarms")
        for when in rounds_of:
            tracks = [result[f"{when} {value:g}"] for value in values]
            cells = (outlier_cell(track.low_variance_regret, clean).rjust(20) for track in tracks)
            found, raised = (np.mean([track.diagnostics[name] for track in tracks]) for name in ("outliers", "alarms"))
            print(when.ljust(12), *cells, f"{found:6.2f} {raised:7.2f}", flush=True)


def outlier_cell(regret: Array, clean: Array) -> str:
    """Return the ratio to the regret without outliers: median, worst, and in the last rounds."""
    ratio = regret.sum(axis=1) / clean.sum(axis=1)
    late = np.median(regret[:, -LATE_ROUNDS:].sum(axis=1)) / np.median(clean[:, -LATE_ROUNDS:].sum(axis=1))
    return f"{np.median(ratio):.3g} {ratio.max():.3g} ({late:.3g})"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--tables", nargs="+", default=["regret", "refinements", "growth", "changes", "outliers"])
    options = parser.parse_args()
    sixteen = [replace(s, runs=min(s.runs, options.runs)) for s in paper_settings()]
    if "regret" in options.tables:
        medians = regret_table("The paper's sixteen settings", sixteen)
        summarize_sixteen(medians, sixteen)
        others = [replace(s, runs=min(s.runs, options.runs)) for s in other_settings()]
        worst = [row["GLIDE"] / min(list(row.values())[:5]) for row in regret_table("Other settings", others)]
        print(f"GLIDE over the best of the others, which are tuned in hindsight: at most {max(worst):.2f}")
    if "refinements" in options.tables:
        simple = [s for s in other_settings() if s.name in ("steps of 1", "one direction, r=1", "A 10..100")]
        refinement_table([*sixteen, *(replace(s, runs=min(s.runs, options.runs)) for s in simple)])
    if "growth" in options.tables:
        growth_table(sixteen)
    if "changes" in options.tables:
        change_table(options.runs)
    if "outliers" in options.tables:
        outlier_table(options.runs)


if __name__ == "__main__":
    main()
