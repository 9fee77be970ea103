"""The base load from least squares."""

from __future__ import annotations

import numpy as np

from soqo.policies.glide._large._base_load import fit_base_load


def test_a_base_load_is_found_within_its_error_and_none_is_not() -> None:
    rng = np.random.default_rng(0)
    found, false = [], 0
    for _ in range(200):
        q = rng.uniform(0.0, 10.0, 60)
        noise = rng.standard_normal(60)
        found.append(fit_base_load(q, 2.0 * q + 20.0 + noise, 1.0, 2.0))
        false += fit_base_load(q, 2.0 * q + noise, 1.0, 2.0) != 0.0
    assert abs(np.mean(found) - 20.0) < 5.0 * np.std(found) / np.sqrt(200.0)
    assert false <= 2  # the deviation is itself estimated, from few readings with a small q


def test_places_without_spread_do_not_tell_a_base_load_from_a_scale() -> None:
    assert fit_base_load(np.ones(20), np.full(20, 7.0), 1.0, 1.0) == 0.0
