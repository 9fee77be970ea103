"""Nine turbines under the same wind: the farm, the headings of one turbine, and what each policy costs."""

import soqo
from soqo.plants import Deadband, Interpolation, WindFarm, drive

policies = {
    "FTM": soqo.FTM(),
    "deadband": Deadband(8.0),
    "interpolation 0.5": Interpolation(0.5),
    "GLIDE": soqo.GLIDE(),
}
result = drive(WindFarm(), policies, rounds=150, seeds=1)

theme = "light"  # or "dark"
figure = result.plot(theme=theme)
