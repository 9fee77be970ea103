"""Evidence beside regret: what a run says about estimates, queries, movement, tails and theory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from soqo._foundation.frozen_dataclasses import Value
from soqo.experiments.execution import Outcome
from soqo.experiments.judgment._estimates import (
    EstimationRisk,
    ProbedEstimates,
    RubExperiment,
    estimate_by_probes,
    measure_risk,
    measure_rub,
)
from soqo.experiments.judgment._theory_checks import check_theory
from soqo.experiments.judgment._verdicts import Case
from soqo.experiments.settings import Reading, Setting, TunedC1
from soqo.policies import SCaLE
from soqo.typing import Array

HORIZONS = (200, 2000, 200_000)
"""The shortest and the longest horizon of the paper's figures, and one so long that gamma^2 grows with it at every
sigma_r; up to 2,000, 1/sigma_r = 100 is above T^(1/2)."""

BENCHMARK = "LAI"
"""The name of the benchmark among the policies."""


@dataclass(frozen=True)
class MovementCosts(Value):
    """The two kinds of costs in a setting, by policy; the benchmark is one of them.

    Attributes
    ----------
    setting : str
        The name of the setting.
    hitting, switching : mapping of str to Array of shape (runs,)
        The costs of all rounds of each run.
    probing_hitting, probing_switching : mapping of str to Array of shape (runs,)
        The costs of the rounds in which SCaLE and HySCaLE explore.
    """

    setting: str
    hitting: Mapping[str, Array] = field(repr=False)
    switching: Mapping[str, Array] = field(repr=False)
    probing_hitting: Mapping[str, Array] = field(repr=False)
    probing_switching: Mapping[str, Array] = field(repr=False)


def measure_movement(outcome: Outcome) -> MovementCosts:
    """Return the costs of all policies of an outcome, hitting and switching apart.

    Parameters
    ----------
    outcome : Outcome
        The outcome of a setting.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from tempfile import TemporaryDirectory
    >>> from soqo import FTM
    >>> from soqo.experiments import find, run
    >>> setting = replace(find("primary")[0], policies={"FTM": FTM()}, horizons=())
    >>> with TemporaryDirectory() as folder:
    ...     costs = measure_movement(run([setting], folder, runs=1, workers=1)[0])
    >>> float(costs.hitting["FTM"][0]), bool(costs.switching["FTM"][0] > costs.switching["LAI"][0])
    (0.0, True)
    """
    setting = outcome.setting
    rounds = {
        name: policy.exploration_rounds(setting.environment.dim)
        for name, policy in setting.policies.items()
        if isinstance(policy, SCaLE)
    }
    whole = {BENCHMARK: outcome.costs(None)} | {name: outcome.costs(name) for name in outcome.policies}
    probing = {name: outcome.costs(name, m) for name, m in rounds.items()}
    sums = [{name: paid[kind] for name, paid in costs.items()} for costs in (whole, probing) for kind in (0, 1)]
    return MovementCosts(setting.name, *sums)


# ---- all of it -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evidence(Value):
    """All evidence of a run.

    Attributes
    ----------
    rub : tuple of RubExperiment
    risk : tuple of EstimationRisk
    estimates : tuple of ProbedEstimates
    movement : tuple of MovementCosts
    tails : mapping of (str, str) to Array of shape (runs,)
        The regret at the end of each policy where steps have no mean, by the names of the setting and the policy.
    tuned_c1 : mapping of str to mapping of str to float
        For each setting, the c1 with the least mean and median regret of SCaLE to the letter.
    checks : mapping of str to tuple of Case
        Checks of theory that need no simulated setting, by the id of the claim.
    """

    rub: tuple[RubExperiment, ...] = ()
    risk: tuple[EstimationRisk, ...] = ()
    estimates: tuple[ProbedEstimates, ...] = ()
    movement: tuple[MovementCosts, ...] = ()
    tails: Mapping[tuple[str, str], Array] = field(default_factory=dict, repr=False)
    tuned_c1: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    checks: Mapping[str, tuple[Case, ...]] = field(default_factory=dict, repr=False)

    @property
    def split(self) -> list[ProbedEstimates]:
        """The estimates at the longest horizon of the figures, for which the two parts of regret are shown."""
        return [found for found in self.estimates if found.horizon == HORIZONS[1]]


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
    known = list(settings)
    names = {setting.name for setting in known}
    own = [outcome for outcome in outcomes if outcome.setting.name in names]
    combinations = dict.fromkeys((str(reading.gamma2), str(reading.radius)) for reading in readings)
    return Evidence(
        rub=tuple(measure_rub(one, runs) for figure in _WITH_RUB for one in known if one.figure == figure),
        risk=(measure_risk(1, 4), measure_risk(4, 4)) if known else (),
        estimates=tuple(
            estimate_by_probes(setting, *combination, horizon, runs)
            for setting in known
            if setting.name.startswith("gaussian")
            for combination in combinations
            for horizon in HORIZONS
        ),
        movement=tuple(
            measure_movement(outcome)
            for outcome in own
            if outcome.setting.figure in _WITH_MOVEMENT or outcome.setting.name.startswith("gaussian_r4")
        ),
        tails={
            (outcome.setting.name, name): outcome.regret(name)
            for outcome in own
            if outcome.setting.figure == "heavy_tails"
            for name in outcome.policies
        },
        tuned_c1={name: dict(choices) for (name, *rest), choices in tuned.items() if rest == _LITERAL_PLACE},
        checks=check_theory() if known else {},
    )


_WITH_RUB, _WITH_MOVEMENT = ("heavy_tails", "rank_deficient"), ("primary", "rank_deficient")
"""The figures with a claim about queries, and those with one about what is paid for switching."""

_LITERAL_PLACE = ["linear_1", "algorithm", "cap"]
