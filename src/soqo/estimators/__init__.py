"""Estimators of A: semidefinite programs (`sdp`), posteriors (`bayes`), gradient steps, and the same in CVXPY (`reference`)."""

from soqo.estimators._estimate import Estimate, Status
from soqo.estimators._gradient import GradientEstimate, projected_gradient_step
from soqo.estimators._recovery import Recovery
from soqo.estimators.sdp._least_squares import least_squares_bound, psd_least_squares
from soqo.estimators.sdp._trace_min import (
    least_absolute_deviations_bound,
    psd_least_absolute_deviations,
    trace_bound,
    trace_min,
)

__all__ = [
    "Estimate",
    "GradientEstimate",
    "Recovery",
    "Status",
    "least_absolute_deviations_bound",
    "least_squares_bound",
    "projected_gradient_step",
    "psd_least_absolute_deviations",
    "psd_least_squares",
    "trace_bound",
    "trace_min",
]
