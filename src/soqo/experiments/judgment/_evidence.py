"""Evidence beside regret: all numbers of a run about queries, estimates, spectral errors, tails and theory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from soqo._foundation.frozen_dataclasses import Value
from soqo.experiments.execution import Outcome
from soqo.experiments.judgment._estimate_evidence import EstimateErrors, measure_errors
from soqo.experiments.judgment._movement_evidence import MovementCosts, measure_movement
from soqo.experiments.judgment._probed_estimates import BEYOND, LONGEST, SHORTEST, estimate_by_probes
from soqo.experiments.judgment._query_evidence import EstimationRisk, RubExperiment, measure_risk, measure_rub
from soqo.experiments.judgment._spectral_evidence import SpectralSplit, measure_split
from soqo.experiments.judgment._tails import Tail, measure_tails
from soqo.experiments.judgment._theory_checks import check_theory
from soqo.experiments.judgment._verdicts import Case
from soqo.experiments.settings import (
    FULL_RANK,
    HEAVY_TAILS,
    PRIMARY,
    RANK_DEFICIENT,
    SPLIT,
    Reading,
    Setting,
    TunedC1,
)


@dataclass(frozen=True)
class Evidence(Value):
    """All evidence of a run.

    Attributes
    ----------
    rub : tuple of RubExperiment
    risk : tuple of EstimationRisk
    split : tuple of SpectralSplit
    estimates : tuple of EstimateErrors
    movement : tuple of MovementCosts
    tails : tuple of Tail
    tuned_c1 : mapping of str to mapping of str to float
        For each setting, the c1 with the least mean and median regret of SCaLE to the letter.
    checks : mapping of str to tuple of Case
        Checks of theory that need no simulated setting, by the id of the claim.
    """

    rub: tuple[RubExperiment, ...] = ()
    risk: tuple[EstimationRisk, ...] = ()
    split: tuple[SpectralSplit, ...] = ()
    estimates: tuple[EstimateErrors, ...] = ()
    movement: tuple[MovementCosts, ...] = ()
    tails: tuple[Tail, ...] = ()
    tuned_c1: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    checks: Mapping[str, tuple[Case, ...]] = field(default_factory=dict, repr=False)

    TAIL_REASON = (
        "Cauchy steps have no mean, so that an average over runs does not settle with their number, and the largest "
        "run decides it; medians, quantiles and trimmed means do settle."
    )
    """Why heavy tails are shown by quantiles and trimmed means."""


def gather_evidence(
    settings: Iterable[Setting], outcomes: Sequence[Outcome], tuned: TunedC1, readings: Sequence[Reading], runs: int
) -> Evidence:
    """Compute the evidence that the paper's settings allow.

    Parameters
    ----------
    settings : iterable of Setting
        The paper's settings that were simulated.
    outcomes : sequence of Outcome
        Their outcomes.
    tuned : TunedC1
        The c1 of the reading "tuned".
    readings : sequence of Reading
        The readings.
    runs : int
        The number of runs.

    Returns
    -------
    Evidence
        The evidence.

    Examples
    --------
    >>> gather_evidence([], [], {}, [], runs=20).rub
    ()
    """
    known = {setting.name: setting for setting in settings}
    combinations = dict.fromkeys((str(reading.gamma2), str(reading.radius)) for reading in readings)
    probed = [
        estimate_by_probes(known[name], *combination, horizon, runs)
        for name in SPLIT
        if name in known
        for combination in combinations
        for horizon in (SHORTEST, LONGEST, BEYOND)
    ]
    return Evidence(
        rub=tuple(measure_rub(known[name], runs) for name in (*HEAVY_TAILS, *RANK_DEFICIENT) if name in known),
        risk=(measure_risk(1, 4), measure_risk(4, 4)) if known else (),
        split=tuple(measure_split(found) for found in probed if found.horizon == LONGEST),
        estimates=tuple(measure_errors(found) for found in probed),
        movement=tuple(
            measure_movement(outcome) for outcome in outcomes if outcome.setting.name in {*known} & _WITH_MOVEMENT
        ),
        tails=tuple(
            tail for outcome in outcomes if outcome.setting.name in HEAVY_TAILS for tail in measure_tails(outcome)
        ),
        tuned_c1={name: dict(choices) for (name, *rest), choices in tuned.items() if rest == _LITERAL_PLACE},
        checks=check_theory() if known else {},
    )


_WITH_MOVEMENT = {PRIMARY, *RANK_DEFICIENT, *FULL_RANK.values()}
"""The settings with a claim about what is paid for switching."""

_LITERAL_PLACE = ["linear_1", "algorithm", "cap"]
