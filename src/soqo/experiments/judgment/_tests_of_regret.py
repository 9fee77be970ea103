"""Tests of claims about regret: who outperforms whom, how regret grows, and which c1 is best.

Each test takes the samples, a reading, the names of the claim's settings and the claim's options, and returns a case
for each setting; the number that decides comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from soqo._simulation.summary import format_short
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case, Number, Status, decide, measure
from soqo.experiments.settings import (
    AXES,
    SLOW_HYSCALE,
    SLOW_LEARNERS,
    SLOW_SCALE,
    Reading,
    canonical_spectrum,
    describe_setting,
)
from soqo.typing import Array

BASELINES = ("FTM", "POL", "OAL")
"""The paper's baselines."""

_BOTH = ("SCaLE", "HySCaLE")

_LEARNERS = ("POL", "OAL", "HySCaLE")

_NEARLY_LINEAR = 0.9
"""An exponent of regret that grows linearly after a constant cost at the beginning, such as HySCaLE's probes."""

_VISIBLE = (2.0 / 3.0 - 1.0 / 2.0) / 2.0
"""An order difference is visible if half of the claimed difference of exponents is."""

_HIGHER = 1.1
"""The ends of a U are higher than its bottom by this factor."""

_CONSTANT = 2.0
"""Values of c1 within this factor of each other count as almost constant."""

_NEAR_THREE = (2.0, 4.0)


def _least_first(groups: Sequence[Sequence[Number]]) -> list[Number]:
    """Return the numbers of several policies, those with the smallest first number first."""
    return [number for group in sorted(groups, key=lambda one: one[0].value) for number in group]


# ---- rankings ------------------------------------------------------------------------------------------------------


def outperform(
    samples: Samples,
    reading: Reading,
    names: Sequence[str],
    *,
    players: Sequence[str],
    others: Sequence[str] = BASELINES,
    best_of: str = "the best baseline",
) -> list[Case]:
    """Test whether the statistic of each player is below those of all others, the best of which ``best_of`` names."""
    cases = []
    for name in names:
        own = [samples.statistic(name, reading, player) for player in players]
        best = np.min([samples.statistic(name, reading, other) for other in others], axis=0)
        worst = np.max(own, axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(best > 0.0, worst / best, np.nan)
        who = f"{' and '.join(players)}, the worse," if len(players) > 1 else players[0]
        numbers = [measure(f"{who} as a share of {best_of}", ratio)]
        numbers += [measure(label, values) for label, values in zip((*players, best_of), (*own, best), strict=True)]
        cases.append(decide(name, worst < best, True, samples.runs, *numbers))
    return cases


def _lead(samples: Samples, name: str, reading: Reading, player: str, horizon: int | None = None) -> Array:
    """Return the best baseline's statistic over a player's; NaN where one is not positive."""
    best = np.min([samples.statistic(name, reading, other, horizon) for other in BASELINES], axis=0)
    own = samples.statistic(name, reading, player, horizon)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((best > 0.0) & (own > 0.0), best / own, np.nan)


def lead_grows(samples: Samples, reading: Reading, names: Sequence[str]) -> list[Case]:
    """Test whether both policies lead at the longest horizon, and by a larger factor than at the shortest."""
    (name,) = names
    ends = samples.horizons(name, reading, "FTM")
    if len(ends) < 2:
        return []
    passed, numbers = [], []
    for player in _BOTH:
        early, late = (_lead(samples, name, reading, player, horizon) for horizon in (ends[0], ends[-1]))
        passed.append(np.where(np.isnan(late / early), np.nan, (late > 1.0) & (late > early)))
        numbers.append(
            (
                measure(f"{player}, lead at T = {ends[-1]}", late),
                measure(f"{player}, that lead over its lead at T = {ends[0]}", late / early),
            )
        )
    least = np.min(passed, axis=0)
    # The policy that fails decides, and its numbers come first.
    first = sorted(zip(passed, numbers, strict=True), key=lambda one: bool(one[0][0] == 1.0))
    listed = [number for _, pair in first for number in pair]
    return [decide(name, least == 1.0, ~np.isnan(least), samples.runs, *listed)]


def largest_where_small(
    samples: Samples, reading: Reading, _: Sequence[str], *, pairs: Mapping[str, str]
) -> list[Case]:
    """Test whether SCaLE leads, and by more at a small sigma_r than in the setting with a large one."""
    cases = []
    for name, other in pairs.items():
        small, large = (_lead(samples, one, reading, "SCaLE") for one in (name, other))
        numbers = [measure("lead at sigma_r = 0.01", small), measure("lead at sigma_r = 1", large)]
        passed, known = (small > large) & (small > 1.0), ~np.isnan(small / large)
        cases.append(decide(name, passed, known, samples.runs, *numbers))
    return cases


def exploration_is_expensive(samples: Samples, reading: Reading, names: Sequence[str]) -> list[Case]:
    """Test whether both policies pay more per round while they explore than afterwards."""
    (name,) = names
    found = samples.of(name, reading, None)
    assert found is not None
    m, numbers, passed = samples.exploration_rounds(name, reading), [], []
    for label in _BOTH:
        row = found.policies.index(samples.policy(label, name, reading))
        first = found.exploration[row]
        per_round = samples.reduce(name, reading, first) / m
        later = samples.reduce(name, reading, found.regret[row] - first) / (samples.settings[name].horizon - m)
        passed.append(per_round > later)
        ratio = measure(f"{label}, regret per round while exploring over that afterwards", per_round / later)
        numbers.append((ratio, measure(f"{label}, while exploring", per_round), measure(f"{label}, afterwards", later)))
    return [decide(name, np.all(passed, axis=0), True, samples.runs, *_least_first(numbers))]


# ---- growth with the horizon ---------------------------------------------------------------------------------------


def grow_at_most(
    samples: Samples, reading: Reading, names: Sequence[str], *, most: float, players: Sequence[str] = ("SCaLE",)
) -> list[Case]:
    """Test whether the exponents of regret over the horizons are below a number."""
    cases = []
    for name in names:
        slopes = [samples.exponent(name, reading, player) for player in players]
        numbers = [measure(f"exponent of {player}", slope) for player, slope in zip(players, slopes, strict=True)]
        larger = np.max(slopes, axis=0)
        listed = sorted(numbers, key=lambda number: -number.value)
        cases.append(decide(name, larger < most, ~np.isnan(larger), samples.runs, *listed))
    return cases


def learners_fail(samples: Samples, reading: Reading, names: Sequence[str]) -> list[Case]:
    """Test whether the regret of each gradient-based policy is not sub-linear, and grows faster than SCaLE's."""
    cases = []
    for name in names:
        slopes = {p: samples.exponent(name, reading.filled(), p) for p in (*_LEARNERS, "SCaLE", "FTM")}
        order = [*sorted(_LEARNERS, key=lambda player: float(slopes[player][0])), "SCaLE", "FTM"]
        if _NEARLY_LINEAR <= slopes[order[0]][0] <= slopes["SCaLE"][0]:
            order.sort(key=lambda player: player != "SCaLE")  # the learners are linear, and SCaLE's growth decides
        numbers = [measure(f"exponent of {player}", slopes[player]) for player in order]
        smaller = np.min([slopes[player] for player in _LEARNERS], axis=0)
        known = ~np.isnan(smaller + slopes["SCaLE"])
        passed = (smaller >= _NEARLY_LINEAR) & (smaller > slopes["SCaLE"])
        cases.append(decide(name, passed, known, samples.runs, *numbers))
    return cases


def order_difference(
    samples: Samples, reading: Reading, _: Sequence[str], *, players: Sequence[str], pairs: Mapping[str, str]
) -> list[Case]:
    """Test whether regret grows visibly faster in settings of rank 1 than in settings of full rank."""
    cases = []
    for deficient, full in pairs.items():
        numbers, differences = [], []
        for player in players:
            one, other = (samples.exponent(name, reading, player) for name in (deficient, full))
            differences.append(one - other)
            numbers.append(
                (
                    measure(f"{player}, difference of exponents", differences[-1]),
                    measure(f"{player} at r = 1, exponent", one),
                    measure(f"{player} at r = 4, exponent", other),
                )
            )
        least = np.min(differences, axis=0)
        cases.append(decide(deficient, least > _VISIBLE, ~np.isnan(least), samples.runs, *_least_first(numbers)))
    return cases


# ---- c1 ------------------------------------------------------------------------------------------------------------


def _best_c1(samples: Samples, name: str, reading: Reading) -> Array:
    values, regret = samples.by_c1(name, reading)
    return np.asarray(values[np.argmin(regret, axis=0)])


def u_shaped(samples: Samples, reading: Reading, names: Sequence[str]) -> list[Case]:
    """Test whether both arms of a U are seen; where the best c1 is an end of the range, one arm is not: it fails."""
    cases = []
    for name in names:
        values, regret = samples.by_c1(name, reading)
        rise = np.min(regret[[0, -1]], axis=0) / np.min(regret, axis=0)
        best = _best_c1(samples, name, reading)
        inside = (best > values[0]) & (best < values[-1])
        numbers = [measure("the lower end over the bottom", rise), measure("best c1", best)]
        if not inside[0]:
            told = f"no second arm for c1 from {values[0]:g} to {values[-1]:g}: best c1"
            numbers = [replace(numbers[1], label=told), numbers[0]]
        cases.append(decide(name, inside & (rise > _HIGHER), True, samples.runs, *numbers))
    return cases


def near_three(samples: Samples, reading: Reading, names: Sequence[str]) -> list[Case]:
    """Test whether the best c1 is about three."""
    cases = []
    for name in names:
        best = _best_c1(samples, name, reading)
        passed = (best >= _NEAR_THREE[0]) & (best <= _NEAR_THREE[1])
        cases.append(decide(name, passed, True, samples.runs, measure("best c1", best)))
    return cases


def constant_in_eta(samples: Samples, reading: Reading, names: Sequence[str]) -> list[Case]:
    """Test whether the best values of c1 at all eta are within a factor of each other."""
    best = {name: _best_c1(samples, name, reading) for name in names}
    spread = np.max([*best.values()], axis=0) / np.min([*best.values()], axis=0)
    numbers = [measure("largest best c1 over the smallest", spread)]
    numbers += [measure(f"best c1 in {describe_setting(name)}", values) for name, values in best.items()]
    return [decide(names[0], spread <= _CONSTANT, True, samples.runs, *numbers)]


# ---- a learning rate that is not in the paper ----------------------------------------------------------------------


def slower_learners(
    samples: Samples,
    readings: Sequence[Reading],
    names: Sequence[str],
    *,
    players: Sequence[str],
    others: Sequence[str] = BASELINES,
    **_: object,
) -> str:
    """Return what a learning rate that is not in the paper changes: for the baselines, and for both policies."""
    held = 0
    for reading in readings:
        cases = outperform(samples, reading, names, players=players, others=(*others, *SLOW_LEARNERS))
        held += Status.all(case.status for case in cases) is Status.HOLDS
    told = (
        "With learners of the rate 1e-8 among the baselines, which are not in the paper, it holds in "
        f"{held} of {len(readings)} readings."
    )
    parts = []
    for name in names:
        found = slower_medians(samples, name)
        for spectrum, (scale, hyscale, text_rate, own_rate) in found.items():
            label = describe_setting(name)
            place = label if len(found) == 1 else f"{label}, spectrum {spectrum.replace('_', ' ')}"
            parts.append(
                f"{place}: {format_short(scale)} and {format_short(hyscale)}, the best of FTM, POL and OAL "
                f"{format_short(text_rate)} at 1e-6 and {format_short(own_rate)} at 1e-8"
            )
    if not parts:
        return told
    medians = "With soqo's defaults and the rate 1e-8, the medians of SCaLE and HySCaLE are, in "
    return f"{told} {medians}{'; in '.join(parts)}."


def slower_medians(samples: Samples, name: str) -> dict[str, tuple[float, float, float, float]]:
    """Return medians with soqo's defaults and the rate 1e-8, by spectrum.

    They are those of SCaLE, HySCaLE, the best baseline with the text's rate, and the best one with the rate 1e-8.
    """
    medians = {}
    for spectrum in dict.fromkeys(canonical_spectrum(samples.settings[name], one.key) for one in AXES["spectrum"]):
        reading = Reading(spectrum=spectrum, statistic="median")
        found = samples.of(name, reading, None)
        if found is None or SLOW_HYSCALE not in found.policies:
            continue
        groups = ((SLOW_SCALE,), (SLOW_HYSCALE,), BASELINES, ("FTM", *SLOW_LEARNERS))
        scale, hyscale, text_rate, own_rate = (
            min(float(samples.statistic(name, reading, policy)[0]) for policy in group) for group in groups
        )
        medians[spectrum] = scale, hyscale, text_rate, own_rate
    return medians


def slower_wins(samples: Samples, name: str, statistic: str) -> int:
    """Return for how many spectra SCaLE with soqo's defaults significantly beats the baselines."""
    held = 0
    for spectrum in slower_medians(samples, name):
        reading = Reading(spectrum=spectrum, statistic=statistic)
        (case,) = outperform(samples, reading, (name,), players=(SLOW_SCALE,))
        held += case.status is Status.HOLDS
    return held
