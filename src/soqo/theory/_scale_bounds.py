r"""Bounds on the regret of SCaLE over all rounds: Theorem 3, Corollary 1, and Theorem 1 with the appendix's constants.

The schedule is that of the proof: m = c1 r d probes of variance gamma^2 = eta max{(T-m)^p, 2/sigma}. The error of the
estimate is then taken to be at most eta / gamma^2 <= min{(T-m)^-p, sigma/2}, with p = 1/2 in full rank and 2/3
otherwise. The paper has sqrt(eta) in place of eta in gamma^2, which makes the error sqrt(eta) times the stated one.
Algorithm 1 has max{T^p, 1/sigma}. Every variant here uses the proof's schedule, because 1/sigma allows an error of
sigma, for which no bound holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from soqo._foundation.arguments import integer, number
from soqo._foundation.frozen_dataclasses import Value
from soqo.errors import ArgumentError
from soqo.theory._exploitation_bounds import exploitation_bound
from soqo.theory._instance_constants import Bound, Instance, Variant, check_variant
from soqo.theory._step_covariance import Covariance
from soqo.typing import ArrayLike


@dataclass(frozen=True)
class Schedule(Value):
    """The rounds and the variance of SCaLE's probes, and the resulting error of its estimate.

    Attributes
    ----------
    m : int
        The number of rounds of probing.
    rounds : int
        The number of rounds of exploitation, T - m.
    gamma2 : float
        The variance of a probe.
    epsilon : float
        The bound on the error of the estimate.
    """

    m: int
    rounds: int
    gamma2: float
    epsilon: float


def probing_schedule(
    instance: Instance, horizon: int, noise_cap: float, c1: float, variant: Variant, constant: float
) -> Schedule:
    """Return the schedule of the proof; as printed it has sqrt(eta) in gamma^2, and the epsilon that it states."""
    horizon, noise_cap = integer("horizon", horizon, least=2), number("noise_cap", noise_cap, above=0.0)
    c1, constant = number("c1", c1, above=0.0), number("constant", constant, above=0.0)
    m = math.ceil(c1 * instance.rank * instance.dim)
    if m >= horizon:
        raise ArgumentError(f"horizon must be above the {m} rounds of probing, got {horizon}")
    rounds = horizon - m
    inverse_error = max(rounds**instance.power, 2.0 / instance.sigma_min)
    noise = constant * noise_cap if variant == "corrected" else math.sqrt(noise_cap)
    return Schedule(m, rounds, noise * inverse_error, 1.0 / inverse_error)


def theorem3(
    A: ArrayLike, covariance: Covariance, *, m: int, gamma2: float, exploitation: float, variant: Variant = "corrected"
) -> Bound:
    """Return the bound of Theorem 3: the regret of SCaLE as that of probing plus that of exploitation.

    Assumptions: v is a martingale with steps of covariance at most Sigma, x0 = v0, and exploitation continues from the
    last probe, so that ``exploitation`` is the regret of a player that starts gamma z away from v. Erratum:
    1/2 <Sigma, C_t> is bounded by tr(Sigma) / (2 (1 + sigma_min)), where sigma_min is the smallest nonzero eigenvalue,
    but C_t is 1 on A's null space. The corrected bound counts that part in full. Main text and appendix agree. For
    equalities see :func:`exact_scale_regret`.

    Parameters
    ----------
    A : array_like, shape (d, d)
        The curvature.
    covariance : float, array_like of shape (d, d), or Process
        The paper's Sigma.
    m : int
        The number of rounds of probing.
    gamma2 : float
        The variance of a probe.
    exploitation : float
        The regret of exploitation.
    variant : {"corrected", "as_printed", "appendix"}
        The version of the bound.

    Returns
    -------
    Bound
        The bound, with its terms.

    Examples
    --------
    >>> A = [[1.0, 0.0], [0.0, 0.0]]
    >>> print(theorem3(A, covariance=1.0, m=10, gamma2=2.0, exploitation=0.0))
    Theorem 3, corrected: 59.5 (irreducible 7.5, data collection 52, exploitation 0)
    """
    instance = Instance.of(A, covariance)
    m, gamma2 = integer("m", m, least=1), number("gamma2", gamma2, least=0.0)
    terms = {
        "irreducible": _irreducible_cost(instance, m, check_variant(variant)),
        "data collection": m * gamma2 * (0.5 * instance.trace + instance.dim) + 0.5 * gamma2 * instance.dim,
        "exploitation": number("exploitation", exploitation),
    }
    return Bound("Theorem 3", variant, terms)


def corollary1(
    A: ArrayLike,
    covariance: Covariance,
    *,
    horizon: int,
    noise_cap: float,
    c1: float = 3.0,
    variant: Variant = "corrected",
    constant: float = 1.0,
) -> Bound:
    """Return the bound of Corollary 1 on the regret of SCaLE with the schedule of the proof.

    Assumptions: those of Theorems 3, 4 and 5, and |A_hat - A| <= constant eta / gamma^2, which the paper states with
    constant = 1 and high probability. The main text gives only orders; ``as_printed`` evaluates Theorem 4 or 5 of the
    main text at the epsilon that the proof states, and consists of its two parts. Errata of the appendix: (tr A + d)
    should be (tr A + 2 d); the term of epsilon^2 T^2 has sqrt(eta) in place of eta, if epsilon is what the schedule
    gives; the null space as in Theorem 3; and exploitation is assumed to start on v, although it starts gamma z away
    from v.

    Parameters
    ----------
    A : array_like, shape (d, d)
        The curvature.
    covariance : float, array_like of shape (d, d), or Process
        The paper's Sigma.
    horizon : int
        The number of rounds T, above the number of rounds of probing.
    noise_cap : float
        The bound of the noise, the paper's eta-bar.
    c1 : float
        Probes per rank and dimension.
    variant : {"corrected", "as_printed", "appendix"}
        The version of the bound.
    constant : float
        The factor that the paper's guarantee on the estimate lacks; docs/explanation/theory.md shows its size.

    Returns
    -------
    Bound
        The bound, with its terms.

    Examples
    --------
    >>> A = [[1.0, 0.0], [0.0, 2.0]]
    >>> print(corollary1(A, covariance=1.0, horizon=1012, noise_cap=0.1))
    Corollary 1, corrected: 184.637 (irreducible 6, data collection 135.978, start 0.0347886, exploitation 42.6239)
    """
    instance = Instance.of(A, covariance)
    plan = probing_schedule(instance, horizon, noise_cap, c1, check_variant(variant), constant)
    if variant == "appendix":
        return Bound("Corollary 1", variant, _appendix_terms(instance, plan, noise_cap))
    later = exploitation_bound(A, covariance, epsilon=plan.epsilon, horizon=plan.rounds, variant=variant)
    if variant == "as_printed":
        return Bound("Corollary 1", variant, later.terms)
    phases = theorem3(A, covariance, m=plan.m, gamma2=plan.gamma2, exploitation=later.value, variant=variant).terms
    *exploration, exploitation = phases.items()
    start = "start", start_bound(instance, plan.gamma2, plan.epsilon, plan.rounds)
    return Bound("Corollary 1", variant, dict([*exploration, start, exploitation]))


def start_bound(instance: Instance, gamma2: float, epsilon: float, rounds: int) -> float:
    """Return a bound on the regret that exploitation adds because it starts gamma z away from v.

    It is 1/2 gamma^2 d times a bound on <M, sum over k of Pi_k (A - A^) Pi_k> / tr(M), the cost over all later rounds
    of a distance to v with second moment M.
    """
    gap, margin = instance.sigma_min - epsilon, instance.margin(epsilon)
    if instance.full_rank:
        later = epsilon / margin
    else:
        later = rounds * instance.sigma_min * (epsilon / gap) ** 2 + epsilon * (1.0 / gap + 1.0 / margin)
    return 0.5 * gamma2 * instance.dim * later


def theorem1(
    A: ArrayLike,
    covariance: Covariance,
    *,
    horizon: int,
    noise_cap: float,
    c1: float = 3.0,
    variant: Variant = "corrected",
    constant: float = 1.0,
) -> Bound:
    """Return the bound of Theorem 1: alpha_1 (T-m)^(2/3) + alpha_2, or beta_1 (T-m)^(1/2) + beta_2 in full rank.

    The terms of the bound are ``growing`` = alpha_1 (T-m)^p and ``constant`` = alpha_2. The main text leaves the
    constants to the appendix, which gives Corollary 1; here max{a, b} <= a + b separates the growing part. Assumptions
    and errata are those of :func:`corollary1`; the bound is never below it.

    Parameters
    ----------
    A : array_like, shape (d, d)
        The curvature.
    covariance : float, array_like of shape (d, d), or Process
        The paper's Sigma.
    horizon : int
        The number of rounds T, above the number of rounds of probing.
    noise_cap : float
        The bound of the noise, the paper's eta-bar.
    c1 : float
        Probes per rank and dimension.
    variant : {"corrected", "as_printed", "appendix"}
        The version of the bound.
    constant : float
        The factor that the paper's guarantee on the estimate lacks; docs/explanation/theory.md shows its size.

    Returns
    -------
    Bound
        The bound, with its terms.

    Examples
    --------
    >>> A = [[1.0, 0.0], [0.0, 2.0]]
    >>> print(theorem1(A, covariance=1.0, horizon=1012, noise_cap=0.1))
    Theorem 1, corrected: 207.579 (growing 192.899, constant 14.68)
    """
    instance = Instance.of(A, covariance)
    plan = probing_schedule(instance, horizon, noise_cap, c1, check_variant(variant), constant)
    d, low = instance.dim, instance.sigma_min
    if variant == "corrected":
        noise = number("constant", constant) * noise_cap
        probes = plan.m * (0.5 * instance.trace + d) + 0.5 * d
        growing, fixed = _corrected_rates(instance, noise)
    else:
        noise = math.sqrt(noise_cap)
        probes = 0.5 * plan.m * (instance.trace + d) + 0.5 * d
        growing, fixed = noise * _appendix_rate(instance), 0.0
    terms = {
        "growing": (growing + noise * probes) * plan.rounds**instance.power,
        "constant": fixed + 2.0 * noise * probes / low + _irreducible_cost(instance, plan.m, variant),
    }
    return Bound("Theorem 1", variant, terms)


def _irreducible_cost(instance: Instance, m: int, variant: Variant) -> float:
    """Return the bound on the sum of 1/2 <Sigma, C_t> over m rounds."""
    trace, null = instance.covariance_trace, instance.null_space_trace
    if variant == "corrected":
        return 0.5 * m * ((trace - null) / (1.0 + instance.sigma_min) + null)
    return 0.5 * m * (trace / (1.0 + instance.sigma_min))


def _appendix_terms(instance: Instance, plan: Schedule, noise_cap: float) -> dict[str, float]:
    """Return the terms of Corollary 1 in the last display of the proof."""
    d = instance.dim
    return {
        "irreducible": 0.5 * plan.m * instance.covariance_trace / (1.0 + instance.sigma_min),
        "data collection": plan.gamma2 * (0.5 * plan.m * (instance.trace + d) + 0.5 * d),
        "exploitation": math.sqrt(noise_cap) * plan.rounds**instance.power * _appendix_rate(instance),
    }


def _appendix_rate(instance: Instance) -> float:
    """Return the appendix's coefficient of sqrt(eta) (T-m)^p for exploitation."""
    d, low, high = instance.dim, instance.sigma_min, instance.sigma_max
    tr, norm = instance.covariance_trace, instance.covariance_norm
    if instance.full_rank:
        first = (4.0 * high * norm * (d + math.sqrt(2.0 * d)) + tr) / low**2
        return first + tr / (2.0 * low)
    second = ((4.0 * high + 2.0) * math.sqrt(d) + 4.0 * math.sqrt(2.0) * d) * norm
    second += (low + math.sqrt(2.0)) * tr
    return 8.0 * d * high * norm / low**2 + second / math.sqrt(low)


def _corrected_rates(instance: Instance, noise: float) -> tuple[float, float]:
    """Return the parts of alpha_1 and alpha_2 from exploitation, at epsilon <= min{(T-m)^-p, sigma/2}.

    There sigma - epsilon >= sigma/2 and gamma^2 epsilon = noise.
    """
    low, tr, d = instance.sigma_min, instance.covariance_trace, instance.dim
    margin = instance.margin(0.5 * low)
    if instance.full_rank:
        return 0.5 * tr * (1.0 / low + 1.0 / margin), 0.5 * d * noise / margin
    decaying = 2.0 / low + 1.0 / margin
    growing = 0.5 * tr * (1.0 + 4.0 / low + decaying) + 0.5 * d * noise * 4.0 / low
    return growing, 0.5 * d * noise * decaying
