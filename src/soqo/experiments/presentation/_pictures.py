"""Which pictures a run has: one per setting, one per sweep, and Section 1's of the curvature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from soqo.errors import ArgumentError
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.presentation import _curvature as curvature
from soqo.experiments.presentation._figures import regret_figure, shared_title, sweep_figure
from soqo.experiments.settings._spec import Setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Picture", "picture_names", "pictures_of"]

CURVATURE = "curvature"


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture, and what is said about it.

    Attributes
    ----------
    name : str
        Its file's, without the suffix.
    figure : str
        The paper's figure that it belongs to.
    title, source, note : str
    outcomes : tuple of Outcome
        What it is made from: one, or all settings of a sweep; none for the picture of the curvature.
    """

    name: str
    figure: str
    title: str
    source: str
    note: str
    outcomes: tuple[Outcome, ...]

    @property
    def sweep(self) -> bool:
        """Whether it is one of a sweep."""
        return any(outcome.setting.swept for outcome in self.outcomes)

    def draw(self) -> Figure:
        """Make it."""
        if not self.outcomes:
            return curvature.curvature_figure()
        return sweep_figure(self.outcomes) if self.sweep else regret_figure(self.outcomes[0])


def pictures_of(outcomes: Sequence[Outcome]) -> list[Picture]:
    """The pictures of these outcomes, in their order.

    All settings of a figure that sweep a parameter share one. The picture of the curvature is a figure of Section 1,
    as the introduction is, and comes with it.
    """
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(picture_name(outcome.setting), []).append(outcome)
    pictures = []
    for name, parts in found.items():
        settings = [part.setting for part in parts]
        pictures.append(
            Picture(
                name=name,
                figure=settings[0].figure,
                title=shared_title([setting.title for setting in settings])[0],
                source=joined([setting.source for setting in settings]),
                note=joined([setting.note for setting in settings]),
                outcomes=tuple(parts),
            )
        )
        if settings[0].figure == "intro":
            texts = (curvature.TITLE, curvature.SOURCE, curvature.READING)
            pictures.append(Picture(CURVATURE, CURVATURE, *texts, ()))
    return pictures


def picture_name(setting: Setting) -> str:
    """The name of the picture that a setting is in."""
    return setting.figure if setting.swept else setting.name


def picture_names(settings: Sequence[Setting]) -> list[str]:
    """The names of all pictures, if no two settings would write to one file.

    Raises
    ------
    ArgumentError
        It names the setting.
    """
    names: dict[str, Setting] = {}
    seen = set()
    for setting in settings:
        for name in (setting.name, setting.figure):
            if not name.strip(" .") or any(sign in '/\\:*?"<>|' or sign < " " for sign in name):
                raise ArgumentError(f'name must be one that a file can have, without / \\ : * ? " < > |, got {name!r}')
        if setting.name in seen:
            raise ArgumentError(f"settings must have different names, got {setting.name!r} twice")
        seen.add(setting.name)
        picture = picture_name(setting)
        other = names.setdefault(picture, setting)
        if other is not setting and not (other.swept and setting.swept):
            raise ArgumentError(
                f"settings must have different names, got {setting.name!r} and a sweep with figure {picture!r}"
            )
    return list(names)


def joined(texts: Sequence[str]) -> str:
    """Each different text once."""
    return " ".join(dict.fromkeys(text for text in texts if text))
