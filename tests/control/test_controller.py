"""The controller, round by round: units, limits, missed readings, files; and random calls against a plain reference."""

from __future__ import annotations

import math
import os
import re
import signal
import struct
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import soqo
from public_classes import concrete_classes, example
from soqo import (
    FTM,
    GLIDE,
    LAI,
    OAL,
    POL,
    ROBD,
    Controller,
    Environment,
    HySCaLE,
    Limited,
    Periodic,
    Policy,
    Problem,
    SCaLE,
    Weighted,
    simulate,
)
from soqo.errors import ArgumentError, FileFormatError, ProtocolError
from soqo.noise import Uniform
from soqo.processes import Gaussian

CURVATURE = np.array([[1.5, 0.4, 0.1], [0.4, 0.8, 0.0], [0.1, 0.0, 0.3]])
WEIGHTS = [1.0, 4.0, 0.25]
IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""A folder in memory, where thousands of files are fast; None for the default."""


def saved_bytes(controller: Controller) -> bytes:
    """Return the complete state of a controller, as a file holds it."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        return controller.save(Path(folder) / "saved").read_bytes()


def minimizer(t: int, dim: int) -> Any:
    """Return the minimizer of round t."""
    return 3.0 * np.random.default_rng(t).standard_normal(dim)


def reading(x: Any, t: int) -> float:
    """Return the reading of x in round t, which is the same in every play."""
    dim = len(x)
    u = x - minimizer(t, dim)
    return float(0.5 * u @ CURVATURE[:dim, :dim] @ u + math.sin(t))


def make_call(controller: Controller, number: int) -> Any:
    """Make the call of this number: an action, then a reading, sometimes missed, NaN, or of an applied action."""
    t, is_reading = divmod(number, 2)
    if not is_reading:
        return controller.act(minimizer(t, len(controller.x)))
    x = controller.pending
    assert x is not None
    if t % 5 == 3:
        return None  # no call: the reading is missed
    if t % 5 == 4:
        return controller.observe(math.nan)
    applied = None if t % 3 else x + 0.25
    return controller.observe(reading(x if applied is None else applied, t), applied)


# ---- a round ---------------------------------------------------------------------------------------------------------


def test_round_counts_completed_rounds() -> None:
    controller = Controller(POL(1e-3), x0=[1.0, 2.0])
    assert (controller.round, controller.pending) == (0, None)
    np.testing.assert_array_equal(controller.x, [1.0, 2.0])
    for t in range(3):
        x = controller.act(minimizer(t, 2))
        assert controller.round == t
        np.testing.assert_array_equal(controller.pending, x)
        np.testing.assert_array_equal(controller.x, x)
        controller.observe(reading(x, t))
        assert (controller.round, controller.pending) == (t + 1, None)
    assert controller.diagnostics()["round"] == 3
    assert controller.diagnostics()["missed"] == 0


def test_x_is_the_applied_action_once_it_is_known() -> None:
    controller = Controller(POL(1e-3), x0=[1.0, 2.0])
    controller.act([5.0, 5.0])
    controller.observe(1.0, applied=[2.5, 2.25])
    np.testing.assert_array_equal(controller.x, [2.5, 2.25])


def test_arrays_of_the_caller_are_copies() -> None:
    start, v, applied = np.ones(2), np.full(2, 4.0), np.full(2, 2.0)
    controller, uninterrupted = (Controller(POL(1e-3), np.ones(2)) for _ in range(2))
    for each in (controller, uninterrupted):
        x = each.act(v)
        each.observe(3.0, applied)
        each.act(v)
    start[:], v[:], applied[:], x[:] = 7.0, 7.0, 7.0, 7.0
    pending = controller.pending
    assert pending is not None
    pending[:] = 7.0
    controller.x[:] = 7.0
    for value in controller.diagnostics().values():
        if isinstance(value, np.ndarray):
            value[...] = 7.0
    assert saved_bytes(controller) == saved_bytes(uninterrupted)


@pytest.mark.parametrize("switching_weight", [None, 2.0, WEIGHTS], ids=["plain", "number", "vector"])
@pytest.mark.parametrize(
    "policy", [GLIDE(), POL(1e-3), SCaLE(1.0, 3, min_eigenvalue=0.5)], ids=["GLIDE", "POL", "SCaLE"]
)
def test_a_controller_plays_bit_for_bit_what_a_simulation_plays(policy: Policy[Any], switching_weight: Any) -> None:
    problem = Problem(CURVATURE, switching_weight)
    environment = Environment(problem, Gaussian(3.0), Uniform(1.0), x0=[1.0, 2.0, 3.0])
    simulated = simulate(environment, {"policy": policy}, horizon=60, runs=1, seed=5, record=True)
    paths = environment.draw(60, 1, seed=5)
    controller = Controller(policy, paths.x0[0], horizon=60, seed=5, switching_weight=switching_weight)
    actions = []
    for v, variate in zip(paths.v[0], paths.variates[0], strict=True):
        x = controller.act(v)
        noise = paths.noise.perturb(variate, x - v, problem)
        controller.observe(float(problem.hitting_cost(x, v) + noise))
        actions.append(x)
    assert simulated.actions is not None
    np.testing.assert_array_equal(actions, simulated.actions["policy"][0])


def test_another_seed_gives_other_probes() -> None:
    one, other = (Controller(SCaLE(1.0, 1, min_eigenvalue=0.5), np.zeros(2), horizon=20, seed=seed) for seed in (0, 1))
    assert not np.array_equal(one.act(np.zeros(2)), other.act(np.zeros(2)))


# ---- missed, late and invalid readings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy",
    [GLIDE(), POL(1e-2), OAL(1e-2), SCaLE(1.0, 1, min_eigenvalue=0.5, gamma2=4.0)],
    ids=lambda policy: type(policy).__name__,
)
@pytest.mark.parametrize("without_call", [True, False], ids=["no call", "NaN"])
def test_a_missed_reading_is_counted_and_changes_no_estimate(policy: Policy[Any], without_call: bool) -> None:
    controller = Controller(policy, np.zeros(2))
    for t in range(12):
        controller.observe(reading(controller.act(minimizer(t, 2)), t))
    before = controller.diagnostics()["estimate"]
    for t in range(12, 15):
        controller.act(minimizer(t, 2))
        if not without_call:
            controller.observe(math.nan)
    controller.act(minimizer(15, 2))
    found = controller.diagnostics()
    assert found["missed"] == 3
    assert controller.round == 15
    np.testing.assert_array_equal(found["estimate"], before)
    assert "3 readings were missed" in controller.explain()
    controller.observe(reading(controller.x, 15))
    assert controller.diagnostics()["missed"] == 3


INVALID_READINGS: dict[str, Any] = {
    "infinite": math.inf,
    "minus infinite": -math.inf,
    "text": "3.0",
    "None": None,
    "bool": True,
    "list": [1.0],
    "vector": np.ones(2),
    "complex": 1.0 + 2.0j,
    "an integer above the largest float": 10**400,
}


@pytest.mark.parametrize("y", INVALID_READINGS.values(), ids=INVALID_READINGS)
def test_an_invalid_reading_is_refused_and_changes_nothing(y: Any, tmp_path: Path) -> None:
    controller = Controller(POL(1e-2), np.zeros(2), journal=tmp_path / "journal")
    x = controller.act([1.0, 2.0])
    before, written = saved_bytes(controller), (tmp_path / "journal").read_bytes()
    with pytest.raises(ArgumentError, match="y must "):
        controller.observe(y)
    assert saved_bytes(controller) == before
    np.testing.assert_array_equal(controller.pending, x)
    assert (tmp_path / "journal").read_bytes() == written
    controller.observe(1.0)
    assert controller.round == 1


INVALID_CALLS: dict[str, tuple[Any, str]] = {
    "v of another length": (lambda c: c.act([1.0]), "v must have shape"),
    "v not finite": (lambda c: c.act([1.0, math.nan]), "v must be finite"),
    "v not numeric": (lambda c: c.act(["a", "b"]), "v must be an array of real numbers"),
    "applied of another length": (lambda c: c.observe(1.0, [1.0]), "applied must have shape"),
    "applied not finite": (lambda c: c.observe(1.0, [1.0, math.inf]), "applied must be finite"),
    "round zero": (lambda c: c.observe(1.0, round=0), "round must be a positive integer"),
    "round not an integer": (lambda c: c.observe(1.0, round=1.0), "round must be a positive integer"),
    "active not boolean": (lambda c: c.act([1.0, 2.0], active=[1.0, 0.0]), "active must be True or False for each"),
    "active of another length": (lambda c: c.act([1.0, 2.0], active=[True]), "active must have shape"),
    "at of another length": (lambda c: c.observe(1.0, at=[1.0]), "at must have shape"),
    "at not finite": (lambda c: c.observe(1.0, at=[1.0, math.nan]), "at must be finite"),
    "unit zero": (lambda c: c.observe(1.0, unit=0.0), "unit must be above 0, got 0.0"),
    "unit of another shape": (lambda c: c.observe(1.0, unit=[1.0, 2.0]), "unit must have shape"),
    "covariates not finite": (
        lambda c: c.observe(1.0, covariates=[1.0, math.nan]),
        "covariates must be finite, got nan",
    ),
    "covariates of another shape": (
        lambda c: c.observe(1.0, covariates=1.0),
        r"covariates must have shape \(k,\), got",
    ),
    "future round": (
        lambda c: c.observe(1.0, round=3),
        "round must be the pending round, got 3 while round 2 is pending",
    ),
}


@pytest.mark.parametrize(("call", "message"), INVALID_CALLS.values(), ids=INVALID_CALLS)
def test_an_invalid_argument_is_named_and_changes_nothing(call: Any, message: str) -> None:
    controller = Controller(POL(1e-2), np.zeros(2))
    controller.act([1.0, 2.0])
    controller.observe(1.0)
    controller.act([1.0, 2.0])
    before = saved_bytes(controller)
    with pytest.raises(ArgumentError, match=message):
        call(controller)
    assert saved_bytes(controller) == before


INVALID_SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "policy": ({"policy": FTM}, "policy must be a Policy"),
    "x0 of many plants": ({"x0": np.zeros((2, 2))}, "x0 must have shape"),
    "x0 empty": ({"x0": []}, "x0 must have shape"),
    "x0 not finite": ({"x0": [0.0, math.nan]}, "x0 must be finite"),
    "horizon": ({"horizon": 0}, "horizon must be a positive integer"),
    "seed": ({"seed": -1}, "seed must be an integer of at least 0"),
    "low of another length": ({"low": [0.0, 0.0, 0.0]}, "low must have shape"),
    "high minus infinite": ({"high": -math.inf}, "high must be neither NaN nor -inf"),
    "low not a number": ({"low": [0.0, math.nan]}, "low must be neither NaN nor inf"),
    "low above high": ({"low": 2.0, "high": [1.0, 3.0]}, "low must not exceed high"),
    "period": ({"period": [0.0, 1.0]}, "period must be a number or a vector above 0"),
    "period of another length": ({"period": [1.0, 2.0, 3.0]}, "period must have shape"),
    "period twice": ({"policy": Periodic(FTM(), 360.0), "period": 360.0}, "policy must be for an unweighted"),
    "switching_weight": ({"switching_weight": [1.0, -1.0]}, "switching_weight must be"),
    "switching_weight of another length": (
        {"switching_weight": np.ones(3)},
        "switching_weight must be for as many actuators as x0 has, 2, got one for 3",
    ),
    "switching_weight twice": (
        {"policy": Weighted(FTM(), 2.0), "switching_weight": 2.0},
        "policy must be for an unweighted switching cost",
    ),
    "limits twice": (
        {"policy": Limited(FTM(), low=0.0), "low": 0.0},
        "policy must be for an unweighted switching cost",
    ),
    "durability": ({"durability": "paper"}, "durability must be one of 'disk', 'process'"),
}


@pytest.mark.parametrize(("invalid", "message"), INVALID_SETTINGS.values(), ids=INVALID_SETTINGS)
def test_an_invalid_setting_is_named(invalid: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Controller(**{"policy": FTM(), "x0": np.zeros(2), **invalid})


# ---- units of the plant ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("switching_weight", [None, WEIGHTS])
@pytest.mark.parametrize("policy", [FTM(), POL(1e-3), GLIDE()], ids=["FTM", "POL", "GLIDE"])
def test_no_action_exceeds_the_limits_by_a_single_bit(policy: Policy[Any], switching_weight: Any) -> None:
    low, high = np.array([-0.1, -1.0 / 3.0, -0.7]), 0.3
    controller = Controller(policy, np.zeros(3), low=low, high=high, switching_weight=switching_weight)
    at_low = at_high = inside = 0
    for t in range(60):
        x = controller.act(minimizer(t, 3))
        assert (x >= low).all()
        assert (x <= high).all()
        at_low, at_high = at_low + (x == low).sum(), at_high + (x == high).sum()
        inside += ((x > low) & (x < high)).sum()
        controller.observe(reading(x, t))
    assert min(at_low, at_high, inside) > 0


def test_a_plant_that_was_moved_out_of_its_limits_moves_inside() -> None:
    controller = Controller(LAI(np.eye(1)), [0.0], low=-1.0, high=1.0, rate=0.5)
    controller.act([0.0])
    controller.observe(0.0, applied=[9.0])
    np.testing.assert_array_equal(controller.act([9.0]), [1.0])


@pytest.mark.parametrize(
    "switching_weight",
    [3.0, WEIGHTS, [[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]]],
    ids=["number", "vector", "matrix"],
)
@pytest.mark.parametrize("policy", [POL(1e-3), GLIDE()], ids=["POL", "GLIDE"])
def test_weights_and_limits_act_like_the_wrappers(policy: Policy[Any], switching_weight: Any) -> None:
    controller = Controller(
        policy, np.ones(3), horizon=30, seed=3, low=-2.0, high=[2.0, 3.0, 4.0], switching_weight=switching_weight
    )
    wrapped: Any = Limited(Weighted(policy, switching_weight), low=-2.0, high=[2.0, 3.0, 4.0])
    state = wrapped.start(np.ones(3), 30, rng=3)
    for t in range(30):
        x, state = wrapped.act(state, minimizer(t, 3))
        np.testing.assert_array_equal(controller.act(minimizer(t, 3)), x)
        state = wrapped.observe(state, reading(x, t))
        controller.observe(reading(x, t))
    assert controller.state == state


@pytest.mark.parametrize("switching_weight", [None, 3.0, WEIGHTS])
@pytest.mark.parametrize("limits", [{}, {"low": -20.0, "high": 20.0}], ids=["free", "limited"])
def test_the_estimate_of_A_is_in_the_units_of_the_plant(limits: Any, switching_weight: Any) -> None:
    controller = Controller(GLIDE(), np.zeros(3), switching_weight=switching_weight, **limits)
    for t in range(150):
        x = controller.act(minimizer(t, 3))
        u = x - minimizer(t, 3)
        controller.observe(0.5 * u @ CURVATURE @ u)
    np.testing.assert_allclose(controller.diagnostics()["estimate"], CURVATURE, atol=1e-3)


def test_save_refuses_to_overwrite_a_journal(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    controller = Controller(FTM(), [0.0], journal=journal)
    controller.act([1.0])
    with pytest.raises(ArgumentError, match="path must not be a journal"):
        controller.save(journal)
    controller.close()
    assert Controller.resume(journal).pending is not None


def test_numbers_in_diagnostics_are_plain_numbers() -> None:
    controller = Controller(GLIDE(), np.zeros(2))
    found = controller.diagnostics()
    for name in ("noise", "alarms", "last_alarm", "drift"):
        assert type(found[name]) is float
    assert found["diverged"] is False


# ---- explanations ----------------------------------------------------------------------------------------------------


def test_glide_explains_learning_confidence_and_a_suspected_change() -> None:
    controller, rng = Controller(GLIDE(), np.zeros(2), horizon=500), np.random.default_rng(0)
    assert controller.explain().startswith(
        "No round played yet: GLIDE is learning (readings: 0 of 0 rounds, unknowns: 3)"
    )
    texts, v = [], np.zeros(2)
    for t in range(120):
        A = np.diag([1.0, 2.0]) if t < 60 else np.diag([4.0, 0.1])
        v = v + 10.0 * rng.standard_normal(2)
        x = controller.act(v)
        assert controller.explain().startswith(f"Round {t + 1} of 500 waits for its reading: ")
        controller.observe(0.5 * (x - v) @ A @ (x - v) + rng.uniform(-1.0, 1.0))
        texts.append(controller.explain())
        assert texts[-1].startswith(f"Round {t + 1} of 500 completed: GLIDE ")
    assert "GLIDE is learning (readings: 1 of 1 rounds, unknowns: 3)" in texts[0]
    assert all("GLIDE is confident" in text for text in texts[40:60])
    suspicious = [t for t, text in enumerate(texts) if "GLIDE suspects a change" in text]
    assert 60 <= suspicious[0] <= 63
    found = re.search(r"the reading of round (\d+) does not fit", texts[suspicious[0]])
    assert found is not None
    assert 61 <= int(found[1]) <= suspicious[0] + 1
    assert suspicious[-1] < 90
    assert f"confident (readings since the change it suspected in round {found[1]}: " in texts[-1]
    assert "missed" not in texts[-1]


@pytest.mark.parametrize("kind", [SCaLE, HySCaLE])
def test_scale_explains_probing_and_exploiting(kind: Any) -> None:
    controller = Controller(kind(1.0, 1, min_eigenvalue=0.5), np.zeros(2), horizon=50)
    name = kind.__name__
    for t in range(6):
        x = controller.act(minimizer(t, 2))
        assert f"{name} is probing around v" in controller.explain()
        assert f"round {t + 1} of 6." in controller.explain()
        controller.observe(0.5 * (x - minimizer(t, 2))[0] ** 2)
    controller.act(minimizer(6, 2))
    assert f"{name} is exploiting" in controller.explain()


def test_the_other_policies_explain_their_rule() -> None:
    for policy, words in (
        (FTM(), "FTM moves to v in every round"),
        (LAI(np.eye(1)), "LAI uses the A that it was given"),
        (ROBD(np.eye(1)), "ROBD uses the A that it was given"),
        (POL(1e-3), "POL learns by a gradient step from each reading."),
    ):
        assert words in Controller(policy, [0.0]).explain()
    wild = Controller(POL(10.0), [0.0])
    for t in range(10):
        wild.observe(reading(wild.act(minimizer(t, 1)), t))
    assert "steps overshot" in wild.explain()


def test_repr_names_policy_round_and_journal(tmp_path: Path) -> None:
    assert repr(Controller(FTM(), [0.0])) == "Controller(FTM(), round=0)"
    with Controller(FTM(), [0.0], journal=tmp_path / "j") as controller:
        controller.act([1.0])
        controller.observe(0.0)
        assert repr(controller) == f"Controller(FTM(), round=1, journal='{tmp_path / 'j'}')"


# ---- saved controllers -----------------------------------------------------------------------------------------------


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder in memory, where there is one."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        yield Path(folder)


SCALE: dict[str, Any] = {"noise_cap": 1.0, "rank": 1, "min_eigenvalue": 0.5, "gamma2": 4.0, "c1": 1.0}
PLAYERS: dict[str, tuple[Policy[Any], int, dict[str, Any]]] = {
    "FTM": (FTM(), 2, {}),
    "LAI": (LAI(CURVATURE[:2, :2]), 2, {}),
    "LAI with a horizon": (LAI(CURVATURE), 3, {"horizon": 20}),
    "ROBD": (ROBD(CURVATURE[:2, :2], lambda2=0.5), 2, {}),
    "POL": (POL(1e-2), 2, {}),
    "POL, one actuator": (POL(1e-2, initial=[[2.0]]), 1, {}),
    "OAL": (OAL(1e-2, gradient="as_printed"), 2, {}),
    "SCaLE": (SCaLE(**SCALE), 3, {}),
    "SCaLE, virtual handover": (SCaLE(**SCALE, handover="virtual", probe_limit=3.0), 2, {"horizon": 20}),
    "HySCaLE": (HySCaLE(**SCALE, learning_rate=1e-3), 2, {}),
    "GLIDE": (GLIDE(), 3, {}),
    "GLIDE, one actuator": (GLIDE(), 1, {}),
    "GLIDE with options": (GLIDE(offset=False, noise_cap=2.0, y_max=500.0), 2, {"horizon": 20}),
    "Limited": (Limited(POL(1e-2), low=-1.0, high=[1.0, 2.0]), 2, {}),
    "Weighted": (Weighted(GLIDE(), [1.0, 4.0]), 2, {}),
    "wrapped twice": (Limited(Weighted(POL(1e-2), 3.0), high=2.0), 2, {}),
    "limits": (GLIDE(), 2, {"low": -1.0, "high": [1.0, 2.0]}),
    "weights": (SCaLE(**SCALE), 2, {"switching_weight": [[2.0, 0.5], [0.5, 1.0]]}),
    "limits and weights": (GLIDE(), 3, {"low": [-2.0, -2.0, -2.0], "switching_weight": WEIGHTS}),
}


PLAYERS |= {
    kind.__name__: (example(kind), 3, {})
    for kind in concrete_classes(soqo.policies, Policy)
    if kind not in {type(policy) for policy, _, _ in PLAYERS.values()}
}


@pytest.mark.parametrize(("policy", "dim", "options"), PLAYERS.values(), ids=PLAYERS)
def test_a_saved_controller_continues_bit_for_bit_after_any_call(
    policy: Policy[Any], dim: int, options: Any, in_memory: Path
) -> None:
    calls = 28
    controller = Controller(policy, np.ones(dim), seed=2, **options)
    states, files, results = [], [], []
    for number in range(calls):
        states.append(saved_bytes(controller))
        files.append(controller.save(in_memory / f"{number}"))
        results.append(make_call(controller, number))
    for number, file in enumerate(files):
        loaded = Controller.load(file)
        assert saved_bytes(loaded) == states[number]
        # All other calls from the start and the middle, a few calls from elsewhere.
        end = calls if number in (0, 13, 14) else min(calls, number + 4)
        for later in range(number, end):
            assert saved_bytes(loaded) == states[later]
            np.testing.assert_array_equal(make_call(loaded, later), results[later])
    assert controller.diagnostics()["missed"] > 0


def test_every_truncation_of_a_saved_controller_is_refused(in_memory: Path) -> None:
    good = Controller(FTM(), [1.0]).save(in_memory / "saved").read_bytes()
    assert Controller.load(in_memory / "saved").round == 0
    for length in range(len(good)):
        (in_memory / "cut").write_bytes(good[:length])
        with pytest.raises(FileFormatError, match="cut"):
            Controller.load(in_memory / "cut")
    (in_memory / "longer").write_bytes(good + b"\0")
    with pytest.raises(FileFormatError, match="is damaged: expected"):
        Controller.load(in_memory / "longer")


def test_every_flipped_bit_of_a_saved_controller_is_refused(in_memory: Path) -> None:
    good = Controller(FTM(), [1.0]).save(in_memory / "saved").read_bytes()
    for bit in range(8 * len(good)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        (in_memory / "flipped").write_bytes(bad)
        with pytest.raises(FileFormatError, match="flipped"):
            Controller.load(in_memory / "flipped")


def test_the_error_for_the_other_kind_of_file_names_the_method_that_reads_it(tmp_path: Path) -> None:
    with Controller(FTM(), [1.0], journal=tmp_path / "journal") as controller:
        controller.save(tmp_path / "saved")
    with pytest.raises(FileFormatError, match=r"journal is a journal: use Controller\.resume"):
        Controller.load(tmp_path / "journal")
    with pytest.raises(FileFormatError, match=r"saved is a saved .*: use Controller\.load"):
        Controller.resume(tmp_path / "saved")


def test_a_saved_controller_keeps_infinite_limits(tmp_path: Path) -> None:
    controller = Controller(FTM(), np.zeros(2), low=[-math.inf, -1.0], high=[2.0, math.inf])
    loaded = Controller.load(controller.save(tmp_path / "saved"))
    np.testing.assert_array_equal(loaded.act([9.0, 9.0]), [2.0, 9.0])
    np.testing.assert_array_equal(loaded.act([-9.0, -9.0]), [-9.0, -1.0])


def test_saving_again_replaces_the_old_file(tmp_path: Path) -> None:
    controller = Controller(FTM(), [1.0])
    path = controller.save(tmp_path / "saved")
    controller.act([2.0])
    assert controller.save(str(path)) == path
    np.testing.assert_array_equal(Controller.load(path).pending, [2.0])
    assert list(tmp_path.iterdir()) == [path]


@dataclass(frozen=True)
class MemoryThatIsNotData(FTM):
    """A policy whose memory cannot be in a file."""

    def begin(self, x0: Any, horizon: Any, rng: Any) -> Any:
        return object()

    def decide(self, state: Any, v: Any) -> Any:
        return v, state.memory


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = Controller(FTM(), [1.0]).save(tmp_path / "saved")
    good = path.read_bytes()
    with pytest.raises(ArgumentError, match="got object"):
        Controller(MemoryThatIsNotData(), [2.0]).save(path)
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError, match="folder"):
        Controller(FTM(), [2.0]).save(folder)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing"):
        Controller(FTM(), [2.0]).save(tmp_path / "missing" / "saved")
    assert path.read_bytes() == good
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "saved"]


def test_a_loaded_controller_starts_its_own_journal(tmp_path: Path) -> None:
    controller = Controller(POL(1e-2), np.zeros(2), journal=tmp_path / "first")
    for number in range(7):
        make_call(controller, number)
    path = controller.save(tmp_path / "saved")
    written = (tmp_path / "first").read_bytes()
    with Controller.load(path, journal=tmp_path / "second", durability="process") as loaded:
        make_call(loaded, 7)
    make_call(controller, 7)
    assert (tmp_path / "first").read_bytes().startswith(written)
    resumed = Controller.resume(tmp_path / "second")
    assert saved_bytes(resumed) == saved_bytes(controller)


# ---- late readings, forecasts, contexts and factors ------------------------------------------------------------------


def random_calls(controller: Controller, *, rounds: int, seed: int) -> None:
    """Make calls with everything that a plant may tell, in an order that depends on the seed alone."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        forecast = rng.standard_normal((rng.integers(0, 4), 2)) if rng.random() < 0.5 else None
        factor = float(rng.uniform(0.5, 2.0)) if rng.random() < 0.5 else None
        if forecast is not None and rng.random() < 0.5:
            forecast = np.asfortranarray(np.round(10.0 * forecast).astype(int))
        active = rng.random(2) < 0.7 if rng.random() < 0.5 else None
        controller.act(rng.standard_normal(2), forecast, rng.standard_normal(1), factor, active=active)
        for number in controller.open_rounds:
            if rng.random() < 0.4:
                applied = rng.standard_normal(2) if rng.random() < 0.3 else None
                y = float(rng.uniform(0.0, 3.0)) if rng.random() < 0.9 else math.nan
                at = rng.standard_normal(2) if rng.random() < 0.3 else None
                unit = float(rng.uniform(0.5, 2.0)) if rng.random() < 0.3 else None
                covariates = rng.standard_normal(2) if rng.random() < 0.5 else None
                controller.observe(y, applied, round=number, at=at, unit=unit, covariates=covariates)


@pytest.mark.parametrize("policy", [GLIDE(), soqo.Guarded(GLIDE()), soqo.RLS(1.0)], ids=["GLIDE", "Guarded", "RLS"])
@pytest.mark.parametrize("max_delay", [0, 3])
def test_everything_that_a_plant_tells_is_resumed_bit_for_bit(
    policy: Policy[Any], max_delay: int, in_memory: Path
) -> None:
    options: dict[str, Any] = {"rate": 0.5, "low": -2.0, "switching_weight": [1.0, 4.0], "max_delay": max_delay}
    options |= {"period": [3.0, np.inf]} if max_delay else {}
    path = in_memory / "journal"
    controller = Controller(policy, np.zeros(2), journal=path, durability="process", timestamps=True, **options)
    plain = Controller(policy, np.zeros(2), timestamps=True, **options)
    for each in (controller, plain):
        random_calls(each, rounds=25, seed=1)
    crashed = in_memory / "crashed"
    crashed.write_bytes(path.read_bytes())
    controller.close()
    for resumed in (Controller.resume(crashed), Controller.resume(path), Controller.load(plain.save(in_memory / "s"))):
        assert saved_bytes(resumed) == saved_bytes(plain)
        another = Controller.load(plain.save(in_memory / "again"))
        random_calls(another, rounds=5, seed=2)
        random_calls(resumed, rounds=5, seed=2)
        assert saved_bytes(resumed) == saved_bytes(another)
        resumed.close()


@pytest.mark.parametrize("max_delay", [0, 2])
def test_what_a_plant_tells_reaches_the_policy(max_delay: int) -> None:
    controller = Controller(
        GLIDE(), [350.0, 1.0], switching_weight=[1.0, 4.0], rate=30.0, period=[360.0, np.inf], max_delay=max_delay
    )
    policy: Any = Limited(Periodic(Weighted(GLIDE(), [1.0, 4.0]), [360.0, np.inf]), rate=30.0)
    state = policy.start([350.0, 1.0], rng=0, max_delay=max_delay)
    rng = np.random.default_rng(0)
    for t in range(40):
        v = np.mod(350.0 + 20.0 * rng.standard_normal(2), 360.0)
        told: dict[str, Any] = {"active": rng.random(2) < 0.8, "factor": float(rng.uniform(0.0, 2.0))}
        x, state = policy.act(state, v, **told)
        np.testing.assert_array_equal(controller.act(v, **told), x)
        given: dict[str, Any] = {"at": np.mod(x + rng.standard_normal(2), 360.0), "unit": float(rng.uniform(0.5, 2.0))}
        given |= {"applied": np.mod(x + 0.1, 360.0)} if t % 2 else {}
        given |= {"covariates": rng.standard_normal(3)} if t % 3 else {}
        if max_delay:
            given["round"] = max(1, t + 1 - t % 3)
            if given["round"] not in controller.open_rounds:
                continue
        y = float(rng.uniform(0.0, 5.0))
        state = policy.observe(state, y, **given)
        controller.observe(y, **given)
        assert controller.state == state


def test_a_forecast_in_plant_units_is_used() -> None:
    """One round before the last, LAI solves a quadratic program in the two last actions, here by a dense solve."""
    A, W, v, w = np.diag([1.5, 0.5]), np.diag([1.0, 4.0]), np.array([1.0, 2.0]), np.array([-1.0, 3.0])
    policy = LAI.for_problem(Problem(A, switching_weight=W))
    controller = Controller(policy, np.zeros(2), horizon=2, switching_weight=W)
    x = controller.act(v, forecast=[w])
    system = np.block([[A + 2.0 * W, -W], [-W, A + W]])
    expected = np.linalg.solve(system, np.concatenate([A @ v, A @ w]))[:2]
    np.testing.assert_allclose(x, expected)


def test_a_factor_scales_the_hitting_cost() -> None:
    controller = Controller(LAI([[1.0]]), [0.0], horizon=1)
    np.testing.assert_allclose(controller.act([4.0], factor=3.0), [3.0])
    for factor in (-1.0, math.nan, [1.0]):
        with pytest.raises(ArgumentError, match="factor must"):
            Controller(LAI([[1.0]]), [0.0]).act([4.0], factor=factor)  # type: ignore[arg-type]


# ---- rate ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("switching_weight", [None, WEIGHTS])
def test_no_step_exceeds_the_rate_and_the_policy_knows_where_the_plant_is(switching_weight: Any) -> None:
    rate = np.array([0.3, np.inf, 1.5])
    options: dict[str, Any] = {"switching_weight": switching_weight}
    limited = Controller(GLIDE(), np.zeros(3), rate=rate, low=-4.0, high=4.0, **options)
    # The same plant, which limits the steps itself, and reports them.
    reported = Controller(GLIDE(), np.zeros(3), low=-4.0, high=4.0, **options)
    at_rate = 0
    for t in range(40):
        v, before = minimizer(t, 3), limited.x
        x = limited.act(v)
        step = np.abs(x - before)
        assert (step <= rate * (1 + 1e-12)).all()
        at_rate += (step[[0, 2]] >= rate[[0, 2]] * (1 - 1e-12)).sum()
        reported.act(v)
        limited.observe(reading(x, t))
        reported.observe(reading(x, t), applied=x)
    assert at_rate > 20
    np.testing.assert_array_equal(limited.diagnostics()["estimate"], reported.diagnostics()["estimate"])


# ---- threads and signal handlers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_delay", [0, 4])
@pytest.mark.parametrize("policy", [FTM(), POL(1e-3)], ids=["FTM", "POL"])
def test_calls_of_eight_threads_are_serialized(policy: Policy[Any], max_delay: int, in_memory: Path) -> None:
    path = in_memory / "journal"
    controller = Controller(
        policy, np.zeros(2), max_delay=max_delay, journal=path, durability="process", snapshot_every=97
    )
    actions: list[list[Any]] = [[] for _ in range(8)]
    refused = [0] * 8

    def work(thread: int) -> None:
        rng = np.random.default_rng(thread)
        for _ in range(1250):
            if rng.random() < 0.5:
                actions[thread].append(controller.act(rng.standard_normal(2)))
                continue
            try:
                controller.observe(float(rng.uniform(0.0, 3.0)))
            except ProtocolError:
                refused[thread] += 1  # another thread has given the reading

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # many switches in the middle of a call
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    crashed = in_memory / "crashed"
    crashed.write_bytes(path.read_bytes())
    controller.close()
    played = {tuple(x) for x in soqo.Log.read(path).x}
    assert played == {tuple(x) for found in actions for x in found}
    assert controller.state.round == sum(map(len, actions))
    assert 0 < sum(refused) < 5000
    for source in (path, crashed):
        assert saved_bytes(Controller.resume(source)) == saved_bytes(controller)
    # One thread that makes the calls in the order of the journal gets the same states.
    alone = first_controller_of(crashed, in_memory / "alone")
    assert saved_bytes(alone) == saved_bytes(controller)


def first_controller_of(journal: Path, path: Path) -> Controller:
    """Return a controller that replays all calls of a journal, whose snapshots are left out."""
    data = journal.read_bytes()
    at, checksum, kept = 16, zlib.crc32(data[:16]), bytearray(data[:16])
    while at < len(data):
        kind, length = struct.unpack_from("<cI", data, at)
        if kind != b"S" or at == 16:
            body = data[at : at + 5 + length]
            checksum = zlib.crc32(body, checksum)
            kept += body + checksum.to_bytes(4, "little")
        at += 9 + length
    path.write_bytes(kept)
    return Controller.resume(path, durability="process")


def test_a_thread_that_resumes_a_journal_in_use_takes_it_over_between_two_calls(in_memory: Path) -> None:
    path = in_memory / "journal"
    controller = Controller(POL(1e-3), np.zeros(2), journal=path, durability="process")
    done: list[int] = []

    def steer() -> None:
        with suppress(ProtocolError):
            for t in range(100_000):
                controller.act(minimizer(t % 50, 2))
                done.append(t)

    thread = threading.Thread(target=steer)
    thread.start()
    while len(done) < 200:
        time.sleep(1e-4)
    other = Controller.resume(path, durability="process")
    thread.join()
    with pytest.raises(ProtocolError, match="was taken over by another controller"):
        controller.act([1.0, 2.0])
    assert other.state.round == len(done) == controller.state.round
    other.act([1.0, 2.0])
    other.close()
    assert saved_bytes(Controller.resume(path)) == saved_bytes(other)


@dataclass(frozen=True)
class Disturbed(FTM):
    """A policy in whose decision a signal arrives."""

    def decide(self, state: Any, v: Any) -> Any:
        if v[0] == 13.0:
            signal.raise_signal(signal.SIGUSR1)
        return v, None


@pytest.mark.parametrize("call", ["act", "close"])
@pytest.mark.parametrize("with_journal", [True, False])
def test_a_call_of_a_signal_handler_in_the_middle_of_another_corrupts_nothing(
    call: str, with_journal: bool, in_memory: Path
) -> None:
    path = in_memory / "journal"
    controller = Controller(Disturbed(), [0.0], journal=path if with_journal else None, durability="process")
    controller.act([1.0])
    handler = signal.signal(signal.SIGUSR1, lambda *_: controller.act([7.0]) if call == "act" else controller.close())
    try:
        if call == "act":
            with pytest.raises(ProtocolError, match="another call was made in the middle of this one"):
                controller.act([13.0])
        elif with_journal:
            with pytest.raises(ProtocolError, match="is closed"):
                controller.act([13.0])
        else:
            controller.act([13.0])
    finally:
        signal.signal(signal.SIGUSR1, handler)
    if with_journal:
        assert saved_bytes(Controller.resume(path)) == saved_bytes(controller)
    expected = {"act": 7.0, "close": 1.0 if with_journal else 13.0}[call]
    np.testing.assert_array_equal(controller.x, [expected])


# ---- uncertainty -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("switching_weight", [9.0, [1.0, 25.0], [[2.0, 0.8], [0.8, 1.0]]], ids=["c", "diag", "matrix"])
def test_the_uncertainty_is_the_deviation_of_the_estimate_in_plant_units(switching_weight: Any) -> None:
    """Of the errors q'(estimate - A)q in many runs, divided by their uncertainties, the mean square is near one."""
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    policy, runs = Limited(Weighted(GLIDE(), switching_weight), low=-1e6), 300
    rng = np.random.default_rng(0)
    state = policy.start(np.zeros((runs, 2)))
    v = np.zeros((runs, 2))
    for _ in range(40):
        v = v + 3.0 * rng.standard_normal((runs, 2))
        x, state = policy.act(state, v)
        u = x - v
        state = policy.observe(state, 0.5 * np.vecdot(u, np.matvec(A, u)) + rng.uniform(-1.0, 1.0, runs))
    found = policy.diagnostics(state)
    directions = np.linalg.eigh(found["estimate"])[1].mT
    errors = np.vecdot(directions, np.matmul(directions, (found["estimate"] - A)))
    ratios = (errors / found["uncertainty"]) ** 2
    # A factor of the weight (9, 25) would be far outside; the mean square of 300 runs has a deviation of about 10 %.
    assert 0.6 < np.median(ratios[:, 0]) / 0.455 < 1.6  # the median of chi-squared with one degree of freedom
    assert 0.6 < np.median(ratios[:, 1]) / 0.455 < 1.6


def test_the_uncertainty_of_a_scaled_plant_is_scaled() -> None:
    """With the weight c and readings c times as large, everything is the same but c times as large."""
    found = []
    for c in (1.0, 16.0):
        controller = Controller(GLIDE(), np.zeros(2), switching_weight=c)
        for t in range(40):
            x = controller.act(minimizer(t, 2))
            controller.observe(c * reading(x, t))
        found.append(controller.diagnostics())
    np.testing.assert_allclose(found[1]["uncertainty"], 16.0 * found[0]["uncertainty"], rtol=1e-6)
    np.testing.assert_allclose(found[1]["estimate"], 16.0 * found[0]["estimate"], rtol=1e-6)


# ---- random calls against a plain reference --------------------------------------------------------------------------

coordinate = st.floats(-10.0, 10.0)
positions = st.tuples(coordinate, coordinate)


class Steering(RuleBasedStateMachine):
    """Valid and invalid calls in any order, with files in between, compared with the wrapped policy itself."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=IN_MEMORY)
        self.files = 0

    def teardown(self) -> None:
        if hasattr(self, "controller"):
            self.controller.close()
        self.folder.cleanup()

    def new_path(self) -> Path:
        self.files += 1
        return Path(self.folder.name) / str(self.files)

    @initialize(
        policy=st.sampled_from([GLIDE(), POL(1e-2)]),
        start=positions,
        horizon=st.sampled_from([None, 6, 40]),
        low=st.sampled_from([None, -3.0, [-5.0, -1.0]]),
        high=st.sampled_from([None, 2.0, [0.5, 4.0]]),
        switching_weight=st.sampled_from([2.0, [1.0, 4.0], [[2.0, 0.5], [0.5, 1.0]]]),
    )
    def begin(self, policy: Any, start: Any, horizon: Any, low: Any, high: Any, switching_weight: Any) -> None:
        self.journal = self.new_path()
        start = np.clip(start, low, high)
        self.controller = Controller(
            policy,
            start,
            horizon=horizon,
            low=low,
            high=high,
            switching_weight=switching_weight,
            journal=self.journal,
            durability="process",
        )
        # A controller without limits does not use Limited, which would add a level to the state.
        weighted = Weighted(policy, switching_weight)
        free = low is None and high is None
        self.player: Any = weighted if free else Limited(weighted, low=low, high=high)
        self.low, self.high = (
            np.broadcast_to(default if limit is None else limit, 2)
            for limit, default in ((low, -np.inf), (high, np.inf))
        )
        self.state = self.player.start(start, horizon)
        self.missed, self.closed = 0, False

    def may_act(self) -> bool:
        return not self.closed and bool(self.state.rounds_to_go > 0)

    def is_pending(self) -> bool:
        return not self.closed and bool(self.state.pending)

    @precondition(may_act)
    @rule(v=positions)
    def act(self, v: Any) -> None:
        self.missed += self.state.pending
        expected, self.state = self.player.act(self.state, v)
        x = self.controller.act(v)
        np.testing.assert_array_equal(x, expected)
        assert (x >= self.low).all()
        assert (x <= self.high).all()

    @precondition(is_pending)
    @rule(
        y=st.floats(-5.0, 50.0) | st.just(math.nan),
        applied=st.none() | positions,
        named=st.booleans(),
    )
    def observe(self, y: float, applied: Any, named: bool) -> None:
        self.controller.observe(y, applied, round=self.state.round if named else None)
        self.state = self.player.observe(self.state, y, applied=applied)
        self.missed += math.isnan(y)

    @precondition(lambda self: not self.closed and self.state.round > self.state.pending)
    @rule(y=st.floats(0.0, 5.0), data=st.data())
    def observe_too_late(self, y: float, data: Any) -> None:
        closed = self.state.round - self.state.pending
        late = data.draw(st.integers(1, closed))
        with pytest.raises(ProtocolError, match="late"):
            self.controller.observe(y, round=late)

    @precondition(is_pending)
    @rule(y=st.sampled_from(list(INVALID_READINGS.values())))
    def observe_an_invalid_reading(self, y: Any) -> None:
        with pytest.raises(ArgumentError, match="y must"):
            self.controller.observe(y)

    @precondition(lambda self: not self.closed and not self.state.pending)
    @rule(y=st.floats(0.0, 5.0))
    def observe_before_acting(self, y: float) -> None:
        with pytest.raises(ProtocolError, match="before act"):
            self.controller.observe(y)

    @rule()
    def act_on_an_invalid_minimizer(self) -> None:
        with pytest.raises(ArgumentError, match="v must"):
            self.controller.act([math.nan, 0.0])

    @precondition(lambda self: not self.closed and self.state.rounds_to_go <= 0)
    @rule(v=positions)
    def act_after_the_last_round(self, v: Any) -> None:
        with pytest.raises(ProtocolError, match="after the last round"):
            self.controller.act(v)

    @rule()
    def save_and_load(self) -> None:
        saved = self.controller.save(self.new_path())
        self.controller.close()
        self.journal, self.closed = self.new_path(), False
        self.controller = Controller.load(saved, journal=self.journal, durability="process")

    @rule(orderly=st.booleans())
    def resume(self, orderly: bool) -> None:
        if orderly:
            self.controller.close()
        self.controller = Controller.resume(self.journal, durability="process")
        self.closed = False

    @rule(v=positions)
    def close(self, v: Any) -> None:
        self.controller.close()
        self.closed = True
        written = self.journal.read_bytes()
        with pytest.raises(ProtocolError, match=r"is closed|after the last round"):
            self.controller.act(v)
        assert self.journal.read_bytes() == written

    @invariant()
    def has_the_state_of_the_reference(self) -> None:
        if not hasattr(self, "controller"):
            return
        controller, state = self.controller, self.state
        assert controller.state == state
        assert controller.round == state.round - state.pending
        assert controller.diagnostics()["missed"] == self.missed
        np.testing.assert_array_equal(controller.x, state.x)
        if state.pending:
            np.testing.assert_array_equal(controller.pending, state.x)
        else:
            assert controller.pending is None


def test_any_sequence_of_calls_gives_the_states_of_the_wrapped_policy() -> None:
    run_state_machine_as_test(
        Steering,
        settings=settings(max_examples=30, stateful_step_count=30, deadline=None, derandomize=True),
    )
