"""Hitting and switching costs in a table, with bars in proportion."""

from __future__ import annotations

import re

import numpy as np
import pytest

from soqo.experiments.execution import Outcome
from soqo.experiments.presentation._cost_split import render_cost_split


def test_rows_have_the_mean_costs_of_the_papers_policies_and_of_the_benchmark(of_the_paper: Outcome) -> None:
    table = render_cost_split(of_the_paper)
    body = table.partition("<tbody>")[2]
    rows = re.findall(r'<th scope="row">.*?</span>(.*?)</th>(.*?)</tr>', body, flags=re.DOTALL)
    assert [name.partition(",")[0] for name, _ in rows] == ["LAI", "FTM", "POL"]
    result = of_the_paper.results[of_the_paper.setting.horizon]
    expected = [(result.benchmark_hitting, result.benchmark_switching)]
    expected += [(result[name].hitting, result[name].switching) for name in ("FTM", "POL, rate 1e-4")]
    totals = [tuple(float(np.mean(part.sum(axis=1))) for part in parts) for parts in expected]
    largest = max(map(sum, totals))
    power = re.search(r"in units of 10<sup>(\d+)</sup>", table)
    unit = 10.0 ** int(power[1]) if power else 1.0
    for (_, row), parts in zip(rows, totals, strict=True):
        shown = re.findall(r'<td class="number">(.*?)</td>', row)
        for text, value in zip(shown, parts, strict=True):
            number = float(re.sub("</?sup>", "", text).replace("·10", "e"))
            assert number * unit == pytest.approx(value, rel=5e-3)
        widths = [float(width) for width in re.findall(r"width:([\d.]+)%", row)]
        np.testing.assert_allclose(widths, [100.0 * part / largest for part in parts], atol=0.06)
