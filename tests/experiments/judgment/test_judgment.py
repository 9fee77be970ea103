"""All claims together: counts by kind, and plain data for a file."""

from __future__ import annotations

import json

import pytest
from invented_regret import as_the_paper_says, judge_invented

from soqo.experiments import Judgment
from soqo.experiments.judgment import Kind
from soqo.experiments.settings import LITERAL


@pytest.fixture(scope="module")
def true() -> Judgment:
    return judge_invented(as_the_paper_says)


def test_kinds_are_counted_apart_and_parts_not_at_all(true: Judgment) -> None:
    counted = {kind: sum(true.counts(kind).values()) for kind in (Kind.EXPERIMENT, Kind.THEORY, Kind.IMPLIED)}
    assert counted == {Kind.EXPERIMENT: 15, Kind.THEORY: 1, Kind.IMPLIED: 6}
    assert true.counts(Kind.THEORY) == {"is not contradicted": 1}
    parts = {claim.id for claim in true.tested if claim.kind is Kind.PART}
    assert parts == {
        *("primary-scale-outperforms", "rank-order-scale", "rank-order-same-parameters"),
        *("cauchy-scale-wins-appendix", "cauchy-small-sigma-appendix", "cauchy-sublinear-appendix"),
    }
    assert len(true.tested) == sum(counted.values()) + len(parts)


def test_everything_is_plain_data_for_a_file(true: Judgment) -> None:
    read = json.loads(json.dumps(true.to_dict(), allow_nan=False))
    assert read["finding"] == true.finding
    (claim,) = [claim for claim in read["claims"] if claim["id"] == "primary-outperform"]
    assert claim["counts"]["holds"] == 20
    first = claim["verdicts"][0]
    assert first["reading"] == LITERAL.key
    (case,) = first["cases"]
    assert case[:2] == ["primary", "holds"]
    label, value, low, high = case[2][0]
    assert label == "SCaLE and HySCaLE, the worse, as a share of the best baseline"
    assert low <= value <= high < 1.0
