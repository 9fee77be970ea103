"""Evidence beside regret: numbers of the paper's statements about estimates, probes and spectral errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from soqo._foundation.bootstrap_intervals import quantiles_over_runs
from soqo._foundation.frozen_dataclasses import Value
from soqo.experiments.execution import Outcome, play_jointly
from soqo.experiments.judgment._samples import trimmed_mean
from soqo.experiments.settings import (
    HEAVY_TAILS,
    RANK_DEFICIENT,
    SPLIT,
    Reading,
    Setting,
    TunedC1,
    captions_c1,
    scale_arguments,
)
from soqo.policies import SCaLE
from soqo.theory import exact_regret, least_response, rub_ratios
from soqo.typing import Array

QUERIES = 40
"""The number of first queries whose spread is judged: SCaLE's own number of probes in these settings."""

_RUB_QUERIES = (12, 20, QUERIES)
_RUB_RUNS = 8
_RUB_STARTS = 4
"""Few starts of each search suffice in four dimensions."""

_UNSEEN = 1e-6
"""Responses below this are round-off of a search."""

_RISK_DRAWS = 4
_SPLIT_HORIZONS = (200, 2000)
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_TRIMMED = (0.1, 0.25)


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
        For each draw of probes, the least mean response to a difference of two matrices of the rank, relative to its
        norm: the number that an error is divided by. Zero means infinite risk.
    """

    rank: int
    dim: int
    probes: tuple[int, ...]
    unseen: Array = field(repr=False)

    @property
    def first_consistent(self) -> int:
        """The fewest probes with which no draw leaves a difference unseen."""
        least = self.unseen.min(axis=1)
        return next((m for m, one in zip(self.probes, least, strict=True) if one > _UNSEEN), self.probes[-1] + 1)


@dataclass(frozen=True)
class SpectralSplit(Value):
    """The two parts of Proposition 1 for SCaLE's own estimates, over the horizon.

    Attributes
    ----------
    setting : str
        The name of the setting.
    gamma2, radius : str
        The reading.
    horizons : tuple of int
        The horizons.
    value, basis : Array, shape (len(horizons), runs)
        The parts of the exact regret of exploitation, as Proposition 1 names them.
    """

    setting: str
    gamma2: str
    radius: str
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
        "Cauchy steps have no mean, so that an average over runs does not settle with their number, and the largest "
        "run decides it; medians, quantiles and trimmed means do settle."
    )
    """Why heavy tails are shown by quantiles and trimmed means."""


# ---- computation ---------------------------------------------------------------------------------------------------


def gather_evidence(
    settings: Iterable[Setting], outcomes: Sequence[Outcome], tuned: TunedC1, readings: Sequence[Reading], runs: int
) -> Evidence:
    """Compute the evidence that the paper's settings allow.

    Parameters
    ----------
    settings : iterable of Setting
        The paper's settings that were simulated.
    outcomes : sequence of Outcome
        Their outcomes.
    tuned : TunedC1
        The c1 of the reading "tuned".
    readings : sequence of Reading
        The readings.
    runs : int
        The number of runs.

    Returns
    -------
    Evidence
        The evidence.

    Examples
    --------
    >>> gather_evidence([], [], {}, [], runs=20).rub
    ()
    """
    known = {setting.name: setting for setting in settings}
    combinations = dict.fromkeys((str(reading.gamma2), str(reading.radius)) for reading in readings)
    return Evidence(
        rub=tuple(measure_rub(known[name], runs) for name in (*HEAVY_TAILS, *RANK_DEFICIENT) if name in known),
        risk=(measure_risk(1, 4), measure_risk(4, 4)) if known else (),
        split=tuple(
            measure_split(known[name], *combination, runs)
            for name in SPLIT
            if name in known
            for combination in combinations
        ),
        tails=tuple(
            tail for outcome in outcomes if outcome.setting.name in HEAVY_TAILS for tail in measure_tails(outcome)
        ),
        tuned_c1={name: dict(choices) for (name, *rest), choices in tuned.items() if rest == _LITERAL_PLACE},
    )


_LITERAL_PLACE = ["linear_1", "algorithm", "cap"]


def measure_rub(setting: Setting, runs: int) -> RubExperiment:
    """Return how well the first queries of POL, OAL and SCaLE spread.

    Parameters
    ----------
    setting : Setting
        The setting.
    runs : int
        The number of runs, of which the first few are used.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> found = measure_rub(find("heavy_tails_1")[0], runs=1)
    >>> bool(found.ratios["POL"][-1, 0] > found.ratios["SCaLE"][-1, 0])
    True
    """
    paths = setting.environment.draw(setting.horizon, min(runs, _RUB_RUNS), seed=setting.seed)
    names = {"POL": "POL", "OAL": "OAL", "SCaLE": "SCaLE as printed"}
    played = play_jointly({label: setting.policies[name] for label, name in names.items()}, paths)
    queries = np.concatenate([played[label].x - paths.v for label in names])
    found = np.stack([rub_ratios(queries[:, :count], 1, starts=_RUB_STARTS) for count in _RUB_QUERIES])
    ratios = dict(zip(names, np.split(found, len(names), axis=1), strict=True))
    return RubExperiment(setting.name, _RUB_QUERIES, ratios)


def measure_risk(rank: int, dim: int) -> EstimationRisk:
    """Return the least response of Gaussian probes to a difference of two matrices of a rank.

    Parameters
    ----------
    rank, dim : int
        The rank and the dimension.

    Examples
    --------
    >>> measure_risk(4, 4).first_consistent
    10
    """
    probes = tuple(range(2, dim * (dim + 1) // 2 + 4))
    rng = np.random.default_rng(0)
    drawn = [rng.standard_normal((probes[-1], dim)) for _ in range(_RISK_DRAWS)]
    unseen = [[least_response(Z[:m], rank) for Z in drawn] for m in probes]
    return EstimationRisk(rank, dim, probes, np.array(unseen))


def measure_split(setting: Setting, gamma2: str, radius: str, runs: int) -> SpectralSplit:
    """Return the two parts of the exact regret of exploitation, for SCaLE's own estimates.

    Parameters
    ----------
    setting : Setting
        The setting, whose steps have a covariance.
    gamma2, radius : str
        The reading.
    runs : int
        The number of runs.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> measure_split(find("gaussian_r4_1")[0], "algorithm", "cap", runs=2).value.shape
    (2, 2)
    """
    policy = SCaLE(**scale_arguments(setting, gamma2, radius), c1=captions_c1(setting))
    environment = setting.environment
    m = policy.exploration_rounds(environment.dim)
    parts = []
    for horizon in _SPLIT_HORIZONS:
        # Probes do not depend on later rounds: what follows exploration is exact, not simulated.
        paths = environment.draw(m + 1, runs, seed=setting.seed)
        probing = replace(policy, gamma2=policy.probe_variance(environment.dim, horizon))
        estimate = play_jointly({"SCaLE": probing}, paths)["SCaLE"].diagnostics["estimate"]
        covariance = environment.process.covariance(environment.dim)
        assert covariance is not None
        parts.append(exact_regret(paths.problem.A, estimate, covariance=covariance, horizon=horizon - m))
    return SpectralSplit(
        setting.name,
        gamma2,
        radius,
        _SPLIT_HORIZONS,
        np.stack([np.asarray(part.value) for part in parts]),
        np.stack([np.asarray(part.basis) for part in parts]),
    )


def measure_tails(outcome: Outcome) -> list[Tail]:
    """Return the distribution of each policy's regret over the runs.

    Parameters
    ----------
    outcome : Outcome
        The outcome of a setting.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from soqo import FTM
    >>> from soqo.experiments import find, run
    >>> setting = replace(find("heavy_tails_1")[0], policies={"FTM": FTM()}, horizons=())
    >>> with TemporaryDirectory() as folder:
    ...     (tail,) = measure_tails(run([setting], folder, runs=1, workers=1)[0])
    >>> tail.largest_share
    1.0
    """
    found = []
    for name in outcome.policies:
        regret = outcome.regret(name)
        with np.errstate(invalid="ignore", over="ignore"):
            quantiles = quantiles_over_runs(regret, _QUANTILES)
            size = np.abs(regret).sum()
            found.append(
                Tail(
                    outcome.setting.name,
                    name,
                    {q: float(value) for q, value in zip(_QUANTILES, quantiles, strict=True)},
                    {share: float(trimmed_mean(regret, share)) for share in _TRIMMED},
                    float(regret.mean()),
                    float(np.abs(regret).max() / size) if size else 0.0,
                )
            )
    return found
