"""Claims about how regret grows, with the horizon and over the rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from soqo._summary import short
from soqo.experiments.judgment._base import (
    SIXTEEN,
    UNTESTED,
    VARIANTS,
    Book,
    Claim,
    Variant,
    judged,
    verdict,
)
from soqo.policies._scale import SCaLE

__all__ = ["RATES"]

FULL = [name for name in SIXTEEN if "_r4_" in name]
MARGIN = 0.05
"""What an exponent from a few horizons may be above a bound that it keeps."""

DEFICIENT = [name for name in SIXTEEN if "_r1_" in name]


def exponents(book: Book, names: Sequence[str], variant: Variant) -> str:
    """The range of SCaLE's exponents over some settings."""
    found = [book.growth(name, variant.scale).exponent for name in names]
    known = [value for value in found if not np.isnan(value)]
    return f"{variant.name} {min(known):.2f} .. {max(known):.2f}" if known else f"{variant.name}: none"


def grows_at_most(book: Book, names: list[str], bound: float, words: str, source: str) -> Claim:
    """SCaLE's exponent against a bound."""
    return judged(
        book,
        f"SCaLE's regret grows {words}",
        source,
        f"the exponent of the median over the horizons is at most {bound + MARGIN:.2f} ({bound:.2f} and a margin)",
        names,
        lambda name, r: bool(book.growth(name, r.scale).exponent <= bound + MARGIN),
        lambda: "exponents " + ", ".join(exponents(book, names, r) for r in VARIANTS[:2]),
        horizons=2,
    )


def sublinear_primary(book: Book) -> Claim:
    """Sub-linear growth in the primary evaluation."""
    return judged(
        book,
        "the regret of SCaLE and HySCaLE grows sub-linearly",
        "Section 4.2, primary evaluation",
        "the upper end of both exponents' 95 % intervals, is below 1",
        ["primary"],
        lambda name, r: all(book.growth(name, p).high < 1.0 for p in (r.scale, r.hyscale)),
        lambda: "; ".join(f"{p}: {book.growth('primary', p)}" for r in VARIANTS[:2] for p in (r.scale, r.hyscale)),
        horizons=2,
    )


def sublinear_everywhere(book: Book) -> Claim:
    """Sub-linear growth whatever the distribution."""
    names = FULL + DEFICIENT
    return judged(
        book,
        "SCaLE's regret grows sub-linearly whatever the distribution of v's steps",
        "Theorem 1 and contribution (a)",
        "the exponent of the median over the horizons is below 1",
        names,
        lambda name, r: bool(book.growth(name, r.scale).exponent < 1.0),
        lambda: "exponents " + ", ".join(exponents(book, names, r) for r in VARIANTS[:2]),
        horizons=2,
    )


def square_root(book: Book) -> Claim:
    """T^(1/2) in full rank."""
    names = [name for name in FULL if not name.startswith("cauchy")]
    return grows_at_most(book, names, 0.5, "at most as T^(1/2) where r = d", "Theorem 1, full rank")


def two_thirds(book: Book) -> Claim:
    """T^(2/3) where A is rank-deficient."""
    names = [name for name in DEFICIENT if not name.startswith("cauchy")]
    return grows_at_most(book, names, 2 / 3, "at most as T^(2/3) where r < d", "Theorem 1, r < d")


def order_difference(book: Book) -> Claim:
    """The rank-deficient order is visible."""
    pairs = {"gaussian_r1_1": "gaussian_r4_1", "gaussian_r1_0.01": "gaussian_r4_0.01"}
    text = "regret visibly grows faster where A is rank-deficient (2/3 against 1/2)"
    source = "Section 4.2, rank-deficient settings"
    rule = "the exponent's interval at r = 1 is above the one at r = 4, Gaussian steps"
    if not book.has(list(pairs.values()), horizons=2):
        return Claim(text, source, ", ".join(pairs), rule, "", UNTESTED)

    def test(name: str, variant: Variant) -> bool:
        deficient, full = book.growth(name, variant.scale), book.growth(pairs[name], variant.scale)
        return bool(deficient.low > full.high)

    return judged(
        book,
        text,
        source,
        rule,
        list(pairs),
        test,
        lambda: "; ".join(
            f"{r.name}, sigma_r = {name.rsplit('_', 1)[1]}: {book.growth(name, r.scale)} against "
            f"{book.growth(full, r.scale)}"
            for r in VARIANTS[:2]
            for name, full in pairs.items()
        ),
        horizons=2,
    )


def lower_bound(book: Book) -> Claim:
    """T^(1/2) as the best order; the theorem's own instance is A = 0, which is not of full rank."""
    text = "where r = d, the order T^(1/2) cannot be improved on"
    rule = (
        "GLIDE without drift, which interpolates as the theorem asks: the upper end of its exponent's 95 % interval "
        "is at least 0.45"
    )
    source, names = "Theorem 2 and contribution (b): tight", ["gaussian_r4_1", "laplace_r4_1"]
    if not book.has(names, horizons=2):
        return Claim(text, source, ", ".join(names), rule, "", UNTESTED)
    variant = f"full rank, in {', '.join(names)}; the theorem's own instance is A = 0"
    growths = {name: book.growth(name, "GLIDE, no drift") for name in names}
    kept = {"as it is": {name: bool(growth.high >= 0.5 - MARGIN) for name, growth in growths.items()}}
    number = "; ".join(f"{name}: {growth}" for name, growth in growths.items())
    return Claim(text, source, variant, rule, number, verdict(kept, book.settings(names)))


def exploration_costs(book: Book) -> Claim:
    """Most is paid while exploring."""

    def share(name: str, variant: Variant) -> tuple[float, float]:
        setting = book[name].setting
        m = cast(SCaLE, setting.policies[variant.scale]).exploration_rounds(setting.environment.problem.dim)
        curve = np.median(book[name].curve(variant.scale), axis=0)
        return float(curve[m - 1] / m), float((curve[-1] - curve[m - 1]) / (curve.size - m))

    def test(name: str, variant: Variant) -> bool:
        first, later = share(name, variant)
        return first > 10.0 * later

    return judged(
        book,
        "SCaLE pays much while it explores, which lowers what it pays per round afterwards",
        "Section 4.2, primary evaluation",
        "regret per round while exploring is more than 10 times that afterwards",
        ["primary"],
        test,
        lambda: "; ".join(
            f"{r.name}: {short(share('primary', r)[0])} a round, then {short(share('primary', r)[1])}"
            for r in VARIANTS[:2]
        ),
    )


RATES: tuple[Callable[[Book], Claim], ...] = (
    sublinear_primary,
    exploration_costs,
    order_difference,
    sublinear_everywhere,
    square_root,
    two_thirds,
    lower_bound,
)
