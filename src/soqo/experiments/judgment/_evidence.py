"""Evidence beside regret: numbers of the paper's statements about estimates, probes and spectral errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from soqo._foundation.frozen_dataclasses import Value
from soqo.typing import Array


@dataclass(frozen=True)
class RubExperiment(Value):
    """How well the queries of a policy spread, over the number of queries: C2/C1 of restricted uniform boundedness.

    A ratio near 1 means that the queries see every matrix of the rank equally well; the ratio of queries that miss a
    direction is infinite.

    Attributes
    ----------
    setting : str
        The name of the setting.
    queries : tuple of int
        The numbers of first queries.
    ratios : mapping of str to Array of shape (len(queries), runs)
        C2/C1 of each run, by policy.
    """

    setting: str
    queries: tuple[int, ...]
    ratios: Mapping[str, Array] = field(repr=False)


@dataclass(frozen=True)
class EstimationRisk(Value):
    """The worst error of the estimate over directions of A, against the number of probes (Remark 1).

    Attributes
    ----------
    rank, dim : int
        The rank and the dimension.
    probes : tuple of int
        The numbers of probes m.
    unseen : Array, shape (len(probes), draws)
        For each draw of probes, the least response of all probes together to a difference of two matrices of the rank,
        relative to its norm: the number that an error is divided by. Zero means infinite risk.
    """

    rank: int
    dim: int
    probes: tuple[int, ...]
    unseen: Array = field(repr=False)


@dataclass(frozen=True)
class SpectralSplit(Value):
    """The two parts of Proposition 1 for SCaLE's own estimates, over the horizon.

    Attributes
    ----------
    setting : str
        The name of the setting.
    horizons : tuple of int
        The horizons.
    value, basis : Array, shape (len(horizons), runs)
        The parts of the exact regret of exploitation, as Proposition 1 names them.
    """

    setting: str
    horizons: tuple[int, ...]
    value: Array = field(repr=False)
    basis: Array = field(repr=False)


@dataclass(frozen=True)
class Tail(Value):
    """The distribution of one policy's regret over the runs, where a mean says little.

    Attributes
    ----------
    setting, policy : str
    quantiles : mapping of float to float
        Quantiles of the regret at the end, by probability.
    trimmed : mapping of float to float
        Trimmed means, by the share that is cut off at each end.
    mean : float
    largest_share : float
        The share of the sum over the runs that the largest run has.
    """

    setting: str
    policy: str
    quantiles: Mapping[float, float]
    trimmed: Mapping[float, float]
    mean: float
    largest_share: float


@dataclass(frozen=True)
class Evidence(Value):
    """All evidence of a run.

    Attributes
    ----------
    rub : tuple of RubExperiment
    risk : tuple of EstimationRisk
    split : tuple of SpectralSplit
    tails : tuple of Tail
    tuned_c1 : mapping of str to mapping of str to float
        For each setting, the c1 with the least mean and median regret of SCaLE to the letter.
    """

    rub: tuple[RubExperiment, ...] = ()
    risk: tuple[EstimationRisk, ...] = ()
    split: tuple[SpectralSplit, ...] = ()
    tails: tuple[Tail, ...] = ()
    tuned_c1: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    TAIL_REASON = (
        "Cauchy steps have no mean, so that an average over runs does not settle with their number, and the largest run "
        "decides it; medians, quantiles and trimmed means do settle."
    )
    """Why heavy tails are shown by quantiles and trimmed means."""
