"""The estimates before there is a factor."""

from __future__ import annotations

import numpy as np
from streams import OPTIONS, curvature, row, taught

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.lowrank import Rows, positive_part
from soqo.policies.glide._large._estimates import combine, soft_deviations, sweep, update
from soqo.policies.glide._large._learning import learn
from soqo.policies.glide._large._row import make_row
from soqo.policies.glide._large._stream import ESTIMATES


def test_sums_take_over_from_rows_without_a_jump() -> None:
    A = curvature(13, 13)
    stream = taught(A, 91)
    assert stream.representation == "rows"
    stream = evolve(stream, seen=92, rows=stream.rows.append(make_row(np.ones(13), 0.5 * A.sum()), limit=2000))
    rows, sums = sweep(stream, 6.0, keep_sums=False), sweep(stream, 6.0, keep_sums=True)
    assert sums.representation == "sums"
    assert rows.soft is not None
    assert sums.soft is not None
    np.testing.assert_allclose(sums.soft, rows.soft, rtol=1e-4, atol=1e-4)


def test_more_readings_reduce_error_and_deviation() -> None:
    A, directions = curvature(13, 13), np.eye(13)
    streams = [taught(A, n) for n in (20, 60, 150)]
    errors = [np.linalg.norm(combine(stream) - A) for stream in streams]
    spreads = [soft_deviations(stream, 6.0, directions).mean() for stream in streams]
    assert errors[0] > errors[1] > 10.0 * errors[2]
    assert spreads[0] > spreads[1] > 10.0 * spreads[2]


def test_a_flat_estimate_that_predicts_badly_is_not_played_though_noise_seems_to_dominate() -> None:
    stream = taught(curvature(13, 13), 60)
    assert stream.levels is not None
    assert stream.flat is not None
    noisy = evolve(stream, levels=evolve(stream.levels, is_flat=True, noise_dominates=True))
    column = {name: i for i, name in enumerate(ESTIMATES)}
    for ratio, is_played in ((1.5, True), (4.0, False)):
        errors = np.full_like(stream.errors, np.nan)
        errors[:, column["soft"]], errors[:, column["flat"]] = stream.sigma**2, ratio * stream.sigma**2
        errors[:, -1] = 1.0
        estimate = combine(evolve(noisy, errors=errors, sharp=None))
        assert np.array_equal(estimate, positive_part(stream.flat.matrix)) == is_played


def test_where_v_does_not_move_a_short_distance_does_not_mean_that_a_is_large() -> None:
    A, rng = 2.0 * np.eye(13), np.random.default_rng(0)
    largest = {}
    for few in (False, True):
        stream = taught(A, 0)
        for t in range(40):
            z = np.zeros(13)
            z[:2] = 50.0 * rng.standard_normal(2)
            stream = learn(stream, row(A, z, rng.uniform(-1.0, 1.0)), OPTIONS._replace(few_directions=few), t + 2)
        assert stream.soft is not None
        largest[few] = float(np.linalg.eigvalsh(stream.soft)[-1])
    assert largest[False] > 8.0
    assert largest[True] < 2.5


def test_the_flat_estimate_learns_from_a_probe_though_all_readings_but_it_were_taken_along_a_line() -> None:
    A = 2.0 * np.eye(13)
    A[0, 1] = A[1, 0] = 1.0
    rng = np.random.default_rng(0)
    entries = {}
    for few in (False, True):
        stream = taught(A, 0)
        for t in range(30):
            z = np.zeros(13)
            z[0] = 50.0 * rng.standard_normal()
            z[1] = 5.0 if t == 20 else 0.0
            stream = learn(stream, row(A, z, rng.uniform(-1.0, 1.0)), OPTIONS._replace(few_directions=few), t + 2)
        flat = sweep(stream, 1.0, keep_sums=False, few_directions=few).flat
        assert flat is not None
        entries[few] = float(flat.matrix[0, 1])
    assert entries[True] > max(0.5, entries[False])


def test_with_many_rows_the_flat_estimate_follows_a_round_after_the_soft_one() -> None:
    A = curvature(30, 30)
    stream = evolve(taught(A, 5), levels_fitted=0)
    rng = np.random.default_rng(0)
    Z = 50.0 * rng.standard_normal((430, 30))
    rows = np.stack([row(A, z, 0.0) for z in Z])
    stream = sweep(evolve(stream, rows=Rows.of(rows[:404]), seen=404, flat=None), 6.0, keep_sums=False)
    later = evolve(stream, rows=Rows.of(rows[:409]), seen=409)
    swept = update(later, 6.0, keep_sums=False)
    assert swept.swept == 409
    assert swept.flat is stream.flat
    assert swept.soft is not stream.soft
    after = update(evolve(swept, rows=Rows.of(rows[:410]), seen=410), 6.0, keep_sums=False)
    assert after.swept == 409
    assert after.flat is not swept.flat
    assert after.soft is swept.soft


def test_a_round_that_finds_the_noise_anew_does_not_anneal() -> None:
    stream = taught(curvature(20, 20), 140)
    assert stream.representation == "rows"
    due = evolve(stream, soft=curvature(20, 2), next_annealing=0, annealing=None, swept=stream.seen)
    assert update(evolve(due, levels_fitted=stream.seen), 6.0, keep_sums=True).annealing is None
    assert update(evolve(due, levels_fitted=stream.seen - 1), 6.0, keep_sums=True).annealing is not None
