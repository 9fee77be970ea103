r"""Theorem 2: a lower bound for players that interpolate with gains whose error is between epsilon/2 and epsilon.

The paper's instance is A = 0, where C_t = I and the optimal player does not move. With E_t = I - C^_t between epsilon/2
and epsilon, regret is the sum of 1/2 E|E_t u_t|^2, and u_{t+1} = (I - E_t) u_t - step. The paper bounds E|u|^2 by its
value for E = epsilon and the factor by its value for E = epsilon/2. This gives epsilon T / (8 (2 - epsilon)), about
epsilon T / 16, but the paper states epsilon T / 8. The conclusion is nevertheless true, by dynamic programming: the
cost to go is w_n |u|^2 plus constants, with w_n = min over e of 1/2 e^2 + w_{n-1} (1 - e)^2. Because w stays below
e / (2 (1 - e)), the smallest e is optimal in every round. The smallest regret is therefore that of E_t = epsilon/2 in
every round,

    tr(Sigma) sum over n = 1..T of w [1 - (1 - epsilon/2)^(2n)],      w = epsilon / (2 (4 - epsilon)) >= epsilon / 8.
"""

from __future__ import annotations

import math

from soqo._foundation.arguments import integer, number
from soqo.theory._instance_constants import Bound, Variant, check_variant


def theorem2(epsilon: float, horizon: int, *, trace: float = 1.0, variant: Variant = "corrected") -> Bound:
    """Return the lower bound of Theorem 2 on regret with gains that are off by epsilon/2 to epsilon, for A = 0.

    ``as_printed`` is epsilon T / 8, without the constant that the paper leaves open and without the cost of
    exploration, which the paper takes as 1/epsilon in unspecified units. ``appendix`` follows from the third line of
    the proof. The corrected bound is attained and therefore optimal.

    Errata: the fourth line of the proof does not follow from its third, but the conclusion is true. The instance A = 0
    has rank 0. In full rank regret is of order epsilon^2 T (:func:`second_order_bound`), without a term in epsilon T.
    The claim that T^(1/2) is optimal in full rank is therefore not supported: T^(1/3) is attained
    (:func:`optimal_gamma2`).

    Parameters
    ----------
    epsilon : float
        The error of the gains, in (0, 1].
    horizon : int
        The number of rounds T.
    trace : float
        The trace of Sigma.
    variant : {"corrected", "as_printed", "appendix"}
        The version of the bound.

    Returns
    -------
    Bound
        The bound, with its terms.

    Examples
    --------
    >>> for variant in ("as_printed", "appendix", "corrected"):
    ...     print(theorem2(epsilon=0.1, horizon=1000, variant=variant))
    Theorem 2, as printed: 12.5 (exploitation 12.5)
    Theorem 2, appendix: 6.5509 (exploitation 6.5509)
    Theorem 2, corrected: 12.7018 (exploitation 12.7018)
    """
    epsilon = number("epsilon", epsilon, above=0.0, most=1.0)
    T = integer("horizon", horizon, least=1)
    trace = number("trace", trace, least=0.0)
    if check_variant(variant) == "as_printed":
        least = epsilon * T / 8.0
    elif variant == "appendix":
        least = epsilon**2 / 8.0 / (epsilon * (2.0 - epsilon)) * _saturation_sum(T, 1.0 - epsilon)
    else:
        least = epsilon / (2.0 * (4.0 - epsilon)) * _saturation_sum(T, 1.0 - 0.5 * epsilon)
    return Bound("Theorem 2", variant, {"exploitation": trace * least})


def _saturation_sum(rounds: int, contraction: float) -> float:
    """Return the sum over n = 1..rounds of 1 - contraction^(2n)."""
    square = contraction * contraction
    if square == 0.0:
        return float(rounds)
    return rounds - square * -math.expm1(rounds * math.log(square)) / (1.0 - square)
