"""The map of a room."""

from __future__ import annotations

from soqo import FTM
from soqo.plants import DataCenter, drive


def test_map_shows_every_rack_and_the_set_points() -> None:
    center = DataCenter(units=2, rows=2, racks_per_row=3)
    result = drive(center, {"FTM": FTM()}, rounds=3, seeds=1)
    axes = result.plot(theme="dark").axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert len(texts) == 6 + 2
    assert sum("best" in text for text in texts) == 2
    assert len(axes.patches) == 6
