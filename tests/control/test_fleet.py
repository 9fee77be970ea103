"""A fleet: each plant acts as a controller would, in any order of calls; plants come and go; nothing is lost."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, POL, RLS, Controller, Fleet, Guarded, HySCaLE, Policy, SCaLE
from soqo.errors import ArgumentError, FileFormatError, ProtocolError, UnknownNameError
from soqo.policies import wrap_for_plant

DIM = 3
A = np.array([[1.5, 0.4, 0.1], [0.4, 0.8, 0.0], [0.1, 0.0, 0.3]])
WEIGHTS = [1.0, 4.0, 0.25]


def minimizer(plant: int, t: int) -> Any:
    """The minimizer of a plant in its round t."""
    return 3.0 * np.random.default_rng([plant, t]).standard_normal(DIM)


def reading(plant: int, t: int, x: Any) -> float:
    """The reading of a plant in its round t; every seventh is missing, and one is an outlier."""
    if t % 7 == 5:
        return np.nan
    u = x - minimizer(plant, t)
    noise = np.random.default_rng([plant, t, 1]).uniform(-0.2, 0.2)
    return float(0.5 * (1.0 + plant) * u @ A @ u + noise + 50.0 * (t == 12))


def assert_same(policy: Policy[Any], actual: Any, expected: Any) -> None:
    """Assert equality to the bit; for GLIDE up to the round-off of BLAS, which depends on where a matrix is stored."""
    if "GLIDE" in repr(policy):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_array_equal(actual, expected)


class Twin:
    """A fleet and one controller per plant, which get the same calls."""

    def __init__(self, policy: Policy[Any], plants: int, **options: Any) -> None:
        journal = {name: options.pop(name) for name in ("journal", "durability") if name in options}
        self.policy, self.options, self.begun, self.calls = policy, options, 0, 0
        self.tells = options.pop("tells", False)
        self.limits: dict[Any, dict[str, Any]] = {}
        self.fleet = Fleet(policy, np.zeros((plants, DIM)), **options, **journal)
        self.controllers: dict[Any, Controller] = {}
        self.plants: dict[Any, int] = {}
        for name in self.fleet.names:
            self._begin(name, np.zeros(DIM))

    def _begin(self, name: Any, x0: Any) -> None:
        options = {**self.options, "seed": self.options.get("seed", 0) + self.begun}
        own = {key: value for key, value in options.items() if key in ("low", "high", "rate") and np.ndim(value) == 2}
        if own and name not in self.limits:
            self.limits[name] = {key: value[self.begun] for key, value in own.items()}
        options |= self.limits.get(name, {})
        self.controllers[name] = Controller(self.policy, x0, **options)
        self.plants[name] = self.begun
        self.begun += 1

    def join(self, x0: Any) -> None:
        limits: dict[str, Any] = {}
        if any(np.ndim(value) == 2 for value in self.options.values()):
            limits = {"low": x0 - 1.0, "high": x0 + np.array([1.0, 2.0, np.inf]), "rate": np.full(x0.shape, 0.5)}
        for row, (name, position) in enumerate(zip(self.fleet.join(x0, **limits), x0, strict=True)):
            self.limits |= {name: {key: value[row] for key, value in limits.items()}} if limits else {}
            self._begin(name, np.asarray(position))

    def restart(self, name: Any, x0: Any = None) -> None:
        position = self.controllers[name].x if x0 is None else x0
        if x0 is not None and name in self.limits:
            x0 = position = np.clip(x0, self.limits[name]["low"], self.limits[name]["high"])
        self.fleet.restart(name, x0)
        self._begin(name, position)

    def leave(self, name: Any) -> None:
        self.fleet.leave(name)
        del self.controllers[name]

    def act(self, names: list[Any]) -> None:
        clocks = {name: self.controllers[name].state.round for name in names}
        v = np.array([minimizer(self.plants[name], clocks[name]) for name in names])
        self.calls += 1
        rng, told = np.random.default_rng(self.calls), dict[str, Any]()
        if self.tells and self.calls % 3:
            told = {"factor": rng.uniform(0.0, 2.0, len(names)), "active": rng.random((len(names), DIM)) < 0.8}
        x = self.fleet.act(v, names, **told)
        for row, name in enumerate(names):
            own = {key: value[row] for key, value in told.items()}
            assert_same(self.policy, x[row], self.controllers[name].act(v[row], **own))

    def observe(self, names: list[Any], *, applied: bool = False) -> None:
        moved = np.full((len(names), DIM), np.nan)
        y = np.empty(len(names))
        self.calls += 1
        told = dict[str, Any]()
        if self.tells and self.calls % 3:
            rng = np.random.default_rng(self.calls)
            felt = rng.standard_normal((len(names), DIM))
            felt[::2] = np.nan  # at the position
            told = {"unit": rng.uniform(0.5, 2.0, len(names)), "at": felt}
            told |= {"covariates": rng.standard_normal((len(names), 2))} if self.calls % 2 else {}
        for row, name in enumerate(names):
            controller = self.controllers[name]
            t = controller.state.round - 1
            x = controller.x
            if applied and row % 2:
                moved[row] = x = x + 0.25
            y[row] = reading(self.plants[name], t, x)
            own = {key: value[row] for key, value in told.items() if not np.isnan(value[row]).any()}
            controller.observe(y[row], moved[row] if applied and row % 2 else None, **own)
        self.fleet.observe(y, names, moved if applied else None, **told)

    def check(self) -> None:
        names = self.fleet.names
        assert names == tuple(self.controllers)
        expected = [controller.diagnostics() for controller in self.controllers.values()]
        found = self.fleet.diagnostics()
        assert_same(self.policy, self.fleet.x, [c.x for c in self.controllers.values()])
        np.testing.assert_array_equal(self.fleet.round, [c.round for c in self.controllers.values()])
        assert self.fleet.pending == tuple(n for n, c in self.controllers.items() if c.pending is not None)
        for row, (name, controller) in enumerate(self.controllers.items()):
            assert self.fleet.explain(name) == controller.explain()
            single = self.fleet.diagnostics(name)
            assert found.keys() == expected[row].keys() == single.keys()
            for key, value in flat(expected[row]).items():
                if isinstance(value, str):
                    assert flat(found)[key][row] == flat(single)[key] == value
                    continue
                assert_same(self.policy, flat(found)[key][row], value)
                assert_same(self.policy, flat(single)[key], value)


def flat(found: dict[str, Any]) -> dict[str, Any]:
    """The diagnostics with those of the health beside the others."""
    rest = {key: value for key, value in found.items() if key != "health"}
    return {**rest, **{f"health of {key}": value for key, value in found.get("health", {}).items()}}


def random_calls(twin: Twin, calls: int, seed: int) -> None:
    """Make random calls for random plants, in random order."""
    rng = np.random.default_rng(seed)
    for _ in range(calls):
        names = list(twin.controllers)
        some = [names[k] for k in rng.permutation(len(names)) if rng.random() < 0.6]
        horizon = twin.options.get("horizon")
        waiting = [name for name in some if twin.controllers[name].pending is not None]
        kind = rng.choice(
            ["act", "observe", "applied", "join", "leave", "restart"], p=[0.45, 0.35, 0.1, 0.04, 0.02, 0.04]
        )
        if kind == "act":
            some = [n for n in some if horizon is None or twin.controllers[n].state.round < horizon]
            if some:
                twin.act(some)
        elif kind in ("observe", "applied") and waiting:
            twin.observe(waiting, applied=kind == "applied")
        elif kind == "join" and len(names) < 8:
            twin.join(rng.standard_normal((2, DIM)))
        elif kind == "leave" and len(names) > 3:
            twin.leave(names[0])
        elif kind == "restart" and some:
            twin.restart(some[0], None if rng.random() < 0.5 else rng.standard_normal(DIM))


CASES: dict[str, tuple[Policy[Any], dict[str, Any]]] = {
    "FTM": (FTM(), {}),
    "RLS": (RLS(), {}),
    "POL with a horizon": (POL(0.01), {"horizon": 25}),
    "GLIDE": (GLIDE(), {}),
    "GLIDE with a horizon": (GLIDE(), {"horizon": 30}),
    "GLIDE, guarded, weighted, limited": (
        Guarded(GLIDE(), ratio=1.1),
        {"low": -4.0, "high": [4.0, 5.0, np.inf], "switching_weight": WEIGHTS},
    ),
    "RLS, rate and angles": (RLS(), {"rate": [1.0, 2.0, np.inf], "period": [3.0, np.inf, 5.0], "tells": True}),
    "RLS, limits of each": (
        RLS(),
        {
            "low": np.array([[-1.0, -2.0, -3.0], [-np.inf, -1.0, -1.0], [-1.0, -1.0, -1.0], [0.0, 0.0, 0.0]]),
            "high": np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0], [np.inf, 4.0, 4.0], [5.0, 0.5, 0.5]]),
            "rate": np.array([[9.0, 9.0, 9.0], [0.5, 0.5, 0.5], [1.0, np.inf, 1.0], [2.0, 2.0, 2.0]]),
            "switching_weight": WEIGHTS,
            "tells": True,
        },
    ),
    "GLIDE, told everything": (GLIDE(), {"tells": True, "low": -4.0}),
    "SCaLE, which draws": (SCaLE(0.2, 1, min_eigenvalue=0.3, c1=2.0), {"horizon": 40, "seed": 3}),
    "HySCaLE, without a horizon": (HySCaLE(0.2, 1, min_eigenvalue=0.3, c1=1.5, gamma2=2.0), {"seed": 1}),
}


@pytest.mark.parametrize("name", CASES)
def test_every_plant_acts_as_a_controller_would(name: str) -> None:
    policy, options = CASES[name]
    twin = Twin(policy, 4, **options)
    random_calls(twin, 90 if "GLIDE" in name else 150, seed=5)
    twin.check()


def test_a_weight_matrix_changes_the_last_digits_only() -> None:
    # One product for all plants adds in another order than a product for each.
    W = np.eye(DIM) + 0.3
    fleet = Fleet(GLIDE(), np.zeros((4, DIM)), switching_weight=W)
    controllers = [Controller(GLIDE(), np.zeros(DIM), switching_weight=W) for _ in range(4)]
    for t in range(40):
        v = np.array([minimizer(plant, t) for plant in range(4)])
        x = fleet.act(v)
        np.testing.assert_allclose(x, [c.act(v[k]) for k, c in enumerate(controllers)], rtol=1e-9, atol=1e-9)
        y = [reading(plant, t, x[plant]) for plant in range(4)]
        fleet.observe(y)
        for plant, controller in enumerate(controllers):
            controller.observe(y[plant])


# ---- a call ----------------------------------------------------------------------------------------------------------


def test_a_single_name_needs_no_axis_of_plants() -> None:
    fleet = Fleet(FTM(), np.zeros((2, 2)), names=["a", "b"])
    x = fleet.act([1.0, 2.0], "b")
    np.testing.assert_array_equal(x, [1.0, 2.0])
    x += 1.0
    np.testing.assert_array_equal(fleet.x, [[0.0, 0.0], [1.0, 2.0]])
    fleet.observe(0.5, "b", applied=[3.0, 4.0])
    np.testing.assert_array_equal(fleet.x[1], [3.0, 4.0])
    assert fleet.diagnostics("b") == {"round": 1, "missed": 0, "diverged": False}
    assert len(fleet) == 2
    assert "a" in fleet
    assert 0 not in fleet
    assert list(fleet) == ["a", "b"]


def test_a_call_for_no_plant_does_nothing() -> None:
    fleet = Fleet(FTM(), np.zeros((0, 2)))
    assert fleet.act(np.zeros((0, 2))).shape == (0, 2)
    fleet.observe(np.zeros(0))
    assert fleet.round.shape == (0,)
    assert fleet.x.shape == (0, 2)
    assert fleet.join(np.zeros((2, 2))) == (0, 1)
    np.testing.assert_array_equal(fleet.act([[1.0, 1.0]], [1]), [[1.0, 1.0]])
    assert fleet.pending == (1,)


def test_contexts_forecasts_and_factors_reach_the_policy_of_their_plant() -> None:
    policy, rng = GLIDE(), np.random.default_rng(0)
    fleet, states = Fleet(policy, np.zeros((3, 2))), [policy.start(np.zeros(2)) for _ in range(3)]
    for t in range(25):
        some = [k for k in range(3) if (t + k) % 3]
        v, w, F = rng.standard_normal((2, 2)), rng.standard_normal((2, 1)), rng.standard_normal((2, 3, 2))
        s, y = rng.uniform(0.5, 2.0, 2), rng.uniform(0.0, 1.0, 2)
        x = fleet.act(v, some, forecast=F, context=w, factor=s)
        for row, plant in enumerate(some):
            expected, after = policy.act(states[plant], v[row], forecast=F[row], context=w[row], factor=s[row])
            assert_same(policy, x[row], expected)
            states[plant] = policy.observe(after, y[row])
        fleet.observe(y, some)


def test_late_readings_belong_to_rounds_of_their_own_plant() -> None:
    policy = wrap_for_plant(Guarded(GLIDE(), ratio=1.1), switching_weight=WEIGHTS, low=None, high=None)
    inner = Guarded(GLIDE(), ratio=1.1)
    fleet = Fleet(inner, np.zeros((3, DIM)), switching_weight=WEIGHTS, max_delay=2)
    states = [policy.start(np.zeros(DIM), max_delay=2) for _ in range(3)]
    rng = np.random.default_rng(1)
    played: list[list[Any]] = [[], [], []]
    missed = [0, 0, 0]
    for _ in range(60):
        some = [k for k in range(3) if rng.random() < 0.7]
        if not some:
            continue
        v = np.array([minimizer(k, len(played[k])) for k in some])
        for row, plant in enumerate(some):
            state = states[plant]
            missed[plant] += sum(one.round <= state.round - 2 for one in state.open_rounds)
            expected, states[plant] = policy.act(state, v[row])
            played[plant].append(expected)
        assert_same(policy, fleet.act(v, some), [played[plant][-1] for plant in some])
        for delay in rng.permutation(3):
            arrived = [
                k
                for k in rng.permutation(3).tolist()
                if (rng.random() < 0.5 and any(one.round == len(played[k]) - delay for one in states[k].open_rounds))
                or (delay == 0 and states[k].pending and rng.random() < 0.3)
            ]
            rounds = [len(played[k]) - delay for k in arrived]
            y = [reading(k, t - 1, played[k][t - 1]) for k, t in zip(arrived, rounds, strict=True)]
            fleet.observe(np.array(y), arrived, round=np.array(rounds, dtype=int))
            for plant, number, value in zip(arrived, rounds, y, strict=True):
                states[plant] = policy.observe(states[plant], value, round=number)
    found = fleet.diagnostics()
    np.testing.assert_array_equal(found["missed"], missed)
    assert sum(missed) > 3
    for plant, state in enumerate(states):
        assert fleet.explain(plant).endswith(policy.explain(state) + f" {missed[plant]} readings were missed so far.")
        assert_same(policy, found["estimate"][plant], policy.diagnostics(state)["estimate"])


def test_a_guarded_plant_at_its_limit_without_a_reading_does_not_affect_the_others() -> None:
    # The guard learns where a clipped plant is only with the reading or with the next action.
    inner = Guarded(RLS())
    limits: dict[str, Any] = {"low": -1.5, "high": 1.5, "switching_weight": WEIGHTS}
    policy = wrap_for_plant(inner, **limits)
    fleet = Fleet(inner, np.zeros((2, DIM)), max_delay=2, **limits)
    states = [policy.start(np.zeros(DIM), max_delay=2) for _ in range(2)]
    rng = np.random.default_rng(2)
    for _ in range(80):
        v = 2.0 * rng.standard_normal((2, DIM))
        x = fleet.act(v)
        for plant in range(2):
            expected, states[plant] = policy.act(states[plant], v[plant])
            assert_same(policy, x[plant], expected)
        for plant in range(2):
            for one in states[plant].open_rounds:
                if rng.random() < 0.4:
                    y = float(0.5 * (one.x - one.v) @ np.diag([1.5, 0.8, 0.3]) @ (one.x - one.v))
                    fleet.observe(y, plant, round=one.round)
                    states[plant] = policy.observe(states[plant], y, round=one.round)
            if rng.random() < 0.5:
                u = x[plant] - v[plant]
                y = float(0.5 * u @ np.diag([1.5, 0.8, 0.3]) @ u)
                fleet.observe(y, plant)
                states[plant] = policy.observe(states[plant], y)


def test_a_late_reading_may_say_what_was_applied() -> None:
    fleet = Fleet(POL(0.1), np.zeros((2, 1)), max_delay=1)
    policy = POL(0.1)
    state = policy.start([0.0], max_delay=1)
    for v in (2.0, 3.0):
        fleet.act([[v], [v]])
        _, state = policy.act(state, [v])
    fleet.observe([0.7], [1], applied=[[1.25]], round=1)
    state = policy.observe(state, 0.7, applied=[1.25], round=1)
    assert_same(policy, fleet.diagnostics(1)["estimate"], policy.diagnostics(state)["estimate"])
    np.testing.assert_array_equal(fleet.diagnostics(0)["estimate"], [[1.0]])
    with pytest.raises(ProtocolError, match="round 1 of plant 1 is not open"):
        fleet.observe([0.7], [1], round=1)
    fleet.observe([0.1, 0.2])
    assert fleet.pending == ()


# ---- plants come and go ----------------------------------------------------------------------------------------------


def test_names_are_new_integers_unless_given() -> None:
    fleet = Fleet(FTM(), np.zeros((2, 1)), names=["a", 3])
    assert fleet.join([[1.0], [2.0]]) == (2, 4)
    assert fleet.join([5.0], "b") == ("b",)
    fleet.leave(["a", 2])
    assert fleet.names == (3, 4, "b")
    assert fleet.join([[0.0]], ["a"]) == ("a",)
    np.testing.assert_array_equal(fleet.x[:, 0], [0.0, 2.0, 5.0, 0.0])


def test_a_restart_keeps_the_place_and_forgets_the_rest() -> None:
    fleet = Fleet(POL(0.1), np.zeros((2, 1)))
    fleet.act([[2.0], [2.0]])
    fleet.observe([3.0, np.nan])
    assert fleet.diagnostics()["missed"].tolist() == [0, 1]
    x = fleet.x
    fleet.restart([1, 0], [[7.0], [8.0]])
    np.testing.assert_array_equal(fleet.x, [[8.0], [7.0]])
    assert fleet.names == (0, 1)
    assert fleet.round.tolist() == [0, 0]
    assert fleet.diagnostics()["missed"].tolist() == [0, 0]
    np.testing.assert_array_equal(fleet.diagnostics(0)["estimate"], [[1.0]])
    fleet.act([[2.0], [2.0]])
    y = fleet.x
    fleet.restart(1)
    np.testing.assert_array_equal(fleet.x, y)
    assert not np.array_equal(x, y)
    assert fleet.pending == (0,)


# ---- refusals --------------------------------------------------------------------------------------------------------


def refused_calls(fleet: Fleet) -> list[tuple[type[Exception], str, Any]]:
    """Wrong calls for a fleet of plants "a", "b" and "c", of which "a" and "b" wait for a reading."""
    nan = np.nan
    return [
        (
            UnknownNameError,
            r"plants must be in the fleet, got 'z'; it has 'a', 'b', 'c'",
            lambda: fleet.act([[0.0]], ["z"]),
        ),
        (ArgumentError, r"must be different, got 'a' twice", lambda: fleet.act([[0.0], [1.0]], ["a", "a"])),
        (ArgumentError, r"must be a string or an integer, got True", lambda: fleet.act([[0.0]], [True])),
        (ArgumentError, r"v must be finite, got nan for plant 'b'", lambda: fleet.act([[0.0], [nan]], ["a", "b"])),
        (ArgumentError, r"v must have shape \(3, 1\), got \(2, 1\)", lambda: fleet.act([[0.0], [1.0]])),
        (ArgumentError, r"v must have shape \(1,\), got \(1, 1\)", lambda: fleet.act([[0.0]], "a")),
        (ArgumentError, "factor must be at least 0", lambda: fleet.act([[0.0]], ["a"], factor=[-1.0])),
        (ArgumentError, "one row for each of 1 plants", lambda: fleet.act([[0.0]], ["a"], context=[[1.0], [2.0]])),
        (ProtocolError, "before act for plant 'c'", lambda: fleet.observe([1.0, 1.0, 1.0])),
        (
            ArgumentError,
            "y must be finite, or NaN for none, got inf for plant 'b'",
            lambda: fleet.observe([0.0, np.inf], ["a", "b"]),
        ),
        (ArgumentError, r"y must have shape \(2,\), got \(3,\)", lambda: fleet.observe([0.0, 1.0, 2.0], ["a", "b"])),
        (ArgumentError, "y must be an array of real numbers", lambda: fleet.observe("1 kW", "a")),
        (ArgumentError, "applied must have shape", lambda: fleet.observe([1.0], ["a"], applied=[1.0])),
        (
            ArgumentError,
            "round must have been played, got 2 for plant 'a'",
            lambda: fleet.observe([1.0], ["a"], round=2),
        ),
        (ArgumentError, "round must be a positive integer", lambda: fleet.observe([1.0], ["a"], round=0)),
        (ArgumentError, "round must be an integer or one for each", lambda: fleet.observe([1.0], ["a"], round=[1, 1])),
        (ArgumentError, "names must be new, got 'b'", lambda: fleet.join([[0.0]], ["b"])),
        (ArgumentError, "names must be one for each of the 2 rows", lambda: fleet.join([[0.0], [1.0]], ["d"])),
        (ArgumentError, r"x0 must have shape \(k, 1\)", lambda: fleet.join([[0.0, 1.0]])),
        (ArgumentError, r"x0 must be at most high, 9 for actuator 0, got 10 for plant 3", lambda: fleet.join([[10.0]])),
        (UnknownNameError, "got 'z'", lambda: fleet.leave(["a", "z"])),
        (ArgumentError, "x0 must be finite, got nan for plant 'a'", lambda: fleet.restart(["a"], [[nan]])),
        (ArgumentError, "at least low", lambda: fleet.restart("a", [-10.0])),
        (ArgumentError, "sequence of strings or integers, got float", lambda: fleet.leave(1.5)),  # type: ignore[arg-type]
        (ArgumentError, "plant must be the name of one plant", lambda: fleet.explain(["a"])),  # type: ignore[arg-type]
    ]


def test_a_refused_call_names_the_plant_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    fleet = Fleet(
        POL(0.1), np.zeros((3, 1)), names=["a", "b", "c"], low=-9.0, high=9.0, journal=path, durability="process"
    )
    fleet.act([[1.0], [2.0]], ["a", "b"])
    before, data = fleet.diagnostics(), path.read_bytes()
    for kind, message, call in refused_calls(fleet):
        with pytest.raises(kind, match=message):
            call()
        np.testing.assert_equal(fleet.diagnostics(), before)
        assert fleet.pending == ("a", "b")
    assert path.read_bytes() == data


def test_applied_must_be_given_in_whole_rows() -> None:
    fleet = Fleet(FTM(), np.zeros((1, 2)))
    fleet.act([[1.0, 2.0]])
    with pytest.raises(ArgumentError, match="applied must be finite or NaN in a whole row"):
        fleet.observe([0.5], applied=[[1.0, np.nan]])


@pytest.mark.parametrize(
    ("message", "options"),
    [
        (r"x0 must have shape \(n, d\)", {"x0": [1.0, 2.0]}),
        ("names must be one for each of the 2 rows", {"names": ["a"]}),
        ("must be different, got 'a' twice", {"names": ["a", "a"]}),
        ("horizon must be a positive integer", {"horizon": 0}),
        ("seed must be", {"seed": -1}),
        ("max_delay must be", {"max_delay": 1.5}),
        ("durability must be one of", {"durability": "none"}),
        ("low must not exceed high", {"low": 2.0, "high": 1.0}),
        ("x0 must be at least low, 1 for actuator 1, got 0 for plant 0", {"low": [0.0, 1.0]}),
        ("policy must be a Policy", {"policy": None}),
    ],
)
def test_a_wrong_option_is_refused(message: str, options: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"policy": FTM(), "x0": np.zeros((2, 2)), **options}
    with pytest.raises(ArgumentError, match=message):
        Fleet(arguments.pop("policy"), arguments.pop("x0"), **arguments)


def test_a_plant_at_its_horizon_stops_the_call_for_all() -> None:
    fleet = Fleet(FTM(), np.zeros((2, 1)), horizon=1)
    fleet.act([[1.0]], [0])
    with pytest.raises(ProtocolError, match="after the last round of plant 0, horizon = 1; no plant acted"):
        fleet.act([[1.0], [1.0]])
    assert fleet.round.tolist() == [0, 0]
    assert fleet.pending == (0,)
    fleet.act([[1.0]], [1])


# ---- journals --------------------------------------------------------------------------------------------------------


def diagnostics_of(fleet: Fleet) -> dict[str, Any]:
    return {**fleet.diagnostics(), "x": fleet.x, "names": fleet.names, "pending": fleet.pending}


@pytest.mark.parametrize(
    "name", ["POL with a horizon", "GLIDE", "SCaLE, which draws", "RLS, rate and angles", "RLS, limits of each"]
)
def test_a_journal_continues_every_plant_to_the_bit(name: str, tmp_path: Path) -> None:
    policy, options = CASES[name]
    path = tmp_path / "journal"
    twin = Twin(policy, 4, **options, journal=path, durability="process")
    for part in range(3):
        random_calls(twin, 25, seed=part)
        before = diagnostics_of(twin.fleet)
        if part == 1:
            twin.fleet.close()  # otherwise, the resumed fleet takes the journal over
        twin.fleet = Fleet.resume(path, durability="process")
        np.testing.assert_equal(diagnostics_of(twin.fleet), before)
    twin.check()


def test_the_file_beside_the_journal_is_only_a_shortcut(tmp_path: Path) -> None:
    path, shortcut = tmp_path / "journal", tmp_path / "journal.snapshot"
    twin = Twin(RLS(), 3, journal=path, durability="process")
    random_calls(twin, 30, seed=0)
    twin.fleet.close()
    old = shortcut.read_bytes()
    twin.fleet = Fleet.resume(path, durability="process")
    random_calls(twin, 30, seed=1)
    expected = diagnostics_of(twin.fleet)
    twin.fleet.close()
    new = shortcut.read_bytes()
    assert old != new
    damaged = bytearray(new)
    damaged[len(new) // 2] ^= 1
    other = Fleet(RLS(), np.zeros((2, DIM)), journal=tmp_path / "other", durability="process")
    other.act(np.ones((2, DIM)))
    other.close()
    for contents in (new, old, bytes(damaged), new[:100], b"", (tmp_path / "other.snapshot").read_bytes()):
        alone = tmp_path / "copy"
        shutil.copy(path, alone)
        (tmp_path / "copy.snapshot").write_bytes(contents)
        with Fleet.resume(alone) as fleet:
            np.testing.assert_equal(diagnostics_of(fleet), expected)
    (tmp_path / "copy.snapshot").unlink()
    with Fleet.resume(alone) as fleet:
        np.testing.assert_equal(diagnostics_of(fleet), expected)


def test_a_journal_that_is_cut_at_any_byte_loses_at_most_the_last_call(tmp_path: Path) -> None:
    path, cut = tmp_path / "journal", tmp_path / "cut"
    fleet = Fleet(POL(0.1), np.zeros((2, 1)), journal=path, durability="process")
    start = path.stat().st_size
    ends, states = [start], [diagnostics_of(fleet)]

    def note() -> None:
        ends.append(path.stat().st_size)
        states.append(diagnostics_of(fleet))

    calls: list[Any] = [
        lambda: fleet.act([[1.0], [2.0]]),
        lambda: fleet.observe([0.5], [1], applied=[[1.5]]),
        lambda: fleet.join([[3.0]], ["new"]),
        lambda: fleet.act([[1.0], [2.0]], ["new", 1]),
        lambda: fleet.restart(0, [4.0]),
        lambda: fleet.leave(1),
        lambda: fleet.observe(0.5, "new"),
    ]
    for call in calls:
        call()
        note()
    data = path.read_bytes()
    for size in range(start, len(data) + 1):
        cut.write_bytes(data[:size])
        last = max(k for k, end in enumerate(ends) if end <= size)
        with Fleet.resume(cut, durability="process") as resumed:
            np.testing.assert_equal(diagnostics_of(resumed), states[last])
        (tmp_path / "cut.snapshot").unlink(missing_ok=True)


def test_open_resumes_or_creates_and_refuses_other_settings(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    options: dict[str, Any] = {"high": 5.0, "durability": "process"}
    with Fleet.open(path, POL(0.1), np.zeros((2, 1)), names=["a", "b"], **options) as fleet:
        fleet.act([[9.0]], ["b"])
        fleet.join([[1.0]], ["c"])
    with Fleet.open(path, POL(0.1), np.zeros((2, 1)), names=["a", "b"], **options) as fleet:
        assert fleet.names == ("a", "b", "c")
        assert fleet.pending == ("b",)
    with pytest.raises(ArgumentError, match="policy must be as in the journal"):
        Fleet.open(path, POL(0.2), np.zeros((2, 1)), **options)
    with pytest.raises(ArgumentError, match=r"high must be as in the journal .*, got None: Fleet.resume"):
        Fleet.open(path, POL(0.1), np.zeros((2, 1)))
    with pytest.raises(ArgumentError, match="x0 must have the 1 actuators of the journal"):
        Fleet.open(path, POL(0.1), np.zeros((2, 3)), **options)
    with pytest.raises(ArgumentError, match=r"journal must be a new file, .* Fleet\.resume continues it"):
        Fleet(POL(0.1), np.zeros((2, 1)), journal=path)


def test_journals_of_controllers_and_fleets_are_told_apart(tmp_path: Path) -> None:
    with Controller(FTM(), [0.0], journal=tmp_path / "one"), Fleet(FTM(), [[0.0]], journal=tmp_path / "many"):
        pass
    with pytest.raises(FileFormatError, match="must hold the state of a fleet, got that of a controller"):
        Fleet.resume(tmp_path / "one")
    with pytest.raises(FileFormatError, match="must hold the state of a controller, got that of a fleet"):
        Controller.resume(tmp_path / "many")


def test_a_closed_journal_takes_no_calls_and_the_fleet_stays_as_it_was(tmp_path: Path) -> None:
    fleet = Fleet(FTM(), [[0.0]], journal=tmp_path / "journal")
    fleet.act([[1.0]])
    fleet.close()
    with pytest.raises(ProtocolError, match="is closed"):
        fleet.observe([1.0])
    assert fleet.pending == (0,)


def test_eight_threads_on_one_fleet_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    fleet = Fleet(POL(0.01), np.zeros((8, DIM)), journal=path, durability="process")
    actions: list[list[Any]] = [[] for _ in range(8)]

    def steer(plant: int) -> None:
        for t in range(100):
            x = fleet.act(minimizer(plant, t), plant)
            actions[plant].append(x)
            fleet.observe(reading(plant, t, x), plant)

    threads = [threading.Thread(target=steer, args=(plant,)) for plant in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = diagnostics_of(fleet)
    assert fleet.round.tolist() == [100] * 8
    with Fleet.resume(path, durability="process") as resumed:
        np.testing.assert_equal(diagnostics_of(resumed), expected)
    controller = Controller(POL(0.01), np.zeros(DIM))
    for t, x in enumerate(actions[3]):
        np.testing.assert_array_equal(controller.act(minimizer(3, t)), x)
        controller.observe(reading(3, t, x))


def test_a_fleet_shows_what_it_is(tmp_path: Path) -> None:
    with Fleet(FTM(), np.zeros((2, 3)), journal=tmp_path / "journal") as fleet:
        assert repr(fleet) == f"Fleet(FTM(), 2 plants of 3 actuators, journal={str(tmp_path / 'journal')!r})"
