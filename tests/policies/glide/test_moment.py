"""The second moment of the distances to v."""

from __future__ import annotations

import numpy as np

from soqo.policies.glide._moment import update_moment


def test_it_is_the_mean_of_the_outer_products() -> None:
    w = np.random.default_rng(0).standard_normal((20, 2, 3))
    moment = np.zeros((2, 3, 3))
    for t, one in enumerate(w):
        moment = update_moment(moment, one, t)
    np.testing.assert_allclose(moment, np.einsum("tri,trj->rij", w, w) / 20.0)


def test_a_jump_counts_as_ten_times_the_mean_and_runs_may_have_begun_later() -> None:
    jump = np.array([[1e3, 0.0], [1e3, 0.0]])
    found = update_moment(np.broadcast_to(np.eye(2), (2, 2, 2)), jump, np.array([1, 0]))
    np.testing.assert_allclose(found[0], [[0.5 * (1.0 + 20.0), 0.0], [0.0, 0.5]])
    np.testing.assert_allclose(found[1], [[1e6, 0.0], [0.0, 0.0]])  # the first term of a run
