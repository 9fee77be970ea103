"""Claims about the growth of regret with the horizon and over the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from soqo._simulation.summary import format_short
from soqo.experiments.judgment._claims import UNTESTED, Claim, PaperOutcomes, claim
from soqo.experiments.judgment._variants import SIXTEEN, VARIANTS, Variant, decide_verdict, judge_variants
from soqo.policies import SCaLE

_FULL = [name for name in SIXTEEN if "_r4_" in name]
_DEFICIENT = [name for name in SIXTEEN if "_r1_" in name]

_MARGIN = 0.05
"""The amount by which an exponent from a few horizons may exceed a bound that holds."""


def _format_exponents(outcomes: PaperOutcomes, names: Sequence[str]) -> str:
    """Return the range of SCaLE's exponents over some settings, for two variants."""
    parts = []
    for variant in VARIANTS[:2]:
        found = [outcomes.growth(name, variant.scale).exponent for name in names]
        known = [value for value in found if not np.isnan(value)]
        parts.append(f"{variant.name} {min(known):.2f} .. {max(known):.2f}" if known else f"{variant.name}: none")
    return f"exponents {', '.join(parts)}"


def _judge_exponent(outcomes: PaperOutcomes, names: list[str], bound: float, text: str, source: str) -> Claim:
    most = bound + _MARGIN
    return judge_variants(
        outcomes,
        text=text,
        source=source,
        rule=f"the exponent of the median over the horizons is at most {most:.2f} ({bound:.2f} and a margin)",
        names=names,
        test=lambda name, v: bool(outcomes.growth(name, v.scale).exponent <= most),
        number=lambda: _format_exponents(outcomes, names),
        horizons=2,
    )


@claim
def _sublinear_in_the_primary_evaluation(outcomes: PaperOutcomes) -> Claim:
    return judge_variants(
        outcomes,
        text="the regret of SCaLE and HySCaLE grows sub-linearly",
        source="Section 4.2, primary evaluation",
        rule="the upper end of both exponents' 95 % intervals is below 1",
        names=["primary"],
        test=lambda name, v: all(outcomes.growth(name, policy).high < 1.0 for policy in (v.scale, v.hyscale)),
        number=lambda: "; ".join(
            f"{policy}: {outcomes.growth('primary', policy)}" for v in VARIANTS[:2] for policy in (v.scale, v.hyscale)
        ),
        horizons=2,
    )


@claim
def _exploration_costs(outcomes: PaperOutcomes) -> Claim:
    def rates(name: str, variant: Variant) -> tuple[float, float]:
        """Return the regret per round during exploration, and afterwards."""
        setting = outcomes[name].setting
        m = cast(SCaLE, setting.policies[variant.scale]).exploration_rounds(setting.environment.problem.dim)
        curve = np.median(outcomes[name].curve(variant.scale), axis=0)
        return float(curve[m - 1] / m), float((curve[-1] - curve[m - 1]) / (curve.size - m))

    def test(name: str, variant: Variant) -> bool:
        first, later = rates(name, variant)
        return first > 10.0 * later

    return judge_variants(
        outcomes,
        text="SCaLE pays much while it explores, which lowers what it pays per round afterwards",
        source="Section 4.2, primary evaluation",
        rule="regret per round while exploring is more than 10 times that afterwards",
        names=["primary"],
        test=test,
        number=lambda: "; ".join(
            f"{v.name}: {format_short(rates('primary', v)[0])} a round, then {format_short(rates('primary', v)[1])}"
            for v in VARIANTS[:2]
        ),
    )


@claim
def _order_depends_on_rank(outcomes: PaperOutcomes) -> Claim:
    pairs = {"gaussian_r1_1": "gaussian_r4_1", "gaussian_r1_0.01": "gaussian_r4_0.01"}
    text = "regret visibly grows faster where A is rank-deficient (2/3 against 1/2)"
    source = "Section 4.2, rank-deficient settings"
    rule = "the exponent's interval at r = 1 is above the one at r = 4, Gaussian steps"
    if not outcomes.has(list(pairs.values()), horizons=2):
        return Claim(text, source, ", ".join(pairs), rule, "", UNTESTED)
    return judge_variants(
        outcomes,
        text=text,
        source=source,
        rule=rule,
        names=list(pairs),
        test=lambda name, v: bool(outcomes.growth(name, v.scale).low > outcomes.growth(pairs[name], v.scale).high),
        number=lambda: "; ".join(
            f"{v.name}, sigma_r = {name.rsplit('_', 1)[1]}: {outcomes.growth(name, v.scale)} against "
            f"{outcomes.growth(full, v.scale)}"
            for v in VARIANTS[:2]
            for name, full in pairs.items()
        ),
        horizons=2,
    )


@claim
def _sublinear_for_every_process(outcomes: PaperOutcomes) -> Claim:
    names = _FULL + _DEFICIENT
    return judge_variants(
        outcomes,
        text="SCaLE's regret grows sub-linearly whatever the distribution of v's steps",
        source="Theorem 1 and contribution (a)",
        rule="the exponent of the median over the horizons is below 1",
        names=names,
        test=lambda name, v: bool(outcomes.growth(name, v.scale).exponent < 1.0),
        number=lambda: _format_exponents(outcomes, names),
        horizons=2,
    )


@claim
def _square_root_in_full_rank(outcomes: PaperOutcomes) -> Claim:
    names = [name for name in _FULL if not name.startswith("cauchy")]
    text = "SCaLE's regret grows at most as T^(1/2) where r = d"
    return _judge_exponent(outcomes, names, 0.5, text, "Theorem 1, full rank")


@claim
def _two_thirds_in_deficient_rank(outcomes: PaperOutcomes) -> Claim:
    names = [name for name in _DEFICIENT if not name.startswith("cauchy")]
    text = "SCaLE's regret grows at most as T^(2/3) where r < d"
    return _judge_exponent(outcomes, names, 2 / 3, text, "Theorem 1, r < d")


@claim
def _lower_bound(outcomes: PaperOutcomes) -> Claim:
    text = "where r = d, the order T^(1/2) cannot be improved on"
    rule = (
        "GLIDE without drift, which interpolates as the theorem requires: the upper end of its exponent's 95 % "
        "interval is at least 0.45"
    )
    source, names = "Theorem 2 and contribution (b): tight", ["gaussian_r4_1", "laplace_r4_1"]
    if not outcomes.has(names, horizons=2):
        return Claim(text, source, ", ".join(names), rule, "", UNTESTED)
    # The theorem's own instance is not of full rank.
    variant = f"full rank, in {', '.join(names)}; the theorem's own instance is A = 0"
    growths = {name: outcomes.growth(name, "GLIDE, no drift") for name in names}
    kept = {"as it is": {name: bool(growth.high >= 0.5 - _MARGIN) for name, growth in growths.items()}}
    number = "; ".join(f"{name}: {growth}" for name, growth in growths.items())
    return Claim(text, source, variant, rule, number, decide_verdict(kept, outcomes.settings(names)))
