"""Sample paths: what actions cost on them, and what a player is told."""

from __future__ import annotations

import numpy as np

from soqo import LAI, Actuation, Environment, Problem, play
from soqo.noise import Uniform
from soqo.processes import Gaussian

A = np.array([[2.0, 0.5], [0.5, 1.0]])


def test_the_cost_is_felt_with_a_lag() -> None:
    paths = Environment(Problem(A), Gaussian(3.0), Uniform(0.5), actuation=Actuation(lag=3.0)).draw(30, 2, seed=1)
    x = play(LAI(A), paths).x
    share = 1.0 - np.exp(-1.0 / 3.0)
    weights = np.array([[share * (1.0 - share) ** (t - k) if k <= t else 0.0 for k in range(30)] for t in range(30)])
    felt = np.einsum("tk,rki->rti", weights, x) + ((1.0 - share) ** np.arange(1, 31))[:, None] * paths.x0[:, None]
    np.testing.assert_allclose(paths.felt(x), felt, rtol=1e-9, atol=1e-12)
    u = felt - paths.v
    np.testing.assert_allclose(paths.costs(x)[0], 0.5 * np.einsum("rti,ij,rtj->rt", u, A, u), rtol=1e-9)


def test_angles_are_told_modulo_the_period_and_cost_what_the_nearest_turn_costs() -> None:
    paths = Environment(Problem(A), Gaussian(9.0), Uniform(0.5), period=[20.0, np.inf]).draw(40, 3, seed=1)
    told = paths.told
    assert ((told[..., 0] >= 0.0) & (told[..., 0] < 20.0)).all()
    np.testing.assert_allclose(np.mod(told - paths.v + 1.0, 20.0)[..., 0], 1.0, atol=1e-9)
    np.testing.assert_array_equal(told[..., 1], paths.v[..., 1])
    u = np.array([3.0, -2.0])
    turns = np.array([20.0, 0.0]) * np.arange(-20, 20)[:, None]
    np.testing.assert_allclose(paths.costs(paths.v + u + turns)[0], 0.5 * u @ A @ u)
    far, near = np.array([13.0, -2.0]), np.array([-7.0, -2.0])
    np.testing.assert_allclose(paths.costs(paths.v + far)[0], 0.5 * near @ A @ near)
