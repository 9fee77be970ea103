"""Whether a plant is suitable for soqo, judged by a log: one verdict, the findings behind it, and what to do next.

Each finding compares the log with what soqo assumes of a plant: that positions follow v in the same unit, that readings
rise with the distance from v and are a quadratic function of it, that what else is in them does not move with v, and
that moving costs as much as being away. Thresholds are such that a log of a plant for which this holds hardly ever has
a warning, so most of them ask for evidence and for an effect that matters.
"""

from __future__ import annotations

import math
import os
import textwrap
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import fdtrc

from soqo._control.log import Log
from soqo._control.replay import Information, PlainReadings, Replay, meter_step, plain_readings, replay, without_spikes
from soqo._foundation.arguments import finite_array
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.coordinates import Coordinates
from soqo.errors import ArgumentError
from soqo.estimators import svec_rows
from soqo.estimators.bayes import BayesianRegression, whiten
from soqo.policies import GLIDE, Policy
from soqo.typing import Array, ArrayLike

Level: TypeAlias = Literal["ok", "warning", "stop"]

_SIGNIFICANT = 4.0
"""Deviations from which on an estimate has a sign."""

_WEIGHT_FACTORS = (1.0 / 3.0, 1.0, 3.0)
"""The savings are estimated with the switching weight times these."""

_GAIN_ACCURACY = 0.05
"""The gain counts as known within this."""


@dataclass(frozen=True)
class Finding(Value):
    """One thing that a log shows about a plant.

    Attributes
    ----------
    topic : str
        What it is about: ``"v"``, ``"meter"``, ``"hitting cost"``, ``"base load"``, ``"weight"``, ``"rounds"`` or
        ``"saving"``.
    level : {"ok", "warning", "stop"}
        Whether soqo can steer such a plant, can do so at a loss, or cannot.
    text, advice : str
        What was found, and what to do about it; the advice is empty if nothing is wrong.
    """

    topic: str
    level: Level
    text: str
    advice: str = ""


@dataclass(frozen=True)
class LogCheck(Value):
    """Whether a plant is suitable, by a log of it; printing it gives the verdict, a table and the next step.

    Attributes
    ----------
    findings : tuple of Finding
        What the log shows, one or several for each topic.
    replay : Replay
        What the policy would have cost, with the best fixed share in hindsight and following v.
    savings : dict of float to float
        The saving of the policy over the log with the switching weight times 1/3, 1 and 3.
    rounds_needed : float
        About how many rounds like these it takes to know the optimal gain within 5 %.
    curvature : float
        The size of A relative to W along the displacements of the log.
    explained : float
        The share of the variance of the readings that a quadratic function of x - v explains, without the base load.
    autocorrelation : float
        That of what is left, from one round to the next.
    cubic : float
        The deviation of what cubic and one-sided terms add, relative to that of the quadratic function.
    load_of_v, load_correlation : float
        The deviation of the part of the base load that moves with v, relative to that of the hitting cost; and the
        largest correlation of its changes with a displacement.
    noise, resolution : float
        The deviation of a reading, and the step of the meter; 0 if it has none.
    missing, spikes, stuck, saturated, outside : float
        The shares of rounds without a reading, of spikes, of readings of a meter that is stuck or at its limit, and of
        rounds with v out of the limits of the plant.
    following : float
        The share of the variance of the steps of x that the distance to v explains; NaN if x does not move.
    """

    findings: tuple[Finding, ...]
    replay: Replay = field(repr=False)
    savings: dict[float, float] = field(repr=False)
    rounds_needed: float
    curvature: float
    explained: float
    autocorrelation: float
    cubic: float
    load_of_v: float
    load_correlation: float
    noise: float
    resolution: float
    missing: float
    spikes: float
    stuck: float
    saturated: float
    outside: float
    following: float

    @property
    def level(self) -> Level:
        """The worst level of the findings."""
        levels: tuple[Level, ...] = ("stop", "warning", "ok")
        return next(level for level in levels if any(found.level == level for found in self.findings))

    @property
    def suitable(self) -> bool:
        """Whether no finding is a stop."""
        return self.level != "stop"

    def __str__(self) -> str:
        wrong = [found for found in self.findings if found.level == self.level != "ok"]
        verdict = {"ok": "Suitable.", "warning": "Suitable, with reservations:", "stop": "Not suitable as it is:"}
        lines = [f"{verdict[self.level]} {', '.join(dict.fromkeys(found.topic for found in wrong))}".rstrip(), ""]
        for found in self.findings:
            head = f"{found.level:8} {found.topic:13}"
            for text in (found.text, found.advice and f"-> {found.advice}"):
                lines += textwrap.wrap(text, 118, initial_indent=head, subsequent_indent=" " * 22)
                head = " " * 22
        step = wrong[0].advice if wrong else "let GLIDE run beside the plant, told what was applied, before it steers."
        return "\n".join([*lines, "", *textwrap.wrap(f"Next: {step}", 118)])


def check_log(
    log: Log | str | os.PathLike[str],
    *,
    policy: Policy[Any] | None = None,
    covariates: ArrayLike | None = None,
    draws: int = 20,
    seed: int = 0,
) -> LogCheck:
    """Judge by a log whether a plant is suitable for soqo, and say what to do next.

    Spikes count as missing readings. The log needs rounds in which the plant was away from v.

    Parameters
    ----------
    log : Log or path
        The log, or a file that :meth:`soqo.Log.read` reads, with the switching weight and the limits of the plant.
    policy : Policy, optional
        The policy whose saving is estimated; :class:`soqo.GLIDE` by default.
    covariates : array_like, shape (T, k), optional
        What may move the base load, such as the load of the plant and the weather; those of the log unless given. What
        they explain is subtracted.
    draws, seed : int
        As for :func:`soqo.replay`.

    Returns
    -------
    LogCheck
        The verdict, its findings and the numbers behind them. ``print`` shows them.

    See Also
    --------
    soqo.replay : What a policy would have saved, alone.

    Examples
    --------
    >>> import soqo
    >>> rng = np.random.default_rng(0)
    >>> v = np.cumsum(rng.standard_normal((300, 1)), axis=0)
    >>> x = np.empty_like(v)
    >>> for t in range(300):                    # a plant that moves half of the way
    ...     x[t] = 0.5 * (v[t] + (x[t - 1] if t else 0.0))
    >>> y = 2.0 + ((x - v) ** 2).sum(axis=1) + 0.1 * rng.standard_normal(300)
    >>> soqo.check_log(Log(v, x, y, x0=[0.0], switching_weight=1.0)).suitable
    True
    >>> wrong = soqo.check_log(Log(v, x, -y, x0=[0.0], switching_weight=1.0))
    >>> [found.topic for found in wrong.findings if found.level == "stop"]
    ['hitting cost']
    """
    if not isinstance(log, Log | str | os.PathLike):
        raise ArgumentError(f"log must be a Log or the path of one, got {type(log).__name__}")
    given = log if isinstance(log, Log) else Log.read(log)
    player = GLIDE() if policy is None else policy
    coordinates = Coordinates(given.switching_weight)
    if covariates is None and given.covariates is not None and not np.isnan(given.covariates).any():
        covariates = given.covariates
    clean, spikes = without_spikes(given, coordinates)
    if covariates is not None:
        clean, more = without_spikes(_without_covariates(clean, coordinates, covariates), coordinates)
        spikes += more
    readings, resolution = plain_readings(clean, coordinates), meter_step(given.y)
    fit = _Fit.of(readings)
    found = replay(player, clean, draws=draws, seed=seed)
    savings = {
        factor: found.saving if factor == 1.0 else _saving(player, clean, factor, seed) for factor in _WEIGHT_FACTORS
    }
    stuck, saturated = _repeats(given, readings.u)
    hitting = max(found.hitting, 1e-300)
    result = LogCheck(
        findings=(),
        replay=found,
        savings=savings,
        rounds_needed=len(given) * (found.gain_error / _GAIN_ACCURACY) ** 2,
        curvature=fit.curvature,
        explained=fit.explained,
        autocorrelation=fit.autocorrelation,
        cubic=fit.cubic,
        load_of_v=found.load_of_v / hitting,
        load_correlation=fit.load_correlation,
        noise=fit.regression.noise,
        resolution=resolution,
        missing=float(np.isnan(given.y).mean()),
        spikes=spikes / len(given),
        stuck=stuck,
        saturated=saturated,
        outside=_share_outside(given),
        following=_following(given),
    )
    findings = [*_judge_v(given, result, fit), *_judge_meter(result), _judge_cost(result, fit)]
    findings += [_judge_load(given, result, fit), _judge_weight(given, result, fit), _judge_rounds(result)]
    return replace(result, findings=(*findings, _judge_saving(result)))


# ---- what the log shows ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Fit:
    """The unconstrained quadratic fit of the readings, in whitened rows: what it explains, and what it leaves."""

    regression: BayesianRegression
    curvature: float
    significance: float
    explained: float
    autocorrelation: float
    cubic: float
    load_correlation: float

    @classmethod
    def of(cls, readings: PlainReadings) -> _Fit:
        """Return the fit; NaN where there are too few readings."""
        u, observed = readings.u, ~np.isnan(readings.y)
        regression = BayesianRegression.fit(*readings)
        w = u / np.maximum(np.abs(u).max(axis=0), 1e-300)
        rows, extra = svec_rows(u), np.column_stack([w**3, w * np.abs(w)])
        load = [*readings.drivers[: regression.drivers], np.ones((len(u), 1))]
        cost = [rows, u] if regression.has_offset else [rows]
        table = np.column_stack([*cost, *load, extra, readings.y])[observed]
        if regression.walk_speed and len(table) > 1:
            table, _ = whiten(table, np.flatnonzero(observed).astype(float), np.ones(len(table)), regression.walk_speed)
        p, q, y = rows.shape[1], extra.shape[1], table[:, -1]
        costs = p + (u.shape[1] if regression.has_offset else 0)
        k = table.shape[1] - 1 - q
        free = len(table) - k - q
        if free < k:
            return cls(regression, *[math.nan] * 6)
        without, rest, more = (_residual(table[:, c], y) for c in (slice(costs, k), slice(0, k), slice(0, k + q)))
        squares = [float(np.square(part).sum()) for part in (without, rest, more)]
        gained, left = max(squares[0] - squares[1], 0.0), max(squares[2], 1e-300)
        is_cubic = fdtrc(q, free, (squares[1] - squares[2]) / q / (left / free)) < 1e-6
        inverse = np.linalg.pinv(table[:, :k], rcond=1e-10)
        theta, noise = (inverse @ y)[:p], math.sqrt(squares[1] / (free + q)) + 1e-300
        mean = rows.mean(axis=0)
        driven = np.diff(regression.driven_load(readings.drivers))
        return cls(
            regression=regression,
            curvature=float(mean @ theta / max(0.5 * np.square(u).sum(axis=1).mean(), 1e-300)),
            significance=float(mean @ theta / (noise * np.linalg.norm(mean @ inverse[:p]) + 1e-300)),
            explained=gained / max(squares[0], 1e-300),
            autocorrelation=float(rest[1:] @ rest[:-1] / max(squares[1], 1e-300)),
            cubic=math.sqrt((squares[1] - squares[2]) / gained) if is_cubic and gained > 0.0 else 0.0,
            load_correlation=float(max(abs(_correlation(driven, column)) for column in u[1:].T)),
        )


def _residual(columns: Array, y: Array) -> Array:
    solution, *_ = np.linalg.lstsq(columns, y)
    return np.asarray(y - columns @ solution)


def _correlation(one: Array, other: Array) -> float:
    one, other = one - one.mean(), other - other.mean()
    return float(one @ other) / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-300)


def _without_covariates(log: Log, coordinates: Coordinates, covariates: ArrayLike) -> Log:
    """Return the log without what covariates, and their squares, explain of the base load."""
    w = finite_array("covariates", covariates)
    if w.ndim != 2 or len(w) != len(log):
        raise ArgumentError(f"covariates must have shape ({len(log)}, k), got {w.shape}")
    spread = w.std(axis=0)
    w = (w - w.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    readings = plain_readings(log, coordinates)
    drivers = [w, svec_rows(w)]
    driven = BayesianRegression.fit(readings.u, readings.y, drivers).driven_load(drivers)
    return replace(log, y=log.y - (driven if log.unit is None else log.unit * driven))


def _repeats(log: Log, u: Array) -> tuple[float, float]:
    """Return the shares of readings of a meter that is stuck, and that is at its limit."""
    known = np.flatnonzero(~np.isnan(log.y))
    y = log.y[known]
    if y.size < 20:
        return 0.0, 0.0
    starts = np.append(np.flatnonzero(np.append(True, np.diff(y) != 0.0)), y.size)
    lengths = np.diff(starts)
    repeat = min(max(float((lengths > 1).mean()), 1e-3), 0.95)  # how often a working meter shows a value again
    longest = max(6.0, 1.0 + math.log(1e-4 / y.size) / math.log(repeat))
    runs = [slice(a, a + n) for a, n in zip(starts, lengths, strict=False) if n >= longest]
    stuck = np.zeros(y.size, dtype=bool)
    for run in runs:
        stuck[run] = np.ptp(u[known[run]], axis=0).max() > 0.0
    values, counts = np.unique(y[~stuck], return_counts=True)
    if values.size < 3 or counts[-1] < max(5.0, 0.01 * y.size, 3.0 * counts[-2]):
        return float(stuck.mean()), 0.0
    return float(stuck.mean()), float(counts[-1] / y.size)


def _share_outside(log: Log) -> float:
    low = -np.inf if log.low is None else np.asarray(log.low)
    high = np.inf if log.high is None else np.asarray(log.high)
    return float(((log.v < low) | (log.v > high)).any(axis=1).mean())


def _following(log: Log) -> float:
    """Return the share of the variance of the steps of x that v - x explains."""
    before = np.vstack([log.x0, log.x[:-1]])
    steps, away = log.x - before, log.v - before
    spread = steps.std(axis=0)
    moves = spread > 1e-9 * np.maximum(np.abs(log.x).max(axis=0), 1e-300)
    if not moves.any() or len(log) < 4 * log.dim:
        return math.nan
    steps = steps[:, moves] / spread[moves]
    columns = np.column_stack([away, np.ones(len(away))])
    left = np.column_stack([_residual(columns, step) for step in steps.T])
    return float(1.0 - np.square(left).sum() / np.square(steps - steps.mean(axis=0)).sum())


def _saving(policy: Policy[Any], log: Log, factor: float, seed: int) -> float:
    """Return the saving with another switching weight."""
    weight = np.asarray(1.0 if log.switching_weight is None else log.switching_weight) * factor
    return replay(policy, replace(log, switching_weight=weight), draws=6, seed=seed).saving


# ---- what it means ---------------------------------------------------------------------------------------------------


def _judge_v(log: Log, found: LogCheck, fit: _Fit) -> list[Finding]:
    """Judge v against positions, limits and readings."""
    u = log.x - log.v
    shift, spread = np.abs(u.mean(axis=0)), np.maximum(u.std(axis=0), 1e-12 * np.abs(log.v).max())
    findings = []
    centered = log.v - log.v.mean(axis=0)
    slopes = (centered * log.x).sum(axis=0) / np.maximum(np.square(centered).sum(axis=0), 1e-300)
    is_fahrenheit = np.abs(slopes * 1.8 - 1.0) < 0.15
    far = shift > np.where(is_fahrenheit, 2.0, 5.0) * spread
    if far.any():
        k = int(np.argmax(np.where(far, shift / spread, 0.0)))
        guess = ", as if v were in degF and x in degC" if is_fahrenheit[k] else ""
        text = f"x - v of {_name(log, k)} is {u[:, k].mean():.3g} with a deviation of {spread[k]:.2g}{guess}"
        findings.append(Finding("v", "stop", text, "give v in the unit and with the zero of the positions."))
    if found.outside > 0.05:
        text = f"v is out of low and high in {found.outside:.0%} of the rounds"
        level: Level = "stop" if found.outside > 0.5 else "warning"
        findings.append(Finding("v", level, text, "check the unit of v, and clip v to the limits of the plant."))
    if found.following < 0.2 and not fit.significance > _SIGNIFICANT:
        text = (
            f"steps of x have little to do with v (v - x explains {found.following:.0%} of them), and readings do not "
            "rise with the distance from v"
        )
        advice = "check that v is that of this plant, with actuators in this order."
        findings.append(Finding("v", "stop", text, advice))
    if not findings:
        text = (
            "positions do not move" if math.isnan(found.following) else f"v explains {found.following:.0%} of the steps"
        )
        findings.append(Finding("v", "ok", f"{text}; x - v has a deviation of {_list(spread)}"))
    return findings


def _judge_meter(found: LogCheck) -> list[Finding]:
    """Judge the meter."""
    repeated = f"{found.stuck:.0%} of the readings are repeated while the plant moves: the meter is stuck"
    largest = f"{found.saturated:.0%} of the readings are at the largest value"
    coarse = f"the meter has steps of {found.resolution:.2g}, twice the noise or more"
    silent = f"{found.missing:.0%} of the rounds have no reading"
    repair = "observe NaN for a value that is repeated, and repair the meter."
    problems: list[tuple[bool, Level, str, str]] = [
        (found.stuck > 0.01, "stop" if found.stuck > 0.3 else "warning", repeated, repair),
        (found.saturated > 0.01, "warning", largest, "if that is its limit, tell it: GLIDE(y_max=...)."),
        (found.resolution > 2.0 * found.noise, "warning", coarse, "log the reading with more digits."),
        (found.missing > 0.2, "warning", silent, "expect to learn more slowly."),
        (found.spikes > 0.03, "warning", f"{found.spikes:.1%} of the readings are spikes", "filter the meter."),
    ]
    wrong = [Finding("meter", level, text, advice) for is_wrong, level, text, advice in problems if is_wrong]
    step = f", steps of {found.resolution:.2g}" if found.resolution else ""
    text = f"noise of {found.noise:.2g}{step}, {found.missing:.1%} missing, {found.spikes:.1%} spikes"
    return wrong or [Finding("meter", "ok", text)]


def _judge_cost(found: LogCheck, fit: _Fit) -> Finding:
    """Judge whether readings are a quadratic function of x - v with its minimum at v."""
    if fit.significance < -_SIGNIFICANT:
        text = "readings fall as x moves away from v"
        advice = "check the sign of y (a cost, not a yield: observe -y), and that v is the best position."
        return Finding("hitting cost", "stop", text, advice)
    text = (
        f"a quadratic function of x - v explains {found.explained:.0%} of what the base load leaves "
        f"(autocorrelation {found.autocorrelation:.2f} after it, cubic and one-sided terms {found.cubic:.0%})"
    )
    if not fit.significance > _SIGNIFICANT and found.replay.information is Information.FULL:
        advice = "check that y is what being away from v costs, and belongs to the round of its x."
        return Finding("hitting cost", "warning", "readings hardly rise with the distance from v", advice)
    if found.cubic > 0.12:
        advice = "expect less than the saving below; GLIDE(trusted_distance=...) says up to where it is quadratic."
        return Finding("hitting cost", "warning", f"the cost is not quadratic: {text}", advice)
    if abs(found.autocorrelation) > 0.35:
        advice = "check that readings are not averages over several rounds, and belong to the round of their x."
        return Finding("hitting cost", "warning", f"errors are correlated: {text}", advice)
    return Finding("hitting cost", "ok", text)


def _judge_load(log: Log, found: LogCheck, fit: _Fit) -> Finding:
    """Judge whether the base load moves with v, and the offset of v."""
    advice = "subtract what the plant is expected to read at v, by load and weather, before you observe the readings."
    if found.replay.information is Information.NONE or not fit.significance > _SIGNIFICANT:
        return Finding("base load", "ok", "it cannot be told from the hitting cost")
    if found.replay.confounded:
        text = (
            f"it moves with v, by {found.load_of_v:.2g} times the deviation of the hitting cost; its changes have a "
            f"correlation of {found.load_correlation:.2f} with x - v, so a policy takes them for hitting cost"
        )
        return Finding("base load", "stop" if found.load_of_v > 1.0 else "warning", text, advice)
    offset = found.replay.offset
    k = int(np.argmax(np.abs(offset)))
    if (np.abs(offset) > np.maximum(log.v.std(axis=0), 3.0 * (log.x - log.v).std(axis=0))).any():
        text = f"v of {_name(log, k)} seems to be off by {offset[k]:.2g}, more than it varies"
        return Finding("base load", "warning", text, f"check v; if it is right, something moves the readings: {advice}")
    shift = f"; v seems to be off by {_list(offset)}" if offset.any() else ""
    return Finding("base load", "ok", f"the readings do not show that it moves with v{shift}")


def _judge_weight(log: Log, found: LogCheck, fit: _Fit) -> Finding:
    """Judge the size of A against the switching weight."""
    given = "" if log.switching_weight is not None else " (none is given, so 1)"
    third, one, three = (f"{saving:.3g}" for saving in found.savings.values())
    savings, seen = f"{third} with a third of it, {one} with it, {three} with three times it", found.replay.policy
    text = f"the curvature of the cost is {found.curvature:.2g} times the weight{given}; {seen} saves {savings}"
    if found.replay.information is Information.NONE or not fit.significance > _SIGNIFICANT:
        return Finding("weight", "ok", f"it cannot be compared with the cost{given}")
    if found.curvature > 100.0:
        advice = "moving is almost free, and following v the best: is y in W and the weight in kW?"
        return Finding("weight", "stop", text, advice)
    if found.curvature < 3e-3:
        advice = "being away is almost free, and standing still the best: is y in kW and the weight in W?"
        return Finding("weight", "stop", text, advice)
    return Finding("weight", "ok", text)


def _judge_rounds(found: LogCheck) -> Finding:
    """Judge how much the log says about A."""
    seen = found.replay
    text = f"{seen.rounds} rounds inform about {seen.learned} of {seen.unknowns} directions of A"
    if seen.information is Information.NONE:
        return Finding("rounds", "stop", text, seen.advice or "record more rounds.")
    text += f"; the gain is known within 5 % after about {found.rounds_needed:.2g}"
    if seen.information is Information.PARTIAL:
        return Finding("rounds", "warning", text, seen.advice or "record more rounds.")
    slow = found.rounds_needed > 30.0 * seen.rounds
    advice = "the noise hides the cost: average the meter over longer rounds." if slow else ""
    return Finding("rounds", "warning" if slow else "ok", text, advice)


def _judge_saving(found: LogCheck) -> Finding:
    """Judge what the policy saves, beside the best fixed share."""
    seen = found.replay
    if seen.information is Information.NONE:
        return Finding("saving", "ok", "it cannot be estimated")
    logged, share = float(seen.recorded.mean()), float(seen.share_cost.mean())
    low, high = seen.interval
    text = (
        f"the log cost {logged:.4g}, following v would have cost {float(seen.following_cost.mean()):.4g}, and the best "
        f"fixed share, x += {seen.share:.2f} (v - x), {share:.4g}; {seen.policy} would have cost "
        f"{logged - seen.saving:.4g}, and saves {seen.saving:.3g} of the log ({low:.3g} .. {high:.3g}, 95 %)"
    )
    if low <= 0.0 <= high:
        text += ", which may be nothing"
    if seen.interval_over_share[1] < 0.0 and seen.saving_over_share < -0.1 * share:
        return Finding("saving", "warning", text, f"move {seen.share:.0%} of the way to v, without learning.")
    return Finding("saving", "ok", text)


def _name(log: Log, k: int) -> str:
    return f"actuator {k + 1}" if log.actuators is None else log.actuators[k]


def _list(values: Array) -> str:
    return ", ".join(f"{value:.2g}" for value in values)
