"""Claims about c1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soqo.experiments.judgment._decisions import decide, highest, lowest, measure
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._rules import ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case, Kind
from soqo.experiments.settings import SENSITIVITY, Reading, describe_setting
from soqo.typing import Array

_AXES = ("gamma2", "radius", "statistic")
_HIGHER = 1.1
"""The ends of a U are higher than its bottom by this factor."""

_CONSTANT = 2.0
"""Values of c1 within this factor of each other count as almost constant."""

_NEAR_THREE = (2.0, 4.0)


def _best_c1(samples: Samples, name: str, reading: Reading) -> Array:
    values, regret = samples.by_c1(name, reading)
    return np.asarray(values[np.argmin(regret, axis=0)])


def _u_shaped(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    """Test whether both arms of a U are seen; where the best c1 is an end of the range, one arm is not: it fails."""
    cases = []
    for name in SENSITIVITY:
        values, regret = samples.by_c1(name, reading)
        rise = lowest(regret[0], regret[-1]) / lowest(*regret)
        best = _best_c1(samples, name, reading)
        inside = (best > values[0]) & (best < values[-1])
        numbers = [measure("the lower end over the bottom", rise), measure("best c1", best)]
        if not inside[0]:
            told = f"no second arm for c1 from {values[0]:g} to {values[-1]:g}: best c1"
            numbers = [replace(numbers[1], label=told), numbers[0]]
        cases.append(decide(name, inside & (rise > _HIGHER), True, samples.runs, *numbers))
    return cases


def _near_three(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    cases = []
    for name in SENSITIVITY:
        best = _best_c1(samples, name, reading)
        passed = (best >= _NEAR_THREE[0]) & (best <= _NEAR_THREE[1])
        cases.append(decide(name, passed, True, samples.runs, measure("best c1", best)))
    return cases


def _constant_in_eta(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    """Test whether the best values of c1 at all eta are within a factor of each other."""
    best = [_best_c1(samples, name, reading) for name in SENSITIVITY]
    spread = highest(*best) / lowest(*best)
    numbers = [measure("largest best c1 over the smallest", spread)]
    numbers += [
        measure(f"best c1 in {describe_setting(name)}", values) for name, values in zip(SENSITIVITY, best, strict=True)
    ]
    return [decide(SENSITIVITY[0], spread <= _CONSTANT, True, samples.runs, *numbers)]


_SOURCE = "Section 4.2, hyperparameter tuning, Figure 6"
_QUOTE = (
    "The optimal c1 is observed to remain almost constant (about 3) across a broad range of noise levels, confirming "
    "that c1 indeed is a universal parameter."
)
_SPECTRUM = "In Figure 6 the eigenvalues are linear up to 4 in every reading, since with all of them 1 A would be I."

TUNING_CLAIMS = (
    ClaimRule(
        id="c1-u-shape",
        kind=Kind.EXPERIMENT,
        text="regret as a function of c1 is U-shaped",
        source=_SOURCE,
        quote="Regret_T(c) exhibits a U-trend, pointing to an exploration-exploitation trade-off with respect to m.",
        section="tuning",
        rule=(
            "both ends of c1 = 0.7 .. 10 are more than a tenth above the least regret, for each eta; where an end is "
            "the best c1, a U is not seen for c1 from 0.7 to 10"
        ),
        settings=SENSITIVITY,
        axes=_AXES,
        cases=_u_shaped,
        remark=f"{_SPECTRUM} A U may lie beyond the range of c1, which is our choice; more runs do not show it.",
    ),
    ClaimRule(
        id="c1-three",
        kind=Kind.EXPERIMENT,
        text="the best c1 is about 3",
        source=_SOURCE,
        quote=_QUOTE,
        section="tuning",
        rule="the c1 of the least regret is 2, 2.5, 3 or 4, for each eta: the paper says across noise levels",
        settings=SENSITIVITY,
        axes=_AXES,
        cases=_near_three,
        universal=True,
        remark=_SPECTRUM,
    ),
    ClaimRule(
        id="c1-constant",
        kind=Kind.EXPERIMENT,
        text="the best c1 stays almost constant from eta = 1 to 10,000: it is universal",
        source=_SOURCE,
        quote=_QUOTE,
        section="tuning",
        rule="the largest of the best c1 is at most twice the smallest",
        settings=SENSITIVITY,
        axes=_AXES,
        cases=_constant_in_eta,
        remark=(
            f"{_SPECTRUM} The paper itself tunes c1 in each other setting: the section on evidence has the values that "
            "a line search finds there."
        ),
    ),
)
"""The claims about c1."""
