"""Checks of Theorems 2 to 5: exact regret against the printed bounds, in random cases and in the paper's settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from soqo._simulation.environment import Environment
from soqo.experiments.judgment._decisions import compare
from soqo.experiments.judgment._random_instances import near, random_curvature
from soqo.experiments.judgment._verdicts import Case, Number, Status
from soqo.experiments.settings import SPLIT, captions_c1, find, scale_arguments
from soqo.policies import SCaLE
from soqo.theory import Bound, exact_regret, exact_scale_regret, theorem2, theorem3
from soqo.typing import Array

_RANDOM_CASES = 200


def check_lower_bound() -> Case:
    """Compare regret at A = 0, for gains that are off by epsilon/2 to epsilon in every round, with epsilon T / 8."""
    rng = np.random.default_rng(0)
    rounds, ratios = 5000, []
    for _ in range(_RANDOM_CASES):
        epsilon = float(np.exp(rng.uniform(np.log(0.02), np.log(0.5))))
        errors = rng.uniform(0.5 * epsilon, epsilon, rounds) if rng.random() < 0.5 else np.full(rounds, 0.5 * epsilon)
        distance, regret = 0.0, 0.0  # the distance to v is squared, in units of the trace of Sigma
        for error in errors:
            distance += 1.0
            regret += 0.5 * error**2 * distance
            distance *= (1.0 - error) ** 2
        ratios.append(regret / theorem2(epsilon, rounds).value)
    least = min(ratios)
    numbers = (Number(f"least regret over the bound, {_RANDOM_CASES} cases", least),)
    return Case("A = 0", Status.HOLDS if least >= 1.0 - 1e-9 else Status.FAILS, numbers)


def check_decomposition(gamma2: str, radius: str, sigma_min: Literal["smallest", "sigma_r"]) -> Iterator[Case]:
    """Compare the exact regret of SCaLE, with a perfect estimate after its probes, with the bound of Theorem 3.

    Parameters
    ----------
    gamma2, radius : str
        The reading.
    sigma_min : {"smallest", "sigma_r"}
        What the theorem's sigma_min means: the smallest eigenvalue of A, which is zero where r < d, or the smallest
        nonzero one, as in Theorem 4.
    """
    for name in SPLIT:
        (setting,) = find(name)
        process, dim = setting.environment.process, setting.environment.dim
        policy = SCaLE(**scale_arguments(setting, gamma2, radius), c1=captions_c1(setting))
        A, m = diagonal_curvature(setting.environment), policy.exploration_rounds(dim)
        spent = policy.probe_variance(dim, setting.horizon)
        T, handover = setting.horizon, policy.handover
        regret = exact_scale_regret(A, A, covariance=process, horizon=T, m=m, gamma2=spent, handover=handover)
        later = float(regret.exploitation.total)
        bound = theorem3(A, process, m=m, gamma2=spent, exploitation=later, variant="as_printed")
        value = bound.value
        if sigma_min == "smallest" and policy.rank < dim:
            value += policy.min_eigenvalue * bound.terms["irreducible"]  # the denominator 1 + sigma_r becomes 1
        yield compare("regret over the bound, with a perfect estimate", float(regret.total), value, name)


def diagonal_curvature(environment: Environment) -> Array:
    """Return a diagonal A with the eigenvalues of an environment's; its steps are isotropic, so that the basis is free.

    Parameters
    ----------
    environment : Environment
        An environment whose A is drawn at random.
    """
    return np.diag(np.linalg.eigvalsh(environment.draw(1, 1, seed=0).problem.A[0]))


def check_bound(bound: Callable[..., Bound], *, deficient: bool) -> Case:
    """Compare exact regret with a printed bound, for random curvatures and errors.

    Parameters
    ----------
    bound : callable
        The function of the bound.
    deficient : bool
        Whether r < d.
    """
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(_RANDOM_CASES):
        dim = int(rng.integers(2, 7))
        rank = int(rng.integers(1, dim)) if deficient else dim
        sigma, T = float(10.0 ** rng.uniform(-2.0, 1.0)), int(10.0 ** rng.uniform(0.0, 4.0))
        A = random_curvature(rng, rank, sigma, dim)
        size = float(rng.uniform(0.01, 0.95)) * sigma
        (A_hat,) = near(rng, A, size, 1)
        epsilon = float(np.abs(np.linalg.eigvalsh(A_hat - A)).sum())
        if not 0.0 < epsilon < sigma:
            continue
        regret = float(exact_regret(A, A_hat, covariance=1.0, horizon=T).total)
        worst = max(worst, regret / bound(A, 1.0, epsilon=epsilon, horizon=T, variant="as_printed").value)
    place = "r < d" if deficient else "r = d"
    return compare(f"largest regret over the printed bound, {_RANDOM_CASES} cases", worst, 1.0, place)
