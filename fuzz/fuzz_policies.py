"""Attack policies with finite numbers of every size: no call may raise an error, take a second, or act on infinity.

A number is one that a sensor could send, from denormal numbers to the largest ones, alone or among ordinary ones. It is
a minimizer, a reading, or anything else that a round may be told: a forecast, a context, a factor, a mask, an applied
action, a place, a unit or covariates. Readings may be late, and policies have options and wrappers.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import soqo


def policies(d: int) -> Iterator[tuple[str, Any]]:
    A = np.diag(np.linspace(0.5, 2.0, d))
    scale: dict[str, Any] = {"noise_cap": 0.1, "rank": d, "min_eigenvalue": 0.5, "c1": 1.0}
    yield "FTM", soqo.FTM()
    yield "LAI", soqo.LAI(A)
    yield "ROBD", soqo.ROBD(A)
    yield "POL", soqo.POL(1e-4)
    yield "OAL", soqo.OAL(1e-4)
    yield "RLS", soqo.RLS()
    yield "SCaLE", soqo.SCaLE(**scale)
    yield "SCaLE as printed", soqo.SCaLE.as_printed(**scale)
    yield "SCaLE far", soqo.SCaLE(**scale, gamma2=1e300)
    yield "SCaLE near", soqo.SCaLE(**scale, gamma2=1e-300)
    yield "HySCaLE", soqo.HySCaLE(**scale, learning_rate=1e-6)
    yield "Guarded RLS", soqo.Guarded(soqo.RLS())
    yield "Limited RLS", soqo.Limited(soqo.RLS(), low=-1e300, high=1e300, rate=1e290)
    yield from learners()


def learners() -> Iterator[tuple[str, Any]]:
    yield "GLIDE", soqo.GLIDE()
    yield "GLIDE with options", soqo.GLIDE(noise_cap=1e-3, y_max=10.0, switching_included=True, trusted_distance=2.0)
    yield "GLIDE without offset", soqo.GLIDE(offset=False)
    yield "Guarded GLIDE", soqo.Guarded(soqo.GLIDE())
    yield "Weighted GLIDE", soqo.Limited(soqo.Weighted(soqo.GLIDE(), 1e-3), low=-10.0, high=1e9, rate=5.0)


SLOW = 1.0
"""No round may take so many seconds of processor time."""

MANY = 10
"""One sequence in so many has more dimensions, up to 20."""


def numbers(rng: Any, size: int, kind: int) -> Any:
    """Return finite numbers: ordinary, all extreme, or ordinary with one extreme."""
    plain = rng.standard_normal(size)
    if kind == 0:
        return plain
    powers = rng.choice([-320.0, -308.0, -165.0, -150.0, -30.0, 30.0, 100.0, 150.0, 154.0, 200.0, 300.0, 308.0], size)
    with np.errstate(over="ignore", under="ignore"):
        extreme = np.clip(plain * 10.0**powers, -1.7e308, 1.7e308)
    if kind == 1:
        return extreme
    place = int(rng.integers(size))
    plain[place] = extreme[place]
    return plain


def draw(rng: Any, size: int, shares: list[float]) -> Any:
    """Return numbers of a kind that is drawn with these shares."""
    return numbers(rng, size, int(rng.choice(3, p=shares)))


def with_act(rng: Any, d: int, kinds: list[float]) -> dict[str, Any]:
    """Return some of what a round may be told beside the minimizer."""
    factor = abs(float(draw(rng, 1, kinds)[0]))
    known = {"forecast": draw(rng, 2 * d, kinds).reshape(2, d), "factor": factor, "active": rng.random(d) < 0.7}
    return {name: value for name, value in known.items() if rng.random() < 0.2}


def with_observe(rng: Any, d: int, kinds: list[float]) -> dict[str, Any]:
    """Return some of what may be told beside a reading."""
    unit = max(abs(float(draw(rng, 1, kinds)[0])), 5e-324)
    known = {"applied": draw(rng, d, kinds), "at": draw(rng, d, kinds), "unit": unit, "covariates": draw(rng, 2, kinds)}
    return {name: value for name, value in known.items() if rng.random() < 0.2}


def attack(seed: int, name: str, policy: Any, d: int, rounds: int) -> str:
    """Return a fault if a policy raises, is slow, or acts on a number that is not finite."""
    rng = np.random.default_rng([29, seed])
    kinds = [0.7, 0.15, 0.15] if seed % 2 else [0.0, 0.7, 0.3]
    late = int(rng.integers(3)) if seed % 3 == 0 else 0
    has_context = seed % 5 == 0  # from the first round on
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an overflow marks a run as diverged
            state = policy.start(numbers(rng, d, seed % 3), 200, np.random.default_rng(seed), max_delay=late)
            for t in range(rounds):
                begun = time.process_time()
                given = with_act(rng, d, kinds) | ({"context": draw(rng, 2, kinds)} if has_context else {})
                x, state = policy.act(state, draw(rng, d, kinds), **given)
                if not np.isfinite(x).all():
                    return f"{name}, seed {seed}, round {t}: the action is {x}"
                if rng.random() < 0.9:
                    y = float(draw(rng, 1, kinds)[0])
                    state = policy.observe(state, y, **with_observe(rng, d, kinds))
                if time.process_time() - begun > SLOW:
                    return f"{name}, seed {seed}, d = {d}, round {t}: took {time.process_time() - begun:.1f} s"
            policy.diagnostics(state)
    except Exception as error:  # any exception is a fault
        return f"{name}, seed {seed}, d = {d}: {type(error).__name__}: {str(error)[:150]}"
    return ""


def run(first: int, count: int, *, rounds: int = 30) -> list[str]:
    """Attack every policy with sequences from a first seed, and those that learn with many dimensions as well."""
    faults = []
    for seed in range(first, first + count):
        many = seed % MANY == MANY - 1
        d = 5 + seed % 16 if many else 1 + seed % 4
        for name, policy in learners() if many else policies(d):
            if fault := attack(seed, name, policy, d, rounds):
                faults.append(fault)
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200, help="the number of sequences for each policy")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    faults = run(arguments.first, arguments.count)
    for fault in faults[:50]:
        print(fault)
    print(f"policies: {arguments.count} sequences each, {len(faults)} faults, {time.perf_counter() - begun:.0f} s")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
