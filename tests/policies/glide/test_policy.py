"""GLIDE: its estimate, its regret, its options and its state."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pytest

from soqo import (
    FTM,
    GLIDE,
    LAI,
    POL,
    Context,
    Controller,
    Environment,
    Limited,
    Offset,
    Problem,
    RandomProblem,
    SCaLE,
    simulate,
)
from soqo.errors import ArgumentError
from soqo.noise import Adversarial, Noise, Uniform
from soqo.processes import Cauchy, Correlated, Gaussian, Laplace
from soqo.typing import Array

FULL = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Gaussian(50.0), Uniform(10.0))
RANK_ONE = Environment(RandomProblem(4, 1, min_eigenvalue=1.0), Gaussian(50.0), Uniform(10.0))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("noise_cap", -1.0),
        ("offset", 1),
        ("offset", None),
        ("switching_included", "yes"),
        ("trusted_distance", 0.0),
        ("y_max", math.nan),
    ],
)
def test_an_invalid_option_is_named_in_the_error(option: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=option):
        GLIDE(**{option: value})


# ---- estimate ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", [FULL, RANK_ONE], ids=["full rank", "rank 1"])
@pytest.mark.parametrize("cap", [None, 10.0])
def test_the_error_of_the_estimate_agrees_with_the_uncertainty(environment: Environment, cap: float | None) -> None:
    policy = GLIDE(noise_cap=cap)
    A = environment.draw(200, 40, seed=3).problem.A
    found = simulate(environment, {"G": policy}, horizon=200, runs=40, seed=3)["G"].diagnostics
    Q = np.linalg.eigh(found["estimate"])[1]
    error = np.einsum("nik,nij,njk->nk", Q, found["estimate"] - A, Q)
    scores = np.abs(error / found["uncertainty"])
    # Half of the scores of normal variables are below 0.67, and nine of ten below 1.64; at the boundary of the cone
    # errors are smaller.
    assert 0.1 < np.median(scores) < 0.9
    assert 0.8 < np.quantile(scores, 0.9) < 2.1
    np.testing.assert_allclose(np.median(found["noise"]), 10.0 / np.sqrt(3.0), rtol=0.1)


def actions(policy: GLIDE, v: Any, readings: Any) -> Any:
    """Return the actions on a path, with the reading at u in round t from a function."""
    state = policy.start(np.zeros(v.shape[1]), horizon=len(v))
    played: list[Any] = []
    for target in v:
        x, state = policy.act(state, target)
        state = policy.observe(state, readings(x - target, len(played)))
        played.append(x)
    return np.array(played)


@pytest.mark.parametrize("policy", [GLIDE(), GLIDE(offset=False)], ids=str)
def test_actions_are_equivariant_under_changes_of_units_and_rotations(policy: GLIDE) -> None:
    rng = np.random.default_rng(5)
    A, noise = np.diag([3.0, 1.0, 0.0]), rng.uniform(-1.0, 1.0, 60)
    v = np.cumsum(5.0 * rng.standard_normal((60, 3)), axis=0)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    plain = actions(policy, v, lambda u, t: 0.5 * u @ A @ u + noise[t])
    # Lengths times 8 are costs times 64.
    scaled = actions(policy, 8.0 * v, lambda u, t: 0.5 * u @ A @ u + 64.0 * noise[t])
    np.testing.assert_allclose(scaled, 8.0 * plain, rtol=1e-6, atol=1e-4)
    rotated = actions(policy, v @ Q.T, lambda u, t: 0.5 * u @ Q @ A @ Q.T @ u + noise[t])
    np.testing.assert_allclose(rotated, plain @ Q.T, rtol=1e-4, atol=1e-2)


# ---- regret --------------------------------------------------------------------------------------------------------


def final(environment: Environment, policies: dict[str, Any], horizon: int, runs: int = 12) -> dict[str, float]:
    """Return the median expected regret by policy: the sum of the excess costs over LAI's actions."""
    result = simulate(environment, policies, horizon=horizon, runs=runs, seed=0)
    return {name: float(np.median(result[name].low_variance_regret.sum(axis=1))) for name in policies}


@pytest.mark.parametrize("rank", [4, 1])
@pytest.mark.parametrize("process", [Gaussian(50.0), Cauchy(1.0)], ids=["Gaussian", "Cauchy"])
def test_regret_is_a_few_percent_of_that_of_scale(process: Any, rank: int) -> None:
    problem = RandomProblem(4, rank, min_eigenvalue=1.0, max_eigenvalue=10.0 if rank > 1 else None)
    environment = Environment(problem, process, Uniform(1.0))
    scale = SCaLE(1.0, rank, min_eigenvalue=1.0, c1=5.0 if rank > 1 else 10.0)
    regret = final(environment, {"SCaLE": scale, "GLIDE": GLIDE()}, 300)
    assert 0.0 < regret["GLIDE"] < 0.1 * regret["SCaLE"]


def test_regret_hardly_grows_with_the_horizon() -> None:
    short, long = (final(RANK_ONE, {"G": GLIDE()}, horizon)["G"] for horizon in (100, 800))
    assert long < 1.35 * short  # 8^0.15


def test_an_infinite_horizon_costs_hardly_more_than_a_known_one() -> None:
    paths = FULL.draw(150, 8, seed=0)
    ends = []
    for horizon in (150, None):
        policy = GLIDE()
        state, cost = policy.start(paths.x0, horizon), np.zeros(8)
        for t in range(150):
            before = state.x
            x, state = policy.act(state, paths.v[:, t])
            hitting = paths.problem.hitting_cost(x, paths.v[:, t])
            cost += hitting + 0.5 * np.square(x - before).sum(axis=1)
            state = policy.observe(state, hitting + 10.0 * paths.variates[:, t])
        ends.append(cost)
    np.testing.assert_allclose(ends[1], ends[0], rtol=0.01)


@pytest.mark.parametrize("aim", ["overstate", "understate", "flatten"])
def test_with_adversarial_noise_regret_is_at_most_a_few_times_that_of_playing_without_learning(
    aim: Literal["overstate", "understate", "flatten"],
) -> None:
    """The noise is ten times as large as the signal and biased; POL with this rate does not learn."""
    problem = RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0)
    environment = Environment(problem, Gaussian(1.0), Adversarial(10.0, aim))
    regret = final(environment, {"FTM": FTM(), "I": POL(1e-12), "GLIDE": GLIDE()}, 300)
    assert regret["GLIDE"] < 4.0 * min(regret["FTM"], regret["I"])


def test_a_first_guess_of_the_wrong_scale_is_corrected() -> None:
    problem = RandomProblem(4, 4, min_eigenvalue=10.0, max_eigenvalue=100.0)
    environment = Environment(problem, Gaussian(1.0), Uniform(10.0))
    regret = final(environment, {"FTM": FTM(), "I": LAI(np.eye(4)), "GLIDE": GLIDE()}, 600, runs=10)
    assert regret["GLIDE"] < 2.0 * regret["FTM"] < 0.1 * regret["I"]


@pytest.mark.parametrize("cap", [None, 10.0])
def test_regret_with_many_unknowns_and_low_rank_is_far_below_that_of_probes(cap: float | None) -> None:
    problem = RandomProblem(8, 2, min_eigenvalue=1.0, max_eigenvalue=4.0)
    environment = Environment(problem, Gaussian(50.0), Uniform(10.0))
    regret = final(environment, {"GLIDE": GLIDE(noise_cap=cap), "POL": POL(1e-8)}, 80, runs=6)
    assert regret["GLIDE"] < 0.5 * regret["POL"]


def test_correlated_steps_are_used() -> None:
    problem = RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0)
    correlated = Environment(problem, Correlated(50.0, 0.7), Uniform(10.0))
    paid = simulate(correlated, {"GLIDE": GLIDE()}, horizon=300, runs=10, seed=0)
    assert np.median(paid.regret("GLIDE")[:, -1]) < 0.0  # below LAI, which assumes a martingale
    plain = simulate(FULL, {"GLIDE": GLIDE()}, horizon=200, runs=40, seed=0)
    assert np.mean(plain["GLIDE"].diagnostics["drift"] == 0.0) > 0.85


# ---- offsets and contexts ------------------------------------------------------------------------------------------

PLANT = Environment(RandomProblem(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0), Gaussian(1.0), Uniform(0.1))
B, MOVES = np.array([1.0, -0.5, 2.0]), np.array([[1.0, 0.0], [0.5, -1.0], [0.0, 2.0]])


@pytest.mark.parametrize("parts", [{"offset": Offset(B)}, {"context": Context(MOVES)}], ids=["offset", "context"])
def test_glide_learns_where_the_minimizer_is(parts: dict[str, Any]) -> None:
    def late(policy: GLIDE, environment: Environment) -> Any:
        result = simulate(environment, {"G": policy}, horizon=300, runs=8, seed=0)["G"]
        return np.median(result.low_variance_regret[:, -100:].sum(axis=1)), result.diagnostics["offset"]

    disturbed = replace(PLANT, **parts)
    regret, offset = late(GLIDE(), disturbed)
    undisturbed, none = late(GLIDE(), PLANT)
    ignorant, ignored = late(GLIDE(offset=False), disturbed)
    assert regret < 4.0 * undisturbed
    assert regret < 0.01 * ignorant
    np.testing.assert_allclose(offset, np.tile(B if "offset" in parts else 0.0 * B, (8, 1)), atol=0.05)
    np.testing.assert_allclose(none, 0.0, atol=0.02)
    np.testing.assert_array_equal(ignored, 0.0)


def test_the_target_moves_with_the_context() -> None:
    rng = np.random.default_rng(0)
    A, v, policy = np.diag([2.0, 1.0, 0.5]), np.zeros(3), GLIDE()
    state = policy.start(v)
    for _ in range(150):
        v, w = v + rng.standard_normal(3), rng.standard_normal(2)
        x, state = policy.act(state, v, context=w)
        z = x - v + B + MOVES @ w
        state = policy.observe(state, 0.5 * z @ A @ z + rng.uniform(-0.1, 0.1))
    # A plant at the minimizer stays there, whatever the context.
    for w in (np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, -2.0])):
        at_rest = replace(state, x=v - B - MOVES @ w)
        np.testing.assert_allclose(policy.act(at_rest, v, context=w)[0], v - B - MOVES @ w, atol=0.05)


def test_a_context_must_keep_its_number_of_entries() -> None:
    policy = GLIDE()
    _, state = policy.act(policy.start(np.zeros(2)), np.ones(2), context=np.ones(2))
    state = policy.observe(state, 1.0)
    with pytest.raises(ArgumentError, match="context"):
        policy.act(state, np.ones(2), context=np.ones(3))


# ---- options -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RelativeError(Noise):
    """Errors of a plant whose hitting cost is not quite quadratic: they grow with |u|^2."""

    share: float

    @property
    def is_martingale(self) -> bool:
        """True: the noise is independent of the past and has mean zero."""
        return True

    @property
    def variance(self) -> None:
        """None: it depends on u."""
        return None

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Draw standard normal numbers."""
        return rng.standard_normal(horizon)

    def perturb(self, variate: Array, u: Array, problem: Problem) -> Array:
        """Scale the variate."""
        return np.asarray(variate * np.hypot(0.1, self.share * np.vecdot(u, u)))


def test_errors_that_grow_with_the_distance_cost_less_and_cause_no_alarms_if_they_are_told() -> None:
    problem = RandomProblem(3, 3, min_eigenvalue=0.5, max_eigenvalue=4.0)
    environment = Environment(problem, Laplace(5.0), RelativeError(0.2))
    policies = {"untold": GLIDE(), "told": GLIDE(trusted_distance=math.sqrt(0.5))}
    result = simulate(environment, policies, horizon=200, runs=16, seed=0)
    untold, told = (np.median(result[name].low_variance_regret.sum(axis=1)) for name in policies)
    assert told < 0.75 * untold
    alarms = {name: result[name].diagnostics["alarms"].mean() for name in policies}
    assert alarms["told"] < 0.5
    assert alarms["told"] <= alarms["untold"]


def test_limits_hold_and_the_applied_action_is_learned_from() -> None:
    policy: Any = Limited(GLIDE(), low=-2.0, high=2.0)
    rng = np.random.default_rng(0)
    A = np.diag([1.0, 3.0])
    state = policy.start(np.zeros(2))
    for _ in range(60):
        v = 4.0 * rng.standard_normal(2)
        x, state = policy.act(state, v)
        assert (np.abs(x) <= 2.0).all()
        state = policy.observe(state, 0.5 * (x - v) @ A @ (x - v))
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], A, atol=1e-3)


def test_a_reading_at_the_limit_of_the_meter_says_that_the_cost_is_at_least_that() -> None:
    # Only small costs can be read, and few of them: what is at the limit shows that A is large, not that it is small.
    A, rng = np.diag([30.0, 8.0]), np.random.default_rng(0)
    u = rng.standard_normal((40, 2))
    found = []
    for policy in (GLIDE(y_max=2.0), GLIDE(y_max=1e9)):
        state = policy.start(np.zeros(2))
        for z in u:
            _, state = policy.act(state, np.zeros(2))
            state = policy.observe(state, min(0.5 * z @ A @ z + 0.1 * rng.standard_normal(), 2.0), applied=z)
        found.append(policy.diagnostics(state)["estimate"])
    told, untold = (np.abs(estimate - A).max() for estimate in found)
    assert told < 5.0 < untold


@pytest.mark.parametrize("unit", [2.0**-10, 2.0**10])
def test_readings_at_the_limit_of_the_meter_mean_the_same_in_all_units(unit: float) -> None:
    A = np.diag([2.0, 0.5])
    played = []
    for scale in (1.0, unit):
        policy, rng, v = GLIDE(y_max=8.0 * scale**2), np.random.default_rng(0), np.zeros(2)
        state = policy.start(np.zeros(2))
        for _ in range(200):
            v = v + 2.0 * scale * rng.standard_normal(2)
            x, state = policy.act(state, v)
            cost = 0.5 * (x - v) @ A @ (x - v) + 0.2 * scale**2 * rng.standard_normal()
            state = policy.observe(state, np.minimum(cost, 8.0 * scale**2))
        played.append((x / scale, policy.diagnostics(state)["outliers"], policy.diagnostics(state)["alarms"]))
    np.testing.assert_allclose(played[1][0], played[0][0], rtol=1e-5)
    assert played[0][1] == played[1][1] == 0.0  # a reading at the limit fits what exceeds it
    assert played[0][2] == played[1][2] == 0.0


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_constant_minimizer_is_reached_without_numerical_errors(noise: float) -> None:
    """x - v shrinks until its square underflows."""
    policy, rng = GLIDE(), np.random.default_rng(0)
    state = policy.start(np.ones(2))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        for _ in range(600):
            x, state = policy.act(state, np.zeros(2))
            state = policy.observe(state, 0.5 * x @ x + noise * rng.uniform(-1.0, 1.0))
    assert np.abs(x).max() < 1e-12
    assert np.isfinite(policy.diagnostics(state)["estimate"]).all()


# ---- reports and states --------------------------------------------------------------------------------------------


def test_diagnostics_have_the_batch_shape() -> None:
    policy = GLIDE()
    found = policy.diagnostics(policy.start(np.zeros((2, 3, 4))))
    assert found["estimate"].shape == (2, 3, 4, 4)
    assert found["uncertainty"].shape == found["offset"].shape == (2, 3, 4)
    assert found["hypotheses"].shape[:2] == (2, 3)
    numbers = ("noise", "base_load", "alarms", "last_alarm", "outliers", "drift", "stuck", "saturated", "beliefs")
    assert all(found[name].shape == (2, 3) for name in (*numbers, "weight"))


@pytest.mark.parametrize("batch", [(), (2, 3)], ids=str)
def test_uncertainty_of_eigenvectors_is_the_uncertainty_and_grows_with_the_square_of_the_length(batch: Any) -> None:
    policy, rng = GLIDE(), np.random.default_rng(0)
    v = 5.0 * rng.standard_normal((*batch, 2))
    x, state = policy.act(policy.start(np.zeros((*batch, 2))), v)
    state = policy.observe(state, np.square(x - v).sum(axis=-1))
    found = policy.diagnostics(state)
    vectors = np.linalg.eigh(found["estimate"])[1].mT
    np.testing.assert_allclose(policy.uncertainty_of(state, vectors), found["uncertainty"], rtol=1e-6)
    tripled = policy.uncertainty_of(state, 3.0 * vectors[..., :1, :])
    np.testing.assert_allclose(tripled, 9.0 * found["uncertainty"][..., :1], rtol=1e-6)


def test_explain_says_when_the_share_of_a_step_is_known() -> None:
    rng, A, v = np.random.default_rng(0), np.diag([2.0, 0.5]), np.zeros(2)
    controller, said = Controller(GLIDE(), x0=v), []
    for _ in range(60):
        said.append(controller.explain())
        v = v + 3.0 * rng.standard_normal(2)
        u = controller.act(v) - v
        controller.observe(float(0.5 * u @ A @ u + rng.uniform(-0.1, 0.1)))
    confident = ["confident" in text for text in said]
    assert not confident[0]
    assert "learning" in said[1]
    assert all(confident[20:])
