"""The line search for c1."""

from __future__ import annotations

from invented_regret import SETTINGS, invented_table

from soqo.experiments import Reading, Setting
from soqo.experiments.judgment import tune_c1
from soqo.experiments.settings import plan_first_stage


def test_the_line_search_takes_the_value_with_the_least_regret_for_each_statistic() -> None:
    setting = SETTINGS["gaussian_r4_1"]
    readings = [Reading(c1="tuned"), Reading(c1="tuned", statistic="median")]

    def least_at_five(_: Setting, name: str, _horizon: int) -> float:
        kind, *parts = name.split("/")
        return 1.0 + (float(parts[-1]) - 5.0) ** 2 if kind == "SCaLE" else 1.0

    table = invented_table(plan_first_stage([setting], readings), least_at_five)
    place = ("gaussian_r4_1", "linear_1", 1000)
    row = table[place].policies.index("SCaLE/algorithm/cap/5")
    table[place].regret[row, -1] = 1e9  # one run spoils the mean of the best value, and not its median
    found = tune_c1([setting], table, readings)
    assert found == {("gaussian_r4_1", "linear_1", "algorithm", "cap"): {"mean": 3.0, "median": 5.0}}
