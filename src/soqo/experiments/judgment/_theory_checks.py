"""Checks of the paper's theory by numbers: exact regret, bounds in random cases, and simulation of a formula.

A random case that violates a bound refutes a theorem. Cases that do not are no proof; docs/explanation/theory.md says
which statements are proved there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product

import numpy as np

from soqo._model.planner import Plan
from soqo._simulation.environment import Environment
from soqo.experiments.judgment._decisions import compare
from soqo.experiments.judgment._verdicts import Case, Number, Status
from soqo.experiments.settings import AXES, SPLIT, captions_c1, find, scale_arguments
from soqo.policies import SCaLE
from soqo.processes import Gaussian, Laplace, Process
from soqo.theory import Bound, exact_regret, exact_scale_regret, theorem2, theorem3, theorem4, theorem5
from soqo.typing import Array

_DIM = 4
_RANDOM_CASES = 200
_PATHS, _ROUNDS = 4000, 60
"""The sample paths that the formula of Proposition 1 is compared with, and their length."""

_LONG = (10**6, 10**7, 10**8)
"""Horizons at which orders are measured: so long that an error of T^(-p) is far below every sigma."""

_SAME_ORDER = 0.05
"""Exponents within this distance of each other are the same order."""


@cache
def check_theory() -> Mapping[str, tuple[Case, ...]]:
    """Return the cases of each claim about theory that needs no simulated setting, by the claim's id.

    Examples
    --------
    >>> [case.status.value for case in check_theory()["theorem5"]]
    ['holds']
    """
    parts = {(rank, sigma): _measure_parts(rank, sigma) for rank in (_DIM, 1) for sigma in (1.0, 0.01)}
    return {
        "figure2-noise": (_check_signal(),),
        "proposition1": tuple(_check_formula()),
        "theorem2": (_check_lower_bound(),),
        **{
            f"theorem3/{gamma2.key}/{radius.key}": tuple(_check_decomposition(gamma2.key, radius.key))
            for gamma2, radius in product(AXES["gamma2"], AXES["radius"])
        },
        "theorem4": (_check_bound(theorem4, deficient=True),),
        "theorem5": (_check_bound(theorem5, deficient=False),),
        "corollary1": tuple(_check_orders(rank, sigma, *found) for (rank, sigma), found in parts.items()),
        "equal-contribution": tuple(_check_balance(rank, sigma, *found) for (rank, sigma), found in parts.items()),
    }


def _check_signal() -> Case:
    """Measure the share of the variance of readings that the displacement explains, along both kinds of directions."""
    rng = np.random.default_rng(0)
    distance = rng.uniform(-60.0, 60.0, 2000)
    noise = rng.uniform(-10.0, 10.0, distance.size)
    shares = {
        name: float(np.corrcoef(distance**2, 0.5 * eigenvalue * distance**2 + noise)[0, 1] ** 2)
        for name, eigenvalue in (("along the eigenvector", 0.02), ("along a null direction", 0.0))
    }
    numbers = tuple(Number(f"share of the variance that is signal, {name}", v) for name, v in shares.items())
    seen, unseen = shares.values()
    return Case("r = 1, d = 2", Status.HOLDS if seen > 0.5 and unseen < 0.01 else Status.FAILS, numbers)


# ---- Proposition 1 -------------------------------------------------------------------------------------------------


def _check_formula() -> Iterator[Case]:
    """Compare the formula of Proposition 1 with simulated regret, for light and heavy tails and both ranks."""
    for rank in (_DIM, 1):
        for process in (Gaussian(scale=1.0), Laplace(scale=1.0)):
            rng = np.random.default_rng(rank)
            A = _curvature(rng, rank, 0.1)
            (A_hat,) = _near(rng, A, 0.3, 1)
            formula = float(exact_regret(A, A_hat, covariance=process, horizon=_ROUNDS).total)
            regret = _simulate(A, A_hat, process, rng)
            error = float(regret.std(ddof=1) / np.sqrt(regret.size))
            mean = float(regret.mean())
            numbers = (
                Number("simulated regret", mean, mean - 1.96 * error, mean + 1.96 * error),
                Number("formula", formula),
            )
            status = Status.HOLDS if abs(mean - formula) < 3.0 * error else Status.FAILS
            yield Case(f"r = {rank}, d = {_DIM}, {type(process).__name__} steps", status, numbers)


def _simulate(A: Array, A_hat: Array, process: Process, rng: np.random.Generator) -> Array:
    """Return the regret of LAI(A_hat) against LAI(A) on many paths."""
    steps = np.stack([process.steps(rng, _ROUNDS, _DIM) for _ in range(_PATHS)])
    v = np.cumsum(steps, axis=1)

    def cost(curvature: Array) -> Array:
        x = Plan(curvature, _ROUNDS).path(np.zeros((_PATHS, _DIM)), v)
        moves = np.diff(x, axis=1, prepend=0.0)
        return np.asarray(0.5 * (np.einsum("nti,ij,ntj->n", x - v, A, x - v) + (moves**2).sum(axis=(1, 2))))

    return np.asarray(cost(A_hat) - cost(A))


# ---- Theorems 2 to 5 -----------------------------------------------------------------------------------------------


def _check_lower_bound() -> Case:
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


def _check_decomposition(gamma2: str, radius: str) -> Iterator[Case]:
    """Compare the exact regret of SCaLE, with a perfect estimate after its probes, with the bound of Theorem 3."""
    for name in SPLIT:
        (setting,) = find(name)
        process, dim = setting.environment.process, setting.environment.dim
        policy = SCaLE(**scale_arguments(setting, gamma2, radius), c1=captions_c1(setting))
        A, m = diagonal_curvature(setting.environment), policy.exploration_rounds(dim)
        spent = policy.probe_variance(dim, setting.horizon)
        T, handover = setting.horizon, policy.handover
        regret = exact_scale_regret(A, A, covariance=process, horizon=T, m=m, gamma2=spent, handover=handover)
        later = float(regret.exploitation.total)
        bound = theorem3(A, process, m=m, gamma2=spent, exploitation=later, variant="as_printed").value
        yield compare("regret over the bound, with a perfect estimate", float(regret.total), bound, name)


def diagonal_curvature(environment: Environment) -> Array:
    """Return a diagonal A with the eigenvalues of an environment's; its steps are isotropic, so that the basis is free.

    Parameters
    ----------
    environment : Environment
        An environment whose A is drawn at random.
    """
    return np.diag(np.linalg.eigvalsh(environment.draw(1, 1, seed=0).problem.A[0]))


def _check_bound(bound: Callable[..., Bound], *, deficient: bool) -> Case:
    """Compare exact regret with a printed bound, for random curvatures and errors."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(_RANDOM_CASES):
        dim = int(rng.integers(2, 7))
        rank = int(rng.integers(1, dim)) if deficient else dim
        sigma, T = float(10.0 ** rng.uniform(-2.0, 1.0)), int(10.0 ** rng.uniform(0.0, 4.0))
        A = _curvature(rng, rank, sigma, dim)
        size = float(rng.uniform(0.01, 0.95)) * sigma
        (A_hat,) = _near(rng, A, size, 1)
        epsilon = float(np.abs(np.linalg.eigvalsh(A_hat - A)).sum())
        if not 0.0 < epsilon < sigma:
            continue
        regret = float(exact_regret(A, A_hat, covariance=1.0, horizon=T).total)
        worst = max(worst, regret / bound(A, 1.0, epsilon=epsilon, horizon=T, variant="as_printed").value)
    place = "r < d" if deficient else "r = d"
    return compare(f"largest regret over the printed bound, {_RANDOM_CASES} cases", worst, 1.0, place)


# ---- Corollary 1 ---------------------------------------------------------------------------------------------------


def _measure_parts(rank: int, sigma: float) -> tuple[Array, Array]:
    """Return the sizes of mean R_val and R_basis over long horizons, for errors that Corollary 1 balances."""
    rng = np.random.default_rng(2)
    A = _curvature(rng, rank, sigma)
    found = []
    for T in _LONG:
        epsilon = T ** -_power(rank)
        estimates = _near(np.random.default_rng(3), A, epsilon, 20)
        parts = exact_regret(A, estimates, covariance=1.0, horizon=T)
        found.append([np.abs(np.mean(parts.value)), np.abs(np.mean(parts.basis))])
    value, basis = np.array(found).T
    return value, basis


def _check_orders(rank: int, sigma: float, value: Array, basis: Array) -> Case:
    powers = {"R_val": _exponent(value), "R_basis": _exponent(basis)}
    numbers = tuple(Number(f"exponent of {name}", power) for name, power in powers.items())
    holds = max(powers.values()) <= _power(rank) + _SAME_ORDER
    return Case(f"r = {rank}, d = {_DIM}, sigma_r = {sigma:g}", Status.HOLDS if holds else Status.FAILS, numbers)


def _check_balance(rank: int, sigma: float, value: Array, basis: Array) -> Case:
    powers = _exponent(value), _exponent(basis)
    numbers = (
        Number("exponent of R_val", powers[0]),
        Number("exponent of R_basis", powers[1]),
        Number(f"|R_val| over |R_basis| at T = {_LONG[-1]:.0e}", float(value[-1] / basis[-1])),
    )
    holds = abs(powers[0] - powers[1]) < _SAME_ORDER
    return Case(f"r = {rank}, d = {_DIM}, sigma_r = {sigma:g}", Status.HOLDS if holds else Status.FAILS, numbers)


def _power(rank: int) -> float:
    return 0.5 if rank == _DIM else 2.0 / 3.0


def _exponent(sizes: Array) -> float:
    return float(np.polyfit(np.log(np.array(_LONG, dtype=float)), np.log(sizes), 1)[0])


# ---- random instances ----------------------------------------------------------------------------------------------


def _curvature(rng: np.random.Generator, rank: int, sigma: float, dim: int = _DIM) -> Array:
    """Return a random A of a rank, with eigenvalues from sigma linearly up to 1 or 10."""
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    largest = 10.0 if sigma >= 1.0 else 1.0
    values = np.zeros(dim)
    values[:rank] = np.linspace(sigma, largest, rank) if rank > 1 else sigma
    return np.asarray(basis * values @ basis.T)


def _near(rng: np.random.Generator, A: Array, size: float, count: int) -> Array:
    """Return estimates whose errors have a nuclear norm of at most ``size``, in random directions."""
    dim = len(A)
    drawn = rng.standard_normal((count, dim, dim))
    errors = drawn + np.swapaxes(drawn, 1, 2)
    errors *= size / np.abs(np.linalg.eigvalsh(errors)).sum(axis=1)[:, None, None]
    values, vectors = np.linalg.eigh(A + errors)
    return np.asarray((vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2))
