"""Whole runs by compiled functions against NumPy's code: the same actions to round-off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import soqo
from soqo.policies.glide._compiled._packed import CompiledMemory, pack
from soqo.policies.glide._memory import GlideMemory
from soqo.typing import Array

Use = Callable[[bool], None]


def readings(
    rng: np.random.Generator,
    t: int,
    u: Array,
    A: Array,
    *,
    wrong: float,
    missing: float,
    change: int,
    base_load: float,
    noise: float,
    misled: int,
) -> Array:
    """Return the readings of a round, some of them wrong or missing, before and after A becomes three times A.

    The first rounds, after the second one, may have readings for ten times A.
    """
    factor = 3.0 if change and t >= change else 1.0
    if 2 <= t < 2 + misled:
        factor = 10.0
    y = 0.5 * factor * np.vecdot(u, np.matvec(A, u)) + rng.uniform(-noise, noise, len(u)) + base_load
    y = np.where(rng.random(len(u)) < wrong, y * rng.choice([10.0, -3.0, 1e4], len(u)), y)
    return np.where(rng.random(len(u)) < missing, np.nan, y)


def play(
    policy: soqo.GLIDE,
    *,
    d: int,
    rank: int,
    runs: int = 3,
    rounds: int = 120,
    steps: float = 50.0,
    offset: float = 0.0,
    horizon: int | None = None,
    first_run: int = 0,
    batch: int | None = None,
    **disturbances: float,
) -> tuple[Array, Any]:
    """Play some of the runs, and return the actions and the last state."""
    options: dict[str, Any] = {"wrong": 0.0, "missing": 0.0, "change": 0, "base_load": 0.0, "noise": 10.0, "misled": 0}
    options |= disturbances
    chosen = slice(first_run, runs if batch is None else first_run + batch)
    rng = np.random.default_rng(5)
    largest = 4.0 if rank > 1 else None
    A = np.stack(
        [soqo.random_curvature(d, rank, min_eigenvalue=1.0, max_eigenvalue=largest, rng=run) for run in range(runs)]
    )
    walk = np.cumsum(steps * rng.standard_normal((rounds, runs, d)), axis=0)
    state = policy.start(np.zeros((runs, d))[chosen], horizon)
    actions = []
    for t, v in enumerate(walk):
        x, state = policy.act(state, v[chosen])
        own = [
            readings(np.random.default_rng([t, run]), t, x[[k]] - v[[run]] + offset, A[[run]], **options)[0]
            for k, run in enumerate(range(runs)[chosen])
        ]
        state = policy.observe(state, np.array(own))
        actions.append(x)
    return np.array(actions), state


SETTINGS: dict[str, dict[str, Any]] = {
    "one dimension": {"d": 1, "rank": 1},
    "rank 1": {"d": 3, "rank": 1, "rounds": 150},
    "full rank": {"d": 4, "rank": 4, "rounds": 250},
    "six dimensions": {"d": 6, "rank": 6, "runs": 2, "rounds": 60},
    "ten dimensions": {"d": 10, "rank": 10, "runs": 2, "rounds": 40},
    "wrong readings": {"d": 2, "rank": 2, "wrong": 0.05, "rounds": 150},
    "missing readings": {"d": 2, "rank": 2, "missing": 0.2},
    "a base load": {"d": 2, "rank": 2, "base_load": 2000.0},
    "an offset": {"d": 2, "rank": 2, "offset": 20.0, "base_load": 100.0},
    "a change": {"d": 2, "rank": 2, "change": 60},
    "a horizon": {"d": 2, "rank": 2, "horizon": 120},
    "small steps": {"d": 3, "rank": 3, "steps": 1.0},
    "no noise": {"d": 2, "rank": 2, "noise": 0.0},
    "a misled start": {"d": 4, "rank": 4, "misled": 10},
}
POLICIES = {
    "robust": soqo.GLIDE(robust=True, noise_cap=10.0),
    "constant bias": soqo.GLIDE(bias="constant"),
    "no bias": soqo.GLIDE(bias="none", offset=False, base_load=False),
    "trusted distance": soqo.GLIDE(trusted_distance=60.0),
    "no probing, no drift": soqo.GLIDE(probing=False, drift=False),
}


def assert_same_actions(found: Array, expected: Array, tolerance: float = 1e-7) -> None:
    """Compare actions in units of the largest step."""
    scale = np.abs(np.diff(expected, axis=0)).max()
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0.0, atol=tolerance)


@pytest.mark.parametrize("name", SETTINGS)
def test_compiled_runs_are_those_of_numpy(name: str, use_compiled: Use) -> None:
    actions = []
    for on in (False, True):
        use_compiled(on)
        x, state = play(soqo.GLIDE(), **SETTINGS[name])
        actions.append(x)
    assert isinstance(state.memory, CompiledMemory | GlideMemory)
    assert_same_actions(actions[1], actions[0])


@pytest.mark.parametrize("name", POLICIES)
def test_compiled_runs_of_other_options_are_those_of_numpy(name: str, use_compiled: Use) -> None:
    actions = []
    for on in (False, True):
        use_compiled(on)
        actions.append(play(POLICIES[name], d=3, rank=3, runs=2)[0])
    assert_same_actions(actions[1], actions[0])


@pytest.mark.parametrize("name", ["full rank", "wrong readings", "an offset", "a change", "missing readings"])
def test_a_compiled_run_does_not_depend_on_the_others_of_its_batch(name: str, use_compiled: Use) -> None:
    use_compiled(True)
    together, _ = play(soqo.GLIDE(), **SETTINGS[name])
    for run in range(together.shape[1]):
        alone, _ = play(soqo.GLIDE(), **SETTINGS[name], first_run=run, batch=1)
        np.testing.assert_array_equal(alone[:, 0], together[:, run])


@pytest.mark.parametrize(
    "policy",
    [soqo.GLIDE(window=50.0), soqo.GLIDE(alarms=False), soqo.GLIDE(y_max=1e9), soqo.GLIDE(switching_included=True)],
)
def test_options_that_are_not_compiled_are_left_to_numpy(policy: soqo.GLIDE, use_compiled: Use) -> None:
    use_compiled(True)
    _, state = play(policy, d=2, rank=2, rounds=5)
    assert isinstance(state.memory, GlideMemory)


def test_a_compiled_run_goes_on_with_forecast_context_and_factor(use_compiled: Use) -> None:
    actions = []
    for on in (False, True):
        use_compiled(on)
        policy, rng, v = soqo.GLIDE(), np.random.default_rng(0), np.zeros(2)
        state, played = policy.start(np.zeros(2)), []
        for t in range(40):
            v = v + rng.standard_normal(2)
            told: dict[str, Any] = {}
            if t % 10 == 5:
                told = {"forecast": np.stack([v, v])}
            elif t % 10 == 7:
                told = {"factor": 2.0}
            x, state = policy.act(state, v, **told)
            factor = told.get("factor", 1.0)
            state = policy.observe(state, factor * float((x - v) @ (x - v)) + rng.uniform(-0.1, 0.1))
            played.append(x)
        actions.append(np.array(played))
    assert_same_actions(actions[1], actions[0])


def test_late_readings_are_learned_from_by_compiled_functions(use_compiled: Use) -> None:
    actions = []
    for on in (False, True):
        use_compiled(on)
        policy, rng, v = soqo.GLIDE(), np.random.default_rng(0), np.zeros(2)
        state, played, costs = policy.start(np.zeros(2), max_delay=2), [], []
        for t in range(50):
            v = v + rng.standard_normal(2)
            x, state = policy.act(state, v)
            costs.append(float((x - v) @ (x - v)) + rng.uniform(-0.1, 0.1))
            if t >= 2:
                state = policy.observe(state, costs[t - 2], round=t - 1)
            played.append(x)
        actions.append(np.array(played))
    assert_same_actions(actions[1], actions[0])


def test_the_contract_holds_for_compiled_runs(use_compiled: Use) -> None:
    use_compiled(True)
    soqo.checks.check_policy(soqo.GLIDE())


def test_compact_and_plain_memories_are_the_same(use_compiled: Use) -> None:
    use_compiled(True)
    policy = soqo.GLIDE()
    _, state = play(policy, d=2, rank=2, rounds=30, wrong=0.1)
    memory = state.memory
    assert isinstance(memory, CompiledMemory)
    again = pack(memory.plain)
    assert memory == memory.plain
    assert memory.plain == memory
    for name in ("table", "root", "factor", "buffer", "starts", "runs", "recent"):
        np.testing.assert_array_equal(getattr(again, name), getattr(memory, name))
    np.testing.assert_array_equal(memory.alarms, memory.plain.alarms)
    assert policy.diagnostics(state)["estimate"].shape == (3, 2, 2)


def test_a_compiled_controller_is_saved_and_resumed(use_compiled: Use, tmp_path: Any) -> None:
    use_compiled(True)
    rng = np.random.default_rng(0)
    controller = soqo.Controller(soqo.GLIDE(), np.zeros(2), journal=tmp_path / "journal")
    walk = np.cumsum(rng.standard_normal((60, 2)), axis=0)
    for v in walk[:40]:
        x = controller.act(v)
        controller.observe(float((x - v) @ (x - v)))
    controller.save(tmp_path / "saved")
    controller.close()
    others = [soqo.Controller.load(tmp_path / "saved"), soqo.Controller.resume(tmp_path / "journal")]
    actions = []
    for one in others:
        for v in walk[40:]:
            x = one.act(v)
            one.observe(float((x - v) @ (x - v)))
            actions.append(x)
    np.testing.assert_array_equal(actions[:20], actions[20:])
    others[1].close()


def test_a_fleet_of_compiled_plants_joins_and_leaves(use_compiled: Use) -> None:
    use_compiled(True)
    fleet = soqo.Fleet(soqo.GLIDE(), np.zeros((4, 2)))
    single = soqo.Controller(soqo.GLIDE(), np.zeros(2))
    rng = np.random.default_rng(0)
    for t in range(30):
        v = rng.standard_normal((4, 2))
        chosen = [0, 2] if t % 3 == 0 else [0, 1, 2, 3]
        x = fleet.act(v[chosen], chosen)
        fleet.observe(np.vecdot(x - v[chosen], x - v[chosen]), chosen)
        own = single.act(v[0])
        single.observe(float((own - v[0]) @ (own - v[0])))
        np.testing.assert_array_equal(x[0], own)
