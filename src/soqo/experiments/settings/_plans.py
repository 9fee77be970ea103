"""What has to be simulated to judge the paper's claims under every reading.

Readings share most of their simulations: a policy is simulated once for each combination of what it depends on, under a
name that says so. The c1 of the reading "tuned" is known only after a first stage, which simulates a grid of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from soqo._foundation.frozen_dataclasses import Value
from soqo._simulation.environment import Environment
from soqo.experiments.settings._interpretations import (
    AXES,
    Reading,
    c1_values,
    canonical_spectrum,
    captions_c1,
    scale_arguments,
    with_spectrum,
)
from soqo.experiments.settings._setting import Setting
from soqo.policies import FTM, OAL, POL, HySCaLE, SCaLE

RATE = 1e-6
"""The learning rate that the text names."""

SLOW_RATE = 1e-8
"""A rate that suits steps of this size; it is ours, and only remarks use it."""

_LEARNED = ("primary", "heavy_tails", "rank_deficient")
"""The figures with a claim about HySCaLE in every reading; settings with Gaussian steps have one, too."""

_OVER_HORIZONS = (*_LEARNED, "appendix")
"""The figures with a claim about the growth of SCaLE's regret with the horizon."""

TunedC1 = Mapping[tuple[str, str, str, str], Mapping[str, float]]
"""The c1 with the least regret, by statistic, for (setting, spectrum, gamma2, radius)."""


@dataclass(frozen=True)
class ReadingPlan(Value):
    """Policies to be simulated in one environment.

    Attributes
    ----------
    setting, spectrum : str
        The name of the setting, and the spectrum of A, as :func:`canonical_spectrum` returns it.
    environment : Environment
        The environment of the setting with this spectrum.
    seed, runs : int
        As in the setting.
    policies : mapping of int to mapping of str to policy
        The policies by name, for each horizon.
    """

    setting: str
    spectrum: str
    environment: Environment = field(repr=False)
    seed: int
    runs: int
    policies: Mapping[int, Mapping[str, object]] = field(repr=False)


# ---- names ---------------------------------------------------------------------------------------------------------


def scale_name(gamma2: str, radius: str, c1: float) -> str:
    """Return the name of a SCaLE.

    Parameters
    ----------
    gamma2, radius : str
        As in :class:`Reading`.
    c1 : float
        The number of probes per rank and dimension.

    Examples
    --------
    >>> scale_name("algorithm", "cap", 3.0)
    'SCaLE/algorithm/cap/3'
    """
    return f"SCaLE/{gamma2}/{radius}/{c1:g}"


def hyscale_name(gamma2: str, radius: str, gradient: str, c1: float) -> str:
    """Return the name of a HySCaLE.

    Parameters
    ----------
    gamma2, radius, gradient : str
        As in :class:`Reading`.
    c1 : float
        The number of probes per rank and dimension.

    Examples
    --------
    >>> hyscale_name("algorithm", "cap", "exact", 3.0)
    'HySCaLE/algorithm/cap/exact/3'
    """
    return f"HySCaLE/{gamma2}/{radius}/{gradient}/{c1:g}"


def learner_names(gradient: str) -> tuple[str, str]:
    """Return the names of POL and OAL.

    Parameters
    ----------
    gradient : str
        As in :class:`Reading`.

    Examples
    --------
    >>> learner_names("exact")
    ('POL/exact', 'OAL/exact')
    """
    return f"POL/{gradient}", f"OAL/{gradient}"


SLOW_LEARNERS = ("POL/slow", "OAL/slow")
"""The names of learners with the exact gradient and a slower rate, which are ours."""

SLOW_SCALE = "SCaLE/slow"
"""The name of SCaLE with soqo's defaults, beside those learners."""

SLOW_HYSCALE = "HySCaLE/slow"
"""The name of HySCaLE with soqo's defaults and the slower rate."""


# ---- plans ---------------------------------------------------------------------------------------------------------


def plan_first_stage(settings: Iterable[Setting], readings: Sequence[Reading]) -> list[ReadingPlan]:
    """Return what the readings need except the line search's choice, and the grid for that.

    Parameters
    ----------
    settings : iterable of Setting
        Settings of the paper.
    readings : sequence of Reading
        The readings.

    Returns
    -------
    list of ReadingPlan
        One plan for each setting and spectrum.

    Examples
    --------
    >>> from soqo.experiments.settings import all_readings, find
    >>> [(plan.spectrum, len(plan.policies[1000])) for plan in plan_first_stage(find("primary"), all_readings())]
    [('linear_1', 90), ('linear_10', 90), ('geometric', 90)]
    """
    return [plan for setting in settings for plan in _plan_setting(setting, readings, None)]


def plan_second_stage(settings: Iterable[Setting], readings: Sequence[Reading], tuned: TunedC1) -> list[ReadingPlan]:
    """Return what the readings need with the line search's choice of c1.

    Parameters
    ----------
    settings : iterable of Setting
        Settings of the paper.
    readings : sequence of Reading
        The readings.
    tuned : mapping
        The choices.

    Returns
    -------
    list of ReadingPlan
        One plan for each setting and spectrum that needs any.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> tuned = {("laplace_r1_1", "linear_1", "algorithm", "cap"): {"mean": 15.0, "median": 10.0}}
    >>> (plan,) = plan_second_stage(find("laplace_r1_1"), [Reading(c1="tuned")], tuned)
    >>> plan.policies[200].keys()
    dict_keys(['SCaLE/algorithm/cap/15'])
    """
    only = [reading for reading in readings if reading.c1 == "tuned"]
    return [plan for setting in settings if not setting.swept for plan in _plan_setting(setting, only, tuned)]


def _plan_setting(setting: Setting, readings: Sequence[Reading], tuned: TunedC1 | None) -> list[ReadingPlan]:
    by_spectrum: dict[str, dict[int, dict[str, object]]] = {}
    for reading in readings:
        spectrum = canonical_spectrum(setting, reading.spectrum)
        policies = by_spectrum.setdefault(spectrum, {})
        for horizon, name, policy in _needed(setting, spectrum, reading, tuned):
            policies.setdefault(horizon, {})[name] = policy
    # Policies that take their steps together are neighbors.
    return [
        ReadingPlan(
            setting.name,
            spectrum,
            with_spectrum(setting, spectrum),
            setting.seed,
            setting.runs,
            {horizon: dict(sorted(found.items(), key=_order)) for horizon, found in policies.items()},
        )
        for spectrum, policies in by_spectrum.items()
        if policies
    ]


def _order(item: tuple[str, object]) -> tuple[str, str]:
    *before, last = item[0].split("/")
    return last, "/".join(before[1:])


def _needed(
    setting: Setting, spectrum: str, reading: Reading, tuned: TunedC1 | None
) -> Iterable[tuple[int, str, object]]:
    """Yield what one reading needs in a setting: horizons, names and policies."""
    gamma2, radius, gradient = reading.gamma2 or "", reading.radius or "", reading.gradient or ""
    given = scale_arguments(setting, gamma2, radius)
    own, others = setting.horizon, _other_horizons(setting)
    if tuned is None:
        yield from _baselines(setting, spectrum, gradient)
        searching = reading.c1 == "tuned" or bool(setting.swept)
        for c1 in c1_values(setting, reading.c1):
            yield own, scale_name(gamma2, radius, c1), SCaLE(**given, c1=c1)
        if searching:
            return
        chosen = list(c1_values(setting, reading.c1))
    else:
        found = tuned[setting.name, spectrum, gamma2, radius]
        chosen = [found[reading.statistic or "mean"]]
    for c1 in chosen:
        for horizon in others:
            yield horizon, scale_name(gamma2, radius, c1), SCaLE(**given, c1=c1)
        only_gradient = not set(reading.changes()) - {"gradient", "statistic"}
        laplace = setting.name.startswith("laplace")  # that claim is judged in few readings
        learned = setting.figure in _LEARNED or setting.name.startswith(("gaussian", "correlated"))
        if learned or (laplace and only_gradient):
            hybrid = HySCaLE(**given, c1=c1, learning_rate=RATE, gradient=_gradient(gradient))
            grown = others and not setting.name.startswith("correlated")
            ends = {own, others[0], others[-1]} if grown else {own}
            for horizon in ends:
                yield horizon, hyscale_name(gamma2, radius, gradient, c1), hybrid


def _other_horizons(setting: Setting) -> tuple[int, ...]:
    if setting.figure not in _OVER_HORIZONS:
        return ()
    return tuple(horizon for horizon in setting.horizons if horizon != setting.horizon)


def _baselines(setting: Setting, spectrum: str, gradient: str) -> Iterable[tuple[int, str, object]]:
    if setting.swept:
        return
    others = _other_horizons(setting)
    compared = setting.figure in ("primary", "heavy_tails") or setting.name.startswith("laplace")
    grown = compared and (spectrum == AXES["spectrum"][0].key or setting.figure == "primary")
    ends = (others[0], others[-1]) if grown and others else ()
    names = learner_names(gradient)
    for horizon in (setting.horizon, *ends):
        yield horizon, "FTM", FTM()
        for name, kind in zip(names, (POL, OAL), strict=True):
            yield horizon, name, kind(RATE, gradient=_gradient(gradient))
    for name, kind in zip(SLOW_LEARNERS, (POL, OAL), strict=True):
        yield setting.horizon, name, kind(SLOW_RATE)
    if setting.figure in ("primary", "rank_deficient"):
        given = scale_arguments(setting, "algorithm", "residual") | {"c1": captions_c1(setting)}
        yield setting.horizon, SLOW_SCALE, SCaLE(**given)
        yield setting.horizon, SLOW_HYSCALE, HySCaLE(**given, learning_rate=SLOW_RATE)


def _gradient(gradient: str) -> Literal["exact", "as_printed"]:
    return "as_printed" if gradient == "as_printed" else "exact"
