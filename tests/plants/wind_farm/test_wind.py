"""Wind: the statistics of the synthetic one, and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soqo.errors import ArgumentError, FileFormatError
from soqo.plants import Wind, WindFarm


def test_synthetic_wind_has_the_stated_statistics() -> None:
    wind = Wind.synthetic(rounds=40_000, seed=3)
    speed, steps = np.asarray(wind.speed), np.diff(np.asarray(wind.direction))
    # The speed forgets with 0.97 per round: 40,000 rounds are about 600 independent draws of deviation 2.6.
    assert speed.mean() == pytest.approx(9.0, abs=4.0 * 2.6 / np.sqrt(600.0))
    assert np.corrcoef(speed[:-1], speed[1:])[0, 1] == pytest.approx(0.97, abs=0.01)
    # Quartiles of 2.9 t(2.15) are +-2.3; the part that returns widens them.
    assert 2.2 < np.quantile(steps, 0.75) < 3.5
    assert np.quantile(np.abs(steps), 0.999) > 40.0  # heavy tails


def test_first_rounds_do_not_depend_on_other_seeds() -> None:
    assert Wind.synthetic(50, seed=1) == Wind.synthetic(50, seed=1)
    assert Wind.synthetic(50, seed=1) != Wind.synthetic(50, seed=2)


def test_read_takes_a_table_and_unwraps_north(tmp_path: Path) -> None:
    path = tmp_path / "wind.csv"
    path.write_text("time,direction, speed\n00:00,350,7\n00:10,10,8.5\n00:20,340,9\n")
    wind = Wind.read(path)
    np.testing.assert_allclose(np.asarray(wind.direction), [350.0, 370.0, 340.0])
    np.testing.assert_allclose(np.asarray(wind.speed), [7.0, 8.5, 9.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("direction,x\n1,2\n", "must have the columns direction, speed, got direction, x"),
        ("direction,speed\n1,2\n3,calm\n", "line 3: expected finite numbers, got direction = '3', speed = 'calm'"),
        ("direction,speed\n1\n", "line 2: expected finite numbers"),
        ("direction,speed\n", "at least one row"),
    ],
)
def test_read_says_which_line_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wind.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        Wind.read(path)


def test_each_run_has_its_own_window_of_a_trace() -> None:
    wind = Wind(np.arange(100.0), np.full(100, 8.0))
    direction = WindFarm(layout=[[0.0, 0.0]], wind=wind).draw(40, [5, 6, 7]).physics["direction"]
    np.testing.assert_allclose(direction[0], [0.0, 30.0, 60.0])
    with pytest.raises(ArgumentError, match="rounds must be at most 100, the length of the trace, got 101"):
        WindFarm(wind=wind).draw(101, [0])


@pytest.mark.parametrize(
    ("direction", "speed", "message"),
    [([], [], "direction must have shape"), ([1.0], [1.0, 2.0], "speed must have shape"), ([1.0], [-1.0], "negative")],
)
def test_wind_names_what_is_wrong(direction: list[float], speed: list[float], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Wind(direction, speed)
