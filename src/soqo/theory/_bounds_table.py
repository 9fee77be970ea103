"""A table of every bound on SCaLE's regret in all its variants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from soqo._foundation.arguments import number
from soqo._foundation.frozen_dataclasses import Value
from soqo.errors import ArgumentError
from soqo.theory._exploitation_bounds import exploitation_bound, second_order_bound
from soqo.theory._instance_constants import VARIANTS, Bound, Instance, Variant
from soqo.theory._lower_bound import theorem2
from soqo.theory._scale_bounds import Schedule, corollary1, probing_schedule, start_bound, theorem1, theorem3
from soqo.theory._step_covariance import Covariance
from soqo.typing import ArrayLike


@dataclass(frozen=True)
class Row(Value):
    """One bound of the table.

    Attributes
    ----------
    statement : str
        The name of the statement, such as "Theorem 4".
    variant : {"corrected", "as_printed", "appendix"}
        The version of the bound.
    bound : Bound or None
        The bound, or None where it does not apply.
    reason : str
        Why the bound does not apply; empty if it applies.
    """

    statement: str
    variant: Variant
    bound: Bound | None
    reason: str = ""

    @property
    def value(self) -> float:
        """The value of the bound, or NaN where it does not apply."""
        return math.nan if self.bound is None else self.bound.value


@dataclass(frozen=True)
class Bounds(Value):
    """A table of bounds; printing it gives one line per bound.

    Attributes
    ----------
    rows : tuple of Row
        The bounds.
    schedules : dict
        The schedule of SCaLE's probes for each variant.
    """

    rows: tuple[Row, ...]
    schedules: dict[Variant, Schedule]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def value(self, statement: str, variant: Variant = "corrected") -> float:
        """Return one bound of the table.

        Parameters
        ----------
        statement : str
            The name of the statement, such as "Theorem 4".
        variant : {"corrected", "as_printed", "appendix"}
            The version of the bound.

        Returns
        -------
        float
            The value of the bound, or NaN where it does not apply.
        """
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
            note = row.reason
            if row.bound is not None:
                lower = "lower bound, for A = 0: " if row.statement == "Theorem 2" else ""
                note = lower + ", ".join(f"{name} {term:.4g}" for name, term in row.bound.terms.items())
            variant = row.variant.replace("_", " ")
            lines.append(f"{row.statement:<13}{variant:<12}{row.value:>11.4g}  {note}")
        return "\n".join(lines)


def bounds(
    A: ArrayLike,
    covariance: Covariance,
    *,
    horizon: int,
    noise_cap: float,
    c1: float = 3.0,
    epsilon: float | None = None,
    constant: float = 1.0,
) -> Bounds:
    """Return all bounds: Theorems 1 to 5 and Corollary 1 in all their variants, and the bound of second order.

    Parameters
    ----------
    A : array_like, shape (d, d)
        The curvature.
    covariance : float, array_like of shape (d, d), or Process
        The paper's Sigma.
    horizon : int
        The number of rounds T, above the number of rounds of probing.
    noise_cap : float
        The bound of the noise, the paper's eta-bar.
    c1 : float
        Probes per rank and dimension.
    epsilon : float, optional
        The error of the estimate, for Theorems 2 to 5; by default the error that each variant's schedule states.
        Theorem 1 and Corollary 1 use the error of their schedule. Theorem 2 uses it as the error of the gains, and is a
        lower bound for another instance, A = 0.
    constant : float
        The factor that the guarantee on the estimate lacks; see :func:`corollary1`.

    Returns
    -------
    Bounds
        The table, whose text has one line per bound.

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
    instance = Instance.of(A, covariance)
    given: dict[str, Any] = {"horizon": horizon, "noise_cap": noise_cap, "c1": c1, "constant": constant}
    schedules = {variant: probing_schedule(instance, variant=variant, **given) for variant in VARIANTS}
    fixed = None if epsilon is None else number("epsilon", epsilon, least=0.0)
    errors = {variant: plan.epsilon if fixed is None else fixed for variant, plan in schedules.items()}

    def lower(variant: Variant) -> Bound:
        error, rounds = min(1.0, errors[variant]), schedules[variant].rounds
        return theorem2(error, rounds, trace=instance.covariance_trace, variant=variant)

    @cache
    def exploitation(variant: Variant) -> Bound:
        error, rounds = errors[variant], schedules[variant].rounds
        return exploitation_bound(A, covariance, epsilon=error, horizon=rounds, variant=variant)

    def phases(variant: Variant) -> Bound:
        plan, later = schedules[variant], exploitation(variant).value
        if variant == "corrected":  # Theorems 4 and 5 are for a player that starts on v
            later += start_bound(instance, plan.gamma2, errors[variant], plan.rounds)
        return theorem3(A, covariance, m=plan.m, gamma2=plan.gamma2, exploitation=later, variant=variant)

    def balance(variant: Variant) -> Bound:
        if variant == "as_printed":
            raise ArgumentError("orders only: its two parts are those of the theorem above, as printed")
        return corollary1(A, covariance, variant=variant, **given)

    def second_order(variant: Variant) -> Bound:
        return second_order_bound(A, covariance, epsilon=errors[variant], horizon=schedules[variant].rounds)

    statements: dict[str, Callable[[Variant], Bound]] = {
        "Theorem 1": lambda variant: theorem1(A, covariance, variant=variant, **given),
        "Theorem 2": lower,
        "Theorem 3": phases,
        "Theorem 5" if instance.full_rank else "Theorem 4": exploitation,
        "Corollary 1": balance,
    }
    rows = [_row(name, variant, bound) for name, bound in statements.items() for variant in VARIANTS]
    return Bounds((*rows, _row("Second order", "corrected", second_order)), schedules)


def _row(statement: str, variant: Variant, bound: Callable[[Variant], Bound]) -> Row:
    """Return the row of a bound, or of the reason why it does not apply."""
    try:
        return Row(statement, variant, bound(variant))
    except ArgumentError as error:
        return Row(statement, variant, None, str(error))
