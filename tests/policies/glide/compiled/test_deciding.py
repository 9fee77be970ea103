"""Actions, one at a time from the states of a run by NumPy's code."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_states import rounds_of

from soqo import GLIDE
from soqo.policies.glide._compiled import rounds
from soqo.policies.glide._compiled._deciding import _advance, _contraction


@pytest.mark.parametrize("policy", [GLIDE(), GLIDE(probing=False), GLIDE(drift=False)])
def test_actions_and_what_they_change_are_those_of_numpy(policy: GLIDE) -> None:
    rng = np.random.default_rng(1)
    for _, _, state in rounds_of(policy, d=3, runs=2, rounds=70, wrong=0.05):
        v = state.v + 20.0 * rng.standard_normal(state.v.shape)
        x, expected = policy._decide_dense(state, v)
        found, memory = rounds.decide(state, v, policy._model(3), drift=policy.drift, probing=policy.probing)
        np.testing.assert_allclose(found, x, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(memory.plain.moment, expected.moment, rtol=1e-12)
        for name in ("last_step", "products", "squares", "squared_products"):
            np.testing.assert_allclose(getattr(memory.plain.drift, name), getattr(expected.drift, name), rtol=1e-12)
        np.testing.assert_array_equal(memory.plain.probes, expected.probes)
        np.testing.assert_array_equal(memory.plain.last_probe, expected.last_probe)


@pytest.mark.parametrize("a", [0.0, 1e-12, 0.3, 1e6])
@pytest.mark.parametrize("n", [1.0, 7.0, 1e150])
def test_gains_follow_the_recursion(a: float, n: float) -> None:
    assert _advance(a, n) + _contraction(a, n) == pytest.approx(1.0, abs=1e-15)
    if n > 1.0:  # 1 / C_n = 2 + a - C_(n-1)
        assert 1.0 / _contraction(a, n) == pytest.approx(2.0 + a - _contraction(a, min(n - 1.0, 1e150)), rel=1e-9)
