"""soqo: smoothed online quadratic optimization when the cost is unknown and feedback is one noisy number.

Each round a player sees the moving minimizer v_t, plays x_t, pays 1/2 (x-v)'A(x-v) + 1/2 |x_t - x_{t-1}|^2 and hears
one noisy number, the hitting cost. A is unknown. Everything that a user needs is a name of this module;
`soqo.processes`, `soqo.noise`, `soqo.theory` and `soqo.checks` are modules to look into.
"""

from soqo import checks, errors, noise, processes, theory
from soqo._changes import Change
from soqo._controller import Controller
from soqo._environment import Environment, Paths
from soqo._log import Log
from soqo._planner import Plan, hindsight_optimum
from soqo._problem import Problem, RandomProblem, random_curvature
from soqo._replay import Information, Replay, replay
from soqo._result import Result
from soqo._simulation import simulate
from soqo._version import __version__
from soqo.estimators._estimate import Estimate, Status
from soqo.estimators.sdp._least_squares import psd_least_squares
from soqo.estimators.sdp._trace_min import psd_least_absolute_deviations, trace_min
from soqo.policies._base import Policy, State
from soqo.policies._known import FTM, LAI, ROBD
from soqo.policies._learners import OAL, POL
from soqo.policies._scale import HySCaLE, SCaLE
from soqo.policies._wrappers import Limited, Weighted
from soqo.policies.glide._policy import GLIDE

__all__ = [
    "FTM",
    "GLIDE",
    "LAI",
    "OAL",
    "POL",
    "ROBD",
    "Change",
    "Controller",
    "Environment",
    "Estimate",
    "HySCaLE",
    "Information",
    "Limited",
    "Log",
    "Paths",
    "Plan",
    "Policy",
    "Problem",
    "RandomProblem",
    "Replay",
    "Result",
    "SCaLE",
    "State",
    "Status",
    "Weighted",
    "__version__",
    "checks",
    "errors",
    "hindsight_optimum",
    "noise",
    "processes",
    "psd_least_absolute_deviations",
    "psd_least_squares",
    "random_curvature",
    "replay",
    "simulate",
    "theory",
    "trace_min",
]
