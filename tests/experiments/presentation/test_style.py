"""Colors: one per policy, distinguishable for color-blind readers."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import colors

from soqo import policies
from soqo.experiments.execution import Outcome
from soqo.experiments.judgment import Evidence
from soqo.experiments.presentation import (
    ReportData,
    policy_styles,
    render_page,
    report_figures,
    sequential_colors,
)

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


DARK_PAGE = "#1b1e24"


def contrast(one: str, other: str) -> float:
    """By the definition of WCAG 2.1."""

    def luminance(color: str) -> float:
        parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        r, g, b = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_color_stands_out_on_the_dark_page(outcomes: dict[str, Outcome]) -> None:
    second = outcomes["second"]
    kinds = [*POLICIES, *map(str, range(8))]
    record, policy = second.results[60]["FTM"], second.setting.policies["FTM"]
    results = {60: replace(second.results[60], records=dict.fromkeys(kinds, record))}
    outcome = Outcome(replace(second.setting, policies=dict.fromkeys(kinds, policy)), results)
    about = {"command": "", "quick": False, "versions": {}, "code": "", "settings": {"a": {"runs": 1, "seed": 0}}}
    page = render_page(ReportData((outcome,), None, Evidence(), tuple(report_figures([outcome])), about))
    light, dark = [dict(re.findall(r"(--c-\w+): (#\w+);", row)) for row in page.splitlines() if ":root { --c-" in row]
    assert set(light) == set(dark) == {f"--c-{color[1:].lower()}" for color, _ in policy_styles(kinds).values()}
    for color in dark.values():
        assert contrast(color, DARK_PAGE) >= 3.0
