"""The paper's theory as numbers: exact regret, every bound in all its readings, and what follows for probing.

::

    exact_regret, exact_regret_as_squares       Proposition 1, and the same as a sum of squares
    exact_scale_regret                          Theorem 3 as equalities
    theorem1 ... theorem5, corollary1, bounds   the bounds, as printed, as in the appendix, and corrected
    second_order_bound                          epsilon^2 T in full rank, where Theorem 5 has epsilon T
    perturbation, rub_constants                 how good an estimate and a set of probes are
    expected_scale_regret, optimal_gamma2       the best size of probes
    growth_exponent                             p in regret ~ T^p, with an interval

Everything is in coordinates where switching is plain l2; ``Problem.plain`` brings a weighted problem there.
"""

from soqo.theory._bounds import Bounds, Row, bounds
from soqo.theory._exact import ExactRegret, exact_regret, exact_regret_as_squares
from soqo.theory._exploitation import exploitation_bound, second_order_bound, theorem4, theorem5
from soqo.theory._explore_exploit import Schedule, corollary1, theorem1, theorem3
from soqo.theory._facts import Bound
from soqo.theory._growth import Growth, growth_exponent
from soqo.theory._lower_bound import theorem2
from soqo.theory._perturbation import Group, Perturbation, perturbation
from soqo.theory._probe_variance import ExpectedRegret, expected_scale_regret, optimal_gamma2
from soqo.theory._rub import RUB, rub_constants
from soqo.theory._scale_regret import ScaleRegret, exact_scale_regret

__all__ = [
    "RUB",
    "Bound",
    "Bounds",
    "ExactRegret",
    "ExpectedRegret",
    "Group",
    "Growth",
    "Perturbation",
    "Row",
    "ScaleRegret",
    "Schedule",
    "bounds",
    "corollary1",
    "exact_regret",
    "exact_regret_as_squares",
    "exact_scale_regret",
    "expected_scale_regret",
    "exploitation_bound",
    "growth_exponent",
    "optimal_gamma2",
    "perturbation",
    "rub_constants",
    "second_order_bound",
    "theorem1",
    "theorem2",
    "theorem3",
    "theorem4",
    "theorem5",
]
