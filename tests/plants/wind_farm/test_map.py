"""The map of a farm."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from soqo.plants import Interpolation, WindFarm, drive


def test_map_draws_a_rotor_across_its_heading() -> None:
    farm = WindFarm(layout=[[0.0, 0.0], [5.0, 0.0]])
    result = drive(farm, {"GLIDE": Interpolation(0.5)}, rounds=4, seeds=1)
    figure: Figure = result.plot()
    axes = figure.axes[0]
    rotors = [line.get_xydata() for line in axes.get_lines()]
    assert len(rotors) == 4  # the best heading and the position, for each turbine
    across = np.diff(np.asarray(rotors[2]), axis=0)[0]
    facings = np.deg2rad(result.positions[0, :, 0, 0])
    along = np.stack([np.sin(facings), np.cos(facings)], axis=1)  # in one of the rounds, the rotor is across this
    assert np.abs(along @ across).min() < 1e-9
    assert len(axes.get_images()) == 1
