"""soqo: smoothed online quadratic optimization with an unknown cost, one noisy number of feedback, and costly moves.

Each round a player sees the moving minimizer v_t, plays x_t, pays 1/2 (x-v)'A(x-v) + 1/2 |x_t - x_{t-1}|^2 and observes
the first term, the hitting cost, with noise. A is unknown.

The names of this module are what most users need. `soqo.processes` and `soqo.noise` hold the models of v and of the
noise, `soqo.policies`, `soqo.estimators` and `soqo.theory` all policies, estimators and theorems, `soqo.checks` the
contract checks for your own classes, `soqo.typing` and `soqo.errors` types and exceptions, and `soqo.experiments`
(extra ``lab``, not imported by default) the reproduction of the paper.
"""

from soqo import checks, errors, estimators, meters, noise, policies, processes, service, theory, typing
from soqo._control.controller import Controller
from soqo._control.fleet import Fleet
from soqo._control.log import Log
from soqo._control.replay import Information, Replay, replay
from soqo._control.suitability import Finding, LogCheck, check_log
from soqo._doctor.diagnosis import Diagnosis, doctor
from soqo._model.changing_curvature import Change
from soqo._model.gains import contraction
from soqo._model.planner import Plan, hindsight_optimum
from soqo._model.problem import Problem, RandomProblem, random_curvature
from soqo._simulation.actuation import Actuation
from soqo._simulation.context import Context
from soqo._simulation.covariates import Covariates
from soqo._simulation.delay import Delay
from soqo._simulation.environment import Environment
from soqo._simulation.factor import Factor
from soqo._simulation.offset import Offset
from soqo._simulation.outages import Outages
from soqo._simulation.paths import Paths
from soqo._simulation.play import Trajectory, play
from soqo._simulation.result import PolicyResult, Result
from soqo._simulation.simulate import simulate
from soqo._simulation.summary import PolicySummary, Summary
from soqo._version import __version__
from soqo.estimators import Estimate, Status, psd_least_absolute_deviations, psd_least_squares, trace_min
from soqo.policies import (
    FTM,
    GLIDE,
    LAI,
    OAL,
    POL,
    RLS,
    ROBD,
    Guarded,
    HySCaLE,
    Limited,
    Periodic,
    Policy,
    SCaLE,
    State,
    Weighted,
)
from soqo.service import AsyncClient, Client

__all__ = [
    "FTM",
    "GLIDE",
    "LAI",
    "OAL",
    "POL",
    "RLS",
    "ROBD",
    "Actuation",
    "AsyncClient",
    "Change",
    "Client",
    "Context",
    "Controller",
    "Covariates",
    "Delay",
    "Diagnosis",
    "Environment",
    "Estimate",
    "Factor",
    "Finding",
    "Fleet",
    "Guarded",
    "HySCaLE",
    "Information",
    "Limited",
    "Log",
    "LogCheck",
    "Offset",
    "Outages",
    "Paths",
    "Periodic",
    "Plan",
    "Policy",
    "PolicyResult",
    "PolicySummary",
    "Problem",
    "RandomProblem",
    "Replay",
    "Result",
    "SCaLE",
    "State",
    "Status",
    "Summary",
    "Trajectory",
    "Weighted",
    "__version__",
    "check_log",
    "checks",
    "contraction",
    "doctor",
    "errors",
    "estimators",
    "hindsight_optimum",
    "meters",
    "noise",
    "play",
    "policies",
    "processes",
    "psd_least_absolute_deviations",
    "psd_least_squares",
    "random_curvature",
    "replay",
    "service",
    "simulate",
    "theory",
    "trace_min",
    "typing",
]
