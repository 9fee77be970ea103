r"""Bounds on the regret of SCaLE as a whole: Theorem 3, Corollary 1 and Theorem 1, whose constants are in the appendix.

The schedule is that of the proof: m = c1 r d probes of variance gamma^2 = eta max{(T-m)^p, 2/sigma}, after which the
error of the estimate is taken to be at most eta / gamma^2 <= min{(T-m)^-p, sigma/2}, with p = 1/2 in full rank and 2/3
otherwise. The paper writes sqrt(eta) in place of eta in gamma^2, with which the error is sqrt(eta) times what it
states. Algorithm 1 has max{T^p, 1/sigma} there; every reading here has the proof's, since 1/sigma allows an error of
sigma, where no bound holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from soqo.arguments import integer, number
from soqo.errors import ArgumentError
from soqo.theory.exploitation import exploiting
from soqo.theory.facts import Bound, Facts, check_reading

__all__ = ["Schedule", "corollary1", "theorem1", "theorem3"]


@dataclass(frozen=True)
class Schedule:
    """How SCaLE probes: m rounds with variance gamma2; then its estimate is off by epsilon at most, for T - m rounds.

    ``constant`` is the factor that the guarantee |A_hat - A| <= constant eta / gamma^2 lacks in the paper; see
    docs/theory.md for how large it is.
    """

    m: int
    rounds: int
    gamma2: float
    epsilon: float

    @classmethod
    def of(
        cls,
        facts: Facts,
        horizon: int,
        noise_cap: float,
        c1: float,
        reading: str = "corrected",
        constant: float = 1.0,
    ) -> Schedule:
        """The schedule of the proof; as printed it has sqrt(eta), and the epsilon that it states."""
        horizon, noise_cap = (
            integer("horizon", horizon, least=2),
            number("noise_cap", noise_cap, above=0.0),
        )
        c1, constant = number("c1", c1, above=0.0), number("constant", constant, above=0.0)
        m = math.ceil(c1 * facts.rank * facts.dim)
        if m >= horizon:
            raise ArgumentError(f"horizon must be above the {m} rounds of probing, got {horizon}")
        rounds = horizon - m
        level = max(rounds**facts.power, 2.0 / facts.sigma_min)
        noise = constant * noise_cap if reading == "corrected" else math.sqrt(noise_cap)
        return cls(m, rounds, noise * level, 1.0 / level)


def theorem3(
    A: Any,
    covariance: Any,
    m: int,
    gamma2: float,
    exploitation: float,
    reading: str = "corrected",
) -> Bound:
    """Theorem 3: the regret of SCaLE as that of probing plus that of exploitation, ``exploitation``.

    Assumptions: v is a martingale with steps of covariance at most Sigma, x0 = v0, and exploitation goes on from where
    the player stands; so ``exploitation`` is the regret of a player who starts gamma z away from v, not on it. Erratum:
    1/2 <Sigma, C_t> is bounded by tr(Sigma) / (2 (1 + sigma_min)), where sigma_min is the smallest nonzero eigenvalue;
    but on A's null space C_t is 1. The corrected bound counts that part in full. Main text and appendix agree. For
    equalities see :func:`exact_scale_regret`.

    Examples
    --------
    >>> A = [[1.0, 0.0], [0.0, 0.0]]
    >>> print(theorem3(A, covariance=1.0, m=10, gamma2=2.0, exploitation=0.0))
    Theorem 3, corrected: 59.5 (irreducible 7.5, data collection 52, exploitation 0)
    """
    return explore_then_exploit(Facts.of(A, covariance), m, gamma2, exploitation, reading)


def explore_then_exploit(
    facts: Facts, m: int, gamma2: float, exploitation: float, reading: str
) -> Bound:
    """Theorem 3, from the facts."""
    m, gamma2 = integer("m", m, least=1), number("gamma2", gamma2, least=0.0)
    blind = facts.steps / (1.0 + facts.sigma_min)
    if check_reading(reading) == "corrected":
        blind = (facts.steps - facts.null_share) / (1.0 + facts.sigma_min) + facts.null_share
    return Bound(
        "Theorem 3",
        reading,
        {
            "irreducible": 0.5 * m * blind,
            "data collection": m * gamma2 * (0.5 * facts.trace + facts.dim)
            + 0.5 * gamma2 * facts.dim,
            "exploitation": number("exploitation", exploitation),
        },
    )


def corollary1(
    A: Any,
    covariance: Any,
    horizon: int,
    noise_cap: float,
    c1: float = 3.0,
    reading: str = "corrected",
    constant: float = 1.0,
) -> Bound:
    """Corollary 1: the regret of SCaLE with the schedule of the proof.

    Assumptions: those of Theorems 3, 4 and 5, and |A_hat - A| <= constant eta / gamma^2, which the paper states with
    constant = 1 and high probability. The main text gives orders only; ``as_printed`` evaluates Theorem 4 or 5 of the
    main text at the epsilon that the proof states, and has its two parts and nothing else. Errata of the appendix: (tr
    A + d) where (tr A + 2 d) belongs; the term of epsilon^2 T^2 has sqrt(eta), not eta, if epsilon is what the schedule
    gives; the null space as in Theorem 3; and exploitation is taken to start on v, though it starts gamma z away from
    it.

    Examples
    --------
    >>> A = [[1.0, 0.0], [0.0, 2.0]]
    >>> print(corollary1(A, covariance=1.0, horizon=1012, noise_cap=0.1))
    Corollary 1, corrected: 184.637 (irreducible 6, data collection 135.978, start 0.0347886, exploitation 42.6239)
    """
    facts = Facts.of(A, covariance)
    plan = Schedule.of(facts, horizon, noise_cap, c1, check_reading(reading), constant)
    if reading == "as_printed":
        rates = exploiting(facts, plan.epsilon, plan.rounds, reading)
        return Bound("Corollary 1", reading, rates.terms)
    if reading == "appendix":
        return Bound("Corollary 1", reading, corollary_of_the_appendix(facts, plan, noise_cap))
    later = exploiting(facts, plan.epsilon, plan.rounds, reading).value
    whole = explore_then_exploit(facts, plan.m, plan.gamma2, later, reading).terms
    terms = {
        "irreducible": whole["irreducible"],
        "data collection": whole["data collection"],
        "start": start_bound(facts, plan.gamma2, plan.epsilon, plan.rounds),
        "exploitation": later,
    }
    return Bound("Corollary 1", reading, terms)


def start_bound(facts: Facts, gamma2: float, epsilon: float, rounds: int) -> float:
    """What it adds to the regret of exploitation at most that the player starts gamma z away from v."""
    return 0.5 * gamma2 * facts.dim * lasting_error(facts, epsilon, rounds)


def lasting_error(facts: Facts, epsilon: float, rounds: int) -> float:
    """A bound on <M, sum over k of Pi_k (A - A^) Pi_k> over tr(M): what a distance from v costs in all rounds after."""
    gap = facts.sigma_min - epsilon
    settling = facts.settling(epsilon)
    if facts.full_rank:
        return epsilon / settling
    return rounds * facts.sigma_min * (epsilon / gap) ** 2 + epsilon * (1.0 / gap + 1.0 / settling)


def corollary_of_the_appendix(facts: Facts, plan: Schedule, noise_cap: float) -> dict[str, float]:
    """The last display of the proof."""
    d, low = facts.dim, facts.sigma_min
    root = math.sqrt(noise_cap)
    probes = 0.5 * plan.m * (facts.trace + d) + 0.5 * d
    return {
        "irreducible": 0.5 * plan.m * facts.steps / (1.0 + low),
        "data collection": root * max(plan.rounds**facts.power, 2.0 / low) * probes,
        "exploitation": root * plan.rounds**facts.power * rate_of_the_appendix(facts),
    }


def rate_of_the_appendix(facts: Facts) -> float:
    """The coefficient of sqrt(eta) (T-m)^p that comes from exploitation."""
    d, low, high, tr, norm = (
        facts.dim,
        facts.sigma_min,
        facts.sigma_max,
        facts.steps,
        facts.steps_norm,
    )
    if facts.full_rank:
        first = (4.0 * high * norm * (d + math.sqrt(2.0 * d)) + tr) / low**2
        return first + tr / (2.0 * low)
    second = ((4.0 * high + 2.0) * math.sqrt(d) + 4.0 * math.sqrt(2.0) * d) * norm
    second += (low + math.sqrt(2.0)) * tr
    return 8.0 * d * high * norm / low**2 + second / math.sqrt(low)


def theorem1(
    A: Any,
    covariance: Any,
    horizon: int,
    noise_cap: float,
    c1: float = 3.0,
    reading: str = "corrected",
    constant: float = 1.0,
) -> Bound:
    """Theorem 1: regret at most alpha_1 (T-m)^(2/3) + alpha_2, or beta_1 (T-m)^(1/2) + beta_2 in full rank.

    The terms of the bound are ``growing`` = alpha_1 (T-m)^p and ``constant`` = alpha_2. The main text leaves the
    constants to the appendix, which gives Corollary 1; here max{a, b} <= a + b separates the part that grows.
    Assumptions and errata are those of :func:`corollary1`; the bound is never below it.

    Examples
    --------
    >>> A = [[1.0, 0.0], [0.0, 2.0]]
    >>> bound = theorem1(A, covariance=1.0, horizon=1012, noise_cap=0.1)
    >>> print(bound)
    Theorem 1, corrected: 207.579 (growing 192.899, constant 14.68)
    """
    facts = Facts.of(A, covariance)
    plan = Schedule.of(facts, horizon, noise_cap, c1, check_reading(reading), constant)
    d, low = facts.dim, facts.sigma_min
    if reading == "corrected":
        noise = number("constant", constant) * noise_cap
        probes = plan.m * (0.5 * facts.trace + d) + 0.5 * d
        growing, staying = corrected_rates(facts, noise)
    else:
        noise = math.sqrt(noise_cap)
        probes = 0.5 * plan.m * (facts.trace + d) + 0.5 * d
        growing, staying = noise * rate_of_the_appendix(facts), 0.0
    blind = explore_then_exploit(facts, plan.m, 0.0, 0.0, reading).terms["irreducible"]
    terms = {
        "growing": (growing + noise * probes) * plan.rounds**facts.power,
        "constant": staying + 2.0 * noise * probes / low + blind,
    }
    return Bound("Theorem 1", reading, terms)


def corrected_rates(facts: Facts, noise: float) -> tuple[float, float]:
    """What exploitation adds to alpha_1 and alpha_2, from the corrected theorems at epsilon <= min{(T-m)^-p, sigma/2}.

    There sigma - epsilon >= sigma/2 and gamma^2 epsilon = noise.
    """
    low, tr, d = facts.sigma_min, facts.steps, facts.dim
    settling = facts.settling(0.5 * low)
    if facts.full_rank:
        return 0.5 * tr * (1.0 / low + 1.0 / settling), 0.5 * d * noise / settling
    fading = 2.0 / low + 1.0 / settling
    growing = 0.5 * tr * (1.0 + 4.0 / low + fading) + 0.5 * d * noise * 4.0 / low
    return growing, 0.5 * d * noise * fading
