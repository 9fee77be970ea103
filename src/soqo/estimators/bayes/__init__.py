"""Bayesian estimators of A: filters that learn reading by reading, and the regression on a finished log."""

from soqo.estimators.bayes._bank import RECENT, Bank
from soqo.estimators.bayes._filters import begins
from soqo.estimators.bayes._posterior import DECADES, FIRST_SCALE, MAX_DISTANCE, Expectation, Posterior, Reading
from soqo.estimators.bayes._regression import BayesianRegression, PosteriorSample, whiten
from soqo.estimators.bayes._structures import LOAD_SIZE, PLAIN, SHIFTED, STRUCTURES, Terms

__all__ = [
    "DECADES",
    "FIRST_SCALE",
    "LOAD_SIZE",
    "MAX_DISTANCE",
    "PLAIN",
    "RECENT",
    "SHIFTED",
    "STRUCTURES",
    "Bank",
    "BayesianRegression",
    "Expectation",
    "Posterior",
    "PosteriorSample",
    "Reading",
    "Terms",
    "begins",
    "whiten",
]
