"""Six cooling units for a day: the room, the set points of one unit, and what each policy costs."""

import soqo
from soqo.plants import DataCenter, Interpolation, drive

policies = {
    "FTM": soqo.FTM(),
    "interpolation 0.5": Interpolation(0.5),
    "GLIDE": soqo.GLIDE(offset=False, trusted_distance=2.0),
}
result = drive(DataCenter(), policies, rounds=288, seeds=1)

theme = "light"  # or "dark"
figure = result.plot(theme=theme)
