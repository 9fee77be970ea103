"""Trimmed means leave out as many numbers at each end as they say."""

from __future__ import annotations

import numpy as np

from soqo.experiments.judgment import trimmed_mean


def test_a_trimmed_mean_is_that_of_the_middle_and_ignores_infinite_ends() -> None:
    samples = np.random.default_rng(0).permutation(np.arange(20.0))
    samples[samples == 19.0] = np.inf
    assert trimmed_mean(samples) == np.mean(np.arange(2.0, 18.0))
    assert trimmed_mean(samples[None], 0.25).tolist() == [np.mean(np.arange(5.0, 15.0))]
