"""The overhead of a controller per round, the time of a call with a journal, and the time to resume one."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from soqo import FTM, GLIDE, POL, Controller, Policy, Problem

DIM = 4
ROUNDS = 2000
LIMITS: dict[str, Any] = {"low": -200.0, "high": 200.0}
WEIGHTS: dict[str, Any] = {"switching_weight": [1.0, 4.0, 0.25, 2.0]}
POLICIES: dict[str, Policy[Any]] = {"FTM": FTM(), "POL": POL(1e-8)}
sync = getattr(os, "fdatasync", os.fsync)
"""What a journal with the durability "disk" calls after each write."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A temporary folder on a real disk."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def minimizers(rounds: int, dim: int = DIM) -> Any:
    """Return a random walk."""
    steps = np.random.default_rng(0).standard_normal((rounds, dim))
    return np.cumsum(5.0 * steps, axis=0)


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the seconds that a call took, and its result."""
    begun = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - begun, result


def round_of_policy(policy: Any, state: Any, v: Any, y: float, applied: Any) -> Any:
    """Play a round of the policy alone, and return the new state."""
    _, state = policy.act(state, v)
    return policy.observe(state, y, applied=applied)


def round_of_controller(controller: Controller, v: Any, y: float) -> Any:
    """Play a round of the controller, and return the action."""
    x = controller.act(v)
    controller.observe(y)
    return x


# ---- without a journal -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize(
    ("what", "options"),
    [("plain", {}), ("with limits and weights", {**LIMITS, **WEIGHTS})],
    ids=["plain", "wrapped"],
)
def test_what_a_controller_adds_to_a_round(name: str, what: str, options: Any) -> None:
    policy, start = POLICIES[name], np.zeros(DIM)
    controller = Controller(policy, start, **options)
    # The policy inside of the controller works in coordinates where the switching cost is unweighted, and observes
    # the applied action where that may differ.
    coordinates = Problem(np.eye(DIM), options.get("switching_weight")).coordinates
    state, times = policy.start(start), []
    # Both play in every round, so that disturbances of the machine affect both.
    for v in minimizers(ROUNDS):
        live, x = timed(round_of_controller, controller, v, 1.0)
        applied = coordinates.to_plain(x) if options else None
        bare, state = timed(round_of_policy, policy, state, coordinates.to_plain(v), 1.0, applied)
        times.append((bare, live))
    np.testing.assert_array_equal(coordinates.to_plain(controller.x), state.x)
    bare, live = 1e6 * np.median(times, axis=0)
    print(
        f"\n{name}, d={DIM}, {what}: the policy {bare:.0f} us, the controller {live:.0f} us per round: "
        f"{live - bare:.0f} us more (bar 30 us)"
    )
    assert live - bare <= 30.0


# ---- with a journal --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("durability", ["process", "disk"])
@pytest.mark.parametrize("name", POLICIES)
def test_a_call_with_a_journal(name: str, durability: Literal["disk", "process"], folder: Path) -> None:
    """A call takes at most 30 us more than the same call without a journal and a plain write of as many bytes.

    For FTM, which computes nothing, it also takes at most 30 us more than the write alone. After a wait for the disk
    everything takes longer, and a disk that responds at fixed intervals hides what was computed in the meantime.
    Therefore blocks of ten rounds of each kind alternate, and one kind does both the call and the write.
    """
    policy, start = POLICIES[name], np.zeros(DIM)
    players: dict[str, Any] = {
        "write": Writer(folder / "alone", durability),
        "call": Controller(policy, start),
        "both": Writer(folder / "both", durability, Controller(policy, start)),
        "journal": Controller(policy, start, journal=folder / "journal", durability=durability),
    }
    times: dict[str, list[float]] = {kind: [] for kind in players}
    targets = minimizers(500 if durability == "disk" else ROUNDS)
    empty = (folder / "journal").stat().st_size
    for player in players.values():
        player.act(targets[0])
        player.observe(1.0)
    assert (folder / "alone").stat().st_size == (folder / "journal").stat().st_size - empty
    for block in np.split(targets, len(targets) // 10):
        for kind, player in players.items():
            for v in block:
                times[kind].append(timed(player.act, v)[0])
                times[kind].append(timed(player.observe, 1.0)[0])
    median = {kind: 1e6 * float(np.median(found)) for kind, found in times.items()}
    beyond = {kind: median["journal"] - median[kind] for kind in ("both", "write")}
    print(
        f"\n{name}, d={DIM}, durability {durability!r}: a call {median['journal']:.0f} us; without a journal "
        f"{median['call']:.0f} us, a plain write {median['write']:.0f} us, both {median['both']:.0f} us: "
        f"{beyond['both']:.0f} us more than both, {beyond['write']:.0f} us more than the write (bar 30 us)"
    )
    assert beyond["both"] <= 30.0
    if name == "FTM":
        assert beyond["write"] <= 30.0


class Writer:
    """Plain writes of as many bytes as the journal of a controller takes, after calls of a controller without one."""

    def __init__(self, path: Path, durability: str, controller: Controller | None = None) -> None:
        self.descriptor, self.at = os.open(path, os.O_RDWR | os.O_CREAT), 0
        self.on_disk = durability == "disk"
        self.controller = controller

    def act(self, v: Any) -> None:
        if self.controller is not None:
            self.controller.act(v)
        self.put(9 + 2 * (5 + 8 * DIM))

    def observe(self, y: float) -> None:
        if self.controller is not None:
            self.controller.observe(y)
        self.put(9 + 5 + 8)

    def put(self, size: int) -> None:
        self.at += os.pwrite(self.descriptor, bytes(size), self.at)
        if self.on_disk:
            sync(self.descriptor)


# ---- resuming --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "dim", "rounds"),
    [
        pytest.param(FTM(), 4, 1_000_000, id="FTM, a million rounds"),
        pytest.param(POL(1e-8), 4, 100_000, id="POL"),
        pytest.param(GLIDE(), 4, 20_000, id="GLIDE, d=4"),
        pytest.param(GLIDE(), 10, 5_000, id="GLIDE, d=10"),
    ],
)
def test_resuming_a_long_journal_after_a_crash(policy: Policy[Any], dim: int, rounds: int, folder: Path) -> None:
    path = folder / "journal"
    targets = minimizers(10_000, dim)
    controller = Controller(policy, np.zeros(dim), journal=path, durability="process")
    for t in range(rounds):
        v = targets[t % 10_000]
        x = controller.act(v)
        controller.observe(0.5 * (x - v) @ (x - v))
    crashed = Path(shutil.copy(path, folder / "crashed"))  # without the record of a clean close
    controller.close()
    size = crashed.stat().st_size
    seconds, resumed = timed(Controller.resume, crashed)
    assert resumed.round == rounds
    np.testing.assert_array_equal(resumed.x, controller.x)
    print(
        f"\n{type(policy).__name__}, d={dim}, {rounds:,} rounds: {size / rounds:.0f} bytes per round, "
        f"{size / 1e6:.1f} MB; resumed after a crash in {seconds:.2f} s (bar 5 s)"
    )
    assert seconds <= 5.0


@pytest.mark.parametrize("rounds", [1_000, 100_000])
def test_resuming_after_a_clean_close(rounds: int, folder: Path) -> None:
    """The last record holds the complete state, so the length of the journal does not matter."""
    path, dim = folder / "journal", 6
    targets = minimizers(10_000, dim)
    with Controller(GLIDE(), np.zeros(dim), journal=path, durability="process") as controller:
        for t in range(rounds):
            v = targets[t % 10_000]
            x = controller.act(v)
            controller.observe(0.5 * (x - v) @ (x - v))
    size, times = path.stat().st_size, []
    for _ in range(20):
        seconds, resumed = timed(Controller.resume, path)
        times.append(seconds)
        assert resumed.round == rounds
        np.testing.assert_array_equal(resumed.x, controller.x)
        resumed.close()
    assert path.stat().st_size == size, "a resume without a call must not make a journal grow"
    checked, _ = timed(lambda: Controller.resume(path, verify=True).close())
    print(
        f"\nGLIDE, d={dim}, {rounds:,} rounds, {size / 1e6:.1f} MB: resumed after a clean close in "
        f"{1e3 * np.median(times):.1f} ms, at most {1e3 * max(times):.1f} ms (bar 20 ms); {checked:.2f} s with verify"
    )
    assert np.median(times) <= 0.02  # a busy machine delays single calls
