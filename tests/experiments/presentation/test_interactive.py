"""The numbers in the page are those of the charts, and Plotly is with them."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import numpy as np
import pytest

from soqo.experiments.execution import Outcome, make_curves
from soqo.experiments.presentation._charts import Chart
from soqo.experiments.presentation._interactive import embed_charts
from soqo.experiments.presentation._outcome_charts import regret_chart


@pytest.fixture(scope="module")
def chart(outcomes: dict[str, Outcome]) -> Chart:
    return regret_chart(outcomes["intro"], make_curves(outcomes["intro"]))


def contents(text: str) -> dict[str, str]:
    """The decompressed contents of the elements, by id."""
    found = re.findall(r'<script type="text/plain" id="(\w+)">([^<]*)</script>', text)
    return {name: gzip.decompress(base64.b64decode(data)).decode() for name, data in found}


def test_numbers_have_four_digits_and_ends_of_intervals_three(chart: Chart) -> None:
    data: dict[str, Any] = json.loads(contents(embed_charts([chart]))["charts"])
    assert data[chart.name]["statistic"] == "mean"
    for panel, given in zip(chart.panels, data[chart.name]["panels"], strict=True):
        for curve, numbers in zip(panel.curves, given["curves"], strict=True):
            np.testing.assert_array_equal(numbers["x"], curve.x)
            for statistic, band in curve.bands.items():
                value, low, high = numbers[statistic]
                np.testing.assert_allclose(value, band.value, rtol=5.1e-4)
                for ends, given_ends in ((low, band.low), (high, band.high)):
                    np.testing.assert_allclose(np.array(ends, dtype=float), given_ends, rtol=5.1e-3)


def test_plotly_is_complete_and_the_same_charts_give_the_same_text(chart: Chart) -> None:
    text = embed_charts([chart])
    assert "Plotly" in contents(text)["plotly"]
    assert len(contents(text)["plotly"]) > 1e6
    assert text == embed_charts([chart])
    assert len(text) < 3e6
