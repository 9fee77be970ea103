"""Claims about theory: theorems, the proposition, the corollary and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from soqo._simulation.summary import format_short
from soqo.experiments.judgment._bound_checks import diagonal_curvature
from soqo.experiments.judgment._checked_claims import checked_claim, untestable_claim
from soqo.experiments.judgment._decisions import decide, measure
from soqo.experiments.judgment._estimate_claims import ESTIMATE_BOUND, tell_error_bound
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._rules import NO_HYBRID, ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case, Kind, Number, Status
from soqo.experiments.settings import LITERAL, WITH_COVARIANCE, Reading, with_spectrum
from soqo.theory import theorem1

_MARTINGALES = tuple(name for name in WITH_COVARIANCE if not name.startswith("correlated"))


def _below_theorem3(_: Samples, evidence: Evidence, reading: Reading, *, name: str) -> Sequence[Case]:
    return evidence.checks.get(f"{name}/{reading.gamma2}/{reading.radius}", ())


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


def _tell_split(_: Samples, evidence: Evidence, _readings: Sequence[Reading]) -> str:
    """Return how far the two parts of the regret of SCaLE's own estimates are apart to the letter, at most."""
    found = [one for one in evidence.split if (one.gamma2, one.radius) == (LITERAL.gamma2, LITERAL.radius)]
    if not found:
        return ""
    sizes = [[float(np.median(np.abs(part))) for part in (one.value, one.basis)] for one in found]
    apart = max(max(both) / min(both) if min(both) > 0.0 else np.inf for both in sizes)
    return f"(for SCaLE's own estimates at T = {found[0].horizon:,}, they are up to {format_short(apart)} times apart)"


_RANDOM = (
    "No violation in random cases is no proof; docs/explanation/theory.md has one, "
    "with constants that are never larger."
)

_TIGHT = "Improved and tight Theta(T^(1/2)) dynamic regret for the full-rank setting, matching the lower bound."

_THEOREM3 = ClaimRule(
    id="theorem3",
    kind=Kind.THEORY,
    text=(
        "SCaLE's regret is at most an irreducible cost, the cost of data collection and the regret of exploitation, "
        "with sigma_min the smallest eigenvalue of A"
    ),
    source="Theorem 3 and contribution (c) 1",
    quote=(
        "A novel online regret decomposition that precisely separates the total regret into components characterized "
        "by: (i) statistical consistency, (ii) environment exploration and, (iii) exploitation."
    ),
    section="theory",
    rule=(
        "the exact regret of SCaLE that knows A after its probes is below the printed bound, in which sigma_min is 0 "
        "where r < d"
    ),
    axes=("gamma2", "radius"),
    cases=partial(_below_theorem3, name="theorem3"),
    unproved=True,
    universal=True,
    remark=(
        "The paper does not say whether sigma_min is the smallest eigenvalue or sigma_r: see the part below. The proof "
        "continues from the last probe. Algorithm 1's virtual handover (radius eta m) jumps to another path instead, "
        "which the bound does not have."
    ),
)

THEORY_CLAIMS = (
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
        unproved=True,
        universal=True,
        remark=(
            "Correlated steps are no martingale and Cauchy steps have no covariance: both are left out. The constants "
            "are large, so that regret below the bound says little about its growth: see the implied claims of the "
            "appendix. Theorem 1 is stated with high probability; whether the estimate is as good as its proof takes "
            "for granted is the next claim."
        ),
        numbers_for_note=tell_error_bound,
    ),
    ESTIMATE_BOUND,
    checked_claim(
        "theorem2",
        "for some A, every policy that interpolates with gains off by epsilon pays alpha_1/epsilon + alpha_2 epsilon T",
        "Theorem 2",
        "There exists an A such that ALG suffers a regret of at least ... = Omega(sqrt(T)).",
        "for A = 0, regret is at least epsilon T / 8 up to a constant, for random gains off by epsilon/2 to epsilon",
        "The instance A = 0 has rank 0, not full rank.",
        note="that exploration costs 1/epsilon is assumed, not tested",
        unproved=True,
    ),
    untestable_claim(
        "interpolation-class",
        "the class of Theorem 2, policies that interpolate between their last action and v, is broad",
        "Section 3.2",
        "This structure is general, encompassing all state-of-the-art SOCO approaches for quadratic costs.",
        (
            "it is about the literature. Of the policies here, FTM, POL, OAL, LAI and ROBD are in the class. SCaLE and "
            "HySCaLE are in it after their probes only: a probe v + gamma z is not between the last action and v"
        ),
    ),
    checked_claim(
        "scale-order",
        "SCaLE's regret is of the order T^(1/2) where r = d, and not less",
        "Contribution (b) 2",
        _TIGHT,
        (
            "the exponent of its exact regret from T = 1e6 to 1e8, without the constant irreducible cost, is 1/2 "
            "within 0.05, for probes of variance T^(1/2) that leave an error of nuclear norm T^(-1/2)"
        ),
        "The cost of its probes alone is of this order.",
    ),
    checked_claim(
        "tight-full-rank",
        "T^(1/2) is tight where r = d: no policy has regret of a lower order",
        "Contribution (b) 2 and Section 3.2",
        f"{_TIGHT} ... establishing the O(T^(1/2)) regret achieved by SCaLE in the full-rank setting as order-optimal.",
        (
            "SCaLE's own probes with another variance, T^(1/3), which leave an error of nuclear norm T^(-1/3), have an "
            "exponent of at least 0.45, by exact regret from T = 1e6 to 1e8"
        ),
        (
            "The proof, in docs/explanation/theory.md: regret is a sum of squares of errors of the gains, and where "
            "r = d these are at most epsilon/sigma, so that an estimate off by epsilon costs of the order epsilon^2 T. "
            "Probes of variance gamma^2 leave epsilon of order eta/gamma^2; gamma^2 + T/gamma^4 is smallest at "
            "T^(1/3). Theorem 2 stays true: its A = 0 does not have full rank. The choice of gamma^2 needs the order "
            "of Sigma; the paper's does not."
        ),
        note="for a fixed A with sigma_r > 0; nothing is said uniformly in A",
    ),
    _THEOREM3,
    replace(
        _THEOREM3,
        id="theorem3-sigma-r",
        kind=Kind.PART,
        text="the same if sigma_min means sigma_r, the smallest nonzero eigenvalue, as in Theorem 4",
        rule="the exact regret of SCaLE that knows A after its probes is below that bound",
        cases=partial(_below_theorem3, name="theorem3-sigma-r"),
        unproved=False,
        remark="C_t is 1 on A's null space, so that the irreducible cost there is not divided by 1 + sigma_r.",
    ),
    checked_claim(
        "proposition1",
        "the regret of LAI(A_hat) is precisely R_val + R_basis",
        "Proposition 1 and contribution (c) 2",
        "For v as any martingale sequence, the dynamic regret of LAI(A_hat) is precisely ...",
        "simulated regret, by the mean of 4,000 paths, is within three standard errors of the formula",
        (
            "The formula depends on the steps through their covariance only, as the paper says of its guarantees: "
            "Gaussian and Laplace steps agree with it. It needs x0 = v0, which the paper does not state."
        ),
    ),
    checked_claim(
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
        unproved=True,
    ),
    checked_claim(
        "epsilon-squared",
        "where r < d, errors of the eigenbasis cost of the order epsilon^2 T^2, not epsilon T^2",
        "Section 3.1 and Section 5.1, after Theorem 4",
        (
            "Crucially, the dominant error term, arising from eigenbasis perturbation, is controlled not by epsilon, "
            "but by a much smaller epsilon^2 factor."
        ),
        (
            "for estimates that are A, slightly turned, the exponents of exact regret in epsilon and in T are both 2 "
            "within 0.05"
        ),
    ),
    checked_claim(
        "tight-degenerate",
        "Theorem 4 is a tight characterization where r < d: both of its orders are attained",
        "Contribution (c) 2",
        (
            "A careful perturbation analysis that uncovers a novel tight characterization of degenerate online "
            "quadratic optimization."
        ),
        (
            "exact regret is of order epsilon^2 for a turned A, and of order sqrt(epsilon) for an error on A's null "
            "space, both within 0.05"
        ),
        "It is tight in its orders. Its constants are loose: see Theorem 4.",
    ),
    checked_claim(
        "theorem5",
        "where r = d, an estimate that is off by epsilon costs at most the order of epsilon T",
        "Theorem 5",
        (
            "For any estimate such that the nuclear error is at most epsilon, the exploitation regret of LAI(A_hat) "
            "is bounded by ..."
        ),
        "exact regret is below the printed bound in random cases",
        f"{_RANDOM} It is of order epsilon^2 T, which is less.",
        unproved=True,
    ),
    checked_claim(
        "corollary1",
        "at the optimal balance, R_val and R_basis are O(T^(2/3)) where r < d and O(T^(1/2)) where r = d",
        "Corollary 1",
        (
            "The optimal balance is achieved when R_val = O(T^(2/3)) and R_basis = O(T^(2/3)), or O(T^(1/2)) for "
            "full rank."
        ),
        (
            "exponents of the exact parts from T = 1e6 to 1e8 exceed 2/3 or 1/2 by at most 0.05, for errors of nuclear "
            "norm T^(-p)"
        ),
        (
            "That SCaLE's estimate is as accurate as the corollary takes for granted is another claim: see the bound "
            "on its error."
        ),
    ),
    replace(
        checked_claim(
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
            note="for T of 1e6 and more, with ideal errors",
        ),
        numbers_for_note=_tell_split,
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
        universal=True,
        remark="The condition is exact for Gaussian probes; it does not depend on noise or on an estimator.",
    ),
)
"""The claims about theory, in the order of the paper."""
