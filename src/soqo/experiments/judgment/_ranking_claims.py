"""Claims about which policy outperforms which."""

from __future__ import annotations

from collections.abc import Sequence

from soqo._simulation.summary import format_short
from soqo.experiments.judgment._claims import PaperOutcomes, claim
from soqo.experiments.judgment._variants import SIXTEEN, VARIANTS, Variant, VariantClaim

_LIGHT = ["primary", *(name for name in SIXTEEN if name.startswith(("gaussian", "correlated")))]
_CAUCHY = ["heavy_tails_0.01", "heavy_tails_1"]
_RANK = ["rank_deficient_0.01", "rank_deficient_1"]


def _outperform(outcomes: PaperOutcomes, name: str, players: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether each player's median regret is below that of all others."""
    worst = max(outcomes.median(name, player) for player in players)
    return worst < outcomes.lowest_median(name, others)


def _lead(outcomes: PaperOutcomes, name: str, variant: Variant, horizon: int | None = None) -> float:
    """Return the best baseline's median over SCaLE's."""
    best = outcomes.lowest_median(name, variant.baselines, horizon)
    return best / outcomes.median(name, variant.scale, horizon)


def _format_ratios(outcomes: PaperOutcomes, name: str, variant: Variant) -> str:
    """Return SCaLE's and HySCaLE's medians as shares of the best baseline's."""
    best = outcomes.lowest_median(name, variant.baselines)
    own = [outcomes.median(name, player) / best for player in (variant.scale, variant.hyscale)]
    return f"{variant.name} {own[0]:.2f} and {own[1]:.2f} of the best baseline"


def _sigma(name: str) -> str:
    return f"sigma_r = {name.rsplit('_', 1)[1]}"


def _format_leads(outcomes: PaperOutcomes) -> str:
    """Return SCaLE's lead in the primary evaluation at the shortest and at the longest horizon."""
    ends = outcomes["primary"].horizons[0], outcomes["primary"].horizons[-1]
    leads = {v.name: [f"{_lead(outcomes, 'primary', v, T):.2f} at T = {T}" for T in ends] for v in VARIANTS}
    return "; ".join(f"{name}: {', '.join(texts)}" for name, texts in leads.items())


def _lead_grows(outcomes: PaperOutcomes, name: str, variant: Variant) -> bool:
    first, *_, last = outcomes[name].horizons
    return _lead(outcomes, name, variant, last) > _lead(outcomes, name, variant, first)


_CLAIMS = (
    VariantClaim(
        text="SCaLE and HySCaLE significantly outperform all baselines",
        source="Section 4.2, primary evaluation",
        rule="the medians of both after 1,000 rounds are below those of FTM, POL and OAL",
        names=["primary"],
        test=lambda outcomes, name, v: _outperform(outcomes, name, (v.scale, v.hyscale), v.baselines),
        number=lambda outcomes: "; ".join(_format_ratios(outcomes, "primary", v) for v in VARIANTS),
    ),
    VariantClaim(
        text="SCaLE's lead over the baselines grows with the horizon",
        source="Section 4.2, primary evaluation",
        rule="the best baseline's median over SCaLE's is larger at the longest horizon than at the shortest",
        names=["primary"],
        test=_lead_grows,
        number=_format_leads,
        horizons=2,
    ),
    VariantClaim(
        text="gradient steps help only on top of SCaLE's estimate: HySCaLE is better than POL and OAL",
        source="Section 4.2, primary evaluation",
        rule="HySCaLE's median is below those of POL and OAL",
        names=["primary"],
        test=lambda outcomes, name, v: _outperform(outcomes, name, (v.hyscale,), v.learners),
        number=lambda outcomes: "; ".join(
            f"{v.name}: HySCaLE {format_short(outcomes.median('primary', v.hyscale))}, best learner "
            f"{format_short(outcomes.lowest_median('primary', v.learners))}"
            for v in VARIANTS
        ),
    ),
    VariantClaim(
        text="SCaLE outperforms all baselines in the appendix's settings",
        source="Appendix, additional experiments",
        rule="SCaLE's median after 1,000 rounds is below those of FTM, POL and OAL",
        names=SIXTEEN,
        test=lambda outcomes, name, v: _outperform(outcomes, name, (v.scale,), v.baselines),
    ),
    VariantClaim(
        text="HySCaLE improves on SCaLE where tails are light",
        source="Section 3.3 and contribution (d)",
        rule="HySCaLE's median is below SCaLE's",
        names=_LIGHT,
        test=lambda outcomes, name, v: _outperform(outcomes, name, (v.hyscale,), (v.scale,)),
    ),
    VariantClaim(
        text="gradient methods (POL, OAL, HySCaLE) fail under Cauchy steps, and SCaLE is significantly better",
        source="Section 4.2, robustness to heavy tails",
        rule="twice SCaLE's median is below those of POL, OAL and HySCaLE",
        names=_CAUCHY,
        test=lambda outcomes, name, v: (
            2.0 * outcomes.median(name, v.scale) < outcomes.lowest_median(name, (*v.learners, v.hyscale))
        ),
        number=lambda outcomes: "; ".join(
            f"{_sigma(name)}, {v.name}: SCaLE {format_short(outcomes.median(name, v.scale))}, HySCaLE "
            f"{format_short(outcomes.median(name, v.hyscale))}, best learner "
            f"{format_short(outcomes.lowest_median(name, v.learners))}"
            for v in VARIANTS[:2]
            for name in _CAUCHY
        ),
    ),
    VariantClaim(
        text="under Cauchy steps SCaLE's lead is largest where sigma_r is small",
        source="Section 4.2, robustness to heavy tails",
        rule="the best baseline's median over SCaLE's is larger at sigma_r = 0.01 than at 1, and above 1",
        names=_CAUCHY,
        test=lambda outcomes, _, v: _lead(outcomes, _CAUCHY[0], v) > max(1.0, _lead(outcomes, _CAUCHY[1], v)),
        number=lambda outcomes: "; ".join(
            f"{v.name}: {_lead(outcomes, _CAUCHY[0], v):.2f} at 0.01, {_lead(outcomes, _CAUCHY[1], v):.2f} at 1"
            for v in VARIANTS
        ),
    ),
    VariantClaim(
        text="SCaLE and HySCaLE outperform the baselines where A is rank-deficient",
        source="Section 4.2, rank-deficient settings",
        rule="the medians of both after 400 rounds are below those of FTM, POL and OAL",
        names=_RANK,
        test=lambda outcomes, name, v: _outperform(outcomes, name, (v.scale, v.hyscale), v.baselines),
        number=lambda outcomes: "; ".join(
            f"{_sigma(name)}: {_format_ratios(outcomes, name, v)}" for v in VARIANTS for name in _RANK
        ),
    ),
)

for _claim in _CLAIMS:
    claim(_claim)
