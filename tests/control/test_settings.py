"""Settings of a controller: those of a journal must be met by open, and classes that do not travel are reported."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, LAI, POL, ROBD, Controller, Guarded, Log, Policy, Problem, replay
from soqo.errors import ArgumentError, BusyError, FileFormatError, PortabilityWarning

SETTINGS: dict[str, Any] = {
    "horizon": 50,
    "seed": 3,
    "low": [0.0, -1.0],
    "high": 9.0,
    "rate": 2.0,
    "period": 360.0,
    "switching_weight": [1.0, 4.0],
    "max_delay": 2,
    "v_limits": (-50.0, [50.0, 60.0]),
    "actuators": ["a", "b"],
    "units": "mm",
}

# ---- open ------------------------------------------------------------------------------------------------------------


def test_open_creates_a_journal_and_later_resumes_it(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    uninterrupted = Controller(POL(1e-2), [1.0, 2.0], **SETTINGS)
    for t in range(6):
        with Controller.open(path, POL(1e-2), [1.0, 2.0], durability="process", **SETTINGS) as controller:
            assert controller.open_rounds == uninterrupted.open_rounds
            for each in (controller, uninterrupted):
                each.act([float(t), 3.0])
                if t % 2:
                    each.observe(0.5 * t, round=t)
            assert controller.state == uninterrupted.state
    assert Controller.resume(path).state == uninterrupted.state


DIFFERENT: dict[str, Any] = {
    "policy": (
        POL(2e-2),
        r"policy must be as in the journal .*POL\(learning_rate=0.01\), got POL\(learning_rate=0.02\)",
    ),
    "horizon": (51, "horizon must be as in the journal .* 50, got 51"),
    "seed": (4, "seed must be as in the journal .* 3, got 4"),
    "low": (0.0, "low must be as in the journal"),
    "high": (None, "high must be as in the journal .* got None"),
    "rate": (2.5, "rate must be as in the journal"),
    "period": (180.0, "period must be as in the journal"),
    "switching_weight": ([1.0, 5.0], "switching_weight must be as in the journal"),
    "max_delay": (0, "max_delay must be as in the journal .* 2, got 0"),
    "v_limits": ((-50.0, 50.0), "v_limits must be as in the journal"),
    "actuators": (["a", "c"], "actuators must be as in the journal"),
    "units": (None, "units must be as in the journal .* 'mm', got None"),
    "x0": ([1.0], "x0 must have the 2 actuators of the journal .* got 1"),
}


@pytest.mark.parametrize(("name", "value", "message"), [(k, *pair) for k, pair in DIFFERENT.items()], ids=DIFFERENT)
@pytest.mark.parametrize("cleanly", [True, False], ids=["closed", "crashed"])
def test_open_refuses_other_settings_and_leaves_the_journal(
    name: str, value: Any, message: str, cleanly: bool, tmp_path: Path
) -> None:
    path = tmp_path / "journal"
    controller = Controller.open(path, POL(1e-2), [1.0, 2.0], **SETTINGS)
    controller.act([1.0, 2.0])
    if cleanly:
        controller.close()
    written = path.read_bytes()
    given: dict[str, Any] = {"policy": POL(1e-2), "x0": [1.0, 2.0], **SETTINGS, name: value}
    if name == "x0":
        given |= {"low": 0.0, "switching_weight": 1.0, "v_limits": (-50.0, 50.0), "actuators": ["a"]}
    with pytest.raises(ArgumentError, match=message):
        Controller.open(path, **given)
    assert path.read_bytes() == written
    # Where a new journal would start does not matter.
    Controller.open(path, POL(1e-2), [5.0, 5.0], **SETTINGS).observe(1.0)


def test_open_of_another_file_or_a_journal_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("v,x,y")
    with pytest.raises(FileFormatError, match="is not a journal"):
        Controller.open(tmp_path / "file", FTM(), [0.0])
    path = tmp_path / "journal"
    code = "import sys, soqo; c = soqo.Controller.open(sys.argv[1], soqo.FTM(), [0.0]); print('ready'); input()"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(BusyError, match="in use by another process"):
        Controller.open(path, FTM(), [0.0])
    process.communicate("\n", timeout=60)
    assert Controller.open(path, FTM(), [0.0]).round == 0


# ---- the coordinates of a known A ------------------------------------------------------------------------------------

A = np.array([[3.0, 1.0], [1.0, 2.0]])
WEIGHT = [1.0, 25.0]


@pytest.mark.parametrize("wrap", [lambda p: p, lambda p: Guarded(p, ratio=2.0)], ids=["bare", "guarded"])
@pytest.mark.parametrize("kind", [LAI, ROBD])
def test_a_known_A_in_other_coordinates_than_the_plant_is_refused(kind: Any, wrap: Any) -> None:
    right = wrap(kind.for_problem(Problem(A, switching_weight=WEIGHT)))
    advice = rf"use {kind.__name__}.for_problem\(Problem\(A, switching_weight\)\) with A in the units of the plant"
    for policy, weight in (
        (wrap(kind(A)), WEIGHT),
        (right, None),
        (right, [1.0, 24.0]),
        (right, 25.0),
    ):
        with pytest.raises(ArgumentError, match=f"policy must be a {kind.__name__} whose A .*{advice}"):
            Controller(policy, [0.0, 0.0], switching_weight=weight)
    Controller(right, [0.0, 0.0], switching_weight=np.diag(WEIGHT))  # the same weight, as a matrix
    Controller(wrap(kind(A)), [0.0, 0.0])
    Controller(wrap(kind(A)), [0.0, 0.0], switching_weight=1.0)  # plain coordinates
    log = Log(np.ones((3, 2)), np.zeros((3, 2)), np.ones(3), x0=np.zeros(2), switching_weight=WEIGHT)
    with pytest.raises(ArgumentError, match=advice):
        replay(wrap(kind(A)), log)


def test_for_problem_takes_the_estimate_of_a_controller() -> None:
    """With the estimate of one controller, another one plays as the player who was told the true A."""
    problem = Problem(A, switching_weight=WEIGHT)
    learner = Controller(GLIDE(), [0.0, 0.0], switching_weight=WEIGHT)
    rng = np.random.default_rng(0)
    for v in np.cumsum(rng.standard_normal((200, 2)), axis=0):
        learner.observe(float(problem.hitting_cost(learner.act(v), v)))
    learned = Problem(learner.diagnostics()["estimate"], switching_weight=WEIGHT)
    one, other = (Controller(LAI.for_problem(each), [0.0, 0.0], switching_weight=WEIGHT) for each in (problem, learned))
    for v in rng.standard_normal((20, 2)):
        np.testing.assert_allclose(one.act(v), other.act(v), atol=1e-4)


# ---- classes that do not travel --------------------------------------------------------------------------------------

SCRIPT = """
import sys, warnings
from dataclasses import dataclass
import soqo
from soqo.policies import register

@dataclass(frozen=True)
class Mine(soqo.FTM):
    pass

@register("mine.Tagged")
@dataclass(frozen=True)
class Tagged(soqo.FTM):
    pass

folder = sys.argv[1]
for policy in (Mine(), Tagged(), soqo.Guarded(Mine()), soqo.GLIDE()):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = f"{folder}/{type(policy).__name__}"
        soqo.Controller(policy, [0.0], journal=path)
        soqo.Controller(policy, [0.0])
    for one in caught:
        print(one.category.__name__, one.filename == __file__, one.message)
    soqo.Controller.resume(path)
print("resumed here")
"""


def test_a_policy_of_the_script_that_is_run_is_reported_at_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    *lines, last = done.stdout.splitlines()
    assert last == "resumed here"
    expected = "PortabilityWarning True another program could not resume the journal: {} is defined in the script that"
    for line, name in zip(lines, ("Mine", "Tagged", "Mine"), strict=True):
        assert line.startswith(expected.format(name))


def test_a_local_class_is_reported(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Local(Policy[None]):
        def decide(self, state: Any, v: Any) -> Any:
            return v, None

    with pytest.warns(PortabilityWarning, match="Local cannot be found in its module .*: define it at the top level"):
        Controller(Local(), [0.0], journal=tmp_path / "journal")
    saved = Controller(Local(), [0.0]).save(tmp_path / "saved")
    assert saved.is_file()


@dataclass(frozen=True)
class LaterNotData(Policy[Any]):
    """A policy whose memory can be in a file only before the first round."""

    def begin(self, x0: Any, horizon: Any, rng: Any) -> Any:
        return 0

    def decide(self, state: Any, v: Any) -> Any:
        return v, object()


def test_a_memory_that_cannot_be_in_a_file_costs_no_call(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "journal"
    with Controller(LaterNotData(), [0.0], journal=path, snapshot_every=1) as controller:
        for t in range(3):
            np.testing.assert_array_equal(controller.act([float(t)]), [t])
            controller.observe(0.5)
    assert "no snapshot could be written: value.batches[0].state.memory must be" in caplog.text
    assert Controller.resume(path).round == 3
