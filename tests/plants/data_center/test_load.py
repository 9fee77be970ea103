"""Load: the daily cycle, bursts, and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soqo.errors import ArgumentError, FileFormatError
from soqo.plants import DataCenter, Load


def test_synthetic_load_is_highest_in_the_afternoon() -> None:
    load = np.asarray(Load.synthetic(288 * 40, np.random.default_rng(0)).utilization)
    by_hour = load.reshape(40, 24, 12).mean(axis=(0, 2))
    assert 13 <= by_hour.argmax() <= 17
    assert by_hour.max() - by_hour.min() == pytest.approx(0.4, abs=0.06)


def test_racks_stay_between_idle_and_peak_and_burst_together() -> None:
    center = DataCenter(rows=2, racks_per_row=5)
    power = center.draw(2000, [0]).physics["power"][:, 0]
    assert power.min() >= 0.4 * center.peak - 1e-9
    assert power.max() <= center.peak + 1e-9
    jumps = np.diff(power, axis=0)
    # 0.5 of the utilization is 0.3 of the peak, far more than a rack does on its own in a round
    assert (np.sort(jumps, axis=1)[:, -2] > 0.2 * center.peak).sum() > 20


def test_read_takes_one_column(tmp_path: Path) -> None:
    path = tmp_path / "load.csv"
    path.write_text("time,utilization\n0,0.25\n1,0.5\n2,0.75\n")
    assert Load.read(path) == Load([0.25, 0.5, 0.75])
    path.write_text("load\n1\n")
    with pytest.raises(FileFormatError, match="columns utilization"):
        Load.read(path)


def test_a_given_load_moves_the_power_of_all_racks() -> None:
    load = Load(np.linspace(0.0, 1.0, 60))
    power = DataCenter(load=load).draw(60, [0]).physics["power"][:, 0].sum(axis=1)
    assert np.corrcoef(power, np.arange(60))[0, 1] > 0.9


@pytest.mark.parametrize(
    ("values", "message"), [([], "shape"), ([0.5, 1.5], "between 0 and 1, got 0.5 to 1.5"), ([np.nan], "finite")]
)
def test_load_names_what_is_wrong(values: list[float], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Load(values)
