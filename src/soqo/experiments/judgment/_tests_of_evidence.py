"""Tests of claims about theory, estimates, queries and movement, with evidence beside regret.

Each test takes the samples, a reading, the names of the claim's settings and the claim's options, and returns a case
for each setting. The other functions take all readings of a claim and return a text for its remark or its note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from soqo._simulation.summary import format_short
from soqo.experiments.judgment._estimates import QUERIES
from soqo.experiments.judgment._evidence import BENCHMARK, HORIZONS, Evidence, MovementCosts
from soqo.experiments.judgment._samples import Samples, resample
from soqo.experiments.judgment._theory_checks import diagonal_curvature
from soqo.experiments.judgment._verdicts import Case, Number, Status, decide, exact_case, measure
from soqo.experiments.settings import LITERAL, Reading, describe_setting, with_spectrum
from soqo.theory import theorem1
from soqo.typing import Array

_HALF = 0.5
"""The share of the runs that counts as high probability: the least that can be meant."""

_LESS = 0.9
"""An error that falls by less than a tenth has not fallen: a zero estimate has the error |A| at every horizon."""

_SCALE, _HYSCALE = "SCaLE as printed", "HySCaLE as printed"


# ---- theory --------------------------------------------------------------------------------------------------------


def checked(samples: Samples, reading: Reading, _: Sequence[str], *, check: str) -> Sequence[Case]:
    """Return the cases of a check of theory, whose name may depend on the reading."""
    return samples.evidence.checks.get(check.format(gamma2=reading.gamma2, radius=reading.radius), ())


def below_theorem1(samples: Samples, reading: Reading, names: Sequence[str]) -> list[Case]:
    """Test whether SCaLE's regret is below the bound of Theorem 1, with the constants of the appendix."""
    cases = []
    for name in names:
        setting = samples.settings[name]
        environment = with_spectrum(setting, samples.spectrum(name, reading))
        A, cap, c1 = diagonal_curvature(environment), environment.noise.bound, samples.c1(name, reading)
        bound = theorem1(A, environment.process, horizon=setting.horizon, noise_cap=cap, c1=c1, variant="as_printed")
        share = samples.statistic(name, reading, "SCaLE") / bound.value
        number = measure("regret over the bound", share)
        cases.append(decide(name, share <= 1.0, ~np.isnan(share), samples.runs, number))
    return cases


def infinite_risk(samples: Samples, _reading: Reading, _: Sequence[str]) -> list[Case]:
    """Test whether few probes leave an error unseen, and a multiple of r d probes leave none."""
    cases = []
    for found in samples.evidence.risk:
        enough = found.first_consistent
        multiple = enough / (found.rank * found.dim)
        numbers = {"the fewest probes that see every error": float(enough), "in multiples of r d": multiple}
        holds = min(found.probes) < enough and 0.5 <= multiple <= 2.0
        cases.append(exact_case(f"r = {found.rank}, d = {found.dim}", holds, numbers))
    return cases


def split(samples: Samples, _readings: Sequence[Reading], _: Sequence[str], **_options: object) -> str:
    """Return how far the two parts of the regret of SCaLE's own estimates are apart to the letter, at most."""
    literal = (LITERAL.gamma2, LITERAL.radius)
    found = [one for one in samples.evidence.split if (one.gamma2, one.radius) == literal]
    if not found:
        return ""
    sizes = [[float(np.median(np.abs(part))) for part in one.split()] for one in found]
    apart = max(max(both) / min(both) if min(both) > 0.0 else np.inf for both in sizes)
    return f"(for SCaLE's own estimates at T = {found[0].horizon:,}, they are up to {format_short(apart)} times apart)"


# ---- estimates -----------------------------------------------------------------------------------------------------


def within_bound(samples: Samples, reading: Reading, names: Sequence[str]) -> list[Case]:
    """Test whether the errors of most runs are within the bound of the proof."""
    cases = []
    for name, error, guaranteed in _errors(samples, reading, names, HORIZONS[1]):
        share = resample((error <= guaranteed).astype(float)).mean(axis=1)
        numbers = (
            Number("share of the runs within the bound", float(share[0])),
            measure("error over the bound", _median(error / guaranteed)),
        )
        cases.append(decide(name, share >= _HALF, True, error.size, *numbers))
    return cases


def falls(samples: Samples, reading: Reading, names: Sequence[str], *, start: int, end: int) -> list[Case]:
    """Test whether the median error falls from one horizon to a longer one, as the variance of probes grows."""
    cases = []
    pairs = (_errors(samples, reading, names, horizon) for horizon in (start, end))
    for (name, early, _), (_, late, _) in zip(*pairs, strict=True):
        first, last = _median(early), _median(late)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = measure(f"error at T = {end:,} over that at T = {start:,}", last / first)
        numbers = ratio, measure(f"error at T = {start:,}", first)
        cases.append(decide(name, last < _LESS * first, True, early.size, *numbers))
    return cases


def _errors(samples: Samples, reading: Reading, names: Sequence[str], horizon: int) -> list[tuple[str, Array, Array]]:
    """Return the errors of SCaLE's estimates and their bounds under a reading, by setting."""
    place = reading.gamma2, reading.radius, horizon
    return [
        (found.setting.name, found.error, found.guaranteed)
        for found in samples.evidence.estimates
        if found.setting.name in names and (found.gamma2, found.radius, found.horizon) == place
    ]


def _median(values: Array) -> Array:
    """Return the median of numbers of runs, for the runs and for resamples."""
    return np.asarray(np.median(resample(values), axis=1))


def error_bound(samples: Samples, readings: Sequence[Reading], names: Sequence[str], **_: object) -> str:
    """Return that the error bound of the proof fails, if it does in some setting in all readings; otherwise nothing."""
    places = dict.fromkeys(reading.on(("gamma2", "radius")) for reading in readings)
    found = [within_bound(samples, reading, names) for reading in places]
    fails = all(any(case.status is Status.FAILS for case in cases) for cases in found)
    return "the error bound that its proof uses fails: see the next row" if fails else ""


# ---- queries -------------------------------------------------------------------------------------------------------


def no_rub(samples: Samples, _: Reading, names: Sequence[str]) -> list[Case]:
    """Test whether the queries of learners spread worse than SCaLE's probes."""
    cases = []
    for found in samples.evidence.rub:
        if found.setting in names:
            last = found.queries.index(QUERIES)
            ratios = {name: _median(values[last]) for name, values in found.ratios.items()}
            numbers = [measure(f"C2/C1 of {name}", values) for name, values in ratios.items()]
            learners = np.min([ratios[name] for name in ("POL", "OAL", "HySCaLE")], axis=0)
            runs = found.ratios["SCaLE"].shape[1]
            cases.append(decide(found.setting, learners > ratios["SCaLE"], True, runs, *numbers))
    return cases


def inconsistent(samples: Samples, _: Reading, names: Sequence[str]) -> list[Case]:
    """Test whether HySCaLE's last estimate is further from A than SCaLE's."""
    cases = []
    for found in samples.evidence.rub:
        if found.setting in names:
            errors = {name: _median(found.errors[name]) for name in ("SCaLE", "HySCaLE")}
            numbers = [measure(f"|A_hat - A|_* of {name} at the end", values) for name, values in errors.items()]
            numbers.append(measure("|A_hat|_* of SCaLE over |A|_*", _median(found.sizes["SCaLE"] / found.curvature)))
            passed = errors["HySCaLE"] > errors["SCaLE"]
            cases.append(decide(found.setting, passed, True, found.curvature.size, *numbers))
    return cases


def without_probes(samples: Samples, _readings: Sequence[Reading], names: Sequence[str], **_: object) -> str:
    """Return what GLIDE, which has no probes with RUB, says about whether RUB is necessary; empty without it."""
    medians = {place: float(np.median(regret)) for place, regret in samples.evidence.tails.items()}
    parts = [
        f"{format_short(medians[name, 'GLIDE'])} in {describe_setting(name)}, where that of the calibrated SCaLE is "
        f"{format_short(medians[name, 'SCaLE'])}"
        for name in names
        if {(name, "GLIDE"), (name, "SCaLE")} <= medians.keys()
    ]
    if not parts:
        return ""
    return (
        "Is RUB necessary? GLIDE, which is not in the paper, learns from its own movement, without probes that have "
        f"RUB; its median regret is {', and '.join(parts)}."
    )


def explain_zero_estimates(evidence: Evidence, setting: str) -> str:
    """Return in how many runs SCaLE's estimate as printed is zero in a setting, and why; empty if in none.

    Parameters
    ----------
    evidence : Evidence
        The evidence.
    setting : str
        The name of the setting.

    Examples
    --------
    >>> explain_zero_estimates(Evidence(), "heavy_tails_0.01")
    ''
    """
    found = next((one for one in evidence.rub if one.setting == setting), None)
    if found is None or not found.zero_estimates:
        return ""
    return (
        f"SCaLE's estimate as printed is zero in {found.zero_estimates} of {found.curvature.size} runs: the measured "
        "costs sum to less than the radius eta m, so that M = 0 satisfies the constraint and has the least trace. Then "
        "C = I, and SCaLE stays where its probes end while v moves away: its regret grows as T^2. A smaller radius "
        "(exact or residual) or larger probes repair it."
    )


def zero_estimates(samples: Samples, _readings: Sequence[Reading], names: Sequence[str], **_: object) -> str:
    """Return the same for several settings, or how large estimates are where they are not zero."""
    parts = []
    for found in samples.evidence.rub:
        if found.setting in names:
            share = float(np.median(found.sizes["SCaLE"] / found.curvature))
            told = explain_zero_estimates(samples.evidence, found.setting)
            size = f"the nuclear norm of its estimate is {share:.2g} of A's (median)."
            parts.append(f"In {describe_setting(found.setting)}, {told or size}")
    return " ".join(parts)


# ---- movement ------------------------------------------------------------------------------------------------------


def _costs(samples: Samples, name: str) -> MovementCosts | None:
    return next((found for found in samples.evidence.movement if found.setting == name), None)


def move_more(samples: Samples, reading: Reading, names: Sequence[str]) -> list[Case]:
    """Test whether both learners pay more for switching than SCaLE does."""
    (place,) = names
    found = _costs(samples, place)
    if found is None:
        return []
    spent = {
        name: samples.reduce(place, reading, found.switching[name])
        for name in ("POL", "OAL", _SCALE, _HYSCALE, "FTM", BENCHMARK)
    }
    hitting = {name: samples.reduce(place, reading, found.hitting[name]) for name in (_SCALE, BENCHMARK)}
    learners = np.min([spent["POL"], spent["OAL"]], axis=0)
    numbers = [measure("POL and OAL, the lesser, over SCaLE", learners / spent[_SCALE])]
    numbers += [measure(f"switching cost of {name}", values) for name, values in spent.items()]
    numbers += [measure(f"hitting cost of {name}", values) for name, values in hitting.items()]
    return [decide(place, learners > spent[_SCALE], True, samples.runs, *numbers)]


def hybrid_movement(samples: Samples, _readings: Sequence[Reading], names: Sequence[str], **_: object) -> str:
    """Return what HySCaLE pays for switching, as a multiple of what the learners pay."""
    (place,) = names
    found = _costs(samples, place)
    if found is None:
        return ""
    spent = {name: samples.reduce(place, LITERAL, found.switching[name])[0] for name in ("POL", "OAL", _HYSCALE)}
    share = format_short(float(spent[_HYSCALE] / min(spent["POL"], spent["OAL"])))
    return f"against SCaLE; HySCaLE pays {share} times what the better learner pays"


def overpower(samples: Samples, reading: Reading, _: Sequence[str], *, pairs: Mapping[str, str]) -> list[Case]:
    """Test whether a singular A makes switching cost more than hitting, and by a larger factor than in full rank.

    There are three cases for each setting: SCaLE's probes, its play after them, and the play of LAI.
    """
    cases = []
    for deficient, full in pairs.items():
        both = [found for name in (deficient, full) if (found := _costs(samples, name)) is not None]
        if len(both) < 2:
            continue
        ratios: dict[tuple[str, str], list[Array]] = {}
        for found in both:
            for whose, (switching, hitting) in _play(found).items():
                paid = (samples.reduce(found.setting, reading, values) for values in (switching, hitting))
                ratios.setdefault(whose, []).append(np.divide(*paid))
        for (place, who), (one, other) in ratios.items():
            labels = (f"switching over hitting costs of {who}, r = 1", "the same, r = 4")
            numbers = [measure(label, values) for label, values in zip(labels, (one, other), strict=True)]
            passed = np.asarray(one > np.maximum(other, 1.0))
            cases.append(decide(f"{deficient}{place}", passed, True, samples.runs, *numbers))
    return cases


def _play(found: MovementCosts) -> dict[tuple[str, str], tuple[Array, Array]]:
    """Return switching and hitting costs of SCaLE's probes, of its later play and of LAI, by a suffix and words."""
    probes = found.probing_switching[_SCALE], found.probing_hitting[_SCALE]
    return {
        ("", "SCaLE's probes"): probes,
        (", SCaLE's play", "SCaLE's play after its probes"): (
            found.switching[_SCALE] - probes[0],
            found.hitting[_SCALE] - probes[1],
        ),
        (", LAI's play", "LAI's play"): (found.switching[BENCHMARK], found.hitting[BENCHMARK]),
    }
