"""Evidence about queries: how well they spread (RUB), what few of them do not see, and how far estimates are off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.experiments.execution import play_jointly
from soqo.experiments.judgment._estimate_evidence import nuclear_norm
from soqo.experiments.settings import Setting
from soqo.policies import SCaLE
from soqo.theory import least_response, rub_ratios
from soqo.typing import Array

QUERIES = 40
"""The number of queries whose spread is judged: SCaLE's own number of probes in these settings."""

_RUB_QUERIES = (12, 20, QUERIES)
_RUB_STARTS = 4
"""Few starts of each search suffice in four dimensions."""

_UNSEEN = 1e-6
"""Responses below this are round-off of a search."""

_ZERO = 1e-2
"""An estimate whose nuclear norm is below this share of A's is as good as zero."""

_RISK_DRAWS = 4


@dataclass(frozen=True)
class RubExperiment(Value):
    """How well the queries of a policy spread, over the number of queries: C2/C1 of restricted uniform boundedness.

    A ratio near 1 means that the queries see every matrix of the rank equally well; the ratio of queries that miss a
    direction is infinite. The queries are the first ones; HySCaLE's, whose first ones are SCaLE's probes, are those
    after the probes, from which it takes its gradient steps.

    Attributes
    ----------
    setting : str
        The name of the setting.
    queries : tuple of int
        The numbers of first queries.
    ratios : mapping of str to Array of shape (len(queries), runs)
        C2/C1 of each run, by policy.
    errors, sizes : mapping of str to Array of shape (runs,)
        The nuclear norms of the last estimate's error, and of that estimate itself, in each run, by policy.
    curvature : Array, shape (runs,)
        The nuclear norm of A.
    """

    setting: str
    queries: tuple[int, ...]
    ratios: Mapping[str, Array] = field(repr=False)
    errors: Mapping[str, Array] = field(repr=False)
    sizes: Mapping[str, Array] = field(repr=False)
    curvature: Array = field(repr=False)

    @property
    def zero_estimates(self) -> int:
        """The number of runs in which SCaLE's estimate is zero, up to the accuracy of the solver."""
        return int((self.sizes["SCaLE"] < _ZERO * self.curvature).sum())


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


def measure_rub(setting: Setting, runs: int) -> RubExperiment:
    """Return how well the queries of POL, OAL, SCaLE and HySCaLE spread, and the errors of their last estimates.

    Parameters
    ----------
    setting : Setting
        The setting.
    runs : int
        The number of runs.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> found = measure_rub(find("heavy_tails_1")[0], runs=1)
    >>> bool(found.ratios["POL"][-1, 0] > found.ratios["SCaLE"][-1, 0])
    True
    """
    paths = setting.environment.draw(setting.horizon, runs, seed=setting.seed)
    names = {"POL": "POL", "OAL": "OAL", "SCaLE": "SCaLE as printed", "HySCaLE": "HySCaLE as printed"}
    scale = setting.policies[names["SCaLE"]]
    assert isinstance(scale, SCaLE)
    first = {label: scale.exploration_rounds(setting.environment.dim) if label == "HySCaLE" else 0 for label in names}
    with np.errstate(over="ignore", invalid="ignore"):  # a learner may diverge
        played = play_jointly({label: setting.policies[name] for label, name in names.items()}, paths)
        estimates = np.stack([played[label].diagnostics["estimate"] for label in names])
        errors, sizes = nuclear_norm(estimates - paths.problem.A), nuclear_norm(estimates)
    queries = np.concatenate([(played[label].x - paths.v)[:, first[label] : first[label] + QUERIES] for label in names])
    found = np.stack([rub_ratios(queries[:, :count], 1, starts=_RUB_STARTS) for count in _RUB_QUERIES])
    ratios = dict(zip(names, np.split(found, len(names), axis=1), strict=True))
    return RubExperiment(
        setting.name,
        _RUB_QUERIES,
        ratios,
        dict(zip(names, errors, strict=True)),
        dict(zip(names, sizes, strict=True)),
        np.broadcast_to(nuclear_norm(paths.problem.A), (runs,)),
    )


@cache
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
