"""Shadow mode in simulations, where the true saving is known."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import (
    FTM,
    GLIDE,
    LAI,
    OAL,
    Controller,
    Information,
    Limited,
    Log,
    Policy,
    Problem,
    State,
    random_curvature,
    replay,
)
from soqo.errors import ArgumentError
from soqo.typing import Array


@dataclass(frozen=True)
class Halfway(Policy[None]):
    """A policy that moves half of the way to v each round."""

    def decide(self, state: State[None], v: Array) -> tuple[Array, None]:
        return (state.x + v) / 2, None


def walk(seed: int, rounds: int, step: float, d: int = 3) -> tuple[Array, Array]:
    """Return minimizers, and noise of up to one."""
    rng = np.random.default_rng(seed)
    return np.cumsum(step * rng.standard_normal((rounds, d)), axis=0), rng.uniform(-1, 1, rounds)


def steer(policy: Policy[Any], problem: Problem, v: Array, noise: Array, **plant: Any) -> tuple[float, Log]:
    """Return the true cost of a policy, and its log."""
    x0 = np.zeros(problem.dim)
    controller = Controller(policy, x0, switching_weight=problem.switching_weight, **plant)
    x, y, total, before = np.empty_like(v), np.empty(len(v)), 0.0, x0
    for t in range(len(v)):
        x[t] = controller.act(v[t])
        hitting = float(problem.hitting_cost(x[t], v[t]))
        total += hitting + float(problem.switching_cost(x[t], before))
        before, y[t] = x[t], hitting + noise[t]
        controller.observe(y[t])
    return total, Log(v, x, y, x0=x0, switching_weight=problem.switching_weight, **plant)


def test_the_interval_covers_the_true_saving_of_glide() -> None:
    # At a coverage of 95 %, fewer than 12 of 14 occur with a probability of 3 %.
    covered = 0
    for seed in range(14):
        rank = 3 if seed % 2 else 1
        problem = Problem(
            random_curvature(3, rank, min_eigenvalue=0.3, max_eigenvalue=3.0, rng=np.random.default_rng(seed))
        )
        v, noise = walk(seed, 250, 5.0)
        cost, log = steer(Halfway(), problem, v, noise)
        found = replay(GLIDE(), log, draws=20)
        assert found.information is Information.FULL
        low, high = found.interval
        covered += low <= cost - steer(GLIDE(), problem, v, noise)[0] <= high
        assert low < found.saving < high
        assert low > 0.0, "the saving is significantly positive here"
    assert covered >= 12


@pytest.mark.parametrize("load", ["walk", "daily"])
def test_the_interval_covers_the_true_saving_with_a_drifting_base_load(load: str) -> None:
    # At a coverage of 95 %, fewer than 8 of 10 occur with a probability of 1 %.
    covered = 0
    for seed in range(10):
        problem = Problem(
            random_curvature(3, 3, min_eigenvalue=0.3, max_eigenvalue=3.0, rng=np.random.default_rng(seed))
        )
        v, noise = walk(seed, 400, 1.0)
        steps = np.random.default_rng([seed, 1]).standard_normal(400)
        base = np.cumsum(steps) if load == "walk" else 30.0 + 10.0 * np.sin(np.arange(400) / 30.0)
        cost, log = steer(Halfway(), problem, v, noise + base)
        policy = LAI(problem.plain.A)
        found = replay(policy, log, draws=20)
        low, high = found.interval
        covered += low <= cost - steer(policy, problem, v, noise + base)[0] <= high
        assert high - low < 0.5 * cost
        np.testing.assert_array_equal(found.offset, np.zeros(3))
    assert covered >= 8


def test_minimizers_that_are_off_by_a_constant_are_corrected() -> None:
    problem = Problem(
        random_curvature(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(11)),
        switching_weight=[1.0, 4.0, 0.25],
    )
    v, noise = walk(11, 400, 3.0)
    b = np.array([2.0, -1.0, 1.0])
    _, shifted = steer(Halfway(), problem, v + b, 0.1 * noise)
    y = problem.hitting_cost(shifted.x, v) + 0.1 * noise  # the log has v + b
    log = Log(v + b, shifted.x, y, x0=shifted.x0, switching_weight=problem.switching_weight)
    found = replay(Halfway(), log, draws=8)
    np.testing.assert_allclose(found.offset, b, atol=0.05)
    before = np.vstack([log.x0, log.x[:-1]])
    cost = problem.hitting_cost(log.x, v).sum() + problem.switching_cost(log.x, before).sum()
    assert found.cost.mean() == pytest.approx(cost, rel=0.02)


def test_what_plants_tell_is_used_and_a_log_without_noise_gives_the_exact_saving() -> None:
    """With factors, units, outages, a lag and angles; the policy is simulated on the same plant."""
    T, weight, keep, period = 80, [1.0, 4.0], np.exp(-1.0 / 2.0), np.array([30.0, np.inf])
    problem = Problem([[2.0, 0.5], [0.5, 1.0]], weight)
    rng = np.random.default_rng(2)
    v = np.cumsum(3.0 * rng.standard_normal((T, 2)), axis=0)
    factor, unit, active = rng.uniform(0.0, 2.0, T), rng.uniform(0.5, 2.0, T), rng.random((T, 2)) > 0.2
    turned = np.stack([np.mod(v[:, 0], 30.0), v[:, 1]], axis=1)

    def drive(policy: Policy[Any], base: float) -> tuple[float, Log]:
        controller = Controller(policy, np.zeros(2), switching_weight=weight, period=period)
        x, at, y = np.empty((T, 2)), np.empty((T, 2)), np.empty(T)
        total, before, felt = 0.0, np.zeros(2), np.zeros(2)
        for t in range(T):
            x[t] = controller.act(turned[t], factor=factor[t], active=active[t])
            felt = x[t] + keep * (felt - x[t])
            u = np.where(active[t], felt - v[t], 0.0)
            u[0] = (u[0] + 15.0) % 30.0 - 15.0
            hitting = factor[t] * 0.5 * u @ problem.A @ u
            total += float(hitting + problem.switching_cost(x[t], before))
            before, at[t], y[t] = x[t], felt, hitting + base * unit[t]
            controller.observe(y[t], at=np.where(active[t], felt, x[t]), unit=unit[t])
        told: dict[str, Any] = {"factor": factor, "unit": unit, "active": active, "at": at, "period": period}
        return total, Log(turned, x, y, x0=np.zeros(2), switching_weight=weight, **told)

    for base in (0.0, 20.0):
        cost, log = drive(Halfway(), base)
        policy = LAI.for_problem(problem)
        found = replay(policy, log, draws=4)
        expected = drive(policy, base)[0]
        np.testing.assert_allclose(found.estimate, problem.A, atol=1e-4)
        assert found.cost.mean() == pytest.approx(expected, rel=1e-4)
        assert found.recorded.mean() == pytest.approx(cost, rel=1e-4)
        assert found.saving == pytest.approx(cost - expected, rel=1e-3)


def test_a_log_without_noise_gives_the_exact_saving() -> None:
    problem = Problem(random_curvature(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(1)))
    v, noise = walk(1, 80, 5.0)
    cost, log = steer(Halfway(), problem, v, 0.0 * noise)
    found = replay(GLIDE(), log, draws=4)
    truth = cost - steer(GLIDE(), problem, v, 0.0 * noise)[0]
    assert found.saving == pytest.approx(truth, rel=1e-4)
    assert found.interval[1] - found.interval[0] < 1e-3 * truth
    np.testing.assert_allclose(found.estimate, problem.A, atol=1e-4)


def test_weights_limits_and_missing_readings_are_those_of_the_plant() -> None:
    A = random_curvature(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(2))
    problem = Problem(A, switching_weight=[1.0, 4.0, 0.25])
    v, noise = walk(2, 120, 3.0)
    plant: dict[str, Any] = {"low": -8.0, "high": [8.0, 6.0, 9.0]}
    cost, log = steer(Halfway(), problem, v, 0.0 * noise, **plant)
    glide, expected = steer(GLIDE(), problem, v, 0.0 * noise, **plant)
    found = replay(GLIDE(), log, draws=4)
    assert found.saving == pytest.approx(cost - glide, rel=1e-3)
    assert found.actions.max() <= 9.0
    np.testing.assert_allclose(found.actions, expected.x, atol=0.05)
    np.testing.assert_allclose(found.estimate, A, atol=1e-3)
    gaps = log.y.copy()
    gaps[40:] = np.nan
    # After the last reading, neither the estimate from the log nor the policy changes.
    blind = replay(GLIDE(), Log(v, log.x, gaps, x0=log.x0, switching_weight=log.switching_weight, **plant), draws=4)
    assert blind.information is Information.FULL
    assert not np.array_equal(blind.actions[41:], found.actions[41:])
    np.testing.assert_allclose(blind.actions[:40], found.actions[:40], atol=0.05)


def test_the_recorded_policy_saves_nothing() -> None:
    problem = Problem(random_curvature(3, 2, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(3)))
    _, log = steer(Halfway(), problem, *walk(3, 60, 5.0))
    found = replay(Halfway(), log, draws=6)
    np.testing.assert_array_equal(found.actions, log.x)
    np.testing.assert_allclose(found.cost, found.recorded, rtol=1e-12)


def test_a_log_that_is_always_at_v_holds_no_information() -> None:
    problem = Problem(random_curvature(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(4)))
    _, log = steer(FTM(), problem, *walk(4, 300, 5.0))
    found = replay(GLIDE(), log, draws=4)
    assert found.information is Information.NONE
    assert (found.learned, found.unknowns) == (0, 6)
    assert np.isnan(found.saving)
    assert found.interval == (-np.inf, np.inf)
    assert "holds no information about A" in str(found)


def test_a_log_without_readings_holds_no_information() -> None:
    _, log = steer(Halfway(), Problem(np.eye(3)), *walk(10, 20, 5.0))
    without_readings = Log(log.v, log.x, np.full(20, np.nan), x0=log.x0)
    assert replay(GLIDE(), without_readings, draws=4).information is Information.NONE


def test_a_log_that_moves_in_one_direction_holds_partial_information() -> None:
    problem = Problem(random_curvature(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(5)))
    v, noise = walk(5, 200, 5.0)
    v[:, 1:] = 0.0
    _, log = steer(Halfway(), problem, v, noise)
    found = replay(GLIDE(), log, draws=8)
    assert found.information is Information.PARTIAL
    assert found.learned == 1
    assert "about 1 of 6 directions" in str(found)


def test_an_oracle_observes_no_noise() -> None:
    problem = Problem(random_curvature(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(6)))
    v, noise = walk(6, 100, 3.0)
    exact = steer(Halfway(), problem, v, 0.0 * noise)[1]
    noisy = Log(v, exact.x, exact.y + 1e-6 * noise, x0=exact.x0)
    one, other = (replay(OAL(1e-4), log, draws=4).actions for log in (exact, noisy))
    np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_journal_can_be_replayed_and_the_result_is_repeatable(tmp_path: Path) -> None:
    problem = Problem(random_curvature(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(7)))
    v, noise = walk(7, 60, 5.0)
    with Controller(Halfway(), np.zeros(3), journal=tmp_path / "log", durability="process") as plant:
        for t in range(60):
            x = plant.act(v[t])
            plant.observe(float(problem.hitting_cost(x, v[t])) + noise[t])
    log = steer(Halfway(), problem, v, noise)[1]
    one, other = (replay(GLIDE(), source, draws=5, seed=3) for source in (tmp_path / "log", log))
    np.testing.assert_array_equal(one.cost, other.cost)
    assert "Over 60 rounds GLIDE would have cost" in str(one)
    assert replay(GLIDE(), log, draws=5, seed=4).saving != one.saving


def test_the_best_fixed_share_is_that_of_a_search_on_the_true_plant() -> None:
    problem = Problem([[2.0, 0.5], [0.5, 1.0]], switching_weight=[1.0, 6.0])
    rng = np.random.default_rng(12)
    v = np.cumsum(rng.standard_normal((300, 2)), axis=0)
    plant: dict[str, Any] = {"low": -15.0, "rate": 1.5}
    _, log = steer(Halfway(), problem, v, np.zeros(300), **plant)
    found = replay(FTM(), log, draws=4)

    def cost(share: float) -> float:
        x, total = np.zeros(2), 0.0
        for target in v:
            step = np.clip(x + share * (target - x), np.maximum(-15.0, x - 1.5), x + 1.5)
            total += float(problem.hitting_cost(step, target) + problem.switching_cost(step, x))
            x = step
        return total

    costs = {share: cost(share) for share in np.linspace(0.05, 1.0, 96)}
    assert found.share_cost.mean() == pytest.approx(min(costs.values()), rel=0.01)
    assert cost(found.share) == pytest.approx(found.share_cost.mean(), rel=1e-4)
    assert found.following_cost.mean() == pytest.approx(costs[1.0], rel=1e-4)
    assert found.saving_over_share == pytest.approx(min(costs.values()) - costs[1.0], rel=0.02)
    low, high = found.interval_over_share
    assert low <= found.saving_over_share <= high
    assert f"The best fixed share, x += {found.share:.2f} (v - x), would have cost" in str(found)


def test_a_base_load_that_moves_with_v_fakes_no_saving() -> None:
    # A plant of no curvature to speak of: the power moves with v, and nothing is lost by being away from it.
    problem = Problem(0.02 * np.eye(2))
    v, noise = walk(13, 400, 1.0, d=2)
    cost, log = steer(Halfway(), problem, v, noise + v @ [8.0, -3.0])
    found = replay(FTM(), log, draws=8)
    assert found.confounded
    assert found.load_of_v == pytest.approx((v @ [8.0, -3.0]).std(), rel=0.02)
    assert found.recorded.mean() == pytest.approx(cost, rel=0.1)
    assert found.hitting < 0.1
    assert "The base load moves with v" in str(found)
    assert replay(FTM(), steer(Halfway(), problem, v, noise)[1], draws=4).load_of_v == 0.0


def test_an_interval_with_zero_says_what_to_do() -> None:
    problem = Problem(random_curvature(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(14)))
    v, noise = walk(14, 60, 0.7)
    _, log = steer(Halfway(), problem, v, noise)
    found = replay(LAI(problem.A), log, draws=20)
    assert found.interval[0] < 0.0 < found.interval[1]
    assert re.search("rounds like these, and repeat|rounds like these would decide|costs no more", str(found))
    v[:, 2] = 0.0
    still = replay(LAI(problem.A), steer(Halfway(), problem, v, noise)[1], draws=4)
    assert "actuator 3" in still.uninformed
    assert np.isinf(still.rounds_to_learn)
    named = Log(log.v, log.v, log.y, x0=log.x0, actuators=["a", "b", "c"])
    assert "Move a and b and c only half of the way to v for at least" in str(replay(FTM(), named, draws=4))


def test_a_diverged_policy_is_reported() -> None:
    @dataclass(frozen=True)
    class Diverging(Policy[None]):
        def decide(self, state: State[None], v: Array) -> tuple[Array, None]:
            return v * np.inf, None

    problem = Problem(np.eye(3))
    _, log = steer(Halfway(), problem, *walk(8, 60, 5.0))
    found = replay(Diverging(), log, draws=4)
    assert found.diverged.all()
    assert "diverged in 4 of 4" in str(found)


def test_invalid_input_is_named() -> None:
    _, log = steer(Halfway(), Problem(np.eye(3)), *walk(9, 20, 5.0))
    bad: Any = 3
    with pytest.raises(ArgumentError, match="policy must be a Policy, got int"):
        replay(bad, log)
    with pytest.raises(ArgumentError, match="draws must be an integer of at least 4, got 1"):
        replay(GLIDE(), log, draws=1)
    limited = Log(log.v, log.x, log.y, x0=log.x0, low=-1.0)
    with pytest.raises(ArgumentError, match="policy must be for an unweighted switching cost"):
        replay(Limited(LAI(np.eye(3)), low=-1.0, high=1.0), limited)


def test_spikes_are_left_out() -> None:
    v, noise = walk(5, 300, 10.0)
    problem = Problem(random_curvature(3, 3, min_eigenvalue=0.2, max_eigenvalue=2.0, rng=5))
    _, log = steer(Halfway(), problem, v, noise)
    spikes = np.zeros(300)
    spikes[np.random.default_rng(5).choice(300, 4, replace=False)] = 40.0 * log.y.std()
    clean, spiked = (replay(GLIDE(), one, draws=8) for one in (log, replace(log, y=log.y + spikes)))
    assert (clean.spikes, spiked.spikes) == (0, 4)
    assert "Readings left out as spikes: 4." in str(spiked)
    assert spiked.interval[0] < clean.saving < spiked.interval[1]
    assert np.diff(spiked.interval) < 1.5 * np.diff(clean.interval)
