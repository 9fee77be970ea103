"""Claims about c1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soqo.experiments.judgment._base import UNTESTED, Book, Claim, verdict
from soqo.experiments.settings._spec import Swept

__all__ = ["TUNING"]

ETAS = [f"sensitivity_{eta}" for eta in ("1", "10", "100", "1000", "10000")]
SWEPT = {
    "as printed": ("SCaLE as printed", "HySCaLE as printed"),
    "calibrated": ("SCaLE", "HySCaLE"),
}


def u_curve(book: Book, name: str, family: str) -> tuple[list[float], list[float]]:
    """The values of c1, and the median regret at each."""
    swept = book[name].setting.swept
    members: list[tuple[Swept, str]] = sorted(
        ((one, policy) for policy, one in swept.items() if one.family == family),
        key=lambda pair: pair[0].value,
    )
    return [one.value for one, _ in members], [book.median(name, policy) for _, policy in members]


def best_c1(book: Book, name: str, family: str) -> float:
    """Where the median regret is smallest."""
    values, medians = u_curve(book, name, family)
    return values[int(np.argmin(medians))]


def is_u(book: Book, name: str, family: str) -> bool:
    """Whether both ends are more than a tenth above the smallest."""
    _, medians = u_curve(book, name, family)
    return min(medians[0], medians[-1]) > 1.1 * min(medians)


def about_c1(book: Book, text: str, rule: str, test: Callable[[str, str], bool]) -> Claim:
    """A claim about c1, tested for every family of a variant and every eta."""
    source = "Section 4.2, hyperparameter tuning"
    if not book.has(ETAS):
        return Claim(text, source, "eta = 1 .. 10,000", rule, "", UNTESTED)
    passed = {
        variant: {name: all(test(name, family) for family in families) for name in ETAS}
        for variant, families in SWEPT.items()
    }
    number = "; ".join(
        f"{family}: best c1 {', '.join(f'{best_c1(book, name, family):g}' for name in ETAS)}"
        for families in SWEPT.values()
        for family in families
    )
    words = verdict(passed, book.settings(ETAS))
    return Claim(text, source, "as printed and calibrated, eta = 1 .. 10,000, T = 400", rule, number, words)


def u_shaped(book: Book) -> Claim:
    """Regret has a minimum in c1."""
    return about_c1(
        book,
        "regret as a function of c1 is U-shaped",
        "both ends of c1 = 0.7 .. 10 are more than a tenth above the smallest median, for every eta",
        lambda name, family: is_u(book, name, family),
    )


def near_three(book: Book) -> Claim:
    """The best c1 is about 3."""
    return about_c1(
        book,
        "the best c1 is about 3",
        "the c1 of the smallest median is 2, 2.5, 3 or 4, for every eta",
        lambda name, family: 2.0 <= best_c1(book, name, family) <= 4.0,
    )


def stable_in_eta(book: Book) -> Claim:
    """The best c1 hardly depends on the noise."""

    def test(_: str, family: str) -> bool:
        found = [best_c1(book, name, family) for name in ETAS]
        return max(found) <= 2.0 * min(found)

    return about_c1(
        book,
        "the best c1 stays almost constant from eta = 1 to 10,000",
        "the largest of the best c1 is at most twice the smallest",
        test,
    )


TUNING: tuple[Callable[[Book], Claim], ...] = (u_shaped, near_three, stable_in_eta)
