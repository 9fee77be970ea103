"""Claims about who beats whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from soqo._summary import short
from soqo.experiments.judgment._base import SIXTEEN, VARIANTS, Book, Claim, Variant, judged

__all__ = ["ORDER"]

LIGHT = ["primary", *(name for name in SIXTEEN if name.startswith(("gaussian", "correlated")))]
CAUCHY = ["heavy_tails_0.01", "heavy_tails_1"]
RANK = ["rank_deficient_0.01", "rank_deficient_1"]


def beats(book: Book, name: str, players: Sequence[str], others: Sequence[str]) -> bool:
    """Whether each player's median regret is below that of each other."""
    worst = max(book.median(name, player) for player in players)
    return worst < min(book.median(name, other) for other in others)


def ratio_text(book: Book, name: str, variant: Variant) -> str:
    """SCaLE and HySCaLE as shares of the best baseline."""
    best = min(book.median(name, other) for other in variant.baselines)
    own = [book.median(name, player) / best for player in (variant.scale, variant.hyscale)]
    return f"{variant.name} {own[0]:.2f} and {own[1]:.2f} of the best baseline"


def primary_beats_all(book: Book) -> Claim:
    """SCaLE and HySCaLE outperform all baselines in the primary evaluation."""
    return judged(
        book,
        "SCaLE and HySCaLE significantly outperform all baselines",
        "Section 4.2, primary evaluation",
        "the medians of both after 1,000 rounds are below those of FTM, POL and OAL",
        ["primary"],
        lambda name, r: beats(book, name, (r.scale, r.hyscale), r.baselines),
        lambda: "; ".join(ratio_text(book, "primary", variant) for variant in VARIANTS),
    )


def longer_horizons(book: Book) -> Claim:
    """... especially for longer horizons."""

    def lead(name: str, variant: Variant, horizon: int) -> float:
        best = min(book.median(name, other, horizon) for other in variant.baselines)
        return best / book.median(name, variant.scale, horizon)

    def test(name: str, variant: Variant) -> bool:
        first, last = book[name].horizons[0], book[name].horizons[-1]
        return lead(name, variant, last) > lead(name, variant, first)

    def number() -> str:
        first, last = book["primary"].horizons[0], book["primary"].horizons[-1]
        return "; ".join(
            f"{r.name}: {lead('primary', r, first):.2f} at T = {first}, {lead('primary', r, last):.2f} at T = {last}"
            for r in VARIANTS
        )

    return judged(
        book,
        "SCaLE's lead over the baselines grows with the horizon",
        "Section 4.2, primary evaluation",
        "the best baseline's median over SCaLE's is larger at the longest horizon than at the shortest",
        ["primary"],
        test,
        number,
        horizons=2,
    )


def everywhere(book: Book) -> Claim:
    """SCaLE below the baselines in the appendix's sixteen."""
    return judged(
        book,
        "SCaLE outperforms all baselines in the appendix's settings",
        "Appendix, additional experiments",
        "SCaLE's median after 1,000 rounds is below those of FTM, POL and OAL",
        SIXTEEN,
        lambda name, r: beats(book, name, (r.scale,), r.baselines),
    )


def rank_deficient_beats(book: Book) -> Claim:
    """SCaLE and HySCaLE in the rank-deficient case study."""
    return judged(
        book,
        "SCaLE and HySCaLE outperform the baselines where A is rank-deficient",
        "Section 4.2, rank-deficient settings",
        "the medians of both after 400 rounds are below those of FTM, POL and OAL",
        RANK,
        lambda name, r: beats(book, name, (r.scale, r.hyscale), r.baselines),
        lambda: "; ".join(
            f"sigma_r = {name.rsplit('_', 1)[1]}: {ratio_text(book, name, variant)}"
            for variant in VARIANTS
            for name in RANK
        ),
    )


def descent_needs_an_estimate(book: Book) -> Claim:
    """HySCaLE against POL and OAL."""
    return judged(
        book,
        "gradient steps help only on top of SCaLE's estimate: HySCaLE is better than POL and OAL",
        "Section 4.2, primary evaluation",
        "HySCaLE's median is below those of POL and OAL",
        ["primary"],
        lambda name, r: beats(book, name, (r.hyscale,), r.learners),
        lambda: "; ".join(
            f"{r.name}: HySCaLE {short(book.median('primary', r.hyscale))}, best learner "
            f"{short(min(book.median('primary', other) for other in r.learners))}"
            for r in VARIANTS
        ),
    )


def light_tails(book: Book) -> Claim:
    """HySCaLE against SCaLE in light tails."""
    return judged(
        book,
        "HySCaLE improves on SCaLE where tails are light",
        "Section 3.3 and contribution (d)",
        "HySCaLE's median is below SCaLE's",
        LIGHT,
        lambda name, r: beats(book, name, (r.hyscale,), (r.scale,)),
    )


def gradients_fail(book: Book) -> Claim:
    """POL, OAL and HySCaLE under Cauchy steps."""
    return judged(
        book,
        "gradient methods (POL, OAL, HySCaLE) fail under Cauchy steps, and SCaLE is significantly better",
        "Section 4.2, robustness to heavy tails",
        "twice SCaLE's median is below those of POL, OAL and HySCaLE",
        CAUCHY,
        lambda name, r: (
            2.0 * book.median(name, r.scale) < min(book.median(name, other) for other in (*r.learners, r.hyscale))
        ),
        lambda: "; ".join(
            f"sigma_r = {name.rsplit('_', 1)[1]}, {r.name}: SCaLE {short(book.median(name, r.scale))}, HySCaLE "
            f"{short(book.median(name, r.hyscale))}, best learner "
            f"{short(min(book.median(name, other) for other in r.learners))}"
            for r in VARIANTS[:2]
            for name in CAUCHY
        ),
    )


def especially_small_sigma(book: Book) -> Claim:
    """... especially when sigma_r is small."""

    def lead(name: str, variant: Variant) -> float:
        best = min(book.median(name, other) for other in variant.baselines)
        return best / book.median(name, variant.scale)

    return judged(
        book,
        "under Cauchy steps SCaLE's lead is largest where sigma_r is small",
        "Section 4.2, robustness to heavy tails",
        "the best baseline's median over SCaLE's is larger at sigma_r = 0.01 than at 1, and above 1",
        CAUCHY,
        lambda _, r: lead(CAUCHY[0], r) > max(1.0, lead(CAUCHY[1], r)),
        lambda: "; ".join(
            f"{r.name}: {lead(CAUCHY[0], r):.2f} at 0.01, {lead(CAUCHY[1], r):.2f} at 1" for r in VARIANTS
        ),
    )


ORDER: tuple[Callable[[Book], Claim], ...] = (
    primary_beats_all,
    longer_horizons,
    descent_needs_an_estimate,
    everywhere,
    light_tails,
    gradients_fail,
    especially_small_sigma,
    rank_deficient_beats,
)
