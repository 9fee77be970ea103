"""The check of a log, on plants whose truth is known: clean ones, and ones with the mistakes that people make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

from plant_logs import half_steps
from soqo import FTM, GLIDE, Log, LogCheck, check_log, random_curvature
from soqo.errors import ArgumentError
from soqo.typing import Array

ROUNDS = 400


def plant(seed: int) -> tuple[Log, Array]:
    """Return the log of a clean plant, which moves a share of the way to v, and its hitting cost.

    Plants differ in dimension, curvature, weights, share, process, noise, offset of v and base load (constant or a slow
    walk); some readings are missing, spikes, or rounded.
    """
    rng, dim, kind = np.random.default_rng([seed, 1]), 1 + seed % 3, seed % 5
    weight = np.exp(rng.normal(0.0, 0.7, dim))
    A = random_curvature(dim, dim, min_eigenvalue=0.2, max_eigenvalue=3.0, rng=rng)
    A = np.sqrt(weight)[:, None] * A * np.sqrt(weight)
    steps = rng.uniform(0.3, 2.0) * rng.standard_normal((ROUNDS, dim))
    v = 20.0 + lfilter([1.0], [1.0, -1.0 if kind < 2 else -0.95], steps, axis=0)
    share, x, position = rng.uniform(0.2, 0.8), np.empty_like(v), v[0]
    for t in range(ROUNDS):
        x[t] = position = position + share * (v[t] - position)
    u = x - v + (0.3 * rng.standard_normal(dim) if kind == 3 else 0.0)
    cost = np.asarray(0.5 * np.einsum("ti,ij,tj->t", u, A, u))
    noise = cost.std() * rng.uniform(0.1, 0.5)
    y = cost + 50.0 * cost.std() + noise * rng.standard_normal(ROUNDS)
    if kind in (1, 4):
        y += np.cumsum(0.1 * noise * rng.standard_normal(ROUNDS))
    if kind == 2:
        y = np.where(rng.random(ROUNDS) < 0.01, y + 30.0 * noise, y)
    if kind in (2, 3):
        y = 0.5 * noise * np.round(np.where(rng.random(ROUNDS) < 0.05, np.nan, y) / (0.5 * noise))
    limits: dict[str, Any] = {"low": v.min() - 1.0, "high": v.max() + 1.0} if seed % 2 else {}
    return Log(v, x, y, x0=v[0], switching_weight=weight, **limits), cost


def quick(log: Log, **options: Any) -> LogCheck:
    """Check a log, with the saving of a policy that takes no time."""
    return check_log(log, policy=FTM(), draws=4, **options)


def wrong(found: LogCheck) -> set[str]:
    """Return the topics with a warning or a stop; a policy that follows v may well lose to a fixed share."""
    return {one.topic for one in found.findings if one.level in ("warning", "stop") and one.topic != "saving"}


def unknown(found: LogCheck) -> set[str]:
    return {one.topic for one in found.findings if one.level == "unknown"}


def test_at_most_one_of_twenty_clean_logs_has_a_warning() -> None:
    assert sum(bool(wrong(quick(plant(seed)[0]))) for seed in range(20)) <= 1


def test_a_clean_log_is_suitable_for_glide() -> None:
    found = check_log(plant(0)[0], draws=6)
    assert found.level == "ok"
    assert found.suitable
    assert str(found).startswith("Suitable.\n")
    assert "GLIDE would have cost" in str(found)
    assert list(found.savings) == [pytest.approx(1 / 3), 1.0, 3.0]
    assert found.savings[1.0] == found.replay.saving


# ---- mistakes --------------------------------------------------------------------------------------------------------


def of_another_plant(log: Log, rng: np.random.Generator) -> Log:
    steps = np.diff(log.v, axis=0).std(axis=0) * rng.standard_normal(log.v.shape)
    return replace(log, v=20.0 + np.cumsum(steps, axis=0), low=None, high=None)


def stuck(log: Log, rng: np.random.Generator) -> Log:
    y = np.array(log.y)
    for start in rng.choice(ROUNDS - 25, 5, replace=False):
        y[start : start + 25] = y[start]
    return replace(log, y=y)


def confounded(log: Log, cost: Array) -> Log:
    driver = ((log.v - log.v.mean(axis=0)) / log.v.std(axis=0)).mean(axis=1)
    return replace(log, y=log.y + 10.0 * cost.std() * (driver + 0.5 * driver**2))


MISTAKES: dict[str, tuple[Callable[[Log, Array, np.random.Generator], Log], str, str, str]] = {
    "sign": (lambda log, *_: replace(log, y=-log.y), "hitting cost", "stop", "readings fall as x moves away"),
    "W": (lambda log, *_: replace(log, y=1000.0 * log.y), "weight", "stop", "is y in W and the weight in kW"),
    "MW": (lambda log, *_: replace(log, y=log.y / 1000.0), "weight", "stop", "is y in kW and the weight in W"),
    "degF": (lambda log, *_: replace(log, v=1.8 * log.v + 32.0), "v", "stop", "as if v were in degF and x in degC"),
    "v": (lambda log, _, rng: of_another_plant(log, rng), "v", "stop", "v is that of this plant"),
    "stuck": (lambda log, _, rng: stuck(log, rng), "meter", "warning", "the meter is stuck"),
    "confounded": (lambda log, cost, _: confounded(log, cost), "base load", "stop", "it moves with v"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_on_most_plants(name: str) -> None:
    mistake, topic, level, words = MISTAKES[name]
    named = 0
    for seed in range(10):
        log, cost = plant(seed)
        found = quick(mistake(log, cost, np.random.default_rng(seed)))
        findings = [one for one in found.findings if one.topic == topic and one.level in (level, "stop")]
        named += any(words in f"{one.text} {one.advice}" for one in findings)
        assert found.suitable == (found.level != "stop")
    assert named >= 9


def test_a_meter_that_is_coarse_at_its_limit_silent_or_wild_is_named() -> None:
    log, cost = plant(5)
    rng = np.random.default_rng(0)
    step = 2.0 * cost.std()
    coarse = quick(replace(log, y=step * np.round(log.y / step)))
    assert coarse.resolution == pytest.approx(step)
    assert any("log the reading with more digits" in one.advice for one in coarse.findings)
    top = float(np.quantile(log.y, 0.95))
    limited = quick(replace(log, y=np.minimum(log.y, top)))
    assert limited.saturated == pytest.approx(0.05, abs=0.003)
    assert any("y_max" in one.advice for one in limited.findings)
    lost = rng.random(ROUNDS) < 0.3
    silent = quick(replace(log, y=np.where(lost, np.nan, log.y)))
    assert silent.missing == lost.mean()
    assert wrong(silent) == {"meter"}
    struck = rng.random(ROUNDS) < 0.05
    wild = quick(replace(log, y=log.y + np.where(struck, 100.0 * cost.std(), 0.0)))
    assert wild.spikes == pytest.approx(struck.mean(), abs=0.005)
    assert wrong(wild) == {"meter"}
    assert wild.noise == pytest.approx(quick(log).noise, rel=0.2)


def test_v_out_of_the_limits_is_named() -> None:
    log, _ = plant(4)
    for share, level in ((0.2, "warning"), (0.7, "stop")):
        found = quick(replace(log, low=[float(np.quantile(log.v[:, 0], share)), -np.inf]))
        assert found.outside == pytest.approx(share, abs=0.01)
        assert ("v", level) in {(one.topic, one.level) for one in found.findings}


def test_a_cost_that_is_steeper_on_one_side_is_named() -> None:
    log, cost = plant(0)
    one_sided = np.where(log.x[:, 0] > log.v[:, 0], 3.0, 0.5) * cost
    found = quick(replace(log, y=log.y - cost + one_sided))
    assert found.cubic > 0.12
    assert "hitting cost" in wrong(found)
    assert quick(log).cubic == 0.0


def test_errors_that_alternate_are_named() -> None:
    log, cost = plant(0)
    noise = np.random.default_rng(0).standard_normal(ROUNDS + 1)
    found = quick(replace(log, y=10.0 + cost + 0.3 * cost.std() * np.diff(noise)))
    assert found.autocorrelation == pytest.approx(-0.5, abs=0.1)
    assert wrong(found) == {"hitting cost"}


def test_a_log_at_v_and_a_log_in_one_direction_say_what_to_do() -> None:
    log = half_steps(2, 200, switching_weight=1.0)
    at_v = quick(Log(log.v, log.v, np.random.default_rng(0).standard_normal(200), x0=log.x0))
    assert at_v.level == "stop"
    assert "rounds" in wrong(at_v)
    assert "only half of the way to v for at least" in str(at_v)
    assert unknown(at_v) == {"hitting cost", "base load", "weight", "saving"}
    v, x = np.array(log.v), np.array(log.x)
    v[:, 1] = x[:, 1] = 0.0
    u = x[:, 0] - v[:, 0]
    y = 0.5 * u**2 + 0.5 * np.random.default_rng(0).standard_normal(200)
    one_way = quick(Log(v, x, y, x0=np.zeros(2), actuators=["left", "right"]))
    assert one_way.suitable
    assert "rounds" in wrong(one_way)
    assert "v of right hardly moves" in str(one_way)


def test_a_log_that_moves_half_of_the_way_is_not_told_to() -> None:
    noisy = quick(half_steps(2, 200, noise=100.0, switching_weight=1.0))
    assert noisy.replay.moved
    assert "half of the way" not in str(noisy)
    assert "rounds like these, and repeat" in str(noisy)
    log, _ = plant(2)  # it moves 75 % of the way, which is the best share
    assert quick(log).replay.share == pytest.approx(0.75, abs=0.05)
    assert "go on as in the log, without learning" in str(quick(log))
    assert "move 65% of the way to v, without learning" in str(quick(half_steps(2, 200, switching_weight=1.0)))


def test_what_cannot_be_told_is_neither_right_nor_wrong() -> None:
    log = half_steps(2, 100, switching_weight=1.0)
    still = quick(replace(log, x=np.zeros((100, 2))))
    assert "v" in unknown(still)
    few = quick(half_steps(2, 11, noise=0.0, switching_weight=1.0))  # fewer readings than unknowns and their errors
    assert unknown(few) == {"hitting cost", "base load", "weight"}
    not_told = replace(few, findings=tuple(one for one in few.findings if one.level in ("ok", "unknown")))
    assert (not_told.level, not_told.suitable) == ("unknown", True)
    verdict = "Nothing speaks against it, but the log does not tell: hitting cost, base load, weight"
    assert str(not_told).startswith(f"{verdict}\n")


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_numbers_are_those_of_a_dense_fit() -> None:
    log = half_steps(2, 300, seed=3, base=10.0, switching_weight=[1.0, 4.0])
    found = quick(log)
    u = log.x - log.v
    columns = np.column_stack([0.5 * u[:, 0] ** 2, u[:, 0] * u[:, 1], 0.5 * u[:, 1] ** 2, np.ones(300)])
    solution, *_ = np.linalg.lstsq(columns, log.y)
    left = log.y - columns @ solution
    assert found.explained == pytest.approx(1.0 - left.var() / log.y.var(), abs=1e-9)
    assert found.autocorrelation == pytest.approx(left[1:] @ left[:-1] / (left @ left), abs=1e-9)
    assert found.noise == pytest.approx(np.sqrt(left @ left / 296), rel=1e-6)
    fitted = (log.y - left - solution[3]).mean()
    moved = (0.5 * (u**2) @ [1.0, 4.0]).mean()
    assert found.curvature == pytest.approx(fitted / moved, rel=1e-9)
    steps = np.diff(np.vstack([log.x0, log.x]), axis=0)
    assert found.following == pytest.approx(1.0)
    np.testing.assert_allclose(steps, -u)  # half of the way, which is why


def test_the_rounds_that_are_needed_do_not_depend_on_the_rounds_of_the_log() -> None:
    logs = [half_steps(2, rounds, noise=3.0, switching_weight=1.0) for rounds in (300, 2400)]
    one, other = (check_log(log, policy=FTM(), draws=40).rounds_needed for log in logs)
    assert 0.4 < one / other < 2.5


def test_covariates_explain_a_base_load() -> None:
    log, cost = plant(4)
    rng = np.random.default_rng(2)
    load = (log.v - log.v.mean(axis=0)) @ [1.0, -0.5] + 0.2 * rng.standard_normal(ROUNDS)
    driven = replace(
        log, y=log.y + 10.0 * cost.std() * (load / load.std()) + 3.0 * cost.std() * (load / load.std()) ** 2
    )
    assert not quick(driven).suitable
    assert wrong(quick(driven, covariates=load[:, None])) == set()
    assert wrong(quick(replace(driven, covariates=load[:, None]))) == set()
    spikes = np.where(rng.random(ROUNDS) < 0.01, 200.0 * cost.std(), 0.0)
    assert "base load" not in wrong(quick(replace(driven, y=driven.y + spikes), covariates=load[:, None]))
    with pytest.raises(ArgumentError, match=r"covariates must have shape \(400, k\), got \(400,\)"):
        check_log(driven, covariates=load)


def test_plants_that_tell_factors_and_units_are_checked_in_these() -> None:
    log = half_steps(1, 300, noise=0.0, switching_weight=1.0)
    rng = np.random.default_rng(0)
    factor, unit = rng.uniform(0.5, 2.0, 300), rng.uniform(0.5, 2.0, 300)
    y = factor * 0.5 * np.square(log.x - log.v)[:, 0] + unit * (5.0 + 0.1 * rng.standard_normal(300))
    found = quick(replace(log, y=y, factor=factor, unit=unit))
    assert found.level == "ok" or wrong(found) == set()
    assert found.noise == pytest.approx(0.1, rel=0.2)


def test_a_short_log_and_one_without_readings_are_judged() -> None:
    log, _ = plant(1)
    for part in (log[:2], log[:12], replace(log, y=np.full(ROUNDS, np.nan))):
        found = quick(part)
        assert found.level != "ok"
        assert str(found)


def test_a_path_is_read_and_other_arguments_are_named(tmp_path: Path) -> None:
    log = half_steps(1, 100, switching_weight=1.0)
    assert quick(log) == check_log(log.write(tmp_path / "log.csv"), policy=FTM(), draws=4)
    bad: Any = 3
    with pytest.raises(ArgumentError, match="log must be a Log or the path of one, got int"):
        check_log(bad)
    with pytest.raises(ArgumentError, match="draws must be an integer of at least 4, got 1"):
        check_log(log, policy=GLIDE(), draws=1)
