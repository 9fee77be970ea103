"""Probes: the value of information against Monte Carlo, the cost against a dense solve, and the probes of GLIDE."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from soqo import Environment, RandomProblem, random_curvature, simulate
from soqo._model.gains import contraction
from soqo._model.spectrum import Spectrum
from soqo.estimators._measurements import smat, svec
from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.noise import Uniform
from soqo.policies.glide import GLIDE
from soqo.policies.glide._probes import (
    EXPLORATION_ROUNDS,
    PROBE_SIZES,
    SAFETY_FACTOR,
    _largest_saving,
    best_probe,
    divided_differences,
    exploratory_spectrum,
)
from soqo.processes import Gaussian

Bias = Literal["direction", "constant", "none"]


def gain(A: Any, n: int) -> Any:
    """Return C with n rounds to go by the dense recursion, for a batch of A."""
    identity = np.eye(A.shape[-1])
    C = np.broadcast_to(identity, A.shape)
    for _ in range(n):
        C = np.linalg.inv(2.0 * identity + A - C)
    return C


# ---- divided differences -------------------------------------------------------------------------------------------

SPACINGS = {
    "apart": [0.1, 0.9, 4.0],
    "all the same": [0.7, 0.7, 0.7],
    "the same but for round-off": [0.5, 0.5 * (1 + 1e-12), 2.0],
    "nearly the same": [0.5, 0.5 * (1 + 1e-7), 2.0],
    "a little apart": [0.5, 0.5 * (1 + 0.9e-3), 0.5 * (1 + 2e-3)],
    "near each other": [0.5, 0.54, 0.58],
    "far apart": [0.05, 1.0, 1e3],
}


@pytest.mark.parametrize("values", SPACINGS.values(), ids=SPACINGS)
@pytest.mark.parametrize("to_go", [1, 5, math.inf])
def test_divided_differences_are_the_derivative_of_the_gain(values: Any, to_go: float) -> None:
    a = np.array([values])
    slopes = divided_differences(a, contraction(a, to_go), to_go)[0]
    np.testing.assert_array_equal(slopes, slopes.T)
    assert (slopes < 0.0).all()  # the gain decreases with the curvature
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    A = (Q * values) @ Q.T
    # 200 rounds are practically infinite: the contraction of 0.05 is 0.8, and 0.8^400 is negligible.
    rounds = 200 if to_go == math.inf else int(to_go)
    for _ in range(5):
        E = rng.standard_normal((3, 3))
        E = E + E.T
        h = 1e-5 * values[0]
        dense = (gain(A + h * E, rounds) - gain(A - h * E, rounds)) / (2.0 * h)
        derivative = Q @ (slopes * (Q.T @ E @ Q)) @ Q.T
        # Slopes of close eigenvalues are accurate to the square of 1e-3; the dense ones to 1e-16 / h.
        np.testing.assert_allclose(derivative, dense, rtol=0, atol=2e-6 * np.abs(dense).max() + 1e-14 / h)


def test_divided_differences_are_those_of_each_run() -> None:
    a = np.array([SPACINGS["apart"], SPACINGS["nearly the same"]])
    together = divided_differences(a, contraction(a, 4), 4)
    for run in range(2):
        one = a[run : run + 1]
        np.testing.assert_array_equal(together[run], divided_differences(one, contraction(one, 4), 4)[0])


# ---- value and cost ------------------------------------------------------------------------------------------------


class Uncertainty:
    """A posterior with a small covariance around a given A in one run, and the other arguments of ``best_probe``."""

    def __init__(self, dim: int, bias: Bias = "none", *, rank: int | None = None) -> None:
        rng = np.random.default_rng(dim)
        self.rounds_to_go: Any = 4
        self.noise = 0.3
        self.model = ReadingModel(dim, bias)
        self.A = random_curvature(dim, dim, min_eigenvalue=0.4, max_eigenvalue=2.0, rng=rng)
        p, q = self.model.unknowns, self.model.biases
        # A hundredth of the smallest eigenvalue: terms of higher than second order are negligible.
        self.root = np.zeros((p + q, p + q))
        columns = p + q if rank is None else rank
        self.root[:, :columns] = 0.004 * rng.standard_normal((p + q, columns))
        half = rng.standard_normal((dim, dim))
        self.moment = half @ half.T
        self.planned = np.zeros(dim)
        self.readings, self.second_moment = 0.0, np.zeros((dim, dim))

    @property
    def dim(self) -> int:
        return self.model.dim

    @property
    def posterior(self) -> Posterior:
        mean = np.concatenate([np.zeros(self.model.biases), svec(self.A)])
        return replace(
            Posterior.start(self.model, 1),
            mean=mean[None],
            root=self.root[None],
            noise=np.array([self.noise]),
            readings=np.array([self.readings]),
            second_moment=self.second_moment[None],
        )

    def probe(self, rounds: float) -> Any:
        """Return the best probe."""
        posterior, spectrum = self.posterior, Spectrum.of(self.A[None])
        planned, moment = self.planned[None], self.moment[None]
        options = {"moment": moment, "rounds_to_go": self.rounds_to_go, "rounds_to_save": rounds}
        return best_probe(posterior, self.model, spectrum, planned, **options)[0]

    def break_even(self) -> float:
        """Return the number of rounds from which a probe pays, by bisection."""
        low, high = 1e-6, 1e15
        assert not self.probe(low).any()
        assert self.probe(high).any()
        for _ in range(40):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.probe(middle).any() else (middle, high)
        return high

    def after_reading(self, u: Any) -> Any:
        """Return the covariance of svec(A) after a reading at u, by the textbook's formula."""
        length = np.linalg.norm(u)
        outer = svec(0.5 * np.outer(u, u))
        along = 2.0 * outer / length**2 if length else np.zeros_like(outer)
        row = np.concatenate([{"direction": along, "constant": [1.0], "none": []}[self.model.bias], outer])
        P = self.root @ self.root.T
        P = P - np.outer(P @ row, P @ row) / (row @ P @ row + self.noise**2)
        return P[-outer.size :, -outer.size :]

    def cost(self, step: Any) -> float:
        """Return the cost of a deviation in the first action, with optimal later actions, by a dense solve."""
        n, d = self.rounds_to_go, self.dim
        H = np.kron(np.eye(n), self.A + 2.0 * np.eye(d))
        H[-d:, -d:] -= np.eye(d)
        H -= np.kron(np.eye(n, k=1) + np.eye(n, k=-1), np.eye(d))
        # The gradient at the optimum is zero: the cost is 1/2 z'Hz, minimized over all but the first part.
        rest = -np.linalg.solve(H[d:, d:], H[d:, :d] @ step)
        z = np.concatenate([step, rest])
        return float(0.5 * z @ H @ z)

    def regret(self, P: Any, normal: Any, w: Any) -> Any:
        """Return 1/2 |(C(A + E) - C(A)) w|^2 in the norm of C^{-1}, for draws of E with covariance P and of w."""
        values, vectors = np.linalg.eigh(P)
        # With the symmetric root, similar covariances give similar draws, so their difference has little noise.
        E = smat(normal @ (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
        C = gain(self.A, self.rounds_to_go)
        error = np.matvec(gain(self.A + E, self.rounds_to_go) - C, w)
        return 0.5 * np.vecdot(error, np.matvec(np.linalg.inv(C), error))

    def saving(self, P: Any) -> float:
        """Return the reduction of regret per round by the readings, to second order, by finite differences."""
        p = self.model.unknowns
        values, vectors = np.linalg.eigh(self.root[-p:] @ self.root[-p:].T - P)
        C = gain(self.A, self.rounds_to_go)
        total = 0.0
        for value, vector in zip(values, vectors.T, strict=True):
            h = 1e-5
            upper, lower = (gain(self.A + sign * h * smat(vector), self.rounds_to_go) for sign in (1.0, -1.0))
            slope = (upper - lower) / (2 * h)
            total += 0.5 * value * np.trace(np.linalg.solve(C, slope @ self.moment @ slope.T))
        return float(total)

    def candidates(self) -> list[Any]:
        """Return probes along eigenvectors, in units of the size at which the uncertainty equals the noise."""
        found = []
        for q in np.linalg.eigh(self.A)[1].T:
            deviation = np.linalg.norm(svec(np.outer(q, q)) @ self.root[-self.model.unknowns :])
            found += [size * math.sqrt(2.0 * self.noise / deviation) * q for size in PROBE_SIZES]
        return found


CASES = [
    (2, "none", 0.0),
    (2, "none", 3.0),
    (3, "none", 5.0),
    (2, "constant", 0.0),
    (2, "constant", 3.0),
    (2, "direction", 3.0),
]


def uncertainty(dim: int, bias: Bias, planned: float) -> Uncertainty:
    case = Uncertainty(dim, bias)
    case.planned = planned * np.random.default_rng(9).standard_normal(dim)
    return case


@pytest.mark.parametrize(("dim", "bias", "planned"), CASES)
def test_no_reading_saves_more_than_the_bound(dim: int, bias: Bias, planned: float) -> None:
    case = uncertainty(dim, bias, planned)
    values = Spectrum.of(case.A[None]).values
    c = contraction(values, case.rounds_to_go)
    bound = _largest_saving(case.posterior, case.model, case.moment[None], values, c, case.rounds_to_go, 7.0)[0]
    savings = [7.0 * case.saving(case.after_reading(case.planned + probe)) for probe in (*case.candidates(), 1e3)]
    assert max(savings) < bound
    assert max(savings) > 1e-3 * bound  # not a bound that anything satisfies


@pytest.mark.parametrize(("dim", "bias", "planned"), CASES)
def test_a_probe_pays_if_its_saving_is_a_multiple_of_its_cost(dim: int, bias: Bias, planned: float) -> None:
    case = uncertainty(dim, bias, planned)
    rounds = case.break_even()
    step = case.probe(rounds)
    draws = 40_000
    rng = np.random.default_rng(1)
    normal = rng.standard_normal((draws, case.model.unknowns))
    w = rng.standard_normal((draws, dim)) @ np.linalg.cholesky(case.moment).T
    without = case.regret(case.after_reading(case.planned), normal, w)
    saved = without - case.regret(case.after_reading(case.planned + step), normal, w)
    error = saved.std(ddof=1) / math.sqrt(draws)
    assert 4.0 * error < 0.2 * saved.mean()  # the error is much smaller than the saving
    assert abs(saved.mean() - SAFETY_FACTOR * case.cost(step) / rounds) < 4.0 * error


@pytest.mark.parametrize(("dim", "bias", "planned"), CASES)
def test_the_probe_has_the_largest_value_of_all_candidates(dim: int, bias: Bias, planned: float) -> None:
    case = uncertainty(dim, bias, planned)
    without = case.saving(case.after_reading(case.planned))
    steps = case.candidates()
    cost = np.array([SAFETY_FACTOR * case.cost(step) for step in steps])
    saved = [case.saving(case.after_reading(case.planned + step)) - without for step in steps]
    # The slope at an eigenvalue is a difference over 0.2 % of it, accurate to about 1e-6.
    rounds = case.break_even()
    assert 1.0 / np.max(saved / cost) == pytest.approx(rounds, rel=5e-6)
    for horizon in (1.001 * rounds, 10.0 * rounds, 1000.0 * rounds):
        best = steps[int(np.argmax(horizon * np.array(saved) - cost))]
        np.testing.assert_allclose(case.probe(horizon), best, rtol=1e-9)


def test_eigenvalues_are_at_least_their_deviation() -> None:
    # The gain of an infinite horizon has an infinite slope at zero, but no eigenvalue is known to be zero.
    case = Uncertainty(3)
    case.rounds_to_go = math.inf
    Q = np.linalg.eigh(case.A)[1]
    deviation_of_lowest = np.linalg.norm(svec(np.outer(Q[:, 0], Q[:, 0])) @ case.root)
    rounds = []
    for lowest in (0.0, deviation_of_lowest, 1.5 * deviation_of_lowest):
        case.A = (Q * [lowest, 1.0, 2.0]) @ Q.T
        rounds.append(case.break_even())
    assert rounds[0] == pytest.approx(rounds[1], rel=1e-6)
    assert rounds[2] > 1.05 * rounds[1]


def test_informative_movement_reduces_the_value_of_a_probe() -> None:
    # A is known except for z X with one unknown number z. A reading at u determines z with the precision
    # (1/2 u'Xu / noise)^2; its mean over normal u, here by Monte Carlo, is the information of a round without a probe.
    case = Uncertainty(3, rank=1)
    still = case.break_even()
    half = np.random.default_rng(2).standard_normal((3, 3))
    u = np.random.default_rng(3).standard_normal((200_000, 3)) @ half.T
    X = smat(case.root[:, 0])
    precision = np.square(0.5 * np.vecdot(u @ X, u) / case.noise)
    error = precision.std(ddof=1) / math.sqrt(precision.size)
    # The effect of a little more precision on the variance of z decays as 1 / (1 + rate t)^2 by the information of the
    # movement. Its integral over t = 0..n is n / (1 + rate n) instead of n. With n ten times the break-even number of
    # rounds, a probe stops paying at the movement for which 1 + rate n = 10.
    horizon = 10.0 * still
    case.readings = 50.0
    low, high = 0.0, 1e9
    for _ in range(60):
        scale = 0.5 * (low + high)
        case.second_moment = case.readings * scale * half @ half.T
        low, high = (scale, high) if case.probe(horizon).any() else (low, scale)
    rate = 9.0 / (horizon * scale**2)
    assert abs(rate - precision.mean()) < 4.0 * error
    assert 4.0 * error < 0.05 * precision.mean()


def test_the_probe_is_one_of_the_candidates() -> None:
    case = uncertainty(3, "direction", 5.0)
    rounds = case.break_even()
    for horizon in (1.01 * rounds, 10.0 * rounds, 1e3 * rounds):
        step = case.probe(horizon)
        assert any(np.allclose(step, other) or np.allclose(step, -other) for other in case.candidates())


def test_without_rounds_to_save_there_is_no_probe() -> None:
    case = uncertainty(3, "direction", 5.0)
    assert case.probe(1e15).any()
    np.testing.assert_array_equal(case.probe(0.0), np.zeros(3))


def test_without_movement_there_is_no_probe() -> None:
    case = uncertainty(3, "none", 5.0)
    case.moment = np.zeros((3, 3))
    np.testing.assert_array_equal(case.probe(1e15), np.zeros(3))


@pytest.mark.parametrize("bias", ["none", "constant", "direction"])
def test_with_more_noise_probes_are_longer_and_need_more_rounds(bias: Bias) -> None:
    case = uncertainty(2, bias, 0.0)
    quiet = case.break_even()
    short = np.linalg.norm(case.probe(quiet))
    case.noise *= 4.0
    noisy = case.break_even()
    assert noisy > 2.0 * quiet
    assert np.linalg.norm(case.probe(noisy)) > 1.5 * short


# ---- exploration ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", ["none", "constant", "direction"])
def test_eigenvalues_are_at_most_one_while_the_deviation_of_the_trace_exceeds_that_of_a_known_scale(
    bias: Bias,
) -> None:
    model = ReadingModel(4, bias)
    posterior = Posterior.start(model, 2)
    values = np.array([0.4, 0.9, 3.0, 7.0])
    spectrum = Spectrum.of(np.tile(np.diag(values), (2, 1, 1)))
    p = model.unknowns
    identity = svec(np.eye(4))
    # If the scale is the mean eigenvalue, the prior deviation of the trace is 3 sqrt(4) times that.
    allowed = 3.0 * 2.0 * values.mean()
    trace = math.sqrt(identity @ (posterior.root[0] @ posterior.root[0].T)[-p:, -p:] @ identity)
    factor = allowed / trace * np.array([0.99, 1.01])
    posterior = replace(posterior, root=factor[:, None, None] * posterior.root)
    played = exploratory_spectrum(posterior, model, spectrum)
    np.testing.assert_array_equal(played.values, [values, [0.4, 0.9, 1.0, 1.0]])
    np.testing.assert_array_equal(played.vectors, spectrum.vectors)


LARGE = RandomProblem(4, 4, min_eigenvalue=10.0, max_eigenvalue=100.0)


def test_exploration_finds_a_large_curvature_in_noisy_readings() -> None:
    environment = Environment(LARGE, Gaussian(1.0), Uniform(10.0))
    policies = {"explores": GLIDE(), "never": GLIDE(probing=False)}
    result = simulate(environment, policies, horizon=400, runs=60, seed=0)
    explores, never = (np.median(result[name].low_variance_regret.sum(axis=1)) for name in policies)
    assert explores < 0.7 * never
    np.testing.assert_array_equal(  # exploration starts after two readings
        result["explores"].low_variance_regret[:, : EXPLORATION_ROUNDS.start],
        result["never"].low_variance_regret[:, : EXPLORATION_ROUNDS.start],
    )


def test_there_is_no_exploration_if_the_readings_exceed_the_noise() -> None:
    environment = Environment(LARGE, Gaussian(50.0), Uniform(10.0))
    policies = {"GLIDE": GLIDE(), "never": GLIDE(probing=False)}
    result = simulate(environment, policies, horizon=40, runs=20, seed=0)
    assert not result["GLIDE"].diagnostics["probes"].any()
    np.testing.assert_array_equal(result["GLIDE"].low_variance_regret, result["never"].low_variance_regret)


# ---- probes of GLIDE -----------------------------------------------------------------------------------------------


def readings(scale: Any, rounds: int, runs: int) -> tuple[Any, Any]:
    """Return points u with deviation ``scale`` along each axis, and noisy readings there, with an A for each run."""
    rng = np.random.default_rng(4)
    A = random_curvature(3, 3, min_eigenvalue=0.3, max_eigenvalue=2.0, rng=[rng] * runs)
    u = rng.standard_normal((rounds, runs, 3)) * scale
    return u, 0.5 * np.vecdot(u, np.matvec(A, u)) + rng.uniform(-1.0, 1.0, (rounds, runs))


def probe_after(u: Any, y: Any, rounds: float) -> Any:
    """Return the best probe after all of these readings, for the same movement in the future."""
    model = ReadingModel(3)
    posterior = Posterior.start(model, u.shape[1])
    for place, reading in zip(u, y, strict=True):
        posterior = posterior.update(model, place, reading)
    mean = Spectrum.of(smat(posterior.mean[:, -model.unknowns :]))
    spectrum = Spectrum(np.maximum(mean.values, 0.0), mean.vectors)
    moment = np.einsum("tri,trj->rij", u, u) / len(u)
    return best_probe(posterior, model, spectrum, u[-1], moment=moment, rounds_to_go=rounds, rounds_to_save=rounds)


def test_movement_along_one_direction_leads_to_probes_in_the_others() -> None:
    # Readings along one axis contain no information about the others, which matter if A couples them.
    u, y = readings([10.0, 0.0, 0.0], rounds=40, runs=6)
    step = probe_after(u, y, rounds=1000.0)
    length = np.linalg.norm(step, axis=1)
    assert (length > 0.0).all()
    np.testing.assert_allclose(step[:, 0] / length, 0.0, atol=1e-9)


def test_movement_in_all_directions_needs_no_probe() -> None:
    u, y = readings([10.0, 10.0, 10.0], rounds=100, runs=6)
    np.testing.assert_array_equal(probe_after(u, y, rounds=1e5), np.zeros((6, 3)))


def test_probes_of_a_batch_are_those_of_each_run() -> None:
    u, y = readings([10.0, 0.0, 0.0], rounds=40, runs=4)
    u[:, 2:], y[:, 2:] = (part[:, 2:] for part in readings(10.0, rounds=40, runs=4))
    together = probe_after(u, y, rounds=1000.0)
    assert together.any(axis=1).tolist() == [True, True, False, False]
    for run in range(4):
        alone = probe_after(u[:, run : run + 1], y[:, run : run + 1], rounds=1000.0)
        # Of two equally unknown directions, either may be chosen.
        assert np.linalg.norm(alone[0]) == pytest.approx(np.linalg.norm(together[run]), rel=1e-6)


def test_glide_probes_if_v_moves_along_one_direction_and_saves_by_it() -> None:
    world = Environment(
        RandomProblem(3, 3, min_eigenvalue=0.2, max_eigenvalue=3.0), Gaussian([20.0, 0.0, 0.0]), Uniform(1.0)
    )
    policies = {"probes": GLIDE(), "never": GLIDE(probing=False)}
    result = simulate(world, policies, horizon=300, runs=24, seed=1)
    assert (result["probes"].diagnostics["probes"] > 0).all()
    assert (result["never"].diagnostics["probes"] == 0).all()
    regret = {name: np.median(result.regret(name)[:, -1]) for name in policies}
    assert 0.0 < regret["probes"] <= 0.5 * regret["never"]
