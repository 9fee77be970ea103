"""Claims about the growth of regret with the horizon and over the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from soqo._simulation.summary import format_short
from soqo.experiments.judgment._claims import UNTESTED, Claim, PaperOutcomes, claim
from soqo.experiments.judgment._variants import SIXTEEN, VARIANTS, Variant, VariantClaim, decide_verdict
from soqo.policies import SCaLE

_FULL = [name for name in SIXTEEN if "_r4_" in name]
_DEFICIENT = [name for name in SIXTEEN if "_r1_" in name]
_PAIRS = {"gaussian_r1_1": "gaussian_r4_1", "gaussian_r1_0.01": "gaussian_r4_0.01"}
"""Settings of deficient rank, each with the same setting in full rank."""

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


def _exponent_claim(names: list[str], bound: float, text: str, source: str) -> VariantClaim:
    names, most = [name for name in names if not name.startswith("cauchy")], bound + _MARGIN
    return VariantClaim(
        text=text,
        source=source,
        rule=f"the exponent of the median over the horizons is at most {most:.2f} ({bound:.2f} and a margin)",
        names=names,
        test=lambda outcomes, name, v: bool(outcomes.growth(name, v.scale).exponent <= most),
        number=lambda outcomes: _format_exponents(outcomes, names),
        horizons=2,
    )


def _rates(outcomes: PaperOutcomes, name: str, variant: Variant) -> tuple[float, float]:
    """Return SCaLE's regret per round during exploration, and afterwards."""
    setting = outcomes[name].setting
    m = cast(SCaLE, setting.policies[variant.scale]).exploration_rounds(setting.environment.problem.dim)
    curve = np.median(outcomes[name].curve(variant.scale), axis=0)
    return float(curve[m - 1] / m), float((curve[-1] - curve[m - 1]) / (curve.size - m))


def _exploration_is_expensive(outcomes: PaperOutcomes, name: str, variant: Variant) -> bool:
    first, later = _rates(outcomes, name, variant)
    return first > 10.0 * later


_RANK_MATTERS = VariantClaim(
    text="regret visibly grows faster where A is rank-deficient (2/3 against 1/2)",
    source="Section 4.2, rank-deficient settings",
    rule="the exponent's interval at r = 1 is above the one at r = 4, Gaussian steps",
    names=list(_PAIRS),
    test=lambda outcomes, name, v: bool(
        outcomes.growth(name, v.scale).low > outcomes.growth(_PAIRS[name], v.scale).high
    ),
    number=lambda outcomes: "; ".join(
        f"{v.name}, sigma_r = {name.rsplit('_', 1)[1]}: {outcomes.growth(name, v.scale)} against "
        f"{outcomes.growth(full, v.scale)}"
        for v in VARIANTS[:2]
        for name, full in _PAIRS.items()
    ),
    horizons=2,
)


def _order_depends_on_rank(outcomes: PaperOutcomes) -> Claim:
    row = _RANK_MATTERS
    if not outcomes.has(list(_PAIRS.values()), horizons=2):
        return Claim(row.text, row.source, ", ".join(_PAIRS), row.rule, "", UNTESTED)
    return row(outcomes)


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


_CLAIMS = (
    VariantClaim(
        text="the regret of SCaLE and HySCaLE grows sub-linearly",
        source="Section 4.2, primary evaluation",
        rule="the upper end of both exponents' 95 % intervals is below 1",
        names=["primary"],
        test=lambda outcomes, name, v: all(outcomes.growth(name, policy).high < 1.0 for policy in (v.scale, v.hyscale)),
        number=lambda outcomes: "; ".join(
            f"{policy}: {outcomes.growth('primary', policy)}" for v in VARIANTS[:2] for policy in (v.scale, v.hyscale)
        ),
        horizons=2,
    ),
    VariantClaim(
        text="SCaLE pays much while it explores, which lowers what it pays per round afterwards",
        source="Section 4.2, primary evaluation",
        rule="regret per round while exploring is more than 10 times that afterwards",
        names=["primary"],
        test=_exploration_is_expensive,
        number=lambda outcomes: "; ".join(
            f"{v.name}: {format_short(first)} a round, then {format_short(later)}"
            for v in VARIANTS[:2]
            for first, later in [_rates(outcomes, "primary", v)]
        ),
    ),
    _order_depends_on_rank,
    VariantClaim(
        text="SCaLE's regret grows sub-linearly whatever the distribution of v's steps",
        source="Theorem 1 and contribution (a)",
        rule="the exponent of the median over the horizons is below 1",
        names=_FULL + _DEFICIENT,
        test=lambda outcomes, name, v: bool(outcomes.growth(name, v.scale).exponent < 1.0),
        number=lambda outcomes: _format_exponents(outcomes, _FULL + _DEFICIENT),
        horizons=2,
    ),
    _exponent_claim(_FULL, 0.5, "SCaLE's regret grows at most as T^(1/2) where r = d", "Theorem 1, full rank"),
    _exponent_claim(_DEFICIENT, 2 / 3, "SCaLE's regret grows at most as T^(2/3) where r < d", "Theorem 1, r < d"),
    _lower_bound,
)

for _claim in _CLAIMS:
    claim(_claim)
