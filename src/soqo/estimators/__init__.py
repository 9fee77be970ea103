"""Estimators of A: semidefinite programs, posteriors and gradient steps.

The semidefinite programs are in :mod:`soqo.estimators.sdp`, the same programs in CVXPY in
:mod:`soqo.estimators.reference`, and the posteriors in :mod:`soqo.estimators.bayes`.
"""

from soqo.estimators._estimate import Estimate, Status
from soqo.estimators._gradient import GradientEstimate, projected_gradient_step
from soqo.estimators._matrix_recovery import Recovery
from soqo.estimators._measurements import adjoint, measure, smat, svec, svec_rows
from soqo.estimators.sdp import (
    least_absolute_deviations_bound,
    least_squares_bound,
    psd_least_absolute_deviations,
    psd_least_squares,
    trace_bound,
    trace_min,
)

__all__ = [
    "Estimate",
    "GradientEstimate",
    "Recovery",
    "Status",
    "adjoint",
    "least_absolute_deviations_bound",
    "least_squares_bound",
    "measure",
    "projected_gradient_step",
    "psd_least_absolute_deviations",
    "psd_least_squares",
    "smat",
    "svec",
    "svec_rows",
    "trace_bound",
    "trace_min",
]
