"""Bayesian estimators of A: filters that learn reading by reading, and the regression on a finished log."""

from soqo.estimators.bayes._bank import NEGLIGIBLE_NATS, Bank
from soqo.estimators.bayes._filters import begins
from soqo.estimators.bayes._posterior import DECADES, FIRST_SCALE, MAX_DISTANCE, Expectation, Posterior, Reading
from soqo.estimators.bayes._priors import RECENT
from soqo.estimators.bayes._regression import BayesianRegression, PosteriorSample, whiten
from soqo.estimators.bayes._structures import PLAIN, SHIFTED, STRUCTURES, Structure, Terms

__all__ = [
    "DECADES",
    "FIRST_SCALE",
    "MAX_DISTANCE",
    "NEGLIGIBLE_NATS",
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
    "Structure",
    "Terms",
    "begins",
    "whiten",
]
