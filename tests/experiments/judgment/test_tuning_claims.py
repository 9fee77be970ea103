"""Claims about c1: the bottom of a curve, and how it moves with eta."""

from __future__ import annotations

from invented_regret import judge_invented

from soqo.experiments import Setting, Status, find
from soqo.experiments.settings import LITERAL

SENSITIVITY = [setting.name for setting in find("sensitivity")]


def with_bottom_at(*best: float) -> dict[str, Status]:
    """Judge curves over c1 whose bottoms are at these values, for increasing eta."""

    def curve(setting: Setting, name: str, _: int) -> float:
        c1, bottom = float(name.split("/")[-1]), best[SENSITIVITY.index(setting.name)]
        return 1.0 + abs(c1 - bottom)

    judgment = judge_invented(curve, SENSITIVITY, [LITERAL])
    return {claim.id: claim.status for claim in judgment.tested}


def test_bottoms_near_three_are_constant_and_u_shaped() -> None:
    found = with_bottom_at(3.0, 3.0, 2.5, 3.0, 4.0)
    assert found == dict.fromkeys(("c1-u-shape", "c1-three", "c1-constant"), Status.HOLDS)


def test_a_bottom_that_moves_or_lies_at_an_end_is_told() -> None:
    found = with_bottom_at(3.0, 3.0, 3.0, 3.0, 10.0)
    # Where regret still falls at the largest c1, a U is not seen; "across" is refuted by one eta.
    assert found == {"c1-u-shape": Status.PARTLY, "c1-three": Status.FAILS, "c1-constant": Status.FAILS}
    ones = with_bottom_at(1.0, 1.0, 1.0, 1.0, 1.5)
    assert ones["c1-constant"] is Status.HOLDS
    assert ones["c1-three"] is Status.FAILS
