"""Colors: one per policy, told apart by the color-blind."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from matplotlib import colors

from soqo.experiments.presentation._style import BOUNDS, COLORS, OTHERS, look, ordered

# Viénot, Brettel and Mollon (1999): what a deuteranope and a protanope see of linear RGB.
SIMULATED = {
    "deuteranope": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
    "protanope": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
}


@pytest.mark.parametrize(
    "names",
    [
        COLORS,
        ("Theorem 1", "Theorem 3", "Corollary 1"),
        ("Theorem 2", "Theorem 5", "Second order"),
    ],
)
def test_colors_differ_for_every_kind_of_eye(names: Iterable[str]) -> None:
    codes = {**BOUNDS, **COLORS}
    linear = {name: np.array(colors.to_rgb(codes[name])) ** 2.2 for name in names}
    for matrix in (np.eye(3), *SIMULATED.values()):
        seen = {name: np.clip(matrix @ rgb, 0, 1) ** (1 / 2.2) for name, rgb in linear.items()}
        for one, other in itertools.combinations(seen, 2):
            assert np.linalg.norm(seen[one] - seen[other]) > 0.12, (one, other)


def test_variants_share_a_color_and_differ_in_style() -> None:
    looks = look(("POL, rate 1e-6", "POL, rate 1e-8", "ROBD (knows A)", "Mine", "Yours", "Mine 2"))
    assert looks["POL, rate 1e-6"] == (COLORS["POL"], "-")
    assert looks["POL, rate 1e-8"] == (COLORS["POL"], "--")
    assert looks["ROBD (knows A)"] == (COLORS["ROBD"], "-")
    assert looks["Mine"] == (OTHERS[0], "-")
    assert looks["Yours"] == (OTHERS[1], "-")
    assert looks["Mine 2"] == (OTHERS[0], "--")


def test_what_is_as_printed_is_dashed_wherever_it_stands() -> None:
    names = ("SCaLE as printed", "SCaLE", "SCaLE, c1 5", "HySCaLE", "HySCaLE as printed")
    assert [style for _, style in look(names).values()] == ["--", "-", ":", "-", "--"]


def test_ordered_colors_become_lighter() -> None:
    lightness = [np.array(colors.to_rgb(color)) @ [0.21, 0.72, 0.07] for color in ordered(6)]
    assert lightness == sorted(lightness)
    assert len(ordered(1)) == 1
