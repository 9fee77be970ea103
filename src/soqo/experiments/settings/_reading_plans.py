"""What has to be simulated to judge the paper's claims under every reading.

Readings share most of their simulations: a policy is simulated once for each combination of what it depends on, under a
name that says so. The c1 of the reading "tuned" is known only after a first stage, which simulates a grid of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from soqo._foundation.frozen_dataclasses import Value
from soqo._model.problem import RandomProblem
from soqo._simulation.environment import Environment
from soqo.experiments.settings._readings import Reading
from soqo.experiments.settings._setting import Setting
from soqo.policies import FTM, GLIDE, OAL, POL, HySCaLE, SCaLE

RATE = 1e-6
"""The learning rate that the text names."""

SLOW_RATE = 1e-8
"""A rate that suits steps of this size; it is ours, and only remarks use it."""

SIXTEEN = tuple(
    f"{process}_r{rank}_{sigma}"
    for rank in (4, 1)
    for process in ("gaussian", "correlated", "cauchy", "laplace")
    for sigma in ("1", "0.01")
)
"""The settings of the appendix."""

PRIMARY = "primary"
"""The setting of the primary evaluation."""

HEAVY_TAILS = ("heavy_tails_0.01", "heavy_tails_1")
"""The settings of Figure 4."""

RANK_DEFICIENT = ("rank_deficient_0.01", "rank_deficient_1")
"""The settings of Figure 5."""

SENSITIVITY = tuple(f"sensitivity_{eta}" for eta in (1, 10, 100, 1000, 10000))
"""The settings of Figure 6."""

LIGHT_TAILS = (PRIMARY, *(name for name in SIXTEEN if name.startswith(("gaussian", "correlated"))))
"""The settings with light tails."""

FLOOR = ("gaussian_r4_1", "laplace_r4_1")
"""The settings in which a policy of ours tests the lower bound."""

SPLIT = ("gaussian_r4_1", "gaussian_r4_0.01", "gaussian_r1_1", "gaussian_r1_0.01")
"""The settings in which the two parts of Proposition 1 are compared: v is a martingale with a covariance."""

_HYBRID = {PRIMARY, *HEAVY_TAILS, *RANK_DEFICIENT, *LIGHT_TAILS}
"""The settings with a claim about HySCaLE."""

_OVER_HORIZONS = {PRIMARY, *SIXTEEN}
"""The settings with a claim about the growth of SCaLE's regret with the horizon."""

_ELSEWHERE = {
    PRIMARY: 5.0,
    **dict.fromkeys(("gaussian_r1_1", "gaussian_r1_0.01", "cauchy_r1_1", "cauchy_r1_0.01"), 10.0),
    **dict.fromkeys(("correlated_r1_1", "correlated_r1_0.01"), 15.0),
    **dict.fromkeys(("correlated_r4_1", "correlated_r4_0.01"), 5.0),
}
"""The c1 of a setting elsewhere in the paper: from m = 80 in the text (5), from the names of figures' files (15 and 5
for correlated steps), and from the figure of the main text with the same steps and rank (10)."""

_GRIDS = {4: (1.0, 2.0, 3.0, 5.0, 10.0), 1: (3.0, 5.0, 10.0, 15.0, 30.0)}
"""The values of c1 that the line search tries, by the rank."""

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

UNPROBING = "GLIDE, no drift"
"""The name of a policy of ours that interpolates between its last position and v, as Theorem 2 requires."""


# ---- what a reading means in a setting -----------------------------------------------------------------------------


def canonical_spectrum(setting: Setting, spectrum: str | None) -> str:
    """Return the first of the spectra that are the same in a setting.

    Parameters
    ----------
    setting : Setting
        The setting.
    spectrum : str or None
        As in :class:`Reading`.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> canonical_spectrum(find("gaussian_r1_1")[0], "geometric"), canonical_spectrum(find("primary")[0], "geometric")
    ('linear_1', 'geometric')
    """
    problem = setting.environment.problem
    assert isinstance(problem, RandomProblem)
    if problem.rank == 1 or setting.swept or spectrum is None:
        return "linear_1"
    return "linear_1" if spectrum == "linear_10" and problem.min_eigenvalue >= 1.0 else spectrum


def with_spectrum(setting: Setting, spectrum: str) -> Environment:
    """Return the environment of a setting with another spectrum of A.

    Parameters
    ----------
    setting : Setting
        The setting.
    spectrum : str
        As :func:`canonical_spectrum` returns it.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> with_spectrum(find("primary")[0], "geometric").problem.spacing
    'geometric'
    """
    problem = setting.environment.problem
    assert isinstance(problem, RandomProblem)
    if problem.rank == 1 or setting.swept:
        return setting.environment
    largest = 10.0 if spectrum == "linear_10" or problem.min_eigenvalue >= 1.0 else 1.0
    spacing: Literal["linear", "geometric"] = "geometric" if spectrum == "geometric" else "linear"
    changed = replace(problem, max_eigenvalue=largest, spacing=spacing)
    return replace(setting.environment, problem=changed)


def captions_c1(setting: Setting) -> float:
    """Return the c1 of a setting's caption.

    Parameters
    ----------
    setting : Setting
        The setting.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> captions_c1(find("primary")[0])
    3.0
    """
    policy = setting.policies["SCaLE as printed"]
    assert isinstance(policy, SCaLE)
    return policy.c1


def c1_values(setting: Setting, choice: str | None) -> tuple[float, ...]:
    """Return the c1 of a reading, or the grid of the line search if it is tuned.

    Parameters
    ----------
    setting : Setting
        The setting.
    choice : str or None
        As in :class:`Reading`.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> c1_values(find("primary")[0], "elsewhere"), c1_values(find("primary")[0], "tuned")
    ((5.0,), (1.0, 2.0, 3.0, 5.0, 10.0))
    """
    if setting.swept:
        return tuple(sorted({point.value for point in setting.swept.values()}))
    own = captions_c1(setting)
    if choice == "tuned":
        problem = setting.environment.problem
        assert isinstance(problem, RandomProblem)
        return _GRIDS[problem.rank]
    return (_ELSEWHERE.get(setting.name, own) if choice == "elsewhere" else own,)


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
        if setting.name in _HYBRID:
            hybrid = HySCaLE(**given, c1=c1, learning_rate=RATE, gradient=_gradient(gradient))
            ends = {own, others[0], others[-1]} if setting.name == PRIMARY and others else {own}
            for horizon in ends:
                yield horizon, hyscale_name(gamma2, radius, gradient, c1), hybrid


def _other_horizons(setting: Setting) -> tuple[int, ...]:
    if setting.name not in _OVER_HORIZONS:
        return ()
    return tuple(horizon for horizon in setting.horizons if horizon != setting.horizon)


def _baselines(setting: Setting, spectrum: str, gradient: str) -> Iterable[tuple[int, str, object]]:
    if setting.swept:
        return
    others = _other_horizons(setting)
    ends = (others[0], others[-1]) if setting.name == PRIMARY and others else ()
    names = learner_names(gradient)
    for horizon in (setting.horizon, *ends):
        yield horizon, "FTM", FTM()
        for name, kind in zip(names, (POL, OAL), strict=True):
            yield horizon, name, kind(RATE, gradient=_gradient(gradient))
    for name, kind in zip(SLOW_LEARNERS, (POL, OAL), strict=True):
        yield setting.horizon, name, kind(SLOW_RATE)
    if setting.name in (PRIMARY, *RANK_DEFICIENT):
        given = scale_arguments(setting, "algorithm", "residual") | {"c1": captions_c1(setting)}
        yield setting.horizon, SLOW_SCALE, SCaLE(**given)
        yield setting.horizon, SLOW_HYSCALE, HySCaLE(**given, learning_rate=SLOW_RATE)
    if setting.name in FLOOR and spectrum == "linear_1":
        for horizon in (setting.horizon, *others):
            yield horizon, UNPROBING, GLIDE(drift=False)


def _gradient(gradient: str) -> Literal["exact", "as_printed"]:
    return "as_printed" if gradient == "as_printed" else "exact"


def scale_arguments(setting: Setting, gamma2: str, radius: str) -> dict[str, Any]:
    """Return the arguments of SCaLE in a reading, whose handover and fallback are those of the radius's place.

    Parameters
    ----------
    setting : Setting
        The setting.
    gamma2, radius : str
        As in :class:`Reading`.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> scale_arguments(find("primary")[0], "algorithm", "cap")["handover"]
    'virtual'
    """
    problem = setting.environment.problem
    assert isinstance(problem, RandomProblem)
    return {
        "noise_cap": setting.environment.noise.bound,
        "rank": problem.rank,
        "min_eigenvalue": problem.min_eigenvalue,
        "gamma2": gamma2,
        "radius": radius,
        "handover": "virtual" if radius == "cap" else "direct",
        "fallback": "least_squares" if radius == "residual" else "none",
    }
