"""Every bound on SCaLE's regret in all its readings, in one table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from soqo._arguments import number
from soqo.errors import ArgumentError
from soqo.theory._exploitation import exploiting, second_order_bound
from soqo.theory._explore_exploit import (
    Schedule,
    corollary1,
    explore_then_exploit,
    start_bound,
    theorem1,
)
from soqo.theory._facts import VARIANTS, Bound, Facts
from soqo.theory._lower_bound import theorem2

__all__ = ["Bounds", "Row", "bounds"]

LOWER = "Theorem 2"
"""The one lower bound, for an instance of its own."""


@dataclass(frozen=True)
class Row:
    """One bound of the table.

    Attributes
    ----------
    bound : Bound or None
        None where it does not apply.
    why_not : str
        Why it does not apply; empty where it does.
    """

    statement: str
    variant: str
    bound: Bound | None
    why_not: str = ""

    @property
    def value(self) -> float:
        """The bound; NaN where there is none."""
        return math.nan if self.bound is None else self.bound.value


@dataclass(frozen=True)
class Bounds:
    """Bounds side by side, for one schedule of probing.

    Attributes
    ----------
    rows : tuple of Row
    schedules : dict
        For each variant how SCaLE probes.
    """

    rows: tuple[Row, ...]
    schedules: dict[str, Schedule]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def value(self, statement: str, variant: str = "corrected") -> float:
        """One bound, by the names of its row; NaN where it does not apply."""
        for row in self.rows:
            if (row.statement, row.variant) == (statement, variant):
                return row.value
        known = ", ".join(sorted({row.statement for row in self.rows}))
        raise ArgumentError(
            f"statement must be one of {known}, and variant one of {', '.join(VARIANTS)}, "
            f"got {statement!r} and {variant!r}"
        )

    def __str__(self) -> str:
        lines = []
        for row in self.rows:
            what = row.why_not
            if row.bound is not None:
                lower = "lower bound, for A = 0: " if row.statement == LOWER else ""
                what = lower + ", ".join(f"{name} {term:.4g}" for name, term in row.bound.terms.items())
            variant = row.variant.replace("_", " ")
            lines.append(f"{row.statement:<13}{variant:<12}{row.value:>11.4g}  {what}")
        return "\n".join(lines)


def bounds(
    A: Any,
    covariance: Any,
    horizon: int,
    noise_cap: float,
    *,
    c1: float = 3.0,
    epsilon: float | None = None,
    constant: float = 1.0,
) -> Bounds:
    """Theorems 1 to 5, Corollary 1 and our bound of second order, each as printed, as in the appendix and corrected.

    Parameters
    ----------
    A : array_like, shape (d, d)
    covariance : float, array_like of shape (d, d), or Process
        The paper's Sigma.
    horizon : int
        Longer than the rounds of probing.
    noise_cap : float
        The paper's eta-bar.
    c1 : float
        Probes per rank and dimension.
    epsilon : float, optional
        The error of the estimate, for Theorems 2 to 5; what each variant's schedule states, if not given. Theorem 1 and
        Corollary 1 are for their schedule's. Theorem 2 takes it for the error of the gains, and is a lower bound for
        another instance, A = 0.
    constant : float
        The factor that the guarantee on the estimate lacks; see :func:`corollary1`.

    Examples
    --------
    >>> table = bounds([[1.0, 0.0], [0.0, 2.0]], covariance=1.0, horizon=1012, noise_cap=0.1)
    >>> print(table)                                             # doctest: +ELLIPSIS
    Theorem 1    corrected        207.6  growing 192.9, constant 14.68
    Theorem 1    as printed       818.2  growing 792.5, constant 25.61
    ...
    >>> round(table.value("Theorem 5"), 2)
    42.62
    """
    facts = Facts.of(A, covariance)
    schedules = {variant: Schedule.of(facts, horizon, noise_cap, c1, variant, constant) for variant in VARIANTS}
    errors = {
        variant: plan.epsilon if epsilon is None else number("epsilon", epsilon, least=0.0)
        for variant, plan in schedules.items()
    }
    whole = {"A": A, "covariance": covariance, "horizon": horizon, "noise_cap": noise_cap, "c1": c1}

    def lower(variant: str) -> Bound:
        return theorem2(min(1.0, errors[variant]), schedules[variant].rounds, facts.steps, variant)

    def phases(variant: str) -> Bound:
        plan, error = schedules[variant], errors[variant]
        later = exploitation(variant).value
        if variant == "corrected":  # Theorems 4 and 5 are for a player who starts on v
            later += start_bound(facts, plan.gamma2, error, plan.rounds)
        return explore_then_exploit(facts, plan.m, plan.gamma2, later, variant)

    def exploitation(variant: str) -> Bound:
        return exploiting(facts, errors[variant], schedules[variant].rounds, variant)

    def balance(variant: str) -> Bound:
        if variant == "as_printed":
            raise ArgumentError("orders only: its two parts are those of the theorem above, as printed")
        return corollary1(**whole, variant=variant, constant=constant)

    makers: dict[str, Callable[[str], Bound]] = {
        "Theorem 1": lambda variant: theorem1(**whole, variant=variant, constant=constant),
        LOWER: lower,
        "Theorem 3": phases,
        "Theorem 5" if facts.full_rank else "Theorem 4": exploitation,
        "Corollary 1": balance,
    }
    rows = [tried(name, variant, make) for name, make in makers.items() for variant in VARIANTS]
    plan = schedules["corrected"]
    rows.append(
        tried(
            "Second order",
            "corrected",
            lambda _: second_order_bound(A, covariance, errors["corrected"], plan.rounds),
        )
    )
    return Bounds(tuple(rows), schedules)


def tried(statement: str, variant: str, make: Callable[[str], Bound]) -> Row:
    """A bound, or why it does not apply."""
    try:
        return Row(statement, variant, make(variant))
    except ArgumentError as error:
        return Row(statement, variant, None, str(error))
