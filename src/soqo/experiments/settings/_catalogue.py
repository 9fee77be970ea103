"""The paper's settings, read from ``catalogue.toml``, and their names in words."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from soqo.errors import ArgumentError
from soqo.experiments.settings._setting import Setting
from soqo.experiments.settings._settings_file import parse_settings


@cache
def catalogue() -> tuple[Setting, ...]:
    """Return all settings of the paper, in the paper's order.

    Examples
    --------
    >>> len(catalogue())
    27
    """
    text = files("soqo.experiments.settings").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return tuple(parse_settings(text, "catalogue.toml", name="catalogue"))


def figures() -> dict[str, list[Setting]]:
    """Return the paper's settings by figure; a figure's settings are its panels.

    Examples
    --------
    >>> [setting.name for setting in figures()["heavy_tails"]]
    ['heavy_tails_0.01', 'heavy_tails_1']
    """
    found: dict[str, list[Setting]] = {}
    for setting in catalogue():
        found.setdefault(setting.figure, []).append(setting)
    return found


def find(name: str) -> list[Setting]:
    """Return the settings of a figure of the paper, or the one setting with this name.

    Parameters
    ----------
    name : str
        The name of a figure or of a panel.

    Raises
    ------
    ArgumentError
        If there is no such figure or panel.

    Examples
    --------
    >>> find("primary")[0].horizon
    1000
    """
    by_figure = figures()
    found = by_figure.get(name) or [setting for setting in catalogue() if setting.name == name]
    if not found:
        known = ", ".join(repr(figure) for figure in by_figure)
        raise ArgumentError(f"figure must be one of {known}, or a panel that soqo list shows, got {name!r}")
    return found


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
