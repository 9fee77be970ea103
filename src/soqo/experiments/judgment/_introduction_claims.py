"""Claims of the abstract and of Section 1, and of the last appendix, which Section 1 refers to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from soqo._simulation.summary import format_short
from soqo.experiments.judgment._checked_claims import checked_claim, untestable_claim
from soqo.experiments.judgment._decisions import decide, highest, lowest, measure
from soqo.experiments.judgment._estimate_claims import CONSISTENCY, CONSISTENCY_IN_FIGURES
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._movement_evidence import BENCHMARK, MovementCosts
from soqo.experiments.judgment._rules import ClaimRule
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case, Kind
from soqo.experiments.settings import FULL_RANK, LITERAL, PRIMARY, RANK_DEFICIENT, Reading
from soqo.typing import Array

_SCALE, _HYSCALE = "SCaLE as printed", "HySCaLE as printed"


def _costs(evidence: Evidence, name: str) -> MovementCosts | None:
    return next((found for found in evidence.movement if found.setting == name), None)


def _move_more(samples: Samples, evidence: Evidence, reading: Reading) -> list[Case]:
    """Test whether both learners pay more for switching than SCaLE does."""
    found = _costs(evidence, PRIMARY)
    if found is None:
        return []
    spent = {
        name: samples.reduce(PRIMARY, reading, found.switching[name])
        for name in ("POL", "OAL", _SCALE, _HYSCALE, "FTM", BENCHMARK)
    }
    hitting = {name: samples.reduce(PRIMARY, reading, found.hitting[name]) for name in (_SCALE, BENCHMARK)}
    learners = lowest(spent["POL"], spent["OAL"])
    numbers = [measure("POL and OAL, the lesser, over SCaLE", learners / spent[_SCALE])]
    numbers += [measure(f"switching cost of {name}", values) for name, values in spent.items()]
    numbers += [measure(f"hitting cost of {name}", values) for name, values in hitting.items()]
    return [decide(PRIMARY, learners > spent[_SCALE], True, samples.runs, *numbers)]


def _tell_hybrid_movement(samples: Samples, evidence: Evidence, _: Sequence[Reading]) -> str:
    """Return what HySCaLE pays for switching, as a multiple of what the learners pay."""
    found = _costs(evidence, PRIMARY)
    if found is None:
        return ""
    spent = {name: samples.reduce(PRIMARY, LITERAL, found.switching[name])[0] for name in ("POL", "OAL", _HYSCALE)}
    share = format_short(float(spent[_HYSCALE] / min(spent["POL"], spent["OAL"])))
    return f"against SCaLE; HySCaLE pays {share} times what the better learner pays"


def _overpower(samples: Samples, evidence: Evidence, reading: Reading) -> list[Case]:
    """Test whether a singular A makes switching cost more than hitting, and by a larger factor than in full rank.

    There are three cases for each setting: SCaLE's probes, its play after them, and the play of LAI.
    """
    cases = []
    for deficient, full in FULL_RANK.items():
        both = [found for name in (deficient, full) if (found := _costs(evidence, name)) is not None]
        if len(both) < 2:
            continue
        for place, whose, costs in _PLAY:
            ratios = []
            for one in both:
                switching, hitting = (samples.reduce(one.setting, reading, values) for values in costs(one))
                ratios.append(switching / hitting)
            labels = (f"switching over hitting costs of {whose}, r = 1", "the same, r = 4")
            numbers = [measure(label, values) for label, values in zip(labels, ratios, strict=True)]
            passed = np.asarray(ratios[0] > highest(np.ones_like(ratios[1]), ratios[1]))
            cases.append(decide(f"{deficient}{place}", passed, True, samples.runs, *numbers))
    return cases


def _probe_costs(found: MovementCosts) -> tuple[Array, Array]:
    return found.probing_switching[_SCALE], found.probing_hitting[_SCALE]


def _later_costs(found: MovementCosts) -> tuple[Array, Array]:
    switching, hitting = _probe_costs(found)
    return found.switching[_SCALE] - switching, found.hitting[_SCALE] - hitting


def _benchmark_costs(found: MovementCosts) -> tuple[Array, Array]:
    return found.switching[BENCHMARK], found.hitting[BENCHMARK]


_PLAY: tuple[tuple[str, str, Callable[[MovementCosts], tuple[Array, Array]]], ...] = (
    ("", "SCaLE's probes", _probe_costs),
    (", SCaLE's play", "SCaLE's play after its probes", _later_costs),
    (", LAI's play", "LAI's play", _benchmark_costs),
)
"""Whose costs are compared: a suffix for the case, words, and the switching and the hitting costs."""


INTRODUCTION_CLAIMS = (
    untestable_claim(
        "first-algorithm",
        "SCaLE is the first algorithm with a distribution-agnostic sub-linear dynamic regret that does not know A",
        "Abstract and contribution (b) 1",
        (
            "We provide the first algorithm SCaLE that provably achieves a distribution-agnostic sub-linear dynamic "
            "regret, without the knowledge of hitting cost structure."
        ),
        (
            "that it is the first is about the literature. What is provable is judged with Theorems 1 to 5; SCaLE is "
            "given the rank, sigma_r and the cap of the noise"
        ),
        section="introduction",
    ),
    CONSISTENCY,
    CONSISTENCY_IN_FIGURES,
    ClaimRule(
        id="movement-costs",
        kind=Kind.EXPERIMENT,
        text="learning-based policies have uncontrolled movement costs: they pay more for switching than SCaLE",
        source="Section 1, Figure 1",
        quote=(
            "The violation of any of these assumptions can lead to uncontrolled movement costs, a drawback of "
            "learning-based techniques illustrated in Figure 1."
        ),
        section="introduction",
        rule="after 1,000 rounds, POL and OAL have each paid more for switching than SCaLE as printed",
        settings=(PRIMARY,),
        axes=("statistic",),
        cases=_move_more,
        remark=(
            "Figure 1 names no setting; that of Figure 3 is used. At the text's rate the learners' estimates are far "
            "too large, so that they follow v as FTM does. SCaLE as printed moves hardly more than LAI, and pays in "
            "hitting costs instead. The tables of all figures have both costs."
        ),
        numbers_for_note=_tell_hybrid_movement,
    ),
    ClaimRule(
        id="switching-overpowers",
        kind=Kind.THEORY,
        text="where A is singular, switching costs overpower hitting costs",
        source="Section 1, degeneracy in high dimensions",
        quote=(
            "When A is rank-deficient or singular, two critical failures occur: (i) the bandit feedback provides no "
            "useful signal for learning, effectively collapsing to pure noise, and (ii) switching costs overpower "
            "hitting costs."
        ),
        section="introduction",
        rule=(
            "in Figure 5's settings, SCaLE's probes, its play after them, and LAI's play each cost more for switching "
            "than for hitting, by a larger factor than in full rank (Figures 7 and 8)"
        ),
        settings=(*RANK_DEFICIENT, *FULL_RANK.values()),
        axes=("statistic",),
        cases=_overpower,
        note="for probes, not for play",
        remark=(
            "On the null space hitting costs are zero, so that the sentence is true there. LAI balances both: along an "
            "eigenvector with eigenvalue a it pays, after many rounds, lambda times as much for hitting as for "
            "switching, where lambda is its gain, which tends to 1 as a tends to 0."
        ),
    ),
    checked_claim(
        "figure2-noise",
        "along the null space of a singular A, the measured costs are pure noise",
        "Section 1, Figure 2",
        "The bandit feedback provides no useful signal for learning, effectively collapsing to pure noise.",
        (
            "the displacement explains most of the variance of measured costs along the eigenvector, and none along a "
            "null direction"
        ),
        section="introduction",
    ),
    checked_claim(
        "tradeoff-blind",
        "a policy that tracks v without probing is blind when it needs an entry of A for the first time",
        "Section 1 and the last appendix, option 1",
        (
            "The first d rounds only generated information about A_11, forcing the player to make a blind guess. ... "
            "This will happen repeatedly."
        ),
        (
            "in the appendix's example, no earlier reading responds to the entry of A that a round needs, in each of "
            "rounds d+1 to 2d-1"
        ),
        "examples/11_fundamental_tradeoff.py plays the example, with the costs of both options.",
        section="tradeoff",
    ),
    checked_claim(
        "tradeoff-cost",
        "m rounds of measurement cost of the order gamma^2 m",
        "Section 1 and the last appendix, option 2",
        (
            "Each round of measurement cost the player to the tune of Theta(gamma^2), with m rounds of measurements "
            "leading to a linear regret."
        ),
        "the exponents of the exact regret of probing in gamma^2 and in m are 1 within 0.05",
        section="tradeoff",
    ),
    untestable_claim(
        "tradeoff-orthogonal",
        "smoothed online optimization and learning from data are orthogonal tasks, and extremely difficult to combine",
        "The last appendix, last sentence",
        "SOQO and data-driven learning are orthogonal tasks and are extremely difficult to combine.",
        (
            "difficulty is no number. Beside the figures, GLIDE learns A from its own movement, without a phase of "
            "measurement"
        ),
        section="tradeoff",
    ),
)
"""The claims of the abstract, of Section 1 and of the last appendix."""
