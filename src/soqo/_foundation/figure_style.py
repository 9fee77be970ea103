"""The style of all figures: quiet axes, colors that are safe for color-blind readers, a light and a dark theme."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from soqo._foundation.arguments import choice
from soqo._foundation.optional_imports import require_extra

ThemeName: TypeAlias = Literal["light", "dark"]

FIGURE_RC: dict[str, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "date.converter": "concise",
    "figure.dpi": 110,
    "font.size": 9.5,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "savefig.bbox": "tight",
    "svg.fonttype": "none",
    "svg.hashsalt": "soqo",  # a fixed salt makes the ids of an SVG reproducible
}
"""The settings of Matplotlib for figures in soqo's style."""


@dataclass(frozen=True)
class Theme:
    """The colors of a picture of a plant.

    Attributes
    ----------
    background, text, line : str
        The background, the text, and axes and auxiliary lines.
    minimizer, position, reading, expected, follow : str
        The minimizer v, the position x, the readings, what was expected of them, and the cost of following v.
    alarm, guard : str
        The marks of alarms and of interventions of the guard.
    """

    background: str
    text: str
    line: str
    minimizer: str
    position: str
    reading: str
    expected: str
    follow: str
    alarm: str
    guard: str


_THEMES = {
    # The colors of Okabe and Ito, and the purple of GLIDE.
    "light": Theme(
        background="#ffffff",
        text="#222222",
        line="#888888",
        minimizer="#9a9a9a",
        position="#7A1FA2",
        reading="#0072B2",
        expected="#E69F00",
        follow="#D55E00",
        alarm="#D55E00",
        guard="#009E73",
    ),
    "dark": Theme(
        background="#15171c",
        text="#e4e4e4",
        line="#8a8f98",
        minimizer="#868b94",
        position="#c89bf2",
        reading="#56B4E9",
        expected="#E69F00",
        follow="#ff8a4c",
        alarm="#ff8a4c",
        guard="#2fcf9f",
    ),
}


def find_theme(name: ThemeName) -> Theme:
    """Return a theme by its name, ``"light"`` or ``"dark"``."""
    return _THEMES[choice("theme", name, _THEMES)]


def house_style() -> AbstractContextManager[None]:
    """Return a context in which Matplotlib draws in the style of soqo's figures, on white.

    Returns
    -------
    context manager
        The settings of Matplotlib are restored on exit.

    Examples
    --------
    >>> import matplotlib
    >>> with house_style():
    ...     matplotlib.rcParams["lines.linewidth"]
    1.6
    """
    return _change_settings(FIGURE_RC)


def theme_context(theme: Theme) -> AbstractContextManager[None]:
    """Return a context in which Matplotlib draws in the style of soqo's figures and in the colors of a theme.

    Examples
    --------
    >>> import matplotlib
    >>> with theme_context(find_theme("dark")):
    ...     matplotlib.rcParams["figure.facecolor"]
    '#15171c'
    """
    colors = {
        "axes.edgecolor": theme.line,
        "axes.facecolor": theme.background,
        "axes.labelcolor": theme.text,
        "axes.titlecolor": theme.text,
        "figure.facecolor": theme.background,
        "grid.color": theme.line,
        "legend.labelcolor": theme.text,
        "text.color": theme.text,
        "xtick.color": theme.line,
        "xtick.labelcolor": theme.text,
        "ytick.color": theme.line,
        "ytick.labelcolor": theme.text,
    }
    return _change_settings({**FIGURE_RC, **colors})


def _change_settings(settings: dict[str, Any]) -> AbstractContextManager[None]:
    matplotlib = require_extra("matplotlib", "lab")
    return matplotlib.rc_context(settings)  # type: ignore[no-any-return]  # imported at run time, hence untyped
