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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import fdtrc

from soqo._control.actuators import check_names
from soqo._control.log import Log
from soqo._control.predictions import follow_minimizer
from soqo._control.readings import PlainReadings, as_log, meter_step, plain_readings, with_squares, without_spikes
from soqo._control.replay import Information, Replay, about, replay
from soqo._foundation.arguments import finite_array
from soqo._foundation.frozen_dataclasses import Value
from soqo.errors import ArgumentError
from soqo.estimators import svec_rows
from soqo.estimators.bayes import BayesianRegression, whiten
from soqo.policies import GLIDE, Policy
from soqo.typing import Array, ArrayLike

Level: TypeAlias = Literal["ok", "unknown", "warning", "stop"]

_VERDICTS: dict[Level, str] = {
    "ok": "Suitable.",
    "unknown": "Nothing speaks against it, but the log does not tell:",
    "warning": "Suitable, with reservations:",
    "stop": "Not suitable as it is:",
}
"""What is said of a plant whose worst finding has this level, from the best to the worst."""

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
    level : {"ok", "unknown", "warning", "stop"}
        Whether soqo can steer such a plant, the log does not tell, soqo can do so at a loss, or cannot.
    text, advice : str
        What was found, and what to do about it; the advice is empty if nothing is wrong or known.
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
    curvature, significance : float
        The size of A relative to W along the displacements of the log; and in deviations of its estimate.
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
    significance: float
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
        return max((found.level for found in self.findings), key=list(_VERDICTS).index)

    @property
    def suitable(self) -> bool:
        """Whether no finding is a stop."""
        return self.level != "stop"

    def __str__(self) -> str:
        worst = [found for found in self.findings if found.level == self.level]
        topics = "" if self.level == "ok" else ", ".join(dict.fromkeys(found.topic for found in worst))
        lines = [f"{_VERDICTS[self.level]} {topics}".rstrip(), ""]
        for found in self.findings:
            head = f"{found.level:8} {found.topic:13}"
            for text in (found.text, found.advice and f"-> {found.advice}"):
                lines += textwrap.wrap(text, 118, initial_indent=head, subsequent_indent=" " * 22)
                head = " " * 22
        step = worst[0].advice or "let GLIDE run beside the plant, told what was applied, before it steers."
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
    given, player = as_log(log), GLIDE() if policy is None else policy
    clean, spikes = without_spikes(given)
    if covariates is None and given.covariates is not None and not np.isnan(given.covariates).any():
        covariates = given.covariates
    if covariates is not None:
        clean, more = without_spikes(_without_covariates(clean, covariates))
        spikes += more
    readings = plain_readings(clean)
    found = replay(player, clean, draws=draws, seed=seed)
    weight = np.asarray(1.0 if clean.switching_weight is None else clean.switching_weight)
    others = {factor: replace(clean, switching_weight=weight * factor) for factor in _WEIGHT_FACTORS if factor != 1.0}
    savings = {factor: replay(player, log, draws=6, seed=seed).saving for factor, log in others.items()}
    stuck, saturated = _repeats(given, readings.u)
    result = LogCheck(
        findings=(),
        replay=found,
        savings=dict(sorted({**savings, 1.0: found.saving}.items())),
        rounds_needed=len(given) * (found.gain_error / _GAIN_ACCURACY) ** 2,
        load_of_v=found.load_of_v / max(found.hitting, 1e-300),
        resolution=meter_step(given.y),
        missing=float(np.isnan(given.y).mean()),
        spikes=spikes / len(given),
        stuck=stuck,
        saturated=saturated,
        outside=_share_outside(given),
        following=_following(given),
        **_fit(readings),
    )
    findings: list[Finding] = []
    for topic, judge in _JUDGES.items():
        *wrong, otherwise = (Finding(topic, *finding) for finding in judge(given, result))
        findings += wrong or [otherwise]
    return replace(result, findings=tuple(findings))


# ---- what the log shows ----------------------------------------------------------------------------------------------


def _fit(readings: PlainReadings) -> dict[str, float]:
    """Return what an unconstrained quadratic fit of the readings explains, and what it leaves, in whitened rows.

    All but the noise is NaN where there are too few readings.
    """
    u, observed = readings.u, ~np.isnan(readings.y)
    regression = BayesianRegression.fit(*readings)
    names = ("curvature", "significance", "explained", "autocorrelation", "cubic", "load_correlation")
    found = {**dict.fromkeys(names, math.nan), "noise": regression.noise}
    w = u / np.maximum(np.abs(u).max(axis=0), 1e-300)
    rows, extra = svec_rows(u), np.column_stack([w**3, w * np.abs(w)])
    load = [*readings.drivers[: regression.drivers], np.ones((len(u), 1))]
    cost = [rows, u] if regression.has_offset else [rows]
    table = np.column_stack([*cost, *load, extra, readings.y])[observed]
    if regression.walk_speed and len(table) > 1:
        table, _ = whiten(table, np.flatnonzero(observed).astype(float), np.ones(len(table)), regression.walk_speed)
    p, q, y = rows.shape[1], extra.shape[1], table[:, -1]
    costs, k = sum(part.shape[1] for part in cost), table.shape[1] - 1 - q
    free = len(table) - k - q
    if free < k:
        return found
    without, rest, more = (_residual(table[:, part], y) for part in (slice(costs, k), slice(0, k), slice(0, k + q)))
    squares = [float(np.square(part).sum()) for part in (without, rest, more)]
    gained, left = max(squares[0] - squares[1], 0.0), max(squares[2], 1e-300)
    is_cubic = fdtrc(q, free, (squares[1] - squares[2]) / q / (left / free)) < 1e-6
    inverse = np.linalg.pinv(table[:, :k], rcond=1e-10)
    theta, noise = (inverse @ y)[:p], math.sqrt(squares[1] / (free + q)) + 1e-300
    mean = rows.mean(axis=0)
    driven = np.diff(regression.driven_load(readings.drivers))
    return {
        **found,
        "curvature": float(mean @ theta / max(0.5 * np.square(u).sum(axis=1).mean(), 1e-300)),
        "significance": float(mean @ theta / (noise * np.linalg.norm(mean @ inverse[:p]) + 1e-300)),
        "explained": gained / max(squares[0], 1e-300),
        "autocorrelation": float(rest[1:] @ rest[:-1] / max(squares[1], 1e-300)),
        "cubic": math.sqrt((squares[1] - squares[2]) / gained) if is_cubic and gained > 0.0 else 0.0,
        "load_correlation": float(max(abs(_correlation(driven, column)) for column in u[1:].T)),
    }


def _residual(columns: Array, y: Array) -> Array:
    solution, *_ = np.linalg.lstsq(columns, y)
    return np.asarray(y - columns @ solution)


def _correlation(one: Array, other: Array) -> float:
    one, other = one - one.mean(), other - other.mean()
    return float(one @ other) / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-300)


def _without_covariates(log: Log, covariates: ArrayLike) -> Log:
    """Return the log without what covariates, and their squares, explain of the base load."""
    w = finite_array("covariates", covariates)
    if w.ndim != 2 or len(w) != len(log):
        raise ArgumentError(f"covariates must have shape ({len(log)}, k), got {w.shape}")
    readings, drivers = plain_readings(log), with_squares(w)
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
    stuck = np.zeros(y.size, dtype=bool)
    for start, length in zip(starts, lengths, strict=False):
        run = slice(start, start + length)
        stuck[run] = length >= longest and np.ptp(u[known[run]], axis=0).max() > 0.0
    values, counts = np.unique(y[~stuck], return_counts=True)
    if values.size < 3 or counts[-1] < max(5.0, 0.01 * y.size, 3.0 * counts[-2]):
        return float(stuck.mean()), 0.0
    return float(stuck.mean()), float(counts[-1] / y.size)


def _share_outside(log: Log) -> float:
    return float((follow_minimizer(log) != log.v).any(axis=1).mean())


def _following(log: Log) -> float:
    """Return the share of the variance of the steps of x that v - x explains."""
    before = np.vstack([log.x0, log.x[:-1]])
    steps, away = log.x - before, log.v - before
    spread = steps.std(axis=0)
    moves = spread > 1e-9 * np.maximum(np.abs(log.x).max(axis=0), 1e-300)
    if not moves.any() or len(log) < 4 * log.dim:
        return math.nan
    steps = steps[:, moves] / spread[moves]
    left = _residual(np.column_stack([away, np.ones(len(away))]), steps)
    return float(1.0 - np.square(left).sum() / np.square(steps - steps.mean(axis=0)).sum())


# ---- what it means ---------------------------------------------------------------------------------------------------
# Each function yields what is wrong, and last of all what is said if nothing is.

_Judgment: TypeAlias = Iterator[tuple[Level, str, str]]


def _judge_v(log: Log, found: LogCheck) -> _Judgment:
    """Judge v against positions, limits and readings."""
    u = log.x - log.v
    shift, spread = np.abs(u.mean(axis=0)), np.maximum(u.std(axis=0), 1e-12 * np.abs(log.v).max())
    centered = log.v - log.v.mean(axis=0)
    slopes = (centered * log.x).sum(axis=0) / np.maximum(np.square(centered).sum(axis=0), 1e-300)
    is_fahrenheit = np.abs(slopes * 1.8 - 1.0) < 0.15
    far = shift > np.where(is_fahrenheit, 2.0, 5.0) * spread
    if far.any():
        k = int(np.argmax(np.where(far, shift / spread, 0.0)))
        guess = ", as if v were in degF and x in degC" if is_fahrenheit[k] else ""
        text = f"x - v of {_name(log, k)} is {u[:, k].mean():.3g} with a deviation of {spread[k]:.2g}{guess}"
        yield "stop", text, "give v in the unit and with the zero of the positions."
    if found.outside > 0.05:
        text = f"v is out of low and high in {found.outside:.0%} of the rounds"
        advice = "check the unit of v, and clip v to the limits of the plant."
        yield "stop" if found.outside > 0.5 else "warning", text, advice
    explained = f"v - x explains {found.following:.0%} of the steps"
    if found.following < 0.2 and not _rises(found):
        text = f"{explained}, so that they have little to do with v, and readings do not rise with the distance from v"
        yield "stop", text, "check that v is that of this plant, with actuators in this order."
    away = f"x - v has a deviation of {_list(spread)}"
    if math.isnan(found.following):
        yield "unknown", f"there are too few steps of x to compare them with v; {away}", ""
    yield "ok", f"{explained}; {away}", ""


def _judge_meter(_: Log, found: LogCheck) -> _Judgment:
    """Judge the meter."""
    if found.stuck > 0.01:
        text = f"{found.stuck:.0%} of the readings are repeated while the plant moves: the meter is stuck"
        advice = "observe NaN for a value that is repeated, and repair the meter."
        yield "stop" if found.stuck > 0.3 else "warning", text, advice
    if found.saturated > 0.01:
        text = f"{found.saturated:.0%} of the readings are at the largest value"
        yield "warning", text, "if that is its limit, tell it: GLIDE(y_max=...)."
    if found.resolution > 2.0 * found.noise:
        text = f"the meter has steps of {found.resolution:.2g}, twice the noise or more"
        yield "warning", text, "log the reading with more digits."
    if found.missing > 0.2:
        yield "warning", f"{found.missing:.0%} of the rounds have no reading", "expect to learn more slowly."
    if found.spikes > 0.03:
        yield "warning", f"{found.spikes:.1%} of the readings are spikes", "filter the meter."
    step = f", steps of {found.resolution:.2g}" if found.resolution else ""
    yield "ok", f"noise of {found.noise:.2g}{step}, {found.missing:.1%} missing, {found.spikes:.1%} spikes", ""


def _judge_cost(_: Log, found: LogCheck) -> _Judgment:
    """Judge whether readings are a quadratic function of x - v with its minimum at v."""
    text = (
        f"a quadratic function of x - v explains {found.explained:.0%} of what the base load leaves "
        f"(autocorrelation {found.autocorrelation:.2f} after it, cubic and one-sided terms {found.cubic:.0%})"
    )
    if found.significance < -_SIGNIFICANT:
        advice = "check the sign of y (a cost, not a yield: observe -y), and that v is the best position."
        yield "stop", "readings fall as x moves away from v", advice
    elif math.isnan(found.significance) or not (_rises(found) or found.replay.information is Information.FULL):
        yield "unknown", "the readings do not tell whether they rise with the distance from v", ""
    elif not _rises(found):
        advice = "check that y is what being away from v costs, and belongs to the round of its x."
        yield "warning", "readings hardly rise with the distance from v", advice
    elif found.cubic > 0.12:
        advice = "expect less than the saving below; GLIDE(trusted_distance=...) says up to where it is quadratic."
        yield "warning", f"the cost is not quadratic: {text}", advice
    elif abs(found.autocorrelation) > 0.35:
        advice = "check that readings are not averages over several rounds, and belong to the round of their x."
        yield "warning", f"errors are correlated: {text}", advice
    yield "ok", text, ""


def _judge_load(log: Log, found: LogCheck) -> _Judgment:
    """Judge whether the base load moves with v, and the offset of v."""
    advice = "subtract what the plant is expected to read at v, by load and weather, before you observe the readings."
    offset = found.replay.offset
    if not _compares(found):
        yield "unknown", "it cannot be told from the hitting cost", ""
    elif found.replay.confounded:
        text = (
            f"it moves with v, by {found.load_of_v:.2g} times the deviation of the hitting cost; its changes have a "
            f"correlation of {found.load_correlation:.2f} with x - v, so a policy takes them for hitting cost"
        )
        yield "stop" if found.load_of_v > 1.0 else "warning", text, advice
    elif (np.abs(offset) > np.maximum(log.v.std(axis=0), 3.0 * (log.x - log.v).std(axis=0))).any():
        k = int(np.argmax(np.abs(offset)))
        text = f"v of {_name(log, k)} seems to be off by {offset[k]:.2g}, more than it varies"
        yield "warning", text, f"check v; if it is right, something moves the readings: {advice}"
    shift = f"; v seems to be off by {_list(offset)}" if offset.any() else ""
    yield "ok", f"the readings do not show that it moves with v{shift}", ""


def _judge_weight(log: Log, found: LogCheck) -> _Judgment:
    """Judge the size of A against the switching weight."""
    given = "" if log.switching_weight is not None else " (none is given, so 1)"
    third, one, three = (f"{saving:.3g}" for saving in found.savings.values())
    savings, policy = f"{third} with a third of it, {one} with it, {three} with three times it", found.replay.policy
    text = f"the curvature of the cost is {found.curvature:.2g} times the weight{given}; {policy} saves {savings}"
    if not _compares(found):
        yield "unknown", f"it cannot be compared with the cost{given}", ""
    elif found.curvature > 100.0:
        yield "stop", text, "moving is almost free, and following v the best: is y in W and the weight in kW?"
    elif found.curvature < 3e-3:
        yield "stop", text, "being away is almost free, and standing still the best: is y in kW and the weight in W?"
    yield "ok", text, ""


def _judge_rounds(_: Log, found: LogCheck) -> _Judgment:
    """Judge how much the log says about A."""
    seen = found.replay
    text = f"{seen.rounds} rounds inform about {seen.learned} of {seen.unknowns} directions of A"
    if seen.information is Information.NONE:
        yield "stop", text, seen.advice or "record more rounds."
    text += f"; the gain is known within 5 % after about {about(found.rounds_needed)}"
    if seen.information is Information.PARTIAL:
        yield "warning", text, seen.advice or "record more rounds."
    elif found.rounds_needed > 30.0 * seen.rounds:
        yield "warning", text, "the noise hides the cost: average the meter over longer rounds."
    yield "ok", text, ""


def _judge_saving(_: Log, found: LogCheck) -> _Judgment:
    """Judge what the policy saves, beside the best fixed share."""
    seen = found.replay
    if seen.information is Information.NONE:
        yield "unknown", "it cannot be estimated", ""
    logged, share = float(seen.recorded.mean()), float(seen.share_cost.mean())
    low, high = seen.interval
    text = (
        f"the log cost {logged:.4g}, following v would have cost {float(seen.following_cost.mean()):.4g}, and the best "
        f"fixed share, x += {seen.share:.2f} (v - x), {share:.4g}; {seen.policy} would have cost "
        f"{logged - seen.saving:.4g}, and saves {seen.saving:.3g} of the log ({low:.3g} .. {high:.3g}, 95 %)"
    )
    text += ", which may be nothing" if low <= 0.0 <= high else ""
    if seen.interval_over_share[1] < 0.0 and seen.saving_over_share < -0.1 * share:
        is_best = logged < 1.05 * share
        advice = "go on as in the log" if is_best else f"move {seen.share:.0%} of the way to v"
        yield "warning", text, f"{advice}, without learning."
    yield "ok", text, ""


_JUDGES: dict[str, Callable[[Log, LogCheck], _Judgment]] = {
    "v": _judge_v,
    "meter": _judge_meter,
    "hitting cost": _judge_cost,
    "base load": _judge_load,
    "weight": _judge_weight,
    "rounds": _judge_rounds,
    "saving": _judge_saving,
}


def _rises(found: LogCheck) -> bool:
    """Return whether readings rise with the distance from v, beyond doubt."""
    return found.significance > _SIGNIFICANT


def _compares(found: LogCheck) -> bool:
    """Return whether the log tells the size of the hitting cost."""
    return _rises(found) and found.replay.information is not Information.NONE


def _name(log: Log, k: int) -> str:
    return check_names(log.actuators, log.units, log.dim).name(k)


def _list(values: Array) -> str:
    return ", ".join(f"{value:.2g}" for value in values)
