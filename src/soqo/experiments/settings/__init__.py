"""Settings: what to simulate, as data; the paper's catalogue, and the policies that a file can name."""

from soqo.experiments.settings._catalogue import catalogue, figures, find
from soqo.experiments.settings._constructors import (
    KNOWN_ARGUMENTS,
    REQUIRED,
    Constructor,
    known_arguments,
    policy_constructors,
)
from soqo.experiments.settings._paper_settings import (
    CAUCHY,
    FULL_RANK,
    HEAVY_TAILS,
    LAPLACE,
    LIGHT_TAILS,
    PRIMARY,
    RANK_DEFICIENT,
    SAME_PARAMETERS,
    SENSITIVITY,
    SIXTEEN,
    SPLIT,
    WITH_COVARIANCE,
)
from soqo.experiments.settings._policy_text import parse_policy
from soqo.experiments.settings._reading_meaning import (
    c1_values,
    canonical_spectrum,
    captions_c1,
    scale_arguments,
    with_spectrum,
)
from soqo.experiments.settings._reading_plans import (
    SLOW_HYSCALE,
    SLOW_LEARNERS,
    SLOW_SCALE,
    ReadingPlan,
    TunedC1,
    hyscale_name,
    learner_names,
    plan_first_stage,
    plan_second_stage,
    scale_name,
)
from soqo.experiments.settings._readings import AXES, LITERAL, Choice, Reading, all_readings, few_readings
from soqo.experiments.settings._setting import MAX_RUNS, Setting, SweepPoint
from soqo.experiments.settings._setting_labels import describe_setting
from soqo.experiments.settings._settings_file import SETTING_KEYS, parse_settings, read_settings
from soqo.experiments.settings._toml_line_numbers import Document, KeyPath, parse_toml

__all__ = [
    "AXES",
    "CAUCHY",
    "FULL_RANK",
    "HEAVY_TAILS",
    "KNOWN_ARGUMENTS",
    "LAPLACE",
    "LIGHT_TAILS",
    "LITERAL",
    "MAX_RUNS",
    "PRIMARY",
    "RANK_DEFICIENT",
    "REQUIRED",
    "SAME_PARAMETERS",
    "SENSITIVITY",
    "SETTING_KEYS",
    "SIXTEEN",
    "SLOW_HYSCALE",
    "SLOW_LEARNERS",
    "SLOW_SCALE",
    "SPLIT",
    "WITH_COVARIANCE",
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
    "c1_values",
    "canonical_spectrum",
    "captions_c1",
    "catalogue",
    "describe_setting",
    "few_readings",
    "figures",
    "find",
    "hyscale_name",
    "known_arguments",
    "learner_names",
    "parse_policy",
    "parse_settings",
    "parse_toml",
    "plan_first_stage",
    "plan_second_stage",
    "policy_constructors",
    "read_settings",
    "scale_arguments",
    "scale_name",
    "with_spectrum",
]
