"""Four turbines for a day: the farm, the headings of one turbine, and what each policy costs."""

import soqo
from soqo.plants import Deadband, Interpolation, WindFarm, drive

policies = {
    "FTM": soqo.FTM(),
    "deadband": Deadband(8.0),
    "interpolation 0.5": Interpolation(0.5),
    "GLIDE": soqo.GLIDE(),
}
layout = [[0.0, 0.0], [5.0, 0.0], [0.0, 5.0], [5.0, 5.0]]  # in rotor diameters, to the east and to the north
result = drive(WindFarm(layout=layout), policies, rounds=144, seeds=1)

theme = "light"  # or "dark"
figure = result.plot(theme=theme)
