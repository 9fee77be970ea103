"""The paper's theory as numbers: exact regret, every bound in all its variants, and the best probe variance.

::

    exact_regret, exact_regret_as_squares       Proposition 1, and the same as a sum of squares
    exact_scale_regret                          Theorem 3 with equalities
    theorem1 ... theorem5, corollary1, bounds   the bounds, as printed, as in the appendix, and corrected
    second_order_bound                          epsilon^2 T in full rank, where Theorem 5 has epsilon T
    perturbation, rub_constants                 the quality of an estimate and of a set of probes
    expected_scale_regret, optimal_gamma2       the best variance of the probes
    growth_exponent                             p in regret ~ T^p, with an interval
    learning_constant, learning_regret          kappa in regret ~ kappa log T of learning from movement, round by round
    regret_lower_bound, local_prior             what no policy can be below over T rounds, for normal noise
    first_rounds_bound                          what no policy can be below in the first d rounds, for any noise

All functions use coordinates where switching is plain l2; ``Problem.plain`` converts a weighted problem to them.
"""

from soqo.theory._bounds_table import Bounds, Row, bounds
from soqo.theory._exact_regret import ExactRegret, exact_regret, exact_regret_as_squares
from soqo.theory._exploitation_bounds import exploitation_bound, second_order_bound, theorem4, theorem5
from soqo.theory._first_rounds_bound import FirstRoundsBound, first_rounds_bound
from soqo.theory._growth_exponent import Growth, growth_exponent
from soqo.theory._instance_constants import Bound
from soqo.theory._learning_constant import LearningConstant, learning_constant, learning_regret
from soqo.theory._lower_bound import theorem2
from soqo.theory._perturbation import EigenvalueCluster, Perturbation, perturbation
from soqo.theory._probe_variance import ExpectedRegret, expected_scale_regret, optimal_gamma2
from soqo.theory._regret_lower_bound import RegretLowerBound, local_prior, regret_lower_bound
from soqo.theory._restricted_boundedness import RUB, least_response, rub_constants, rub_ratios
from soqo.theory._scale_bounds import Schedule, corollary1, theorem1, theorem3
from soqo.theory._scale_regret import ScaleRegret, exact_scale_regret

__all__ = [
    "RUB",
    "Bound",
    "Bounds",
    "EigenvalueCluster",
    "ExactRegret",
    "ExpectedRegret",
    "FirstRoundsBound",
    "Growth",
    "LearningConstant",
    "Perturbation",
    "RegretLowerBound",
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
    "first_rounds_bound",
    "growth_exponent",
    "learning_constant",
    "learning_regret",
    "least_response",
    "local_prior",
    "optimal_gamma2",
    "perturbation",
    "regret_lower_bound",
    "rub_constants",
    "rub_ratios",
    "second_order_bound",
    "theorem1",
    "theorem2",
    "theorem3",
    "theorem4",
    "theorem5",
]
