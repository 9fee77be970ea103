"""The result of a drive."""

from __future__ import annotations

import numpy as np
import pytest

from soqo import FTM
from soqo.errors import UnknownNameError
from soqo.plants import DataCenter, Drive, Interpolation, Quadratic, drive


@pytest.fixture(scope="module")
def result() -> Drive:
    return drive(Quadratic(np.eye(2), price=50.0), {"FTM": FTM(), "half": Interpolation(0.5)}, rounds=30, seeds=2)


def test_cost_adds_up(result: Drive) -> None:
    cost = result["half"]
    assert cost.total == pytest.approx(cost.lost + cost.wear)
    assert cost.per_run.mean() == pytest.approx(cost.total)
    assert cost.money == pytest.approx(cost.total * 8760.0 * 50.0 / 1000.0)  # kW, hours of a year, EUR/MWh
    assert result["FTM"].lost == 0.0
    assert cost.moves == pytest.approx(1.0 - 1.0 / 30.0)  # every run begins at its first v


def test_result_is_a_mapping_that_prints_a_table(result: Drive) -> None:
    assert list(result) == ["FTM", "half"]
    assert len(result) == 2
    lines = str(result).splitlines()
    assert lines[0].split() == ["policy", "lost", "wear", "total", "[kW]", "EUR/year", "moves", "ms/round"]
    assert [line.split()[0] for line in lines[1:]] == ["FTM", "half"]
    assert result._repr_html_().count("<tr>") == 3
    with pytest.raises(UnknownNameError, match="name must be one of 'FTM', 'half', got 'GLIDE'"):
        result["GLIDE"]


def test_table_has_violations_where_there_are_limits() -> None:
    hot = drive(DataCenter(limit=20.0), {"FTM": FTM()}, rounds=5, seeds=1)
    header, rows = hot.table()
    assert header[-2] == "violations"
    assert hot["FTM"].violations > 0.5
    assert rows[0][-2].endswith(" %")
