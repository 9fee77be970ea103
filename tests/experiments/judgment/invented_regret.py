"""Invented regret of every policy that readings need, for which the verdict of every claim is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from soqo.experiments import Judgment, Reading, Setting, catalogue, judge
from soqo.experiments.execution import Regrets, RegretTable
from soqo.experiments.judgment import tune_c1
from soqo.experiments.settings import ReadingPlan, few_readings, plan_first_stage, plan_second_stage

RUNS = 12
Regret = Callable[[Setting, str, int], float]
"""The regret of a policy in a setting at a horizon."""

SETTINGS = {setting.name: setting for setting in catalogue() if setting.name != "intro"}


def as_the_paper_says(setting: Setting, name: str, T: int) -> float:
    """Return regret for which every claim of the paper about regret is true."""
    kind, *parts = name.split("/")
    c1 = float(parts[-1]) if kind in ("SCaLE", "HySCaLE") and parts[-1] != "slow" else 3.0
    if setting.swept:
        return float(1.0 + np.log(c1 / 3.0) ** 2)
    deficient = "_r1_" in setting.name or "rank_deficient" in setting.name
    growth = math.pow(T, 0.6 if deficient else 0.4)
    if kind == "HySCaLE":
        heavy = setting.name.startswith(("heavy_tails", "laplace"))
        return 150.0 * math.pow(T, 1.2) if heavy else 0.9 * growth
    if kind == "SCaLE":
        return growth * (1.0 + 0.01 * (c1 - 3.0) ** 2)
    return (200.0 if "0.01" in setting.name else 100.0) * math.pow(T, 1.2)


def invented_table(
    plans: Sequence[ReadingPlan], regret: Regret, spread: float = 0.01, paired: bool = True
) -> RegretTable:
    """Return a table in which the runs differ from the given regret by a few percent, all policies alike if paired."""
    rng = np.random.default_rng(1)
    common = 1.0 + spread * rng.standard_normal(RUNS)
    table: RegretTable = {}
    for plan in plans:
        setting = SETTINGS[plan.setting]
        for T, policies in plan.policies.items():
            own = 1.0 + spread * rng.standard_normal((len(policies), RUNS))
            factors = common if paired else own
            numbers = np.array([regret(setting, name, T) for name in policies])[:, None] * factors
            # Nearly everything is paid while exploring.
            place = (tuple(policies), numbers, 0.99 * numbers, np.zeros(numbers.shape, np.bool_))
            table[plan.setting, plan.spectrum, T] = Regrets(*place)
    return table


def judge_invented(
    regret: Regret,
    names: Sequence[str] | None = None,
    readings: Sequence[Reading] | None = None,
    spread: float = 0.01,
    paired: bool = True,
) -> Judgment:
    """Judge the claims from this regret, in some settings or in all."""
    settings = [SETTINGS[name] for name in names] if names is not None else list(SETTINGS.values())
    used = few_readings() if readings is None else readings
    first = plan_first_stage(settings, used)
    table = invented_table(first, regret, spread, paired)
    tuned = tune_c1(settings, table, used)
    for place, regrets in invented_table(plan_second_stage(settings, used, tuned), regret, spread, paired).items():
        known = table.get(place)
        new = [name for name in regrets.policies if known is None or name not in known.policies]
        if known is None:
            table[place] = regrets
        elif new:
            table[place] = Regrets.join_policies([known, regrets.choose(new)])
    return judge(settings, table, tuned, used)
