"""Attack the certificates of the semidefinite estimators: planted solutions, every degeneracy, extended precision.

A data set has a planted matrix A whose entries are exact in binary, and readings of A that may have noise. What A
achieves is an upper bound on every optimum, so a dual value above it is a false certificate, and a radius that A
satisfies is never infeasible. Values are compared in extended precision, and in rational numbers where that is not
conclusive.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from soqo import Estimate, Status, psd_least_absolute_deviations, psd_least_squares, trace_min
from soqo.estimators import Recovery
from soqo.estimators.sdp import least_absolute_deviations_bound, least_squares_bound, trace_bound

LONG_UNIT = float(np.finfo(np.longdouble).eps)


@dataclass
class Instance:
    """Measurements, readings, and a planted positive semi-definite matrix."""

    Z: Any
    y: Any
    A: Any
    kind: str


# ---- data ------------------------------------------------------------------------------------------------------------


def planted(rng: Any, d: int, sizes: Any) -> Any:
    """Return a positive semi-definite matrix F F' without any rounding: integers, and powers of two per coordinate."""
    F = rng.integers(-8, 9, (d, int(rng.integers(0, d + 1)))).astype(float)
    powers = np.floor(np.log2(sizes)).astype(int)
    A = F @ F.T
    return np.ldexp(A, powers[:, None] + powers)


def ordinary(rng: Any, m: int, d: int) -> Any:
    return rng.standard_normal((m, d))


def integers(rng: Any, m: int, d: int) -> Any:
    return rng.integers(-3, 4, (m, d)).astype(float)


def graded_columns(rng: Any, m: int, d: int) -> Any:
    return rng.standard_normal((m, d)) * 10.0 ** rng.uniform(-12, 12, d)


def small_column(rng: Any, m: int, d: int) -> Any:
    Z = integers(rng, m, d) if rng.random() < 0.5 else ordinary(rng, m, d)
    Z[:, 0] *= 10.0 ** rng.uniform(-12, 0)
    return Z


def small_row(rng: Any, m: int, d: int) -> Any:
    Z = integers(rng, m, d) if rng.random() < 0.5 else ordinary(rng, m, d)
    Z[: max(1, m // 3)] *= 10.0 ** rng.uniform(-12, 0)
    return Z


def close_columns(rng: Any, m: int, d: int) -> Any:
    Z = ordinary(rng, m, d)
    if d > 1:
        Z[:, -1] = Z[:, 0] + 10.0 ** rng.uniform(-17, -1) * rng.standard_normal(m)
    return Z


def rotated_small_direction(rng: Any, m: int, d: int) -> Any:
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    Z = ordinary(rng, m, d)
    Z[:, 0] *= 10.0 ** rng.uniform(-12, 0)
    return Z @ Q


def rank_deficient(rng: Any, m: int, d: int) -> Any:
    r = int(rng.integers(1, d + 1))
    return (
        integers(rng, m, r) @ integers(rng, r, d) if rng.random() < 0.5 else ordinary(rng, m, r) @ ordinary(rng, r, d)
    )


def repeated_rows(rng: Any, m: int, d: int) -> Any:
    return ordinary(rng, m, d)[rng.integers(0, max(1, m // 4), m)]


def zeros(rng: Any, m: int, d: int) -> Any:
    Z = ordinary(rng, m, d)
    Z[:, rng.random(d) < 0.3] = 0.0
    Z[rng.random(m) < 0.3] = 0.0
    return Z


def extreme(rng: Any, m: int, d: int) -> Any:
    Z = ordinary(rng, m, d) * 10.0 ** rng.uniform(-160, 160)
    return Z * 10.0 ** rng.uniform(-140, 140, (m, 1)) if rng.random() < 0.3 else Z


KINDS = (
    ordinary,
    integers,
    graded_columns,
    small_column,
    small_row,
    close_columns,
    rotated_small_direction,
    rank_deficient,
    repeated_rows,
    zeros,
    extreme,
)


def draw(seed: int) -> Instance:
    """Draw the instance of a seed."""
    rng = np.random.default_rng([18, seed])
    make = KINDS[seed % len(KINDS)]
    d = int(rng.integers(1, 7))
    m = int(rng.integers(1, 3 * d * (d + 1) // 2 + 3))
    with np.errstate(all="ignore"):
        Z = make(rng, m, d)
        if make is not extreme:
            Z = Z * 10.0 ** rng.uniform(-12, 12) if rng.random() < 0.5 else Z
        # A plant that a small direction needs: its reading is as large as the others.
        largest = np.abs(Z).max(axis=0)
        sizes = np.where(largest > 0.0, largest, 1.0)
        A = planted(rng, d, np.clip(1.0 / sizes, 1e-140, 1e140) if rng.random() < 0.7 else np.ones(d))
        if make in (close_columns, rotated_small_direction) and rng.random() < 0.7:
            A = large_along_small_direction(rng, Z)
        exact = fitted(Z, A)
        scale = np.abs(exact).max() or 1.0
        noise = scale * 10.0 ** rng.uniform(-12, 1) * rng.uniform(-1, 1, m) if rng.random() < 0.6 else 0.0
        y = np.asarray(exact + noise, dtype=float)
        choice = rng.random()
        if choice < 0.1:
            y = rng.standard_normal(m) * 10.0 ** rng.uniform(-12, 12)
        elif choice < 0.15:
            y = np.full(m, 10.0 ** rng.uniform(-323, -300))
        elif choice < 0.2:
            y = rng.uniform(-1, 1, m) * 1.7e308
    y = np.where(np.isfinite(y), y, 1.7e308)
    Z = np.where(np.isfinite(Z), Z, 1.7e308)
    A = A if np.isfinite(A).all() else np.zeros((d, d))
    return Instance(Z, y, A, make.__name__)


def large_along_small_direction(rng: Any, Z: Any) -> Any:
    """Return an exact multiple of vv' for an integer multiple of about the shortest direction v of the rows."""
    _, sizes, V = np.linalg.svd(Z)
    v = np.round(V[-1] * 2.0**20)
    if len(sizes) < Z.shape[1] or not sizes[-1] > 0.0:
        return np.zeros((len(v), len(v)))
    power = np.clip(-2.0 * np.log2(sizes[-1]), -400, 400)
    return np.ldexp(np.outer(v, v), int(power) - 40 + int(rng.integers(-3, 4)))


# ---- values without round-off ----------------------------------------------------------------------------------------


def fitted(Z: Any, M: Any) -> Any:
    """Return the readings of a matrix in extended precision."""
    rows = Z.astype(np.longdouble)
    return 0.5 * ((rows @ M.astype(np.longdouble)) * rows).sum(axis=1)


def value(instance: Instance, M: Any, power: int) -> tuple[Any, Any]:
    """Return the sum of absolute deviations, or half the sum of their squares, and a bound on its error."""
    with np.errstate(all="ignore"):
        rows = np.abs(instance.Z).astype(np.longdouble)
        errors = 40 * LONG_UNIT * ((rows @ np.abs(M).astype(np.longdouble)) * rows).sum(axis=1)
        errors = errors + 40 * LONG_UNIT * np.abs(instance.y)
        gaps = np.abs(instance.y.astype(np.longdouble) - fitted(instance.Z, M))
        if power == 1:
            return gaps.sum(), errors.sum() + 100 * LONG_UNIT * gaps.sum()
        return 0.5 * (gaps * gaps).sum(), ((gaps + errors) * errors).sum() + 100 * LONG_UNIT * (gaps * gaps).sum()


def exact_value(instance: Instance, M: Any, power: int) -> Fraction:
    """Return the same value as a rational number."""
    total = Fraction(0)
    entries = [[Fraction(float(x)) for x in row] for row in M]
    for z, y in zip(instance.Z, instance.y, strict=True):
        row = [Fraction(float(x)) for x in z]
        reading = Fraction(0)
        for a, line in zip(row, entries, strict=True):
            for b, entry in zip(row, line, strict=True):
                reading += a * b * entry
        gap = abs(Fraction(float(y)) - reading / 2)
        total += gap if power == 1 else gap * gap / 2
    return total


def is_above(bound: float, instance: Instance, M: Any, power: int) -> bool:
    """Return whether a claimed lower bound exceeds the value of a matrix."""
    if not bound > 0.0:
        return False
    found, error = value(instance, M, power)
    if bound <= found - error:
        return False
    return Fraction(bound) > exact_value(instance, M, power)


def fits(instance: Instance, radius: float) -> bool:
    """Return whether the planted matrix fits within a radius."""
    found, error = value(instance, instance.A, 1)
    if abs(found - radius) > error:
        return bool(found <= radius)
    return Fraction(radius) >= exact_value(instance, instance.A, 1)


def is_above_trace(bound: float, instance: Instance, radius: float) -> bool:
    """Return whether a claimed lower bound exceeds the trace of a planted matrix that fits."""
    if not 0.0 < bound < np.inf or bound <= instance.A.trace() * (1 - 1e-15):
        return False
    return Fraction(bound) > sum(Fraction(float(x)) for x in instance.A.diagonal()) and fits(instance, radius)


def lifted(M: Any) -> Any:
    """Return a matrix that is positive semi-definite for certain, if a computed one is up to round-off."""
    return M + np.diag(2.0**-44 * len(M) * M.diagonal())


# ---- the attack ------------------------------------------------------------------------------------------------------


def check_common(name: str, estimate: Estimate, faults: list[str]) -> None:
    M = estimate.matrix
    if not np.isfinite(M).all():
        faults.append(f"{name}: the matrix is not finite ({estimate.status.name})")
    elif not np.array_equal(M, M.T) or np.linalg.eigvalsh(M / (np.abs(M).max() or 1.0))[0] < -1e-12:
        faults.append(f"{name}: the matrix is not symmetric and positive semi-definite")
    numbers = (estimate.primal, estimate.dual, estimate.residual)
    if estimate.solved and not np.isfinite(numbers).all():
        faults.append(f"{name}: solved with {numbers}")


def check_fit(instance: Instance, name: str, estimate: Estimate, power: int, faults: list[str]) -> None:
    check_common(name, estimate, faults)
    for what, M in (("the planted matrix", instance.A), ("its own matrix", lifted(estimate.matrix))):
        if np.isfinite(M).all() and is_above(estimate.dual, instance, M, power):
            faults.append(f"{name}: dual {estimate.dual!r} is above the value of {what}, {estimate.status.name}")
    if estimate.solved:
        found, error = value(instance, estimate.matrix, power)
        size = np.abs(instance.y.astype(np.longdouble))
        allowed = 2e-6 * size.sum() if power == 1 else 2e-6 * found + 2e-8 * (size * size).sum()
        if found - error - estimate.dual > allowed + 5e-324:
            faults.append(f"{name}: solved, but its value is {found!r} and the dual value {estimate.dual!r}")


def check_trace(instance: Instance, estimate: Estimate, radius: float, faults: list[str]) -> None:
    name = f"trace_min({radius!r})"
    check_common(name, estimate, faults)
    total = np.abs(instance.y.astype(np.longdouble)).sum()
    if estimate.status is Status.INFEASIBLE and fits(instance, radius):
        faults.append(f"{name}: infeasible, but the planted matrix fits")
    if estimate.status is Status.CONSISTENT_WITH_ZERO and total > radius * (1 + 1e-15) + 1e-320:
        faults.append(f"{name}: zero does not fit")
    if estimate.status in (Status.SOLVED, Status.STALLED) and is_above_trace(estimate.dual, instance, radius):
        faults.append(f"{name}: dual {estimate.dual!r} is above the planted trace {float(instance.A.trace())!r}")
    if estimate.solved:
        found, error = value(instance, estimate.matrix, 1)
        kept = max(np.longdouble(radius), 1e-9 * total)
        if found - error > kept * (1 + 1e-9) + 1.1e-11 * total:
            faults.append(f"{name}: solved outside of its radius: {found!r}")
        if abs(estimate.primal - estimate.dual) > 1.01e-6 * (estimate.primal + estimate.dual):
            faults.append(f"{name}: solved with primal {estimate.primal!r} and dual {estimate.dual!r}")


def attack(seed: int, counts: Counter[str]) -> list[str]:
    """Return the faults that an instance shows."""
    instance = draw(seed)
    faults: list[str] = []
    rng = np.random.default_rng([19, seed])
    Z, y = instance.Z, instance.y
    try:
        if seed % 3 == 0:
            weights = 10.0 ** rng.uniform(-6, 6, y.size) if seed % 2 else None
            estimate = psd_least_squares(Z, y, weights=weights)
            if weights is None:
                check_fit(instance, "psd_least_squares", estimate, 2, faults)
            else:
                check_common("psd_least_squares with weights", estimate, faults)
            lam = rng.standard_normal(y.size) * 10.0 ** rng.uniform(-12, 12)
            if is_above(least_squares_bound(Z, y, multipliers=lam), instance, instance.A, 2):
                faults.append("least_squares_bound: above the value of the planted matrix")
        elif seed % 3 == 1:
            estimate = psd_least_absolute_deviations(Z, y)
            check_fit(instance, "psd_least_absolute_deviations", estimate, 1, faults)
            lam = rng.standard_normal(y.size) * 10.0 ** rng.uniform(-12, 12)
            if is_above(least_absolute_deviations_bound(Z, y, multipliers=lam), instance, instance.A, 1):
                faults.append("least_absolute_deviations_bound: above the value of the planted matrix")
            if estimate.residual < np.inf and trace_min(Z, y, estimate.residual).status is Status.INFEASIBLE:
                faults.append(f"trace_min: infeasible at its own smallest radius {estimate.residual!r}")
        else:
            with np.errstate(all="ignore"):
                deviation = float(value(instance, instance.A, 1)[0])
            radius = min(deviation * (1.0 + float(rng.choice([0.0, 1e-12, 1e-6, 0.05, 1.0]))), 1.7e308)
            if rng.random() < 0.3:
                radius *= float(rng.choice([0.0, 0.5, 0.999]))
            radius = np.nextafter(radius, np.inf)
            estimate = trace_min(Z, y, radius)
            check_trace(instance, estimate, radius, faults)
            lam = rng.standard_normal(y.size) * 10.0 ** rng.uniform(-12, 12)
            bound = trace_bound(Z, y, radius=radius, multipliers=lam)
            if is_above_trace(bound, instance, radius):
                faults.append(f"trace_bound: {bound!r} is above the planted trace")
            if seed % 30 == 2:
                matrices, _ = Recovery(1.0)(Z[None], y[None])
                if not np.isfinite(matrices).all():
                    faults.append("Recovery: a matrix that is not finite")
    except Exception as error:  # any exception is a fault
        faults.append(f"{type(error).__name__}: {error}")
        return faults
    counts[estimate.status.name] += 1
    return faults


def run(first: int, count: int, *, verbose: bool = False) -> tuple[list[str], Counter[str]]:
    """Attack with instances from a first seed; return all faults and how often each status occurred."""
    faults: list[str] = []
    counts: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning of NumPy is a fault, too
        for seed in range(first, first + count):
            faults += [f"seed {seed} ({draw(seed).kind}): {fault}" for fault in attack(seed, counts)]
            if verbose and (seed + 1) % 10_000 == 0:
                print(f"{seed + 1} instances, {len(faults)} faults", file=sys.stderr, flush=True)
    return faults, counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100_000, help="the number of instances")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    faults, counts = run(arguments.first, arguments.count, verbose=True)
    for fault in faults[:50]:
        print(fault)
    statuses = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    seconds = time.perf_counter() - begun
    print(f"estimators: {arguments.count} instances ({statuses}), {len(faults)} faults, {seconds:.0f} s")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
