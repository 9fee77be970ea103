"""Claims about which policy outperforms which."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from soqo.experiments.judgment._decisions import decide, highest, lowest, measure
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._rules import EVERY_AXIS, ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case
from soqo.experiments.settings import (
    HEAVY_TAILS,
    LIGHT_TAILS,
    PRIMARY,
    RANK_DEFICIENT,
    SIXTEEN,
    SLOW_LEARNERS,
    Reading,
)
from soqo.typing import Array

_R1_AXES = tuple(axis for axis in EVERY_AXIS if axis != "spectrum")
"""The axes of a claim about settings of rank 1, where A has one eigenvalue."""

_CHEAPER_LATER = 10.0
"""Exploration counts as expensive if a round of it costs this many times a later one."""

_NO_MEAN = (
    "Cauchy steps have no mean: in place of means, these are means without the upper and the lower tenth of the runs."
)


def _outperform(
    samples: Samples,
    name: str,
    reading: Reading,
    players: Sequence[str],
    others: Sequence[str],
    labels: tuple[Sequence[str], str],
) -> Case:
    """Test whether each player's statistic is below those of all others; without labels, there are no numbers."""
    own = [samples.statistic(name, reading, player) for player in players]
    best = lowest(*(samples.statistic(name, reading, other) for other in others))
    worst = highest(*own)
    if not labels[1]:
        return decide(name, worst < best, True, samples.runs)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(best > 0.0, worst / best, np.nan)
    share = measure(f"{' and '.join(labels[0])}, the worse" if len(own) > 1 else f"{labels[0][0]}", ratio)
    share = type(share)(f"{share.label} as a share of {labels[1]}", share.value, share.low, share.high)
    numbers = [measure(label, values) for label, values in zip(labels[0], own, strict=True)]
    return decide(name, worst < best, True, samples.runs, share, *numbers, measure(labels[1], best))


def _both_win(
    samples: Samples, _: Evidence, reading: Reading, *, names: Sequence[str], extra: Sequence[str] = ()
) -> list[Case]:
    baselines = ("FTM", *samples.learners(reading), *extra)
    labels = (("SCaLE", "HySCaLE"), "" if extra else "the best baseline")
    return [
        _outperform(samples, n, reading, (samples.scale(n, reading), samples.hyscale(n, reading)), baselines, labels)
        for n in names
    ]


def _scale_wins(
    samples: Samples, _: Evidence, reading: Reading, *, names: Sequence[str], extra: Sequence[str] = ()
) -> list[Case]:
    baselines = ("FTM", *samples.learners(reading), *extra)
    labels = (("SCaLE",), "" if extra else "the best baseline")
    return [_outperform(samples, n, reading, (samples.scale(n, reading),), baselines, labels) for n in names]


def _hybrid_beats_learners(samples: Samples, _: Evidence, reading: Reading, *, extra: Sequence[str] = ()) -> list[Case]:
    learners = (*samples.learners(reading), *extra)
    players = (samples.hyscale(PRIMARY, reading),)
    labels = (("HySCaLE",), "" if extra else "the best learner")
    return [_outperform(samples, PRIMARY, reading, players, learners, labels)]


def _hybrid_improves(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    labels = (("HySCaLE",), "SCaLE")
    return [
        _outperform(samples, n, reading, (samples.hyscale(n, reading),), (samples.scale(n, reading),), labels)
        for n in LIGHT_TAILS
    ]


def _scale_beats_the_rest(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    labels = (("SCaLE",), "the best of FTM, POL, OAL and HySCaLE")
    return [
        _outperform(
            samples,
            name,
            reading,
            (samples.scale(name, reading),),
            ("FTM", *samples.learners(reading), samples.hyscale(name, reading)),
            labels,
        )
        for name in HEAVY_TAILS
    ]


def _lead(samples: Samples, name: str, reading: Reading, horizon: int | None = None) -> Array:
    """Return the best baseline's statistic over SCaLE's; NaN where one is not positive."""
    baselines = ("FTM", *samples.learners(reading))
    best = lowest(*(samples.statistic(name, reading, other, horizon) for other in baselines))
    own = samples.statistic(name, reading, samples.scale(name, reading), horizon)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((best > 0.0) & (own > 0.0), best / own, np.nan)


def _lead_grows(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    ends = samples.horizons(PRIMARY, reading, "FTM")
    if len(ends) < 2:
        return []
    early, late = (_lead(samples, PRIMARY, reading, horizon) for horizon in (ends[0], ends[-1]))
    numbers = [measure(f"lead at T = {h}", values) for h, values in ((ends[0], early), (ends[-1], late))]
    growth = late / early
    return [decide(PRIMARY, growth > 1.0, ~np.isnan(growth), samples.runs, measure("ratio of leads", growth), *numbers)]


def _largest_where_small(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    small, large = (_lead(samples, name, reading) for name in HEAVY_TAILS)
    numbers = [measure("lead at sigma_r = 0.01", small), measure("lead at sigma_r = 1", large)]
    known = ~np.isnan(small / large)
    return [decide(HEAVY_TAILS[0], (small > large) & (small > 1.0), known, samples.runs, *numbers)]


def _exploration_is_expensive(samples: Samples, _: Evidence, reading: Reading) -> list[Case]:
    found = samples.of(PRIMARY, reading, None)
    assert found is not None
    m, numbers, passed = samples.exploration_rounds(PRIMARY, reading), [], []
    for label, policy in (("SCaLE", samples.scale(PRIMARY, reading)), ("HySCaLE", samples.hyscale(PRIMARY, reading))):
        row = found.policies.index(policy)
        first = found.exploration[row]
        per_round = samples.reduce(PRIMARY, reading, first) / m
        later = samples.reduce(PRIMARY, reading, found.regret[row] - first) / (samples.settings[PRIMARY].horizon - m)
        passed.append(per_round > _CHEAPER_LATER * later)
        numbers.append(measure(f"{label}, regret per round while exploring", per_round))
        numbers.append(measure(f"{label}, afterwards", later))
    return [decide(PRIMARY, np.all(passed, axis=0), True, samples.runs, *numbers)]


_PRIMARY_SOURCE = "Section 4.2, primary evaluation"
_RATE = "POL, OAL and HySCaLE have the text's rate of 1e-6, at which most steps overshoot where steps of v are 50."

RANKING_CLAIMS = (
    ClaimRule(
        id="primary-outperform",
        text="SCaLE and HySCaLE significantly outperform all baselines",
        source=_PRIMARY_SOURCE,
        section="primary",
        rule="both have less regret after 1,000 rounds than FTM, POL and OAL",
        settings=(PRIMARY,),
        axes=EVERY_AXIS,
        cases=partial(_both_win, names=(PRIMARY,)),
        against_slower=partial(_both_win, names=(PRIMARY,), extra=SLOW_LEARNERS),
        remark=_RATE,
    ),
    ClaimRule(
        id="primary-scale-outperforms",
        text="SCaLE alone outperforms all baselines",
        source=f"{_PRIMARY_SOURCE}: a part of the claim above",
        section="primary",
        rule="SCaLE has less regret after 1,000 rounds than FTM, POL and OAL",
        settings=(PRIMARY,),
        axes=EVERY_AXIS,
        cases=partial(_scale_wins, names=(PRIMARY,)),
        against_slower=partial(_scale_wins, names=(PRIMARY,), extra=SLOW_LEARNERS),
    ),
    ClaimRule(
        id="primary-lead-grows",
        text="SCaLE outperforms the baselines especially for longer horizons",
        source=_PRIMARY_SOURCE,
        section="primary",
        rule="its lead, the best baseline's regret over its own, is larger at the longest horizon than at the shortest",
        settings=(PRIMARY,),
        axes=EVERY_AXIS,
        cases=_lead_grows,
        horizons=2,
    ),
    ClaimRule(
        id="primary-exploration",
        text="SCaLE and HySCaLE pay much while they explore, which lowers what they pay afterwards",
        source=f"{_PRIMARY_SOURCE}, Figure 3 (iii)",
        section="primary",
        rule="regret per round while exploring is more than 10 times that afterwards, for both",
        settings=(PRIMARY,),
        axes=EVERY_AXIS,
        cases=_exploration_is_expensive,
        remark="The factor of 10 is our choice.",
    ),
    ClaimRule(
        id="primary-hybrid",
        text="gradient steps help only on top of SCaLE's estimate: HySCaLE is better than POL and OAL",
        source=_PRIMARY_SOURCE,
        section="primary",
        rule="HySCaLE has less regret than POL and OAL",
        settings=(PRIMARY,),
        axes=EVERY_AXIS,
        cases=_hybrid_beats_learners,
        against_slower=partial(_hybrid_beats_learners, extra=SLOW_LEARNERS),
        remark=_RATE,
    ),
    ClaimRule(
        id="cauchy-scale-wins",
        text="POL, OAL and HySCaLE fail under Cauchy steps, and SCaLE is significantly better than the rest",
        source="Section 4.2, robustness to heavy tails, Figure 4",
        section="heavy_tails",
        rule="SCaLE has less regret after 400 rounds than FTM, POL, OAL and HySCaLE",
        settings=HEAVY_TAILS,
        axes=_R1_AXES,
        cases=_scale_beats_the_rest,
        remark=_NO_MEAN,
    ),
    ClaimRule(
        id="cauchy-small-sigma",
        text="under Cauchy steps SCaLE's lead is largest where sigma_r is small",
        source="Section 4.2, robustness to heavy tails, Figure 4",
        section="heavy_tails",
        rule="the best baseline's regret over SCaLE's is larger at sigma_r = 0.01 than at 1, and above 1",
        settings=HEAVY_TAILS,
        axes=_R1_AXES,
        cases=_largest_where_small,
        remark=_NO_MEAN,
    ),
    ClaimRule(
        id="rank-outperform",
        text="SCaLE and HySCaLE outperform the baselines where A is rank-deficient",
        source="Section 4.2, rank-deficient settings, Figure 5",
        section="rank_deficient",
        rule="both have less regret after 400 rounds than FTM, POL and OAL",
        settings=RANK_DEFICIENT,
        axes=_R1_AXES,
        cases=partial(_both_win, names=RANK_DEFICIENT),
        against_slower=partial(_both_win, names=RANK_DEFICIENT, extra=SLOW_LEARNERS),
        remark=_RATE,
    ),
    ClaimRule(
        id="appendix-outperform",
        text="SCaLE outperforms all baselines in the appendix's settings",
        source="Appendix, additional experiments",
        section="appendix",
        rule="SCaLE has less regret after 1,000 rounds than FTM, POL and OAL",
        settings=SIXTEEN,
        axes=EVERY_AXIS,
        cases=partial(_scale_wins, names=SIXTEEN),
        against_slower=partial(_scale_wins, names=SIXTEEN, extra=SLOW_LEARNERS),
        remark=_NO_MEAN,
    ),
    ClaimRule(
        id="light-tails-hybrid",
        text="HySCaLE improves on SCaLE where tails are light",
        source="Section 3.3 and contribution (d)",
        section="appendix",
        rule="HySCaLE has less regret than SCaLE",
        settings=LIGHT_TAILS,
        axes=EVERY_AXIS,
        cases=_hybrid_improves,
        remark=_RATE,
    ),
)
"""The claims about rankings."""
