"""Charts of evidence: medians and quartiles of what was measured."""

from __future__ import annotations

import numpy as np

from soqo.experiments.judgment import EstimationRisk, Evidence, RubExperiment
from soqo.experiments.presentation._evidence_charts import risk_chart, rub_chart

RATIOS = np.array([[9.0, 1.0, 5.0, 3.0, 7.0], [2.0, np.inf, np.inf, np.inf, 4.0]])


def test_rub_has_a_panel_for_each_setting_and_medians_over_runs() -> None:
    found = RubExperiment("mine", (12, 40), {"POL": RATIOS, "SCaLE": np.full((2, 5), 2.0)}, {}, {}, np.ones(5))
    chart = rub_chart(Evidence(rub=(found,)), {"mine": "My setting"})
    assert chart is not None
    (panel,) = chart.panels
    assert (panel.title, panel.log, panel.ticks, chart.runs) == ("My setting", True, (12.0, 40.0), 5)
    band = panel.curves[0].bands["median"]
    np.testing.assert_array_equal(band.value, [5.0, np.nan])  # most runs have no bound: nothing to draw
    np.testing.assert_array_equal([band.low[0], band.high[0]], [3.0, 7.0])


def test_risk_names_the_number_of_probes_that_suffices() -> None:
    unseen = np.array([[0.0, 0.0, 0.0], [0.0, 0.2, 0.1], [0.3, 0.4, 0.5]])
    chart = risk_chart(Evidence(risk=(EstimationRisk(1, 2, (2, 3, 4), unseen),)))
    assert chart is not None
    (panel,) = chart.panels
    assert panel.title == "r = 1, d = 2: no error is unseen from m = 4 on"
    np.testing.assert_array_equal(panel.curves[0].bands["median"].value, [0.0, 0.1, 0.4])


def test_without_evidence_there_is_no_chart() -> None:
    assert rub_chart(Evidence(), {}) is None
    assert risk_chart(Evidence()) is None
