"""Base loads that walk or move with v and covariates, offsets that walk, gaps, and a first reading at a limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from soqo import GLIDE, Policy, random_curvature
from soqo.typing import Array

SHARES = np.array([0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0])
"""The fixed shares of the way to v of the players that learn nothing."""


class Plants(NamedTuple):
    """Some plants with the minimizer v - b, and what their readings contain besides; shapes (rounds, plants, ...)."""

    A: Array
    v: Array
    b: Array
    load: Array
    noise: float

    def hitting(self, x: Array, t: int) -> Array:
        u = x - self.v[t] + self.b[t]
        return np.asarray(0.5 * np.vecdot(u, np.matvec(self.A, u)))


def draw(rounds: int, count: int, *, dim: int = 2, step: float = 3.0, noise: float = 0.1, seed: int = 0) -> Plants:
    """Return plants without base load and offset."""
    rng = np.random.default_rng(seed)
    A = np.stack([random_curvature(dim, dim, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=rng) for _ in range(count)])
    v = np.cumsum(step * rng.standard_normal((rounds, count, dim)), axis=0)
    return Plants(A, v, np.zeros((rounds, count, dim)), np.zeros((rounds, count)), noise)


class Played(NamedTuple):
    """The positions, the true costs of the rounds without the base load, the readings, and the last state."""

    x: Array
    cost: Array
    y: Array
    state: Any


def play(
    plants: Plants,
    policy: Policy[Any] | None = None,
    *,
    missing: range = range(0),
    told: Array | None = None,
    limit: float = np.inf,
    watch: Callable[[int, Any], None] | None = None,
) -> Played:
    """Let GLIDE play all plants at once; ``told`` has the covariates of the rounds, NaN where there are none."""
    player, noise, (rounds, count, dim) = policy or GLIDE(), np.random.default_rng(7), plants.v.shape
    state, x, cost, y = player.start(np.zeros((count, dim))), np.zeros(plants.v.shape), *np.zeros((2, rounds, count))
    for t in range(rounds):
        x[t], state = player.act(state, plants.v[t])
        hitting, step = plants.hitting(x[t], t), x[t] - (x[t - 1] if t else 0.0)
        cost[t] = hitting + 0.5 * np.vecdot(step, step)
        y[t] = np.minimum(hitting + plants.load[t] + plants.noise * noise.standard_normal(count), limit)
        if watch is not None:
            watch(t, state)
        covariates = None if told is None or np.isnan(told[t]).any() else told[t]
        state = player.observe(state, np.full(count, np.nan) if t in missing else y[t], covariates=covariates)
    return Played(x, cost, y, state)


def best_share(plants: Plants) -> Array:
    """Return the total cost of the best fixed share of the way to v in hindsight."""
    totals = []
    for share in SHARES:
        x, total = np.zeros(plants.v.shape[1:]), np.zeros(plants.v.shape[1])
        for t, v in enumerate(plants.v):
            step = share * (v - x)
            x = x + step
            total = total + plants.hitting(x, t) + 0.5 * np.vecdot(step, step)
        totals.append(total)
    return np.asarray(np.min(totals, axis=0))


# ---- base loads that move with what moves v ------------------------------------------------------------------------


def confounded(count: int, curved: bool, error: float = 0.0) -> tuple[Plants, Array]:
    """Return plants whose base load, a hundred times the hitting cost, depends on what moves v, and what moves both.

    Heat and demand swing by the day and walk. v is a function of both, and of an error that moves nothing else.
    """
    plants, rng, t = draw(600, count, noise=0.5, seed=11), np.random.default_rng(12), np.arange(600)[:, None]
    walk, walks = np.zeros((2, count)), np.empty((2, 600, count))
    for k in range(600):
        walks[:, k] = walk = 0.98 * walk + 0.2 * rng.standard_normal((2, count))
    phase = rng.uniform(0.0, 2.0 * np.pi, (2, 1, count))
    heat = walks[0] + np.sin(2.0 * np.pi * t / 96.0 + phase[0])
    demand = walks[1] + np.sin(2.0 * np.pi * t / 48.0 + phase[1])
    v = np.stack([3.0 * demand + 0.5 * curved * heat * demand, 2.0 * heat - demand], axis=-1)
    v = v + error * rng.standard_normal(v.shape)
    load = 25.0 + 5.0 * demand + 2.5 * heat + curved * (1.5 * demand**2 + heat * demand)
    return plants._replace(v=v, load=load), np.stack([heat, demand], axis=-1)


@pytest.mark.parametrize("curved", [False, True])
def test_a_base_load_that_moves_with_v_does_not_lead_the_player_away(curved: bool) -> None:
    plants, _ = confounded(16, curved)
    ratio = play(plants).cost.sum(axis=0) / best_share(plants)
    assert np.median(ratio) < 1.15
    # Without the hypothesis that the base load depends on v, it is taken for a gradient.
    assert np.quantile(ratio, 0.75) < 1.3


def test_what_moves_v_and_the_base_load_can_be_told() -> None:
    plants, drivers = confounded(16, curved=False, error=0.5)
    ratio = play(plants, told=drivers).cost.sum(axis=0) / best_share(plants)
    assert np.quantile(ratio, 0.75) < 1.1
    # Untold, the error of v moves u and the base load that v shows: a gradient, as far as readings say.
    assert np.median(ratio) < 0.6 * np.median(play(plants).cost.sum(axis=0) / best_share(plants))


# ---- offsets that walk ---------------------------------------------------------------------------------------------


def test_an_offset_of_typical_size_that_walks_is_followed() -> None:
    plants, rng, keep = draw(400, 16, step=3.0, seed=21), np.random.default_rng(22), np.sqrt(1.0 - 0.05**2)
    b = plants.b.copy()
    b[0] = 1.5 * rng.standard_normal(b[0].shape)
    for t in range(1, len(b)):
        b[t] = keep * b[t - 1] + 0.05 * 1.5 * rng.standard_normal(b[0].shape)
    plants, found = plants._replace(b=b), np.full(b.shape, np.nan)

    def watch(t: int, state: Any) -> None:
        found[t] = GLIDE().diagnostics(state)["offset"]

    followed, ignored = play(plants, watch=watch), play(plants, GLIDE(offset=False))
    error = np.square(found - b)[200:].sum(axis=(0, 2)) / np.square(b)[200:].sum(axis=(0, 2))
    assert np.median(error) < 0.08
    assert (followed.cost.sum(axis=0) < ignored.cost.sum(axis=0)).all()


# ---- gaps ----------------------------------------------------------------------------------------------------------


def test_a_gap_leaves_the_noise_right_where_the_base_load_walks() -> None:
    plants, rng = draw(260, 24, seed=31), np.random.default_rng(32)
    plants = plants._replace(load=np.cumsum(0.06 * rng.standard_normal(plants.load.shape), axis=0))
    noise, outliers = np.empty(plants.load.shape), np.empty(plants.load.shape)

    def watch(t: int, state: Any) -> None:
        found = GLIDE().diagnostics(state)
        noise[t], outliers[t] = found["noise"], found["outliers"]

    play(plants, missing=range(100, 200), watch=watch)
    # The base load has moved by six deviations of the noise, and the first reading after the gap shows it.
    assert np.median(noise[202:210]) == pytest.approx(plants.noise, rel=0.1)
    assert (outliers[-1] == outliers[100]).all()


# ---- covariates ----------------------------------------------------------------------------------------------------


def with_covariates() -> tuple[Plants, Array]:
    """Return plants whose base load depends on two covariates that walk, and these covariates."""
    plants, rng = draw(120, 8, seed=41), np.random.default_rng(42)
    w = np.cumsum(rng.standard_normal((120, 8, 2)) * [1.0, 0.01], axis=0)
    return plants._replace(load=5.0 + w @ np.array([2.0, 100.0])), w


def test_the_origin_of_covariates_does_not_matter() -> None:
    plants, w = with_covariates()
    one, other = play(plants, told=w), play(plants, told=w + 1e6)
    np.testing.assert_allclose(other.x, one.x, atol=1e-6)  # a covariate has lost six of its sixteen digits
    assert np.abs(play(plants).x - one.x).max() > 0.01


def errors_of_the_estimate(plants: Plants, told: Array | None) -> Array:
    """Return the largest error of the estimate before the reading of each round, the median of the plants."""
    errors = np.empty(len(plants.v))

    def watch(t: int, state: Any) -> None:
        errors[t] = np.median(np.abs(GLIDE().diagnostics(state)["estimate"] - plants.A).max(axis=(1, 2)))

    play(plants, told=told, watch=watch)
    return errors


def test_covariates_that_begin_late_keep_the_estimate() -> None:
    plants, w = with_covariates()
    constant, late = plants._replace(load=np.full(plants.load.shape, 5.0)), w.copy()
    late[:30] = np.nan
    errors, plain = errors_of_the_estimate(constant, late), errors_of_the_estimate(constant, None)
    np.testing.assert_allclose(errors[:31], plain[:31])
    assert (errors[31:] < 1.2 * plain[31:]).all()


def test_covariates_that_begin_late_are_learned() -> None:
    plants, w = with_covariates()
    late = w.copy()
    late[:30] = np.nan
    never, from_30, always = (errors_of_the_estimate(plants, told) for told in (None, late, w))
    assert from_30[60:].mean() < 0.2 * never[60:].mean()
    assert from_30[60:].mean() < 1.5 * always[60:].mean()


# ---- the first reading ---------------------------------------------------------------------------------------------


def test_a_first_reading_at_the_limit_of_the_meter_hardly_delays_learning() -> None:
    plants = draw(60, 16, noise=0.05, seed=51)._replace(A=np.tile(np.diag([20.0, 5.0]), (16, 1, 1)))
    free, limited = play(plants), play(plants, GLIDE(y_max=0.5), limit=0.5)
    assert (limited.y[0] == 0.5).mean() > 0.9
    assert (limited.y == 0.5).mean() > 0.5
    assert limited.cost.sum() < 1.15 * free.cost.sum()
    error = np.abs(GLIDE().diagnostics(limited.state)["estimate"] - plants.A).max(axis=(1, 2))
    assert np.median(error) < 2.0


@pytest.mark.parametrize("seed", range(3))
def test_a_large_base_load_is_no_reason_to_expect_a_large_offset(seed: int) -> None:
    policy, rng = GLIDE(), np.random.default_rng(seed)
    state = policy.start(np.ones(2))
    for _ in range(12):
        v = 0.5 * rng.standard_normal(2)
        x, state = policy.act(state, v)
        state = policy.observe(state, 1000.0 + 0.5 * (x - v) @ (x - v) + 3.0 * rng.standard_normal())
        # The distance from v is about one, and readings say nothing yet.
        assert np.sqrt(np.trace(policy.health(state)["offset_covariance"])) < 2.0
        assert np.abs(policy.diagnostics(state)["offset"]).max() < 2.0
