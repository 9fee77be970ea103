"""The columns of runs and beliefs."""

from __future__ import annotations

from soqo.policies.glide._compiled import _layout as at


def test_columns_do_not_overlap() -> None:
    d, m = 3, 15
    belief, run = at.belief_columns(d, m), at.run_columns(d)
    assert (belief.mean, belief.level) == (at.BELIEF_NUMBERS, at.BELIEF_NUMBERS + m)
    assert belief.second_moment - belief.level == m + 1
    assert belief.end - belief.prior_mean == belief.prior_mean - belief.second_moment == d * d
    assert run.values == at.RUN_NUMBERS
    assert run.played_values - run.values == run.shift - run.played_values == d + d * d
    assert run.end - run.last_step == run.last_step - run.last_u == d


def test_every_number_has_a_column_of_its_own() -> None:
    names = [name for name in vars(at) if name.isupper()]
    of_runs = {"PROBES", "ALARMS", "LAST_PROBE", "LAST_ALARM", "BEST", "LAST_READING", "COUNT_READINGS", "REPETITIONS"}
    of_runs |= {"STUCK", "MAX_READING", "MAX_COUNT", "PRODUCTS", "SQUARES", "SQUARED_PRODUCTS"}
    runs = [getattr(at, name) for name in names if name in of_runs]
    beliefs = [getattr(at, name) for name in names if name not in of_runs | {"RUN_NUMBERS", "BELIEF_NUMBERS"}]
    assert sorted(runs) == list(range(at.RUN_NUMBERS))
    assert len(set(beliefs)) == len(beliefs)
    assert max(beliefs) < at.BELIEF_NUMBERS
