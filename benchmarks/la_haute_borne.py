"""Write the wind of a turbine at La Haute Borne as a trace, from the data that the wheel of OpenOA contains.

    pip install --no-deps openoa
    python benchmarks/la_haute_borne.py wind.csv
    soqo plants wind-farm --trace wind.csv

The data are ENGIE's, under the French Open Licence; they are not part of this repository.
"""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pandas as pd

TURBINE = "R80711"


def read_wind() -> pd.DataFrame:
    """Return direction and speed, one row for each 10 minutes; gaps of up to an hour are interpolated."""
    archive = Path(str(distribution("openoa").locate_file("examples/data/la_haute_borne.zip")))
    with zipfile.ZipFile(archive) as file, file.open("la-haute-borne-data-2014-2015.csv") as table:
        frame = pd.read_csv(table)
    frame = frame[frame["Wind_turbine_name"] == TURBINE]
    frame.index = pd.DatetimeIndex(pd.to_datetime(frame["Date_time"], utc=True))
    frame = frame[~frame.index.duplicated()].sort_index().resample("10min").first()
    turns = np.deg2rad(frame["Wa_avg"])
    parts = pd.DataFrame({"east": np.sin(turns), "north": np.cos(turns), "speed": frame["Ws_avg"]})
    parts = parts.interpolate(limit=6).dropna()
    direction = np.rad2deg(np.arctan2(parts["east"], parts["north"])) % 360.0
    return pd.DataFrame({"direction": direction.round(2), "speed": parts["speed"].round(3)})


if __name__ == "__main__":
    read_wind().to_csv(sys.argv[1] if len(sys.argv) > 1 else "wind.csv", index_label="time")
