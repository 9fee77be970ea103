"""Heavy tails by quantiles and trimmed means."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from soqo import FTM
from soqo.experiments import find, run
from soqo.experiments.judgment import measure_tails


def test_tails_are_quantiles_and_trimmed_means(tmp_path: Path) -> None:
    setting = replace(find("heavy_tails_1")[0], policies={"FTM": FTM()}, horizons=())
    (outcome,) = run([setting], tmp_path, runs=6, workers=1)
    tails = {tail.policy: tail for tail in measure_tails(outcome)}
    regret = outcome.regret("FTM")
    found = tails["FTM"]
    assert found.mean == pytest.approx(regret.mean())
    assert found.quantiles[0.5] == np.median(regret)
    assert found.trimmed[0.25] == pytest.approx(np.sort(regret)[1:5].mean())
    assert 1.0 / 6.0 <= found.largest_share <= 1.0
