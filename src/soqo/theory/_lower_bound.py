r"""Theorem 2, the lower bound for players who interpolate with gains that are off by epsilon/2 to epsilon.

The paper's instance is A = 0, where C_t = I and the best player does not move. With E_t = I - C^_t between epsilon/2
and epsilon, regret is the sum of 1/2 E|E_t u_t|^2 and u_{t+1} = (I - E_t) u_t - step. The paper bounds E|u|^2 by its
value for E = epsilon and the factor by its value for E = epsilon/2, which gives epsilon T / (8 (2 - epsilon)), about
epsilon T / 16; it then writes epsilon T / 8. The conclusion holds all the same, by dynamic programming: the cost to go
is w_n |u|^2 plus constants, with w_n = min over e of 1/2 e^2 + w_{n-1} (1 - e)^2, and since w stays below e / (2 (1 -
e)) the smallest e is best in every round. So the least regret is that of E_t = epsilon/2 throughout,

    tr(Sigma) sum over n = 1..T of w [1 - (1 - epsilon/2)^(2n)],      w = epsilon / (2 (4 - epsilon)) >= epsilon / 8."""

from __future__ import annotations

import math

from soqo._arguments import integer, number
from soqo.theory._facts import Bound, check_variant

__all__ = ["theorem2"]


def theorem2(epsilon: float, horizon: int, trace: float = 1.0, variant: str = "corrected") -> Bound:
    """Theorem 2: what a player with gains off by epsilon/2 to epsilon loses at least, for the instance A = 0.

    ``trace`` is that of Sigma. ``as_printed`` is epsilon T / 8, without the constant that the paper leaves open and
    without the cost of exploration, which it takes to be 1/epsilon in units that it does not give; ``appendix`` is what
    the proof's third line gives. The corrected bound is attained, and so cannot be improved.

    Errata: the fourth line of the proof does not follow from its third, but the conclusion is true. And A = 0 has rank
    0: in full rank regret is of order epsilon^2 T (:func:`second_order_bound`), so there is no term in epsilon T, and
    the claim that T^(1/2) is optimal in full rank is not supported: T^(1/3) is attained (:func:`optimal_gamma2`).

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
        least = epsilon**2 / 8.0 / (epsilon * (2.0 - epsilon)) * settled(T, 1.0 - epsilon)
    else:
        least = epsilon / (2.0 * (4.0 - epsilon)) * settled(T, 1.0 - 0.5 * epsilon)
    return Bound("Theorem 2", variant, {"exploitation": trace * least})


def settled(rounds: int, contraction: float) -> float:
    """The sum over n = 1..rounds of 1 - contraction^(2n)."""
    square = contraction * contraction
    if square == 0.0:
        return float(rounds)
    return rounds - square * -math.expm1(rounds * math.log(square)) / (1.0 - square)
