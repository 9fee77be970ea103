"""Simulated plants that a policy steers in a closed loop: a wind farm and a data center, with costs in kW and money.

>>> from soqo.plants import WindFarm
>>> WindFarm().dim
9
"""

from soqo.plants._baselines import Deadband, Interpolation, ScheduledLAI
from soqo.plants._contenders import ORACLE, contenders
from soqo.plants._curvature import CurvatureFit, fit_curvature
from soqo.plants._data_center._center import DataCenter
from soqo.plants._data_center._load import Load
from soqo.plants._drive import Contender, drive
from soqo.plants._page import write_page
from soqo.plants._plant import Conditions, Plant
from soqo.plants._quadratic import Quadratic
from soqo.plants._result import Cost, Drive
from soqo.plants._wind_farm._farm import WindFarm
from soqo.plants._wind_farm._floris_wake import FlorisWake
from soqo.plants._wind_farm._gaussian_wake import GaussianWake
from soqo.plants._wind_farm._turbine import Turbine
from soqo.plants._wind_farm._wind import Wind

__all__ = [
    "ORACLE",
    "Conditions",
    "Contender",
    "Cost",
    "CurvatureFit",
    "DataCenter",
    "Deadband",
    "Drive",
    "FlorisWake",
    "GaussianWake",
    "Interpolation",
    "Load",
    "Plant",
    "Quadratic",
    "ScheduledLAI",
    "Turbine",
    "Wind",
    "WindFarm",
    "contenders",
    "drive",
    "fit_curvature",
    "write_page",
]
