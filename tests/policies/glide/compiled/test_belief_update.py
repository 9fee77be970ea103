"""One reading and one belief, against the posterior of NumPy's code."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._compiled import engine
from soqo.policies.glide._compiled._belief_update import (
    features,
    log_density,
    model_error,
    potter,
    predict,
    reading_variance,
    store,
    zero_block,
)
from soqo.policies.glide._compiled._layout import BELIEF_NUMBERS, LEVEL_SPEED, NOISE
from soqo.policies.glide._compiled._packed import pack_beliefs


@pytest.mark.parametrize("bias", ["none", "constant", "direction"])
@pytest.mark.parametrize("offset", [False, True])
def test_features_are_those_of_the_model(bias: str, offset: bool) -> None:
    model = ReadingModel(3, bias, offset=offset)  # type: ignore[arg-type]  # a parameter of the test
    own, u, f = engine._constants(model), np.array([1.0, -2.0, 0.5]), np.empty(model.size)
    assert features(u, own.sizes, own.bias, f) == pytest.approx(u @ u)
    np.testing.assert_allclose(f, model.features(u[None])[0], rtol=1e-14)


@pytest.mark.parametrize(
    ("top", "left", "entry"), [(0, 0, 1.0), (2, 1, 1.0), (1, 2, np.nan), (3, 3, 1.0), (2, 0, 1.0), (4, 4, 0.0)]
)
def test_the_zero_block_of_a_root_is_its_first_rows_and_columns(top: int, left: int, entry: float) -> None:
    root = np.zeros((4, 4))
    if entry != 0.0:
        root[top, -1], root[-1, left] = entry, entry
    assert zero_block(root) == (top, left)


@pytest.mark.parametrize(
    ("base_load", "readings", "excluded"),
    [(None, 12, 0), (0.3, 12, 0), (None, 200, 3 + 2)],
    ids=["bias", "bias and base load", "neither"],
)
def test_a_reading_without_a_fit_does_what_it_does_to_a_posterior(
    base_load: float | None, readings: int, excluded: int
) -> None:
    model = ReadingModel(2, "direction", offset=True, optional_bias=True, trusted_distance=4.0)
    rng = np.random.default_rng(0)
    posterior = Posterior.start(model, 1, base_load=base_load)
    for _ in range(readings):
        u = rng.standard_normal((1, 2))
        posterior = posterior.update(model, u, np.vecdot(u, u) + rng.uniform(-0.1, 0.1, 1))
    u, y = rng.standard_normal((1, 2)), np.array([2.0])
    expected = posterior.update(model, u, y, fit=np.array([False]))
    table, root, factor, buffer = pack_beliefs(Beliefs.around(posterior))
    own, m = engine._constants(model), model.size
    factor = factor if len(factor) else np.zeros((1, m + 1, m + 1))
    row, f, difference, spread, work = table[0], np.empty(m), np.empty(m + 1), np.empty(m + 1), np.empty(m + 1)
    square_length = features(u[0], own.sizes, own.bias, f)
    explained, variance, zeros = predict(row, root[0], f, 2.0, own.sizes, difference, spread)
    assert zeros[0] == excluded
    R = reading_variance(row, square_length, own.trusted_distance)
    assert 1.0 + model_error(square_length, own.trusted_distance) - 1e-12 < R
    innovation, new = difference[m] - explained, np.empty((m, m))
    weight = store(row, factor[0], buffer[0], u[0], 2.0, own.sizes, difference, R, row[LEVEL_SPEED] ** 2, work)
    density = log_density(innovation, variance, weight, row[NOISE])
    potter(row, root[0], new, spread, innovation, variance, weight, zeros)
    np.testing.assert_allclose(density, expected.log_evidence - posterior.log_evidence, rtol=1e-9)
    np.testing.assert_allclose(row[BELIEF_NUMBERS : BELIEF_NUMBERS + m], expected.mean[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(new @ new.T, expected.root[0] @ expected.root[0].T, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(row[BELIEF_NUMBERS + m : BELIEF_NUMBERS + 2 * m + 1], expected.level[0], atol=1e-12)
