"""Simulations against a plain loop; their seeds, and the two forms of regret."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soqo import (
    FTM,
    LAI,
    OAL,
    POL,
    ROBD,
    Environment,
    Limited,
    Problem,
    RandomProblem,
    Result,
    Weighted,
    play,
    random_curvature,
    simulate,
)
from soqo.errors import ArgumentError
from soqo.noise import Adversarial, Uniform
from soqo.processes import Correlated, Gaussian, StudentT

A = random_curvature(3, 2, min_eigenvalue=0.2, max_eigenvalue=3.0, rng=np.random.default_rng(0))
W = np.array([[3.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 2.0]])


def environment(**changes: Any) -> Environment:
    settings: dict[str, Any] = {
        "problem": RandomProblem(3, 2, min_eigenvalue=0.2, max_eigenvalue=3.0),
        "process": Gaussian(2.0),
        "noise": Uniform(1.0),
        **changes,
    }
    return Environment(**settings)


POLICIES: dict[str, Any] = {
    "FTM": FTM(),
    "POL": POL(1e-3),
    "OAL": OAL(1e-3),
    "LAI": LAI.for_problem,
    "ROBD": ROBD.for_problem,
}


def scalar_loop(world: Environment, make: Any, horizon: int, run: int, seed: int) -> Any:
    """Return hitting and switching costs of one run of one policy, computed round by round from their definition."""
    paths = world.draw(horizon, 1, seed=seed, first_run=run)
    A, v = paths.problem.A.reshape(3, 3), paths.v[0]
    weight = paths.problem.switching_weight
    full = np.eye(3) if weight is None else weight
    policy = make if not callable(make) else make(Problem(A, weight))
    policy = policy if weight is None else Weighted(policy, weight)
    x_prev = paths.x0[0]
    state = policy.start(x_prev, horizon, paths.policy_generators()[0])
    costs = []
    for t in range(horizon):
        x, state = policy.act(state, v[t])
        u, move = x - v[t], x - x_prev
        f = 0.5 * u @ A @ u
        noise = world.noise.perturb(paths.variates[0, t], u, Problem(A, weight))
        state = policy.observe(state, f + (noise if not policy.exact_feedback else 0.0))
        costs.append((f, 0.5 * move @ full @ move))
        x_prev = x
    return np.array(costs).T


@pytest.mark.parametrize("noise", [Uniform(1.0), Adversarial(1.0)], ids=repr)
@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
def test_a_batch_equals_the_scalar_loop_of_every_run(weight: Any, noise: Any) -> None:
    world = environment(
        problem=RandomProblem(3, 2, min_eigenvalue=0.2, max_eigenvalue=3.0, switching_weight=weight),
        noise=noise,
        x0=[1.0, 2.0, 3.0],
    )
    result = simulate(world, POLICIES, horizon=40, runs=4, seed=3)
    for name, make in POLICIES.items():
        for run in range(4):
            hitting, switching = scalar_loop(world, make, 40, run, seed=3)
            np.testing.assert_allclose(result[name].hitting[run], hitting, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(result[name].switching[run], switching, rtol=1e-9, atol=1e-9)


def test_the_same_seed_gives_the_same_numbers() -> None:
    one, other = (simulate(environment(), POLICIES, horizon=30, runs=5, seed=1) for _ in range(2))
    for name in POLICIES:
        np.testing.assert_array_equal(one.regret(name), other.regret(name))
    different = simulate(environment(), POLICIES, horizon=30, runs=5, seed=2)
    assert not np.array_equal(one.regret("FTM"), different.regret("FTM"))


def test_a_run_depends_neither_on_the_number_of_runs_nor_on_pieces() -> None:
    few = simulate(environment(), POLICIES, horizon=30, runs=3, seed=1)
    many = simulate(environment(), POLICIES, horizon=30, runs=7, seed=1)
    piece = simulate(environment(), POLICIES, horizon=30, runs=2, seed=1, first_run=5)
    for name in POLICIES:
        np.testing.assert_array_equal(few.cost(name), many.cost(name)[:3])
        np.testing.assert_array_equal(piece.cost(name), many.cost(name)[5:])


def test_a_policy_does_not_depend_on_the_other_policies() -> None:
    alone = simulate(environment(), {"POL": POL(1e-3)}, horizon=30, runs=5, seed=1)
    together = simulate(environment(), POLICIES, horizon=30, runs=5, seed=1)
    np.testing.assert_array_equal(alone.cost("POL"), together.cost("POL"))


def test_lai_has_no_regret_against_itself() -> None:
    result = simulate(environment(), POLICIES, horizon=100, runs=5)
    scale = np.abs(result.cost("FTM")).sum()
    assert np.abs(result.regret("LAI")).max() < 1e-12 * scale
    assert np.abs(result.regret("LAI", form="low_variance")).max() < 1e-12 * scale


@pytest.mark.parametrize(("process", "weight"), [(Gaussian(2.0), W), (StudentT(2.0, df=5.0), None)])
def test_both_forms_of_regret_have_the_same_mean_on_a_martingale(process: Any, weight: Any) -> None:
    world = environment(problem=Problem(A, weight), process=process, x0=[3.0, 0.0, -2.0])
    near = LAI(0.9 * Problem(A, weight).plain.A)
    result = simulate(world, {**POLICIES, "near LAI": near}, horizon=60, runs=4000, seed=5)
    for name in ("FTM", "POL", "ROBD", "near LAI"):
        difference_form = result.regret(name)[:, -1]
        low_variance = result.regret(name, form="low_variance")[:, -1]
        difference = difference_form - low_variance
        error = difference.std() / np.sqrt(difference.size)
        assert abs(difference.mean()) < 4 * error, name
        assert (result.regret(name, form="low_variance", per_round=True) >= 0.0).all()
        if name == "near LAI":  # where the noise of the difference exceeds the regret
            assert low_variance.var() < 0.05 * difference_form.var()


def test_lai_is_not_optimal_if_steps_are_correlated() -> None:
    # The process is not a martingale: a policy that moves further towards v has a lower cost than the benchmark.
    world = environment(problem=Problem(np.eye(3)), process=Correlated(5.0, alpha=0.7))
    regret = simulate(world, {"1.5": LAI(1.5 * np.eye(3))}, horizon=200, runs=200).regret("1.5")[:, -1]
    assert regret.mean() < -4 * regret.std() / np.sqrt(regret.size)


def test_a_simulation_wraps_policies_in_weighted_unless_they_already_are() -> None:
    problem = Problem(A, W)
    world = environment(problem=problem)
    entries = {
        "by the simulator": POL(1e-3),
        "by hand": Weighted(POL(1e-3), W),
        "with limits": Limited(Weighted(POL(1e-3), W)),
    }
    result = simulate(world, entries, horizon=30, runs=4)
    for name in ("by hand", "with limits"):
        np.testing.assert_array_equal(result.cost(name), result.cost("by the simulator"))


def test_recorded_paths_give_the_costs() -> None:
    result = simulate(environment(problem=Problem(A)), POLICIES, horizon=20, runs=3, record=True)
    assert result.v is not None
    assert result.actions is not None
    assert set(result.actions) == {*POLICIES, Result.BENCHMARK}
    hitting, switching = Problem(A).path_costs(result.actions["POL"], result.v, x0=np.zeros((3, 3)))
    np.testing.assert_allclose(hitting, result["POL"].hitting)
    np.testing.assert_allclose(switching, result["POL"].switching)
    unrecorded = simulate(environment(), POLICIES, horizon=20, runs=3)
    assert unrecorded.v is None
    assert unrecorded.actions is None


def test_progress_increases_to_the_total() -> None:
    seen: list[tuple[int, int, str]] = []
    simulate(
        environment(),
        {"FTM": FTM(), "POL": POL(1e-3)},
        horizon=250,
        runs=2,
        progress=lambda *call: seen.append(call),
    )
    done = [call[0] for call in seen]
    assert done == sorted(done)
    assert seen[-1] == (500, 500, "POL")
    assert seen[0][2] == "FTM"
    assert 100 <= len(seen) <= 300


def test_costs_that_overflow_are_reported_without_a_warning() -> None:
    world = environment(problem=Problem(A), process=Gaussian(1e160))
    result = simulate(world, {"POL": POL(1e-6), "FTM": FTM()}, horizon=10, runs=2, record=True)
    assert result.actions is not None
    assert np.isfinite(result.actions["POL"]).all()
    assert result["POL"].diverged.all()
    assert result["FTM"].diverged.all()


class ModifiesArguments(FTM):
    """A policy that writes into its arguments."""

    def decide(self, state: Any, v: Any) -> Any:
        x = v.copy()
        v += 1e6
        return x, None

    def learn(self, state: Any, y: Any) -> Any:
        y += 1e6


class Shifted(FTM):
    """A policy that overrides an unchecked method."""

    def act_unchecked(self, state: Any, v: Any, forecast: Any = None, **known: Any) -> Any:
        x, state = super().act_unchecked(state, v, forecast, **known)
        return x + 1.0, replace(state, x=x + 1.0)


def test_a_policy_that_modifies_its_arguments_does_not_affect_the_simulation() -> None:
    policies = {"FTM": FTM(), "ModifiesArguments": ModifiesArguments()}
    result = simulate(environment(), policies, horizon=6, runs=2, record=True)
    np.testing.assert_array_equal(result.regret("ModifiesArguments"), result.regret("FTM"))


def test_a_policy_may_override_the_unchecked_methods() -> None:
    policies = {"FTM": FTM(), "Shifted": Shifted()}
    result = simulate(environment(), policies, horizon=6, runs=2, record=True)
    assert result.actions is not None
    np.testing.assert_array_equal(result.actions["Shifted"], result.actions["FTM"] + 1.0)


class Misshapen(Uniform):
    """A noise of the wrong shape, one row per run."""

    def perturb(self, variate: Any, u: Any, problem: Any) -> Any:
        return super().perturb(variate, u, problem)[:, None]


def test_paths_and_noise_of_the_wrong_shape_are_refused() -> None:
    paths = environment().draw(6, 2, seed=0)
    with_nan = paths.v.copy()
    with_nan[1, 3, 0] = np.nan
    with pytest.raises(ArgumentError, match="v must be finite, got nan"):
        play(FTM(), replace(paths, v=with_nan))
    with pytest.raises(ArgumentError, match="v must have shape"):
        play(FTM(), replace(paths, x0=paths.x0[:1]))
    with pytest.raises(ArgumentError, match="noise must return one number per run"):
        play(FTM(), replace(paths, noise=Misshapen(1.0)))


class RaisesKeyError(FTM):
    """A policy with a bug."""

    def decide(self, state: Any, v: Any) -> tuple[Any, None]:
        raise KeyError("lost")


def test_an_exception_of_a_policy_is_raised_with_its_name() -> None:
    with pytest.raises(KeyError, match="lost") as caught:
        simulate(environment(), {"FTM": FTM(), "mine": RaisesKeyError()}, horizon=5, runs=2)
    assert caught.value.__notes__ == ["in policies['mine']"]


def test_limits_are_in_the_units_of_the_plant() -> None:
    world = environment(problem=Problem(np.eye(3), [1.0, 25.0, 4.0]), process=Gaussian(50.0))
    result = simulate(world, {"L": Limited(FTM(), low=-5.0, high=5.0)}, horizon=20, runs=2, record=True)
    assert result.actions is not None
    np.testing.assert_allclose(np.abs(result.actions["L"]).max(axis=(0, 1)), 5.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"environment": 3}, "environment must be an Environment, got int"),
        ({"policies": {}}, "policies must map names to policies, got {}"),
        ({"policies": [FTM()]}, "policies must map names to policies"),
        ({"policies": {"X": 3}}, r"policies\['X'\]: it must be a Policy or a function .* got int"),
        ({"policies": {"X": lambda _: 3}}, r"policies\['X'\]: it must be a Policy or a function"),
        ({"policies": {"X": FTM}}, r"policies\['X'\]: .* got the class FTM: use FTM\(...\)$"),
        ({"policies": {"X": LAI}}, r"got the class LAI: use LAI\(...\) or LAI.for_problem"),
        ({"policies": {"X": LAI(np.eye(2))}}, r"policies\['X'\]: A must be one matrix \(3, 3\)"),
        ({"policies": {" ,": FTM()}}, "policies must have names that are not blank"),
        ({"policies": {1: FTM()}}, "policies must have names that are not blank"),
        ({"policies": {"LAI (benchmark)": FTM()}}, "policies must have names that are not blank"),
        ({"horizon": 0}, "horizon must be a positive integer, got 0"),
        ({"runs": 2.5}, "runs must be a positive integer, got 2.5"),
        ({"seed": "x"}, "seed must be an integer of at least 0, got 'x'"),
        ({"first_run": -1}, "first_run must be an integer of at least 0, got -1"),
        (
            {"horizon": 10**12},
            "runs and horizon must fit into a memory of .* 2 runs of 10{12} rounds",
        ),
    ],
)
def test_invalid_settings_are_refused(change: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {
        "environment": environment(),
        "policies": POLICIES,
        "horizon": 5,
        "runs": 2,
        "seed": 0,
        **change,
    }
    with pytest.raises(ArgumentError, match=message):
        simulate(**settings)
