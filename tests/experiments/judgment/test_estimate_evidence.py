"""Errors of SCaLE's estimates, and what the proof bounds them by."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.experiments import find
from soqo.experiments.judgment import estimate_by_probes, measure_errors


def test_errors_and_their_bound_are_those_of_the_probes() -> None:
    (setting,) = find("gaussian_r4_1")
    probed = estimate_by_probes(setting, "algorithm", "exact", 2000, runs=2)
    found = measure_errors(probed)
    assert probed.m == 48
    assert probed.probe_variance == pytest.approx(np.sqrt(10.0 * 2000.0))
    # The noise of the first 48 rounds of the setting's own paths.
    noise = 10.0 * setting.environment.draw(49, 2, seed=setting.seed).variates[:, :48]
    np.testing.assert_allclose(found.guaranteed, np.abs(noise).sum(axis=1) / (48 * probed.probe_variance))
    singular = np.linalg.svd(probed.estimate - probed.A, compute_uv=False)
    np.testing.assert_allclose(found.error, singular.sum(axis=1))


def test_an_estimate_of_a_weak_signal_is_zero_to_the_letter_and_not_with_a_long_horizon() -> None:
    (setting,) = find("gaussian_r1_0.01")
    short, long = (measure_errors(estimate_by_probes(setting, "algorithm", "cap", T, runs=4)) for T in (2000, 200_000))
    np.testing.assert_allclose(short.error, 0.01, rtol=1e-3)  # the nuclear norm of A
    assert np.median(long.error) < 0.9 * 0.01
