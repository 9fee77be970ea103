"""Claims about c1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soqo.experiments.judgment._claims import UNTESTED, Claim, PaperOutcomes, claim
from soqo.experiments.judgment._variants import VARIANTS, decide_verdict

_ETAS = [f"sensitivity_{eta}" for eta in ("1", "10", "100", "1000", "10000")]
_FAMILIES = {variant.name: (variant.scale, variant.hyscale) for variant in VARIANTS[:2]}


def _medians_by_c1(outcomes: PaperOutcomes, name: str, family: str) -> dict[float, float]:
    """Return the median regret at each value of c1, in increasing order of c1."""
    members = [
        (point.value, policy) for policy, point in outcomes[name].setting.swept.items() if point.family == family
    ]
    return {value: outcomes.median(name, policy) for value, policy in sorted(members)}


def _best_c1(outcomes: PaperOutcomes, name: str, family: str) -> float:
    medians = _medians_by_c1(outcomes, name, family)
    return list(medians)[int(np.argmin(list(medians.values())))]


def _judge_c1(outcomes: PaperOutcomes, text: str, rule: str, test: Callable[[str, str], bool]) -> Claim:
    """Judge a claim about c1 by a test for every family of a variant and every eta."""
    source = "Section 4.2, hyperparameter tuning"
    if not outcomes.has(_ETAS):
        return Claim(text, source, "eta = 1 .. 10,000", rule, "", UNTESTED)
    passed = {
        variant: {name: all(test(name, family) for family in families) for name in _ETAS}
        for variant, families in _FAMILIES.items()
    }
    number = "; ".join(
        f"{family}: best c1 {', '.join(f'{_best_c1(outcomes, name, family):g}' for name in _ETAS)}"
        for families in _FAMILIES.values()
        for family in families
    )
    verdict = decide_verdict(passed, outcomes.settings(_ETAS))
    return Claim(text, source, "as printed and calibrated, eta = 1 .. 10,000, T = 400", rule, number, verdict)


@claim
def _u_shaped(outcomes: PaperOutcomes) -> Claim:
    def test(name: str, family: str) -> bool:
        medians = list(_medians_by_c1(outcomes, name, family).values())
        return min(medians[0], medians[-1]) > 1.1 * min(medians)

    rule = "both ends of c1 = 0.7 .. 10 are more than a tenth above the smallest median, for every eta"
    return _judge_c1(outcomes, "regret as a function of c1 is U-shaped", rule, test)


@claim
def _near_three(outcomes: PaperOutcomes) -> Claim:
    rule = "the c1 of the smallest median is 2, 2.5, 3 or 4, for every eta"
    return _judge_c1(
        outcomes, "the best c1 is about 3", rule, lambda name, family: 2.0 <= _best_c1(outcomes, name, family) <= 4.0
    )


@claim
def _stable_in_eta(outcomes: PaperOutcomes) -> Claim:
    def test(_: str, family: str) -> bool:
        found = [_best_c1(outcomes, name, family) for name in _ETAS]
        return max(found) <= 2.0 * min(found)

    text = "the best c1 stays almost constant from eta = 1 to 10,000"
    return _judge_c1(outcomes, text, "the largest of the best c1 is at most twice the smallest", test)
