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
from soqo.experiments.settings._setting import MAX_RUNS, Setting, SweepPoint
from soqo.experiments.settings._settings_file import SETTING_KEYS, parse_settings, read_settings
from soqo.experiments.settings._toml_line_numbers import Document, KeyPath, parse_toml

__all__ = [
    "KNOWN_ARGUMENTS",
    "MAX_RUNS",
    "REQUIRED",
    "SETTING_KEYS",
    "Constructor",
    "Document",
    "KeyPath",
    "Setting",
    "SweepPoint",
    "catalogue",
    "figures",
    "find",
    "known_arguments",
    "parse_policy",
    "parse_settings",
    "parse_toml",
    "policy_constructors",
    "read_settings",
]
