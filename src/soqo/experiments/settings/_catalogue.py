"""The paper's settings, from the catalogue beside this file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from soqo.errors import ArgumentError
from soqo.experiments.settings._spec import Setting, settings_in

__all__ = ["catalogue", "figures", "find"]


@cache
def catalogue() -> tuple[Setting, ...]:
    """Every setting there is, in the paper's order."""
    text = files("soqo.experiments.settings").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return tuple(settings_in(text, "catalogue.toml", "catalogue"))


def figures() -> dict[str, list[Setting]]:
    """The settings by the figure that they are panels of.

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
    """The settings of a figure, or the one setting of a name.

    Examples
    --------
    >>> find("primary")[0].horizon
    1000
    """
    by_figure = figures()
    if name in by_figure:
        return by_figure[name]
    for setting in catalogue():
        if setting.name == name:
            return [setting]
    known = ", ".join(repr(figure) for figure in by_figure)
    raise ArgumentError(f"figure must be one of {known}, or a panel that soqo list shows, got {name!r}")
