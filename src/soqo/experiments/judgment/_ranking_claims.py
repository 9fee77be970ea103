"""Claims about which policy outperforms which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from soqo.experiments.judgment._decisions import decide, lowest, measure
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._rankings import BASELINES, lead, outperform
from soqo.experiments.judgment._rules import EVERY_AXIS, R1_AXES, ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._slower_rate import against_slower
from soqo.experiments.judgment._verdicts import Case, Kind
from soqo.experiments.judgment._zero_estimates import tell_zero_estimates
from soqo.experiments.settings import CAUCHY, HEAVY_TAILS, LIGHT_TAILS, PRIMARY, RANK_DEFICIENT, SIXTEEN, Reading

_BOTH = ("SCaLE", "HySCaLE")

NO_MEAN = (
    "Cauchy steps have no mean: in place of means, these are means without the upper and the lower tenth of the runs."
)

FIGURES_15_TO_18 = "Figures 15 to 18 have Cauchy steps too: the part below is about them."


def _lead_grows(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    ends = samples.horizons(PRIMARY, reading, "FTM")
    if len(ends) < 2:
        return []
    passed, numbers = [], []
    for player in _BOTH:
        early, late = (lead(samples, PRIMARY, reading, player, horizon) for horizon in (ends[0], ends[-1]))
        passed.append(np.where(np.isnan(late / early), np.nan, (late > 1.0) & (late > early)))
        numbers.append(
            (
                measure(f"{player}, lead at T = {ends[-1]}", late),
                measure(f"{player}, that lead over its lead at T = {ends[0]}", late / early),
            )
        )
    least = lowest(*passed)
    # The policy that fails decides, and its numbers come first.
    first = sorted(zip(passed, numbers, strict=True), key=lambda one: bool(one[0][0] == 1.0))
    listed = [number for _, pair in first for number in pair]
    return [decide(PRIMARY, least == 1.0, ~np.isnan(least), samples.runs, *listed)]


def _largest_where_small(samples: Samples, _: Evidence, reading: Reading, *, pairs: Mapping[str, str]) -> list[Case]:
    """Test whether SCaLE leads, and by more at a small sigma_r than in the setting with a large one."""
    cases = []
    for name, other in pairs.items():
        small, large = (lead(samples, one, reading, "SCaLE") for one in (name, other))
        numbers = [measure("lead at sigma_r = 0.01", small), measure("lead at sigma_r = 1", large)]
        passed, known = (small > large) & (small > 1.0), ~np.isnan(small / large)
        cases.append(decide(name, passed, known, samples.runs, *numbers))
    return cases


def _exploration_is_expensive(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    found = samples.of(PRIMARY, reading, None)
    assert found is not None
    m, numbers, passed = samples.exploration_rounds(PRIMARY, reading), [], []
    for label in _BOTH:
        row = found.policies.index(samples.policy(label, PRIMARY, reading))
        first = found.exploration[row]
        per_round = samples.reduce(PRIMARY, reading, first) / m
        later = samples.reduce(PRIMARY, reading, found.regret[row] - first) / (samples.settings[PRIMARY].horizon - m)
        passed.append(per_round > later)
        ratio = measure(f"{label}, regret per round while exploring over that afterwards", per_round / later)
        numbers.append((ratio, measure(f"{label}, while exploring", per_round), measure(f"{label}, afterwards", later)))
    # The smaller ratio decides, and comes first.
    listed = [number for triple in sorted(numbers, key=lambda one: one[0].value) for number in triple]
    return [decide(PRIMARY, np.all(passed, axis=0), True, samples.runs, *listed)]


_RATE = (
    "POL, OAL and HySCaLE have the text's rate, about 1e-6, at which most steps overshoot where steps of v are 50; no "
    "reading changes it."
)

_PRIMARY = ClaimRule(
    id="primary-outperform",
    kind=Kind.EXPERIMENT,
    text="SCaLE and HySCaLE significantly outperform all baselines",
    source="Section 4.2, primary evaluation, Figure 3",
    quote="SCaLE and HySCaLE significantly outperform all baselines, especially for longer horizons.",
    section="primary",
    rule="both have less regret after 1,000 rounds than FTM, POL and OAL",
    settings=(PRIMARY,),
    axes=EVERY_AXIS,
    cases=partial(outperform, names=(PRIMARY,), players=_BOTH),
    numbers_for_remark=partial(against_slower, names=(PRIMARY,), players=_BOTH),
    remark=_RATE,
)

_CAUCHY_WINS = ClaimRule(
    id="cauchy-scale-wins",
    kind=Kind.EXPERIMENT,
    text="under Cauchy steps SCaLE is significantly better than the rest",
    source="Section 4.2, robustness to heavy tails, Figure 4",
    quote="SCaLE, however, performs significantly better than the rest, especially when sigma_r is small.",
    section="heavy_tails",
    rule="SCaLE has less regret after 400 rounds than FTM, POL, OAL and HySCaLE",
    settings=HEAVY_TAILS,
    axes=R1_AXES,
    cases=partial(
        outperform,
        names=HEAVY_TAILS,
        players=("SCaLE",),
        others=(*BASELINES, "HySCaLE"),
        best_of="the best of FTM, POL, OAL and HySCaLE",
    ),
    remark=f"{NO_MEAN} {FIGURES_15_TO_18}",
    numbers_for_remark=tell_zero_estimates,
)

_CAUCHY_SMALL = ClaimRule(
    id="cauchy-small-sigma",
    kind=Kind.EXPERIMENT,
    text="under Cauchy steps SCaLE's lead is largest where sigma_r is small",
    source="Section 4.2, robustness to heavy tails, Figure 4",
    quote="SCaLE, however, performs significantly better than the rest, especially when sigma_r is small.",
    section="heavy_tails",
    rule="the best baseline's regret over SCaLE's is larger at sigma_r = 0.01 than at 1, and above 1",
    settings=HEAVY_TAILS,
    axes=R1_AXES,
    cases=partial(_largest_where_small, pairs=dict([HEAVY_TAILS])),
    remark=f"{NO_MEAN} {FIGURES_15_TO_18}",
    numbers_for_remark=tell_zero_estimates,
)

RANKING_CLAIMS = (
    _PRIMARY,
    replace(
        _PRIMARY,
        id="primary-scale-outperforms",
        kind=Kind.PART,
        text="SCaLE alone outperforms all baselines",
        rule="SCaLE has less regret after 1,000 rounds than FTM, POL and OAL",
        cases=partial(outperform, names=(PRIMARY,), players=("SCaLE",)),
        numbers_for_remark=partial(against_slower, names=(PRIMARY,), players=("SCaLE",)),
    ),
    replace(
        _PRIMARY,
        id="primary-lead-grows",
        text="SCaLE and HySCaLE outperform the baselines especially for longer horizons",
        rule=(
            "each leads at the longest horizon, with less regret than the best baseline, and by a larger factor than "
            "at the shortest"
        ),
        cases=_lead_grows,
        numbers_for_remark=None,
        horizons=2,
    ),
    ClaimRule(
        id="primary-exploration",
        kind=Kind.EXPERIMENT,
        text="SCaLE and HySCaLE pay a high cost while they explore, and much less afterwards",
        source="Section 4.2, primary evaluation, Figure 3 (ii) and (iii)",
        quote=(
            "Cumulative and Instantaneous regret reveal the initial high cost incurred by both SCaLE and HySCaLE "
            "(up to "
            "m = 80), which significantly lowers regret in the exploitation phase."
        ),
        section="primary",
        rule="regret per round while exploring is above that afterwards, for both",
        settings=(PRIMARY,),
        axes=EVERY_AXIS,
        cases=_exploration_is_expensive,
    ),
    ClaimRule(
        id="primary-hybrid",
        kind=Kind.EXPERIMENT,
        text="gradient steps help only on top of SCaLE's estimate: HySCaLE is better than POL and OAL",
        source="Section 4.2, primary evaluation, Figure 3",
        quote=(
            "Comparing HySCaLE against POL and OAL reveals that the benefits from projected GD are seen only after "
            "ensuring the baseline statistical estimate A_hat."
        ),
        section="primary",
        rule="HySCaLE has less regret after 1,000 rounds than POL and OAL",
        settings=(PRIMARY,),
        axes=EVERY_AXIS,
        cases=partial(
            outperform, names=(PRIMARY,), players=("HySCaLE",), others=("POL", "OAL"), best_of="the best learner"
        ),
        numbers_for_remark=partial(against_slower, names=(PRIMARY,), players=("HySCaLE",), others=("POL", "OAL")),
        remark=_RATE,
    ),
    _CAUCHY_WINS,
    replace(
        _CAUCHY_WINS,
        id="cauchy-scale-wins-appendix",
        kind=Kind.PART,
        text="the same in the appendix's settings with Cauchy steps, against FTM, POL and OAL",
        source="Appendix, Figures 15 to 18",
        rule="SCaLE has less regret after 1,000 rounds than FTM, POL and OAL",
        settings=CAUCHY,
        axes=EVERY_AXIS,
        cases=partial(outperform, names=CAUCHY, players=("SCaLE",)),
        remark=f"{NO_MEAN} HySCaLE is not played there in all readings, and is left out.",
        numbers_for_remark=None,
    ),
    _CAUCHY_SMALL,
    replace(
        _CAUCHY_SMALL,
        id="cauchy-small-sigma-appendix",
        kind=Kind.PART,
        text="the same in the appendix's settings with Cauchy steps",
        source="Appendix, Figures 15 to 18",
        settings=CAUCHY,
        axes=EVERY_AXIS,
        cases=partial(_largest_where_small, pairs={f"cauchy_{r}_0.01": f"cauchy_{r}_1" for r in ("r4", "r1")}),
        remark=NO_MEAN,
        numbers_for_remark=None,
    ),
    ClaimRule(
        id="rank-outperform",
        kind=Kind.IMPLIED,
        text="SCaLE and HySCaLE outperform the baselines where A is rank-deficient",
        source="Section 4.2, rank-deficient settings, Figure 5",
        quote="Figure 5 depicts the performance of the considered algorithms when r = 1 and d = 4.",
        section="rank_deficient",
        rule="both have less regret after 400 rounds than FTM, POL and OAL",
        settings=RANK_DEFICIENT,
        axes=R1_AXES,
        cases=partial(outperform, names=RANK_DEFICIENT, players=_BOTH),
        numbers_for_remark=partial(against_slower, names=RANK_DEFICIENT, players=_BOTH),
        remark=_RATE,
    ),
    ClaimRule(
        id="appendix-outperform",
        kind=Kind.IMPLIED,
        text="SCaLE outperforms all baselines in the appendix's settings",
        source="Section 4.2 and the appendix, Figures 7 to 22",
        quote=(
            "We present our key empirical findings here, as case studies, with all our results presented in Appendix."
        ),
        section="appendix",
        rule="SCaLE has less regret after 1,000 rounds than FTM, POL and OAL",
        settings=SIXTEEN,
        axes=EVERY_AXIS,
        cases=partial(outperform, names=SIXTEEN, players=("SCaLE",)),
        numbers_for_remark=partial(against_slower, names=SIXTEEN, players=("SCaLE",)),
        remark=NO_MEAN,
    ),
    ClaimRule(
        id="light-tails-hybrid",
        kind=Kind.EXPERIMENT,
        text="HySCaLE improves on SCaLE where tails are light",
        source="Section 3.3 and contribution (d); Figures 3, 5 and 7 to 14",
        quote=(
            "As we will demonstrate next, this heuristic yields performance gains in light-tailed processes, where the "
            "feedback during exploitation proves to be a reliable signal."
        ),
        section="hybrid",
        rule="HySCaLE has less regret than SCaLE, in each setting with Gaussian or correlated steps",
        settings=LIGHT_TAILS,
        axes=EVERY_AXIS,
        cases=partial(outperform, names=LIGHT_TAILS, players=("HySCaLE",), others=("SCaLE",), best_of="SCaLE"),
        remark=(
            f"{_RATE} It holds where SCaLE's own estimate is poor, and fails where it is good (r = 4, sigma_r = 1)."
        ),
    ),
)
"""The claims about rankings."""

COMPARISONS = tuple(
    rule.id for rule in RANKING_CLAIMS if rule.kind is not Kind.PART and rule.id != "primary-exploration"
)
"""The claims that SCaLE or HySCaLE beats another policy, by id; parts are not counted again."""
