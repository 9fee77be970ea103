"""The paper's numerical section, and experiments of your own (extra ``lab``).

A setting says what to simulate: the paper's are in :func:`catalogue`, yours are read from a TOML file. :func:`run`
simulates settings and returns outcomes. :func:`reproduce` also judges the paper's claims under every reading of its
text, and writes figures, tables, data and a page. :func:`tune`, :func:`bound_setting` and :func:`fit` search for a
parameter, compare regret with its bounds, and estimate A from data.

The rooms are ``settings``, ``execution``, ``judgment`` and ``presentation``. Importing them does not import Matplotlib.
"""

from soqo.experiments._compare_bounds import bound_setting
from soqo.experiments._fit_readings import METHODS, Fit, fit, read_readings
from soqo.experiments._reproduce import Report, quick_setting, reproduce
from soqo.experiments._tune import Tuning, TuningCurve, tune
from soqo.experiments.execution import BoundsTable, CellProgress, Outcome, run
from soqo.experiments.judgment import Claim, Judgment, Status, judge
from soqo.experiments.presentation import format_bounds, save_bounds
from soqo.experiments.settings import (
    Reading,
    Setting,
    SweepPoint,
    catalogue,
    figures,
    find,
    parse_policy,
    parse_settings,
    policy_constructors,
    read_settings,
)

__all__ = [
    "METHODS",
    "BoundsTable",
    "CellProgress",
    "Claim",
    "Fit",
    "Judgment",
    "Outcome",
    "Reading",
    "Report",
    "Setting",
    "Status",
    "SweepPoint",
    "Tuning",
    "TuningCurve",
    "bound_setting",
    "catalogue",
    "figures",
    "find",
    "fit",
    "format_bounds",
    "judge",
    "parse_policy",
    "parse_settings",
    "policy_constructors",
    "quick_setting",
    "read_readings",
    "read_settings",
    "reproduce",
    "run",
    "save_bounds",
    "tune",
]
