"""The average over the noise and the scale; `test_posterior` tests its values against dense algebra."""

from __future__ import annotations

import numpy as np

from soqo.estimators.bayes._marginal_likelihood import MarginalLikelihood


def test_averages_over_many_runs_are_those_of_each_run() -> None:
    rng = np.random.default_rng(6)
    runs, p = 150, 3  # more than two chunks of 64
    likelihood = MarginalLikelihood(
        D=rng.uniform(0.1, 5.0, (runs, p)),
        c=rng.standard_normal((runs, p)),
        c0=rng.standard_normal((runs, p)),
        rest=rng.uniform(0.0, 2.0, runs),
        readings=np.tile(np.arange(1.0, 11.0), 15),
    )
    largest = rng.uniform(0.5, 2.0, runs)
    together = likelihood.average(largest, None)
    for k in (0, 63, 64, 127, 128, 149):
        alone = likelihood._select(slice(k, k + 1)).average(largest[k : k + 1], None)
        for ours, single in zip(together, alone, strict=True):
            np.testing.assert_allclose(ours[k], single[0], rtol=1e-12)
