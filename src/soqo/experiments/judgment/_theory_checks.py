"""Checks of the paper's theory by numbers: exact regret, bounds in random cases, and simulation of a formula.

A random case that violates a bound refutes a theorem. Cases that do not are no proof; docs/explanation/theory.md says
which statements are proved there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Literal

from soqo.experiments.judgment._bound_checks import check_bound, check_decomposition, check_lower_bound
from soqo.experiments.judgment._formula_checks import check_formula, check_signal
from soqo.experiments.judgment._order_checks import (
    check_attained,
    check_balance,
    check_orders,
    check_scale_order,
    check_squared_error,
    check_tightness,
    measure_parts,
)
from soqo.experiments.judgment._random_instances import DIM
from soqo.experiments.judgment._tradeoff_checks import check_blindness, check_probe_cost
from soqo.experiments.judgment._verdicts import Case
from soqo.experiments.settings import AXES
from soqo.theory import theorem4, theorem5


@cache
def check_theory() -> Mapping[str, tuple[Case, ...]]:
    """Return the cases of each claim about theory that needs no simulated setting, by the claim's id.

    Examples
    --------
    >>> [case.status.value for case in check_theory()["theorem5"]]
    ['holds']
    """
    parts = {(rank, sigma): measure_parts(rank, sigma) for rank in (DIM, 1) for sigma in (1.0, 0.01)}
    return {
        "figure2-noise": (check_signal(),),
        "proposition1": tuple(check_formula()),
        "theorem2": (check_lower_bound(),),
        **{
            f"{claim}/{gamma2.key}/{radius.key}": tuple(check_decomposition(gamma2.key, radius.key, meaning))
            for claim, meaning in THEOREM3.items()
            for gamma2, radius in product(AXES["gamma2"], AXES["radius"])
        },
        "theorem4": (check_bound(theorem4, deficient=True),),
        "theorem5": (check_bound(theorem5, deficient=False),),
        "epsilon-squared": tuple(check_squared_error()),
        "tight-degenerate": tuple(check_attained()),
        "scale-order": tuple(check_scale_order()),
        "tight-full-rank": tuple(check_tightness()),
        "corollary1": tuple(check_orders(rank, sigma, *found) for (rank, sigma), found in parts.items()),
        "equal-contribution": tuple(check_balance(rank, sigma, *found) for (rank, sigma), found in parts.items()),
        "tradeoff-blind": (check_blindness(),),
        "tradeoff-cost": tuple(check_probe_cost()),
    }


THEOREM3: Mapping[str, Literal["smallest", "sigma_r"]] = {"theorem3": "smallest", "theorem3-sigma-r": "sigma_r"}
"""The claims about Theorem 3, by what its sigma_min means."""
