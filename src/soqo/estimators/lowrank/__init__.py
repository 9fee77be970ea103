"""Estimates of an A with many dimensions from fewer readings than unknowns: priors that favor a low rank, factors."""

from soqo.estimators.lowrank._annealing import SWEEPS, Annealing, positive_part
from soqo.estimators.lowrank._bases import PRIOR_SCALE, Bases, bases
from soqo.estimators.lowrank._evidence import FLAT_LEAD, LevelFit, fit_levels
from soqo.estimators.lowrank._factored import Factored
from soqo.estimators.lowrank._flat import Flat, fit_flat
from soqo.estimators.lowrank._readings import Moments, Readings, predict
from soqo.estimators.lowrank._rows import Rows
from soqo.estimators.lowrank._uncertainty import FactorUncertainty, RowsUncertainty, SumsUncertainty, Uncertainty

__all__ = [
    "FLAT_LEAD",
    "PRIOR_SCALE",
    "SWEEPS",
    "Annealing",
    "Bases",
    "FactorUncertainty",
    "Factored",
    "Flat",
    "LevelFit",
    "Moments",
    "Readings",
    "Rows",
    "RowsUncertainty",
    "SumsUncertainty",
    "Uncertainty",
    "bases",
    "fit_flat",
    "fit_levels",
    "positive_part",
    "predict",
]
