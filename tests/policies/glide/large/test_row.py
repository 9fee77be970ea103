"""Readings as rows."""

from __future__ import annotations

import numpy as np

from soqo.estimators.lowrank import Rows
from soqo.policies.glide._large._row import (
    add_columns,
    bound_weight,
    hitting_cost,
    load_column,
    make_row,
    migrate_rows,
    place,
)


def test_a_row_without_its_other_parts_is_the_hitting_cost() -> None:
    rng = np.random.default_rng(0)
    A, u, s = np.diag([1.0, 2.0, 3.0]), rng.standard_normal(3), 2.5
    row = make_row(u, s * 0.5 * u @ A @ u + 7.0, s)
    z = place(row)
    np.testing.assert_allclose(hitting_cost(row, 7.0), 0.5 * z @ A @ z)
    np.testing.assert_allclose(7.0 * load_column(row[None])[0], row[-1] - 0.5 * z @ A @ z)


def test_a_reading_far_away_has_the_noise_of_the_others_after_scaling() -> None:
    A, distance, noise = np.diag([1.0, 2.0]), 5.0, 3.0
    row = make_row(np.array([6.0, 8.0]), 0.0)
    scaled = bound_weight(row, noise, distance)
    share = 1.0 / np.sqrt(1.0 + (100.0 / 25.0) ** 2)  # of the deviation sigma sqrt(1 + (|z|^2 / distance^2)^2)
    np.testing.assert_allclose(scaled[-2], share)
    np.testing.assert_allclose(place(scaled) @ A @ place(scaled), share * place(row) @ A @ place(row))
    np.testing.assert_allclose(load_column(scaled[None]), share * load_column(row[None]))
    assert bound_weight(row, noise, None) is row


def test_rows_of_files_of_the_first_version_are_read() -> None:
    old = np.array([[1.0, 2.0, 5.0]])
    np.testing.assert_array_equal(add_columns(old)[0], make_row(np.array([1.0, 2.0]), 5.0))
    fields = {"dim": 2, "rows": Rows.of(old), "suspects": old, "moments": None, "flat": None, "spread_chosen": 3}
    migrated = migrate_rows(fields)
    np.testing.assert_array_equal(migrated["rows"].latest(), add_columns(old))
    assert "spread_chosen" not in migrated
