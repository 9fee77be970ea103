"""What SCaLE's probes tell: its estimates, how well the queries of policies spread, and what few probes do not see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.experiments.execution import play_jointly
from soqo.experiments.settings import Setting, captions_c1, scale_arguments
from soqo.policies import SCaLE
from soqo.theory import exact_regret, least_response, rub_ratios
from soqo.typing import Array


def nuclear_norm(matrices: Array) -> Array:
    """Return the nuclear norm of symmetric matrices.

    Parameters
    ----------
    matrices : Array, shape (..., d, d)
        The matrices; what is not a number counts as zero, and an infinite entry as a large one.

    Examples
    --------
    >>> float(nuclear_norm(np.diag([3.0, -4.0])))
    7.0
    """
    return np.asarray(np.abs(np.linalg.eigvalsh(np.nan_to_num(matrices))).sum(axis=-1))


# ---- estimates -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProbedEstimates(Value):
    """The estimates of SCaLE after its probes in a setting, with the c1 of the caption.

    Attributes
    ----------
    setting, gamma2, radius
        The setting, and the reading.
    horizon, m : int
        The horizon that gamma^2 is chosen for, and the number of probes.
    probe_variance : float
        The value of gamma^2.
    A, estimate : Array, shape (runs, d, d)
        The curvature of each run, and its estimate.
    noise : Array, shape (runs,)
        The l1 norm of the noise of the probes.
    """

    setting: Setting
    gamma2: str
    radius: str
    horizon: int
    m: int
    probe_variance: float
    A: Array = field(repr=False)
    estimate: Array = field(repr=False)
    noise: Array = field(repr=False)

    @property
    def error(self) -> Array:
        """The nuclear norm of the estimate's error, shape (runs,)."""
        return nuclear_norm(self.estimate - self.A)

    @property
    def guaranteed(self) -> Array:
        """What the proof of Theorem 3 bounds the error by: the l1 norm of the noise over m gamma^2."""
        return np.asarray(self.noise / (self.m * self.probe_variance))

    def split(self) -> tuple[Array, Array]:
        """Return the parts R_val and R_basis of the exact regret of exploitation by Proposition 1, shape (runs,)."""
        environment = self.setting.environment
        covariance = environment.process.covariance(environment.dim)
        assert covariance is not None
        parts = exact_regret(self.A, self.estimate, covariance=covariance, horizon=self.horizon - self.m)
        return np.asarray(parts.value), np.asarray(parts.basis)


def estimate_by_probes(setting: Setting, gamma2: str, radius: str, horizon: int, runs: int) -> ProbedEstimates:
    """Return SCaLE's estimates after its probes for a horizon, which do not depend on later rounds.

    Parameters
    ----------
    setting : Setting
        The setting.
    gamma2, radius : str
        As in :class:`soqo.experiments.settings.Reading`.
    horizon : int
        The horizon.
    runs : int
        The number of runs.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> found = estimate_by_probes(find("gaussian_r1_0.01")[0], "algorithm", "cap", 2000, runs=2)
    >>> bool(np.abs(found.estimate).max() < 1e-3)        # M = 0 satisfies the constraint, and has the least trace
    True
    """
    policy = SCaLE(**scale_arguments(setting, gamma2, radius), c1=captions_c1(setting))
    environment = setting.environment
    m = policy.exploration_rounds(environment.dim)
    paths = environment.draw(m + 1, runs, seed=setting.seed)
    variance = policy.probe_variance(environment.dim, horizon)
    played = play_jointly({"SCaLE": replace(policy, gamma2=variance)}, paths)
    estimate = played["SCaLE"].diagnostics["estimate"]
    noise = np.abs(environment.noise.bound * paths.variates[:, :m]).sum(axis=1)
    A = np.broadcast_to(paths.problem.A, estimate.shape)
    return ProbedEstimates(setting, gamma2, radius, horizon, m, variance, A, estimate, noise)


# ---- queries -------------------------------------------------------------------------------------------------------

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
    ratios, errors_of, sizes_of = (
        dict(zip(names, parts, strict=True)) for parts in (np.split(found, len(names), axis=1), errors, sizes)
    )
    curvature = np.broadcast_to(nuclear_norm(paths.problem.A), (runs,))
    return RubExperiment(setting.name, _RUB_QUERIES, ratios, errors_of, sizes_of, curvature)


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
