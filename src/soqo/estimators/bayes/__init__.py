"""Bayesian estimators of A: recursive least squares with unknown noise and scale, MAP estimates, regression on logs."""

from soqo.estimators.bayes._fit_schedule import (
    STEADY_RATIO,
    estimate_period,
    fit_ages,
    fit_is_due,
    frequent_fits,
)
from soqo.estimators.bayes._map_estimate import map_estimate
from soqo.estimators.bayes._model import (
    MAX_DISTANCE,
    OFFSET_SIZE,
    RELATIVE_ERROR,
    TRACE_DEVIATION,
    ReadingModel,
    clip_inputs,
)
from soqo.estimators.bayes._posterior import Posterior, directional_deviations
from soqo.estimators.bayes._regression import BayesianRegression, PosteriorSample
from soqo.estimators.bayes._revisions import (
    with_released_offset,
    with_rescaled_curvature,
    with_walking_offset,
    without_direction,
    without_readings,
)
from soqo.estimators.bayes._row_algebra import LOG_BASE_LOAD_RANGE

__all__ = [
    "LOG_BASE_LOAD_RANGE",
    "MAX_DISTANCE",
    "OFFSET_SIZE",
    "RELATIVE_ERROR",
    "STEADY_RATIO",
    "TRACE_DEVIATION",
    "BayesianRegression",
    "Posterior",
    "PosteriorSample",
    "ReadingModel",
    "clip_inputs",
    "directional_deviations",
    "estimate_period",
    "fit_ages",
    "fit_is_due",
    "frequent_fits",
    "map_estimate",
    "with_released_offset",
    "with_rescaled_curvature",
    "with_walking_offset",
    "without_direction",
    "without_readings",
]
