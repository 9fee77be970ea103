"""The picture of a log together with what a policy expected of its readings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from soqo._control.log_figure import DrawnLog, draw_log, follow_minimizer
from soqo._control.predictions import predict
from soqo._foundation.figure_style import ThemeName
from soqo.policies import GLIDE, Policy, State, wrap_for_plant
from soqo.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class PlantLog(DrawnLog, Protocol):
    """The part of a log that a policy needs to learn from it."""

    @property
    def horizon(self) -> int | None: ...
    @property
    def rate(self) -> ArrayLike | None: ...
    @property
    def period(self) -> ArrayLike | None: ...


def draw_with_predictions(
    log: PlantLog, player: Policy[Any], state: State[Any], *, theme: ThemeName, title: str
) -> Figure:
    """Draw a log with what a policy expected; GLIDE takes the place of one that does not estimate A."""
    follow = follow_minimizer(log)
    found = predict(player, state, log, follow)
    if found is None:
        glide = wrap_for_plant(
            GLIDE(),
            switching_weight=log.switching_weight,
            low=log.low,
            high=log.high,
            rate=log.rate,
            period=log.period,
        )
        found = predict(glide, glide.start(log.x0, log.horizon, 0), log, follow)
    return draw_log(log, found, theme=theme, title=title)


def count_rounds(count: int) -> str:
    """Return a number of rounds in words."""
    return f"{count} round{'' if count == 1 else 's'}"
