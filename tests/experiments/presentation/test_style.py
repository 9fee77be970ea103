"""Colors: one per policy, distinguishable for color-blind readers."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from matplotlib import colors

from soqo import policies
from soqo.experiments.presentation import policy_styles, sequential_colors

WRAPPERS = {"Guarded", "Limited", "Periodic", "Weighted", "Wrapper"}
"""Their names are not those of curves: a curve has the name that its author gave it."""

POLICIES = [name for name in policies.__all__ if inspect.isclass(getattr(policies, name)) and name not in WRAPPERS]
PAPER = ["LAI", "FTM", "ROBD", "POL", "OAL", "SCaLE", "HySCaLE"]

# Viénot, Brettel and Mollon (1999): linear RGB as a deuteranope and a protanope see it.
SIMULATED = {
    "deuteranope": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
    "protanope": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
}


def assert_distinguishable(codes: Sequence[str]) -> None:
    """For trichromats, deuteranopes and protanopes."""
    linear = {code: np.array(colors.to_rgb(code)) ** 2.2 for code in codes}
    for matrix in (np.eye(3), *SIMULATED.values()):
        seen = {code: np.clip(matrix @ rgb, 0, 1) ** (1 / 2.2) for code, rgb in linear.items()}
        for one, other in itertools.combinations(seen, 2):
            assert np.linalg.norm(seen[one] - seen[other]) > 0.12, (one, other)


def color_of(name: str, *others: str) -> str:
    return policy_styles([*others, name])[name][0]


@pytest.mark.parametrize("names", [POLICIES, [*PAPER, "GLIDE", *map(str, range(8))]], ids=["ours", "new"])
def test_policies_have_colors_that_every_reader_can_distinguish(names: list[str]) -> None:
    found = [color for color, _ in policy_styles(names).values()]
    assert len(set(found)) == len(names)
    assert_distinguishable(found)


def test_a_new_policy_has_the_same_color_in_every_figure() -> None:
    assert color_of("Mine") == color_of("Mine", "FTM", "GLIDE") == color_of("Mine 2", "SCaLE")
    assert color_of("Mine") not in {color_of(name) for name in (*PAPER, "GLIDE")}


def test_more_policies_than_colors_still_differ_in_color_or_style() -> None:
    found = policy_styles([f"P{k}" for k in range(24)]).values()
    assert len(set(found)) == 24


def test_names_of_one_policy_share_a_color_and_differ_in_style() -> None:
    styles = policy_styles(("POL, rate 1e-6", "POL, rate 1e-8", "ROBD (knows A)", "Mine", "Yours", "Mine 2"))
    assert styles["POL, rate 1e-6"] == (color_of("POL"), "-")
    assert styles["POL, rate 1e-8"] == (color_of("POL"), "--")
    assert styles["ROBD (knows A)"] == (color_of("ROBD"), "-")
    assert styles["Mine"][1] == styles["Yours"][1] == "-"
    assert styles["Mine"][0] != styles["Yours"][0]
    assert styles["Mine 2"] == (styles["Mine"][0], "--")


def test_a_name_with_as_printed_is_solid_at_any_position_and_the_next_one_is_dashed() -> None:
    names = ("SCaLE as printed", "SCaLE", "SCaLE, c1 5", "HySCaLE", "HySCaLE as printed")
    assert [style for _, style in policy_styles(names).values()] == ["-", "--", ":", "--", "-"]


def test_sequential_colors_become_lighter() -> None:
    lightness = [np.array(colors.to_rgb(color)) @ [0.21, 0.72, 0.07] for color in sequential_colors(6)]
    assert lightness == sorted(lightness)
    assert len(sequential_colors(1)) == 1
