"""The fit and the estimate of one run as machine code; importing it needs the extra ``fast``."""

from soqo.estimators.bayes.compiled._estimate import deviation, map_estimate, to_matrix, to_vector
from soqo.estimators.bayes.compiled._fit import fit_variants, offset_deviation, unexplained
from soqo.estimators.bayes.compiled._small_matrices import cholesky, fold_rows, solve_symmetric, triangular_factor

__all__ = [
    "cholesky",
    "deviation",
    "fit_variants",
    "fold_rows",
    "map_estimate",
    "offset_deviation",
    "solve_symmetric",
    "to_matrix",
    "to_vector",
    "triangular_factor",
    "unexplained",
]
