"""Claims about the growth of regret with the horizon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from soqo.experiments.judgment._decisions import decide, highest, lowest, measure
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._ranking_claims import NO_MEAN
from soqo.experiments.judgment._rules import EVERY_AXIS, NO_HYBRID, R1_AXES, ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case, Kind
from soqo.experiments.settings import (
    FLOOR,
    FULL_RANK,
    HEAVY_TAILS,
    PRIMARY,
    UNPROBING,
    WITH_COVARIANCE,
    Reading,
)

_FULL = tuple(name for name in WITH_COVARIANCE if "_r4_" in name)
_DEFICIENT = tuple(name for name in WITH_COVARIANCE if "_r1_" in name)

_MARGIN = 0.05
"""The amount by which an exponent from horizons of 200 to 2000 may exceed a bound that holds for long ones."""

_VISIBLE = (2.0 / 3.0 - 1.0 / 2.0) / 2.0
"""An order difference is visible if half of the claimed difference of exponents is."""

_CAUCHY_LEFT_OUT = "Cauchy steps are left out: the bound is a multiple of their covariance, which they do not have."
_FINITE = (
    "A bound of this order allows any constant, so that exponents from T = 200 to 2000 cannot refute the theorem "
    "itself."
)


def _grow_at_most(
    samples: Samples,
    _: Evidence,
    reading: Reading,
    *,
    names: Sequence[str],
    most: float,
    players: Sequence[str] = ("SCaLE",),
) -> list[Case]:
    cases = []
    for name in names:
        slopes = [samples.exponent(name, reading, player) for player in players]
        numbers = [measure(f"exponent of {player}", slope) for player, slope in zip(players, slopes, strict=True)]
        larger = highest(*slopes)
        cases.append(decide(name, larger < most, ~np.isnan(larger), samples.runs, *numbers))
    return cases


def _learners_fail(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    """Test whether the regret of no gradient-based policy is sub-linear."""
    players, cases = ("POL", "OAL", "HySCaLE"), []
    for name in HEAVY_TAILS:
        slopes = [samples.exponent(name, reading, player) for player in players]
        numbers = [measure(f"exponent of {player}", slope) for player, slope in zip(players, slopes, strict=True)]
        smaller = lowest(*slopes)
        cases.append(decide(name, smaller >= 1.0, ~np.isnan(smaller), samples.runs, *numbers))
    return cases


def _order_difference(samples: Samples, _: Evidence, reading: Reading, *, players: Sequence[str]) -> list[Case]:
    """Test whether regret grows faster in Figure 5's settings than in the same settings of full rank."""
    cases = []
    for deficient, full in FULL_RANK.items():
        numbers, differences = [], []
        for player in players:
            one, other = (samples.exponent(name, reading, player) for name in (deficient, full))
            differences.append(one - other)
            numbers.append(measure(f"{player}, difference of exponents", differences[-1]))
            numbers += [measure(f"{player} at r = 1, exponent", one), measure("at r = 4, exponent", other)]
        least = lowest(*differences)
        cases.append(decide(deficient, least > _VISIBLE, ~np.isnan(least), samples.runs, *numbers))
    return cases


def _not_improved(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    cases = []
    for name in FLOOR:
        slope = samples.exponent(name, reading, UNPROBING)
        number = measure("exponent of GLIDE without drift", slope)
        cases.append(decide(name, slope >= 0.5 - _MARGIN, ~np.isnan(slope), samples.runs, number))
    return cases


_ORDER = ClaimRule(
    id="rank-order",
    kind=Kind.EXPERIMENT,
    text=(
        "the order difference, T^(2/3) where r < d against T^(1/2) where r = d, is clearly visible in SCaLE and HySCaLE"
    ),
    source="Section 4.2, rank-deficient settings, Figure 5",
    quote=(
        "In this degenerate setting, the order difference claimed in Theorem 1 is clearly visible in SCaLE and "
        "HySCaLE's dynamic regret."
    ),
    section="rank_deficient",
    rule=(
        "for both, the exponent in Figure 5's settings exceeds the one in full rank with the same steps and sigma_r "
        "(Figures 7 and 8) by more than 1/12, half of the claimed difference"
    ),
    settings=(*FULL_RANK, *FULL_RANK.values()),
    axes=EVERY_AXIS,
    cases=partial(_order_difference, players=("SCaLE", "HySCaLE")),
    horizons=2,
    remark="Half of the difference is our choice. Figure 5 has eta = 50 and c1 = 10, Figures 7 and 8 have 10 and 3.",
)

_SUBLINEAR = ClaimRule(
    id="theorem1-sublinear",
    kind=Kind.IMPLIED,
    text="SCaLE's regret is seen to grow sub-linearly in every setting with a covariance",
    source="Theorem 1, contribution (a), Figures 7 to 14 and 19 to 22",
    quote=(
        "To verify the theoretical scaling of regret with the horizon (Theorem 1), we analyze Regret_T as a "
        "function of T."
    ),
    section="appendix",
    rule="SCaLE's exponent over the horizons is below 1",
    settings=WITH_COVARIANCE,
    axes=NO_HYBRID,
    cases=partial(_grow_at_most, names=WITH_COVARIANCE, most=1.0),
    horizons=2,
    remark=f"{_CAUCHY_LEFT_OUT} {_FINITE}",
)

TIGHT = ClaimRule(
    id="tight-full-rank",
    kind=Kind.THEORY,
    text="T^(1/2) is tight for full rank: no policy that interpolates improves on it",
    source="Contribution (b) 2 and Section 3.2",
    quote="Improved and tight Theta(T^(1/2)) dynamic regret for the full-rank setting, matching the lower bound.",
    section="theory",
    rule=(
        "GLIDE without drift, a policy of soqo that interpolates as Theorem 2 requires, has an exponent of at "
        "least 0.45"
    ),
    settings=FLOOR,
    axes=("statistic",),
    cases=_not_improved,
    horizons=2,
    remark=(
        "Two settings are no proof, but there is one: where r = d, regret is of second order in the error, and "
        "SCaLE's own probes attain T^(1/3). Theorem 2 stays true, since its A = 0 does not have full rank."
    ),
)
"""The claim about the lowest order of growth, which belongs to the theory."""

GROWTH_CLAIMS = (
    ClaimRule(
        id="primary-sublinear",
        kind=Kind.IMPLIED,
        text="the regret of SCaLE and HySCaLE is seen to grow sub-linearly",
        source="Section 4.2, primary evaluation, Figure 3 (i)",
        quote=(
            "To verify the theoretical scaling of regret with the horizon (Theorem 1), we analyze Regret_T as a "
            "function of T."
        ),
        section="primary",
        rule="the exponents of both over the horizons are below 1",
        settings=(PRIMARY,),
        axes=EVERY_AXIS,
        cases=partial(_grow_at_most, names=(PRIMARY,), most=1.0, players=("SCaLE", "HySCaLE")),
        horizons=2,
    ),
    ClaimRule(
        id="cauchy-learners-fail",
        kind=Kind.EXPERIMENT,
        text="POL, OAL and HySCaLE fail under Cauchy steps",
        source="Section 4.2, robustness to heavy tails, Figure 4, and contribution (d)",
        quote=(
            "Figure 4 shows gradient-based methods like HySCaLE and the baselines POL and OAL failing when v is "
            "governed by the Cauchy distribution."
        ),
        section="heavy_tails",
        rule=(
            "a policy fails if its regret does not grow sub-linearly, which contribution (d) sets against failure: the "
            "exponents of all three over the horizons are at least 1"
        ),
        settings=HEAVY_TAILS,
        axes=R1_AXES,
        cases=_learners_fail,
        horizons=2,
        remark=NO_MEAN,
    ),
    ClaimRule(
        id="cauchy-sublinear",
        kind=Kind.EXPERIMENT,
        text="SCaLE's regret grows sub-linearly under Cauchy steps",
        source="Contribution (d), Figure 4",
        quote=(
            "Section 4.2 illustrates the failure of gradient-based techniques in heavy-tailed stochastic environments, "
            "but our proposed algorithm SCaLE still exhibits a sub-linear dynamic regret."
        ),
        section="heavy_tails",
        rule="SCaLE's exponent over the horizons is below 1",
        settings=HEAVY_TAILS,
        axes=R1_AXES,
        cases=partial(_grow_at_most, names=HEAVY_TAILS, most=1.0),
        horizons=2,
        remark=f"{NO_MEAN} Theorem 1 says nothing here: its bound is a multiple of a covariance that is infinite.",
    ),
    _ORDER,
    replace(
        _ORDER,
        id="rank-order-scale",
        kind=Kind.PART,
        text="the order difference is clearly visible in SCaLE alone",
        rule="the same for SCaLE alone",
        cases=partial(_order_difference, players=("SCaLE",)),
        axes=NO_HYBRID,
    ),
    _SUBLINEAR,
    replace(
        _SUBLINEAR,
        id="theorem1-full-rank",
        text="SCaLE's regret is seen to grow at most as T^(1/2) where r = d",
        source="Theorem 1, full rank; Figures 7, 8, 13, 14, 19 and 20",
        rule=f"SCaLE's exponent over the horizons is below {0.5 + _MARGIN:.2f} (1/2 and a margin)",
        settings=_FULL,
        cases=partial(_grow_at_most, names=_FULL, most=0.5 + _MARGIN),
    ),
    replace(
        _SUBLINEAR,
        id="theorem1-deficient",
        text="SCaLE's regret is seen to grow at most as T^(2/3) where r < d",
        source="Theorem 1, r < d; Figures 9 to 12, 21 and 22",
        rule=f"SCaLE's exponent over the horizons is below {2 / 3 + _MARGIN:.2f} (2/3 and a margin)",
        settings=_DEFICIENT,
        axes=tuple(axis for axis in NO_HYBRID if axis != "spectrum"),
        cases=partial(_grow_at_most, names=_DEFICIENT, most=2 / 3 + _MARGIN),
    ),
)
"""The claims about growth."""
