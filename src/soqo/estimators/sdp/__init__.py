"""Estimators of A that are semidefinite programs, all solved by one interior-point method.

Each estimate has a certificate: its multipliers prove a lower bound on the optimum, which the functions that end in
``_bound`` recompute from the data.
"""

from soqo.estimators.sdp._batched_solver import batched_min_radius, batched_trace_min
from soqo.estimators.sdp._bounds import least_absolute_deviations_bound, least_squares_bound, trace_bound
from soqo.estimators.sdp._normalized_data import check_data
from soqo.estimators.sdp._programs import effective_radius, psd_least_absolute_deviations, psd_least_squares, trace_min

__all__ = [
    "batched_min_radius",
    "batched_trace_min",
    "check_data",
    "effective_radius",
    "least_absolute_deviations_bound",
    "least_squares_bound",
    "psd_least_absolute_deviations",
    "psd_least_squares",
    "trace_bound",
    "trace_min",
]
