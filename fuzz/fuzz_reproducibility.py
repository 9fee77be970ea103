"""Attack the reproducibility of policies: does the address of an array change a bit of what a policy computes?

Vector instructions of BLAS may add in another order if an array is not aligned, and where an array is depends on what
else the program has allocated. A controller that resumes must continue bit for bit, so each policy continues from the
same state in arrays at other addresses, between other allocations.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import soqo
from soqo._storage.plain_data import same

ALLOCATIONS = 50


def policies(d: int) -> Iterator[tuple[str, Any, int, int]]:
    """Yield names, policies, the round at which to branch off, and the number of rounds after it."""
    A = np.diag(np.linspace(0.5, 2.0, d))
    rank = min(d, 8 if d > 12 else d)
    scale: dict[str, Any] = {"noise_cap": 0.1, "rank": rank, "min_eigenvalue": 0.5}
    probes = soqo.SCaLE(**scale).exploration_rounds(d)
    yield "FTM", soqo.FTM(), 3, 3
    yield "LAI", soqo.LAI(A), 3, 3
    yield "ROBD", soqo.ROBD(A), 3, 3
    yield "POL", soqo.POL(1e-4), 5, 10
    yield "OAL", soqo.OAL(1e-4), 5, 10
    yield "RLS", soqo.RLS(), 5, 10
    yield "SCaLE", soqo.SCaLE(**scale), probes, 3
    yield "SCaLE as printed", soqo.SCaLE.as_printed(**scale), probes, 3
    yield "HySCaLE", soqo.HySCaLE(**scale, learning_rate=1e-6), probes, 4
    yield "Guarded RLS", soqo.Guarded(soqo.RLS()), 5, 10
    yield "GLIDE", soqo.GLIDE(), 6, 3
    yield "GLIDE later", soqo.GLIDE(), 40, 4


def shifted(value: Any, rng: Any) -> Any:
    """Return a state with the same numbers in arrays at other addresses."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return _moved(value, rng)
    if isinstance(value, tuple | list):
        return type(value)(shifted(item, rng) for item in value)
    if isinstance(value, dict):
        return {key: shifted(item, rng) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        copy = object.__new__(type(value))
        object.__setattr__(copy, "__dict__", {name: shifted(item, rng) for name, item in vars(value).items()})
        return copy
    return value


def _moved(array: Any, rng: Any) -> Any:
    """Return a copy with the same layout at an address that is a random multiple of its item size."""
    order = np.argsort([-abs(step) for step in array.strides], kind="stable")
    inner = array.transpose(order)
    room = np.empty(array.nbytes + 256, dtype=np.uint8)
    start = -room.ctypes.data % 64 + array.itemsize * int(rng.integers(64 // array.itemsize))
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(inner.shape)
    copy[...] = inner
    return copy.transpose(np.argsort(order))


def play(policy: Any, state: Any, d: int, rounds: int) -> Any:
    A = np.diag(np.linspace(0.5, 2.0, d))
    for _ in range(rounds):
        rng = np.random.default_rng([26, state.round])
        x, state = policy.act(state, rng.standard_normal(d))
        u = x - state.v
        state = policy.observe(state, 0.5 * float((u * u) @ A.diagonal()) + float(rng.uniform(-0.1, 0.1)))
    return state


def attack(name: str, policy: Any, d: int, before: int, after: int, allocations: int) -> str:
    """Return a fault if a policy continues differently from the same state at other addresses."""
    state = play(policy, policy.start(np.zeros(d), 2000, np.random.default_rng(27)), d, before)
    expected = play(policy, state, d, after)
    different = 0
    for k in range(allocations):
        rng = np.random.default_rng([28, k])
        others = [np.empty(int(size)) for size in rng.integers(1, 40_000, 20)]  # what else the program holds
        del others[:: int(rng.integers(1, 4))]
        different += not same(play(policy, shifted(state, rng), d, after), expected)
    return f"{name} at d = {d}: {different} of {allocations} differ" if different else ""


def run(dims: tuple[int, ...], allocations: int, report: Callable[[str], None] | None = None) -> list[str]:
    """Attack every policy in some dimensions; return the faults."""
    faults = []
    for d in dims:
        for name, policy, before, after in policies(d):
            begun = time.perf_counter()
            fault = attack(name, policy, d, before, after, allocations)
            if report is not None:
                report(f"{name} at d = {d}: {fault or 'the same bits'} ({time.perf_counter() - begun:.1f} s)")
            faults += [fault] if fault else []
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dims", type=int, nargs="+", default=[4, 12, 20])
    parser.add_argument("--allocations", type=int, default=ALLOCATIONS)
    arguments = parser.parse_args()
    begun = time.perf_counter()
    report = partial(print, file=sys.stderr, flush=True)
    faults = run(tuple(arguments.dims), arguments.allocations, report)
    for fault in faults:
        print(fault)
    print(
        f"reproducibility: {arguments.allocations} allocations, d = {', '.join(map(str, arguments.dims))}, "
        f"{len(faults)} faults, {time.perf_counter() - begun:.0f} s"
    )
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
