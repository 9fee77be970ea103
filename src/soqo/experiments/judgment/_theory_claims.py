"""Claims about theory: theorems, the proposition, the corollary and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from soqo.experiments.judgment._decisions import decide, measure
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._growth_claims import TIGHT
from soqo.experiments.judgment._rules import NO_HYBRID, ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._theory_checks import diagonal_curvature
from soqo.experiments.judgment._verdicts import Case, Kind, Number, Status
from soqo.experiments.settings import WITH_COVARIANCE, Reading, with_spectrum
from soqo.theory import theorem1

_MARTINGALES = tuple(name for name in WITH_COVARIANCE if not name.startswith("correlated"))


def _checked(_: Samples, evidence: Evidence, _reading: Reading, *, name: str) -> Sequence[Case]:
    return evidence.checks.get(name, ())


def _below_theorem3(_: Samples, evidence: Evidence, reading: Reading) -> Sequence[Case]:
    return evidence.checks.get(f"theorem3/{reading.gamma2}/{reading.radius}", ())


def _below_theorem1(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    """Test whether SCaLE's regret is below the bound of Theorem 1, with the constants of the appendix."""
    cases = []
    for name in _MARTINGALES:
        setting = samples.settings[name]
        environment = with_spectrum(setting, samples.spectrum(name, reading))
        A = diagonal_curvature(environment)
        c1, cap = samples.c1(name, reading), environment.noise.bound
        horizon = setting.horizon
        assert cap is not None
        bound = theorem1(A, environment.process, horizon=horizon, noise_cap=cap, c1=c1, variant="as_printed").value
        share = samples.statistic(name, reading, "SCaLE") / bound
        cases.append(
            decide(name, share <= 1.0, ~np.isnan(share), samples.runs, measure("regret over the bound", share))
        )
    return cases


def _infinite_risk(_: Samples, evidence: Evidence, _reading: Reading) -> list[Case]:
    """Test whether few probes leave an error unseen, and a multiple of r d probes leave none."""
    cases = []
    for found in evidence.risk:
        enough = found.first_consistent
        few = [m for m in found.probes if m < enough]
        number = Number("the fewest probes that see every error", float(enough))
        multiple = Number("in multiples of r d", enough / (found.rank * found.dim))
        holds = bool(few) and 0.5 <= multiple.value <= 2.0
        cases.append(
            Case(f"r = {found.rank}, d = {found.dim}", Status.HOLDS if holds else Status.FAILS, (number, multiple))
        )
    return cases


def _check(name: str, text: str, source: str, quote: str, rule: str, remark: str = "") -> ClaimRule:
    """Return the rule of a claim that :func:`check_theory` decides."""
    return ClaimRule(
        id=name,
        kind=Kind.THEORY,
        text=text,
        source=source,
        quote=quote,
        section="theory",
        rule=rule,
        settings=(),
        axes=(),
        cases=partial(_checked, name=name),
        remark=remark,
    )


_RANDOM = (
    "No violation in random cases is no proof; docs/explanation/theory.md has one, "
    "with constants that are never larger."
)

THEORY_CLAIMS = (
    _check(
        "figure2-noise",
        "where A is singular, the measured costs are pure noise",
        "Section 1, Figure 2",
        "The bandit feedback provides no useful signal for learning, effectively collapsing to pure noise.",
        (
            "the displacement explains most of the variance of measured costs along the eigenvector, and none along a "
            "null direction"
        ),
    ),
    ClaimRule(
        id="theorem1",
        kind=Kind.THEORY,
        text="SCaLE's regret is at most alpha_1 T^(2/3) + alpha_2 (r < d), or beta_1 T^(1/2) + beta_2 (r = d)",
        source="Theorem 1 and contributions (a) and (b)",
        quote="We design a novel algorithm, SCaLE, that achieves a distribution-agnostic sublinear dynamic regret.",
        section="theory",
        rule="SCaLE's regret after 1,000 rounds is below the bound with the appendix's constants",
        settings=_MARTINGALES,
        axes=NO_HYBRID,
        cases=_below_theorem1,
        remark=(
            "Correlated steps are no martingale and Cauchy steps have no covariance: both are left out. The constants "
            "are large, so that a bound that holds says little about growth: see the implied claims of the appendix."
        ),
    ),
    _check(
        "theorem2",
        "for some A, every policy that interpolates with gains off by epsilon pays alpha_1/epsilon + alpha_2 epsilon T",
        "Theorem 2",
        "There exists an A such that ALG suffers a regret of at least ... = Omega(sqrt(T)).",
        "for A = 0, regret is at least epsilon T / 8 up to a constant, for random gains off by epsilon/2 to epsilon",
        "That exploration costs 1/epsilon is assumed. The instance A = 0 has rank 0, not full rank.",
    ),
    TIGHT,
    ClaimRule(
        id="theorem3",
        kind=Kind.THEORY,
        text=(
            "SCaLE's regret is at most an irreducible cost, the cost of data collection and the regret of exploitation"
        ),
        source="Theorem 3",
        quote="A novel online regret decomposition that precisely separates the total regret into components.",
        section="theory",
        rule="the exact regret of SCaLE that knows A after its probes is below the printed bound",
        settings=(),
        axes=("gamma2", "radius"),
        cases=_below_theorem3,
        remark=(
            "Where r < d, C_t is 1 on A's null space, which the printed bound forgets. With Algorithm 1's virtual "
            "handover (radius eta m) there is a jump beside it, which the proof does not have."
        ),
    ),
    _check(
        "proposition1",
        "the regret of LAI(A_hat) is precisely R_val + R_basis",
        "Proposition 1",
        "For v as any martingale sequence, the dynamic regret of LAI(A_hat) is precisely ...",
        "simulated regret, by the mean of 4,000 paths, is within three standard errors of the formula",
        "The formula needs x0 = v0, which the paper does not state.",
    ),
    _check(
        "theorem4",
        "where r < d, an estimate that is off by epsilon costs at most the order of epsilon^2 T^2 + sqrt(epsilon) T",
        "Theorem 4",
        (
            "For any estimate such that the nuclear error is at most epsilon, the dynamic regret of LAI(A_hat) is "
            "bounded by ..."
        ),
        "exact regret is below the printed bound in random cases",
        (
            f"{_RANDOM} The printed labels R_val and R_basis are swapped, and the proof uses a false bound on "
            "eigenvectors."
        ),
    ),
    _check(
        "theorem5",
        "where r = d, an estimate that is off by epsilon costs at most the order of epsilon T",
        "Theorem 5",
        (
            "For any estimate such that the nuclear error is at most epsilon, the exploitation regret of LAI(A_hat) "
            "is bounded by ..."
        ),
        "exact regret is below the printed bound in random cases",
        f"{_RANDOM} It is of order epsilon^2 T, which is less.",
    ),
    _check(
        "corollary1",
        "at the optimal balance, R_val and R_basis are O(T^(2/3)) where r < d and O(T^(1/2)) where r = d",
        "Corollary 1",
        (
            "The optimal balance is achieved when R_val = O(T^(2/3)) and R_basis = O(T^(2/3)), or O(T^(1/2)) for "
            "full rank."
        ),
        "exponents of the exact parts from T = 1e6 to 1e8 are at most 2/3 or 1/2, for errors of nuclear norm T^(-p)",
        (
            "That SCaLE's estimate is as accurate as the corollary takes for granted is another matter: it lacks a "
            "constant."
        ),
    ),
    _check(
        "equal-contribution",
        "eigenvalue errors and eigenbasis errors contribute equally: their parts of regret are of the same order",
        "Section 5.1",
        (
            "Explore-exploit balance is achieved when regret contributions from eigenvalue errors and eigenbasis "
            "errors are of the same order."
        ),
        "exponents of the exact parts from T = 1e6 to 1e8 agree within 0.05, for errors of nuclear norm T^(-p)",
        (
            "In full rank the parts have opposite signs and cancel: their sum does not grow at all, which is why "
            "T^(1/2) can be improved on."
        ),
    ),
    ClaimRule(
        id="remark1-risk",
        kind=Kind.THEORY,
        text="fewer than the order of r d probes leave the risk infinite, whatever the estimator",
        source="Remark 1",
        quote=(
            "Theta(r d) rank-1 measurements are necessary to ensure the RUB property, required for stable recovery "
            "under noise."
        ),
        section="theory",
        rule="the fewest probes that see every difference of two matrices of rank r are between r d / 2 and 2 r d",
        settings=(),
        axes=(),
        cases=_infinite_risk,
        remark="The condition is exact for Gaussian probes; it does not depend on noise or on an estimator.",
    ),
)
"""The claims about theory, in the order of the paper."""
