"""The paper's settings in words: the number of the figure, and what distinguishes the setting."""

from __future__ import annotations

import re
from functools import cache

from soqo.experiments.settings._catalogue import catalogue

_SHOWN = ("r", "sigma_r")
_SHOWN_IF_SWEPT = ("eta",)
"""The parameters that distinguish settings; those of a sweep differ in eta only."""


def describe_setting(name: str) -> str:
    """Return the figure of one of the paper's settings, with its steps, rank and sigma_r; another name as it is.

    Parameters
    ----------
    name : str
        The name of the setting; what follows a comma is kept.

    Examples
    --------
    >>> describe_setting("gaussian_r4_0.01")
    'Figure 8 (Gaussian, r = 4, sigma_r = 0.01)'
    >>> describe_setting("sensitivity_100"), describe_setting("mine, first half")
    ('Figure 6 (eta = 100)', 'mine, first half')
    """
    setting, comma, rest = name.partition(", ")
    return f"{_labels().get(setting, setting)}{comma}{rest}"


@cache
def _labels() -> dict[str, str]:
    labels = {}
    for setting in catalogue():
        figure = re.search(r"Figure \d+", setting.source)
        _, _, parameters = setting.title.partition(": ")
        shown = _SHOWN_IF_SWEPT if setting.swept else _SHOWN
        parts = [one.removesuffix(" steps") for one in parameters.split(", ")]
        kept = [one for one in parts if one.split(" = ")[0] in shown or (" = " not in one and not setting.swept)]
        if figure is not None:
            labels[setting.name] = f"{figure[0]} ({', '.join(kept)})" if " = " in parameters else figure[0]
    return labels
