"""Noise satisfies its contract; the adversary uses A to mislead the player."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from soqo import FTM, Environment, Problem, State, random_curvature, simulate
from soqo.errors import ArgumentError
from soqo.noise import Adversarial, Gaussian, Noise, StudentT, Uniform
from soqo.processes import Recorded

WORD: Any = "x"


def test_biased_noise_is_not_declared_a_martingale() -> None:
    assert Uniform(3.0).is_martingale
    assert not Adversarial(2.0).is_martingale
    assert Adversarial(2.0, aim="overstate").variance == 0.0
    assert Adversarial(2.0).variance is None


@pytest.mark.parametrize(
    ("noise", "law"),
    [
        (Gaussian(2.0), stats.norm(scale=2.0)),
        (StudentT(0.5, df=3.0), stats.t(df=3.0, scale=0.5)),
        (Uniform(3.0), stats.uniform(-3.0, 6.0)),
    ],
    ids=["Gaussian", "StudentT", "Uniform"],
)
def test_noise_has_the_law_of_its_name(noise: Noise, law: Any) -> None:
    drawn = noise.perturb(noise.variates(np.random.default_rng(5), 20_000), np.zeros((20_000, 1)), Problem([[1.0]]))
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-3
    if noise.variance is not None:
        assert noise.variance == pytest.approx(law.var())


def test_unbounded_noise_says_so() -> None:
    assert [noise.bound for noise in (Uniform(3.0), Adversarial(2.0), Gaussian(1.0), StudentT(1.0))] == [
        *(3.0, 2.0),
        *(np.inf, np.inf),
    ]


def test_a_simulation_adds_unbounded_noise_to_the_readings() -> None:
    environment = Environment(Problem([[1.0]]), Recorded(np.zeros((50, 1))), Gaussian(2.0))
    readings: list[Any] = []

    class Listener(FTM):
        def learn(self, state: State[None], y: Any) -> None:
            readings.append(y)

    simulate(environment, {"Listener": Listener()}, horizon=50, runs=40)
    assert np.std(readings) == pytest.approx(2.0, rel=6.0 / np.sqrt(2 * 2000))  # six standard errors


def test_flattening_brings_the_eigenvalues_that_least_squares_finds_together() -> None:
    A = random_curvature(3, 3, min_eigenvalue=0.5, max_eigenvalue=4.0, rng=np.random.default_rng(0))
    problem = Problem(A)
    u = np.random.default_rng(1).standard_normal((400, 3))
    rows = 0.5 * np.einsum("ri,rj->rij", u, u).reshape(400, 9)
    truth = problem.hitting_cost(u, np.zeros(3))
    noise = Adversarial(1.0).perturb(np.zeros(400), u, problem)
    fitted, *_ = np.linalg.lstsq(rows, truth + noise, rcond=None)
    values = np.linalg.eigvalsh(fitted.reshape(3, 3))
    assert values[0] > 0.5 + 0.1
    assert values[-1] < 4.0 - 0.1


def test_flattening_is_in_the_coordinates_of_the_player() -> None:
    # In plain coordinates the curvature is diag(1, 0.04): the second direction has the lower curvature.
    problem = Problem(np.diag([1.0, 4.0]), [1.0, 100.0])
    noise = Adversarial(2.0).perturb(np.zeros(2), np.eye(2), problem)
    np.testing.assert_array_equal(noise, [-2.0, 2.0])


def test_the_adversary_works_with_one_A_per_run_and_in_one_dimension() -> None:
    A = np.stack([np.diag([1.0, 2.0]), np.diag([2.0, 1.0])])
    u = np.array([[1.0, 0.1], [1.0, 0.1]])
    np.testing.assert_array_equal(Adversarial(5.0).perturb(np.zeros(2), u, Problem(A)), [5.0, -5.0])
    single = Adversarial(5.0).perturb(np.zeros(()), np.ones(1), Problem([[1.0]]))
    assert abs(float(single)) == 5.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(-1.0), "cap must be a finite number at least 0, got -1.0"),
        (lambda: Uniform(np.inf), "cap must be a finite number at least 0, got inf"),
        (lambda: Gaussian(-1.0), "scale must be a finite number at least 0, got -1.0"),
        (lambda: StudentT(1.0, df=0.0), "df must be a finite number above 0, got 0.0"),
        (lambda: Adversarial(1.0, aim=WORD), "aim must be one of 'flatten', "),
    ],
)
def test_bad_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
