"""Settings: what to simulate, as data; the paper's catalogue, and the policies that a file can name."""

from soqo.experiments.settings._catalogue import catalogue, figures, find
from soqo.experiments.settings._constructors import (
    KNOWN_ARGUMENTS,
    REQUIRED,
    Constructor,
    known_arguments,
    policy_constructors,
)
from soqo.experiments.settings._policy_text import parse_policy
from soqo.experiments.settings._reading_plans import ReadingPlan, TunedC1, plan_first_stage, plan_second_stage
from soqo.experiments.settings._readings import AXES, LITERAL, Choice, Reading, all_readings, few_readings
from soqo.experiments.settings._setting import Setting, SweepPoint
from soqo.experiments.settings._settings_file import SETTING_KEYS, parse_settings, read_settings
from soqo.experiments.settings._toml_line_numbers import Document, KeyPath, parse_toml

__all__ = [
    "AXES",
    "KNOWN_ARGUMENTS",
    "LITERAL",
    "REQUIRED",
    "SETTING_KEYS",
    "Choice",
    "Constructor",
    "Document",
    "KeyPath",
    "Reading",
    "ReadingPlan",
    "Setting",
    "SweepPoint",
    "TunedC1",
    "all_readings",
    "catalogue",
    "few_readings",
    "figures",
    "find",
    "known_arguments",
    "parse_policy",
    "parse_settings",
    "parse_toml",
    "plan_first_stage",
    "plan_second_stage",
    "policy_constructors",
    "read_settings",
]
