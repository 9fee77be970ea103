"""Claims about the growth of regret with the horizon."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from soqo.experiments.judgment._decisions import decide, highest, measure
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._rules import EVERY_AXIS, NO_HYBRID, ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case
from soqo.experiments.settings import FLOOR, PRIMARY, SIXTEEN, UNPROBING, Reading

_FULL = tuple(name for name in SIXTEEN if "_r4_" in name and not name.startswith("cauchy"))
_DEFICIENT = tuple(name for name in SIXTEEN if "_r1_" in name and not name.startswith("cauchy"))
_PAIRS = {"gaussian_r1_1": "gaussian_r4_1", "gaussian_r1_0.01": "gaussian_r4_0.01"}
"""Settings of deficient rank, each with the same setting in full rank."""

_MARGIN = 0.05
"""The amount by which an exponent from horizons of 200 to 2000 may exceed a bound that holds for long ones."""

_CAUCHY_LEFT_OUT = "Cauchy steps are left out: the bound is a multiple of their covariance, which they do not have."


def _grow_at_most(samples: Samples, _: Evidence, reading: Reading, *, names: Sequence[str], most: float) -> list[Case]:
    cases = []
    for name in names:
        slope = samples.exponent(name, reading, samples.scale(name, reading))
        cases.append(decide(name, slope < most, ~np.isnan(slope), samples.runs, measure("exponent", slope)))
    return cases


def _both_sublinear(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    slopes = [
        samples.exponent(PRIMARY, reading, policy)
        for policy in (samples.scale(PRIMARY, reading), samples.hyscale(PRIMARY, reading))
    ]
    numbers = [measure(f"exponent of {n}", slope) for n, slope in zip(("SCaLE", "HySCaLE"), slopes, strict=True)]
    larger = highest(*slopes)
    return [decide(PRIMARY, larger < 1.0, ~np.isnan(larger), samples.runs, *numbers)]


def _rank_matters(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    cases = []
    for deficient, full in _PAIRS.items():
        slopes = [samples.exponent(name, reading, samples.scale(name, reading)) for name in (deficient, full)]
        difference = slopes[0] - slopes[1]
        numbers = [measure("exponent at r = 1", slopes[0]), measure("exponent at r = 4", slopes[1])]
        known = ~np.isnan(difference)
        cases.append(
            decide(deficient, difference > 0.0, known, samples.runs, measure("difference", difference), *numbers)
        )
    return cases


def _not_improved(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    cases = []
    for name in FLOOR:
        slope = samples.exponent(name, reading, UNPROBING)
        number = measure("exponent of GLIDE without drift", slope)
        cases.append(decide(name, slope >= 0.5 - _MARGIN, ~np.isnan(slope), samples.runs, number))
    return cases


GROWTH_CLAIMS = (
    ClaimRule(
        id="primary-sublinear",
        text="the regret of SCaLE and HySCaLE grows sub-linearly",
        source="Section 4.2, primary evaluation, Figure 3 (i)",
        section="primary",
        rule="the exponents of both over the horizons are below 1",
        settings=(PRIMARY,),
        axes=EVERY_AXIS,
        cases=_both_sublinear,
        horizons=2,
    ),
    ClaimRule(
        id="rank-order",
        text="regret visibly grows faster where A is rank-deficient (2/3 against 1/2)",
        source="Section 4.2, rank-deficient settings",
        section="rank_deficient",
        rule="SCaLE's exponent at r = 1 is above the one at r = 4, Gaussian steps",
        settings=(*_PAIRS, *_PAIRS.values()),
        axes=NO_HYBRID,
        cases=_rank_matters,
        horizons=2,
    ),
    ClaimRule(
        id="theorem1-sublinear",
        text="SCaLE's regret grows sub-linearly whatever the distribution of v's steps",
        source="Theorem 1 and contribution (a)",
        section="theory",
        rule="SCaLE's exponent over the horizons is below 1",
        settings=SIXTEEN,
        axes=NO_HYBRID,
        cases=partial(_grow_at_most, names=SIXTEEN, most=1.0),
        horizons=2,
    ),
    ClaimRule(
        id="theorem1-full-rank",
        text="SCaLE's regret grows at most as T^(1/2) where r = d",
        source="Theorem 1, full rank",
        section="theory",
        rule=f"SCaLE's exponent over the horizons is below {0.5 + _MARGIN:.2f} (1/2 and a margin)",
        settings=_FULL,
        axes=NO_HYBRID,
        cases=partial(_grow_at_most, names=_FULL, most=0.5 + _MARGIN),
        horizons=2,
        remark=_CAUCHY_LEFT_OUT,
    ),
    ClaimRule(
        id="theorem1-deficient",
        text="SCaLE's regret grows at most as T^(2/3) where r < d",
        source="Theorem 1, r < d",
        section="theory",
        rule=f"SCaLE's exponent over the horizons is below {2 / 3 + _MARGIN:.2f} (2/3 and a margin)",
        settings=_DEFICIENT,
        axes=tuple(axis for axis in NO_HYBRID if axis != "spectrum"),
        cases=partial(_grow_at_most, names=_DEFICIENT, most=2 / 3 + _MARGIN),
        horizons=2,
        remark=_CAUCHY_LEFT_OUT,
    ),
    ClaimRule(
        id="theorem2-tight",
        text="where r = d, the order T^(1/2) cannot be improved on",
        source="Theorem 2 and contribution (b): tight",
        section="theory",
        rule="GLIDE without drift, which interpolates as the theorem requires, has an exponent of at least 0.45",
        settings=FLOOR,
        axes=("statistic",),
        cases=_not_improved,
        horizons=2,
        remark="The theorem's own instance is A = 0, which is not of full rank.",
    ),
)
"""The claims about growth."""
