"""Checks of the paper's theory by numbers: exact regret, bounds in random cases, and simulation of a formula.

A random case that violates a bound refutes a theorem. Cases that do not are no proof; docs/explanation/theory.md says
which statements are proved there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product
from typing import Literal

import numpy as np

from soqo._model.planner import Plan
from soqo._simulation.environment import Environment
from soqo.experiments.judgment._order_checks import (
    DIM,
    SAME_ORDER,
    check_attained,
    check_parts,
    check_scale_order,
    check_squared_error,
    check_tightness,
    exponent,
    near,
    random_curvature,
)
from soqo.experiments.judgment._verdicts import Case, Number, Status, exact_case
from soqo.experiments.settings import AXES, captions_c1, catalogue, scale_arguments
from soqo.policies import SCaLE
from soqo.processes import Gaussian, Laplace, Process
from soqo.theory import Bound, exact_regret, exact_scale_regret, theorem2, theorem3, theorem4, theorem5
from soqo.typing import Array

_RANDOM_CASES = 200

_PATHS, _ROUNDS = 4000, 60
"""The sample paths that the formula of Proposition 1 is compared with, and their length."""

_TRADEOFF_DIM = 6
_PROBE_VARIANCES, _PROBE_NUMBERS = (1e2, 1e3, 1e4), (48, 96, 192)

_SIGMA_MIN: Mapping[str, Literal["smallest", "sigma_r"]] = {"theorem3": "smallest", "theorem3-sigma-r": "sigma_r"}
"""The claims about Theorem 3, by what its sigma_min means."""


@cache
def check_theory() -> Mapping[str, tuple[Case, ...]]:
    """Return the cases of each claim about theory that needs no simulated setting, by the claim's id.

    Examples
    --------
    >>> [case.status.value for case in check_theory()["theorem5"]]
    ['holds']
    """
    return {
        "figure2-noise": (check_signal(),),
        "proposition1": tuple(check_formula()),
        "theorem2": (check_lower_bound(),),
        **{
            f"{claim}/{gamma2.key}/{radius.key}": tuple(check_decomposition(gamma2.key, radius.key, meaning))
            for claim, meaning in _SIGMA_MIN.items()
            for gamma2, radius in product(AXES["gamma2"], AXES["radius"])
        },
        "theorem4": (check_bound(theorem4, deficient=True),),
        "theorem5": (check_bound(theorem5, deficient=False),),
        "epsilon-squared": tuple(check_squared_error()),
        "tight-degenerate": tuple(check_attained()),
        "scale-order": tuple(check_scale_order()),
        "tight-full-rank": tuple(check_tightness()),
        **check_parts(),
        "tradeoff-blind": (check_blindness(),),
        "tradeoff-cost": tuple(check_probe_cost()),
    }


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
    return exact_case("A = 0", least >= 1.0 - 1e-9, {f"least regret over the bound, {_RANDOM_CASES} cases": least})


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
    for setting in (setting for setting in catalogue() if setting.name.startswith("gaussian")):
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
        share = float(regret.total) / value
        yield exact_case(setting.name, share <= 1.0, {"regret over the bound, with a perfect estimate": share})


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

    Returns
    -------
    Case
        It fails if a random case violates the bound.

    Examples
    --------
    >>> check_bound(theorem5, deficient=False).status.value
    'holds'
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
    return exact_case(place, worst <= 1.0, {f"largest regret over the printed bound, {_RANDOM_CASES} cases": worst})


def check_signal() -> Case:
    """Measure the share of the variance of readings that the displacement explains, along both kinds of directions."""
    rng = np.random.default_rng(0)
    distance = rng.uniform(-60.0, 60.0, 2000)
    noise = rng.uniform(-10.0, 10.0, distance.size)
    shares = {
        f"share of the variance that is signal, {name}": float(
            np.corrcoef(distance**2, 0.5 * eigenvalue * distance**2 + noise)[0, 1] ** 2
        )
        for name, eigenvalue in (("along the eigenvector", 0.02), ("along a null direction", 0.0))
    }
    seen, unseen = shares.values()
    return exact_case("r = 1, d = 2", seen > 0.5 and unseen < 0.01, shares)


def check_formula() -> Iterator[Case]:
    """Compare the formula of Proposition 1 with simulated regret, for light and heavy tails and both ranks."""
    for rank in (DIM, 1):
        for process in (Gaussian(scale=1.0), Laplace(scale=1.0)):
            rng = np.random.default_rng(rank)
            A = random_curvature(rng, rank, 0.1)
            (A_hat,) = near(rng, A, 0.3, 1)
            formula = float(exact_regret(A, A_hat, covariance=process, horizon=_ROUNDS).total)
            regret = _simulate(A, A_hat, process, rng)
            error = float(regret.std(ddof=1) / np.sqrt(regret.size))
            mean = float(regret.mean())
            numbers = (
                Number("simulated regret", mean, mean - 1.96 * error, mean + 1.96 * error),
                Number("formula", formula),
            )
            status = Status.HOLDS if abs(mean - formula) < 3.0 * error else Status.FAILS
            yield Case(f"r = {rank}, d = {DIM}, {type(process).__name__} steps", status, numbers)


def _simulate(A: Array, A_hat: Array, process: Process, rng: np.random.Generator) -> Array:
    """Return the regret of LAI(A_hat) against LAI(A) on many paths."""
    steps = np.stack([process.steps(rng, _ROUNDS, DIM) for _ in range(_PATHS)])
    v = np.cumsum(steps, axis=1)

    def cost(curvature: Array) -> Array:
        x = Plan(curvature, _ROUNDS).path(np.zeros((_PATHS, DIM)), v)
        moves = np.diff(x, axis=1, prepend=0.0)
        return np.asarray(0.5 * (np.einsum("nti,ij,ntj->n", x - v, A, x - v) + (moves**2).sum(axis=(1, 2))))

    return np.asarray(cost(A_hat) - cost(A))


def check_blindness() -> Case:
    """Play a policy that tracks v in the paper's example, and count the rounds for which it has no information on A.

    In rounds 1..d the minimizer moves along e_1, in round d + i along e_{i+1}, from the player's own position. A round
    needs A's entry of its own axis; an earlier reading responds to it if it was taken off v along that axis.
    """
    rng = np.random.default_rng(0)
    plan = Plan(np.diag(np.linspace(0.5, 2.0, _TRADEOFF_DIM)), 2 * _TRADEOFF_DIM - 1)
    x = v = np.zeros(_TRADEOFF_DIM)
    seen, blind = np.zeros(_TRADEOFF_DIM), 0
    for t in range(1, 2 * _TRADEOFF_DIM):
        axis = 0 if t <= _TRADEOFF_DIM else t - _TRADEOFF_DIM
        v = (v if t <= _TRADEOFF_DIM else x) + rng.standard_normal() * np.eye(_TRADEOFF_DIM)[axis]
        blind += t > _TRADEOFF_DIM and seen[axis] == 0.0
        x = plan.step(t, x, v)
        seen += (x - v) ** 2
    number = {f"rounds d+1 to 2d-1 without any information, of {_TRADEOFF_DIM - 1}": float(blind)}
    return exact_case(f"d = {_TRADEOFF_DIM}, A diagonal", blind == _TRADEOFF_DIM - 1, number)


def check_probe_cost() -> Iterator[Case]:
    """Measure how the exact cost of probes grows with gamma^2 and with their number."""
    for largest in (1.0, 10.0):
        A = np.diag(np.linspace(0.01, largest, 4))

        def cost(gamma2: float, m: int, A: np.ndarray = A) -> float:
            return float(exact_scale_regret(A, A, covariance=1.0, horizon=10**4, m=m, gamma2=gamma2).exploration)

        powers = {
            "exponent of gamma^2": exponent([cost(gamma2, 48) for gamma2 in _PROBE_VARIANCES], _PROBE_VARIANCES),
            "exponent of m": exponent([cost(_PROBE_VARIANCES[-1], m) for m in _PROBE_NUMBERS], _PROBE_NUMBERS),
        }
        holds = max(abs(power - 1.0) for power in powers.values()) < SAME_ORDER
        yield exact_case(f"eigenvalues 0.01 to {largest:g}", holds, powers)
