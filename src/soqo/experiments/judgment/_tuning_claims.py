"""Claims about c1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soqo.experiments.judgment._decisions import decide, highest, lowest, measure
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._rules import ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case
from soqo.experiments.settings import SENSITIVITY, SIXTEEN, Reading, c1_values, scale_name
from soqo.typing import Array

_AXES = ("gamma2", "radius", "statistic")
_HIGHER = 1.1
"""The ends of a U are higher than its bottom by this factor."""

_CONSTANT = 2.0
"""Values of c1 within this factor of each other count as almost constant."""

_NEAR_THREE = (2.0, 4.0)


def _regret_by_c1(samples: Samples, name: str, reading: Reading) -> tuple[Array, Array]:
    """Return the values of c1, and SCaLE's regret at each of them, shape (values, 1 + resamples)."""
    values = c1_values(samples.settings[name], "tuned")
    gamma2, radius = str(reading.gamma2), str(reading.radius)
    regret = [samples.statistic(name, reading, scale_name(gamma2, radius, c1)) for c1 in values]
    return np.array(values), np.stack(regret)


def _best_c1(samples: Samples, name: str, reading: Reading) -> Array:
    values, regret = _regret_by_c1(samples, name, reading)
    return np.asarray(values[np.argmin(regret, axis=0)])


def _u_shaped(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    cases = []
    for name in SENSITIVITY:
        _values, regret = _regret_by_c1(samples, name, reading)
        bottom = lowest(*regret)
        rise = lowest(regret[0], regret[-1]) / bottom
        number = measure("the lower end of c1 = 0.7 .. 10 over the bottom", rise)
        best = measure("best c1", _best_c1(samples, name, reading))
        cases.append(decide(name, rise > _HIGHER, True, samples.runs, number, best))
    return cases


def _near_three(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    cases = []
    for name in SENSITIVITY:
        best = _best_c1(samples, name, reading)
        passed = (best >= _NEAR_THREE[0]) & (best <= _NEAR_THREE[1])
        cases.append(decide(name, passed, True, samples.runs, measure("best c1", best)))
    return cases


def _spread(samples: Samples, names: tuple[str, ...], of: Callable[[str], Array]) -> list[Case]:
    """Test whether the best values of c1 in several settings are within a factor of each other."""
    best = [of(name) for name in names]
    spread = highest(*best) / lowest(*best)
    numbers = [measure("largest best c1 over the smallest", spread)]
    numbers += [measure(f"best c1 in {name}", values) for name, values in zip(names, best, strict=True)]
    return [decide(names[0], spread <= _CONSTANT, True, samples.runs, *numbers)]


def _constant_in_eta(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    return _spread(samples, SENSITIVITY, lambda name: _best_c1(samples, name, reading))


def _universal(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    smallest = c1_values(samples.settings[SIXTEEN[0]], "tuned")[0]
    grid = scale_name(str(reading.gamma2), str(reading.radius), smallest)
    found = samples.of(SIXTEEN[0], reading, None)
    if found is None or grid not in found.policies:
        return []  # a quick run searches for c1 in one reading only
    return _spread(samples, SIXTEEN, lambda name: _best_c1(samples, name, reading))


_SOURCE = "Section 4.2, hyperparameter tuning, Figure 6"

TUNING_CLAIMS = (
    ClaimRule(
        id="c1-u-shape",
        text="regret as a function of c1 is U-shaped",
        source=_SOURCE,
        section="tuning",
        rule="both ends of c1 = 0.7 .. 10 are more than a tenth above the least regret, for every eta",
        settings=SENSITIVITY,
        axes=_AXES,
        cases=_u_shaped,
    ),
    ClaimRule(
        id="c1-three",
        text="the best c1 is about 3",
        source=_SOURCE,
        section="tuning",
        rule="the c1 of the least regret is 2, 2.5, 3 or 4, for every eta",
        settings=SENSITIVITY,
        axes=_AXES,
        cases=_near_three,
    ),
    ClaimRule(
        id="c1-constant",
        text="the best c1 stays almost constant from eta = 1 to 10,000",
        source=_SOURCE,
        section="tuning",
        rule="the largest of the best c1 is at most twice the smallest",
        settings=SENSITIVITY,
        axes=_AXES,
        cases=_constant_in_eta,
    ),
    ClaimRule(
        id="c1-universal",
        text="c1 is a universal parameter",
        source="Section 4.2, hyperparameter tuning, and Theorem 1",
        section="tuning",
        rule="in the appendix's settings, the largest c1 that a line search finds is at most twice the smallest",
        settings=SIXTEEN,
        axes=_AXES,
        cases=_universal,
        remark="The line search tries 1, 2, 3, 5, 10 where r = 4 and 3, 5, 10, 15, 30 where r = 1.",
    ),
)
"""The claims about c1."""
