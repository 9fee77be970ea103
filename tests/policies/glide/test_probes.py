"""When a step aside pays: the value of a reading against Monte Carlo, its price against a dense solve, and GLIDE."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soqo import Environment, RandomProblem, random_curvature, simulate
from soqo._planner import contraction
from soqo._spectrum import Spectrum
from soqo.estimators._measurements import smat, svec
from soqo.estimators.bayes._recursive import Belief, Model
from soqo.noise import Uniform
from soqo.policies.glide._policy import GLIDE
from soqo.policies.glide._probes import (
    BOLD,
    SAFETY,
    SIZES,
    boldly,
    divided_differences,
    worthwhile_probe,
)
from soqo.processes import Gaussian


def gain(A: Any, n: int) -> Any:
    """C with n rounds to go by the recursion, dense, for a batch of A."""
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
    assert (slopes < 0.0).all()  # the more it costs to stand off, the less of the distance is kept
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    A = (Q * values) @ Q.T
    # Far from the end there is no end: the contraction of 0.05 is 0.8, and 0.8^400 is nothing.
    rounds = 200 if to_go == math.inf else int(to_go)
    for _ in range(5):
        E = rng.standard_normal((3, 3))
        E = E + E.T
        h = 1e-5 * values[0]
        dense = (gain(A + h * E, rounds) - gain(A - h * E, rounds)) / (2.0 * h)
        derivative = Q @ (slopes * (Q.T @ E @ Q)) @ Q.T
        # Slopes of neighbors are differences over a part in 1e3, right to its square; the dense ones to 1e-16 / h.
        np.testing.assert_allclose(derivative, dense, rtol=0, atol=2e-6 * np.abs(dense).max() + 1e-14 / h)


def test_divided_differences_go_run_by_run() -> None:
    a = np.array([SPACINGS["apart"], SPACINGS["nearly the same"]])
    together = divided_differences(a, contraction(a, 4), 4)
    for run in range(2):
        one = a[run : run + 1]
        np.testing.assert_array_equal(together[run], divided_differences(one, contraction(one, 4), 4)[0])


# ---- what a probe is worth -----------------------------------------------------------------------------------------


class Doubt:
    """One run's belief about a given A, with little doubt, and all that the question about a probe needs."""

    def __init__(self, dim: int, bias: str = "none", *, rank: int | None = None) -> None:
        rng = np.random.default_rng(dim)
        self.to_go: Any = 4
        self.noise = 0.3
        self.model = Model(dim, bias)
        self.A = random_curvature(dim, dim, 0.4, 2.0, rng=rng)
        p, q = self.model.unknowns, self.model.biases
        # A hundredth of the smallest eigenvalue: what is of higher order than the second shows in no digit asked for.
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

    def probe(self, left: float) -> Any:
        """What is proposed."""
        mean = np.concatenate([svec(self.A), np.zeros(self.model.biases)])
        belief = replace(
            Belief.start(self.model, 1),
            mean=mean[None],
            root=self.root[None],
            noise=np.array([self.noise]),
            readings=np.array([self.readings]),
            second_moment=self.second_moment[None],
        )
        spectrum = Spectrum.of(self.A[None])
        planned, moment = self.planned[None], self.moment[None]
        return worthwhile_probe(belief, self.model, spectrum, planned, moment, self.to_go, left)[0]

    def patience(self) -> float:
        """The number of rounds left from which on a probe pays, by bisection."""
        low, high = 1e-6, 1e15
        assert not self.probe(low).any()
        assert self.probe(high).any()
        for _ in range(40):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.probe(middle).any() else (middle, high)
        return high

    def after_reading(self, u: Any) -> Any:
        """The covariance of svec(A) once a reading at u was heard, by the textbook's formula."""
        length = np.linalg.norm(u)
        outer = svec(0.5 * np.outer(u, u))
        along = 2.0 * outer / length**2 if length else np.zeros_like(outer)
        row = np.concatenate([outer, {"direction": along, "constant": [1.0], "none": []}[self.model.bias]])
        P = self.root @ self.root.T
        P = P - np.outer(P @ row, P @ row) / (row @ P @ row + self.noise**2)
        return P[: outer.size, : outer.size]

    def price(self, step: Any) -> float:
        """What a first action costs more that is a step aside of the best one, with the best ones after it: dense."""
        n, d = self.to_go, self.dim
        H = np.kron(np.eye(n), self.A + 2.0 * np.eye(d))
        H[-d:, -d:] -= np.eye(d)
        H -= np.kron(np.eye(n, k=1) + np.eye(n, k=-1), np.eye(d))
        # There is no slope at the optimum: the cost is 1/2 z'Hz, with z's first part given and the rest at its best.
        rest = -np.linalg.solve(H[d:, d:], H[d:, :d] @ step)
        z = np.concatenate([step, rest])
        return float(0.5 * z @ H @ z)

    def regret(self, P: Any, normal: Any, w: Any) -> Any:
        """1/2 |(C(A + E) - C(A)) w|^2 in the norm of C^{-1}, for draws of E of covariance P and of w."""
        values, vectors = np.linalg.eigh(P)
        # The symmetric root: near covariances give near draws, so that their difference has little noise.
        E = smat(normal @ (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
        C = gain(self.A, self.to_go)
        error = np.matvec(gain(self.A + E, self.to_go) - C, w)
        return 0.5 * np.vecdot(error, np.matvec(np.linalg.inv(C), error))

    def saving(self, P: Any) -> float:
        """How much less regret than before any reading, per round, to second order, by dense differences."""
        p = self.model.unknowns
        values, vectors = np.linalg.eigh(self.root[:p] @ self.root[:p].T - P)
        C = gain(self.A, self.to_go)
        total = 0.0
        for value, vector in zip(values, vectors.T, strict=True):
            h = 1e-5
            slope = (gain(self.A + h * smat(vector), self.to_go) - gain(self.A - h * smat(vector), self.to_go)) / (
                2 * h
            )
            total += 0.5 * value * np.trace(np.linalg.solve(C, slope @ self.moment @ slope.T))
        return float(total)

    def candidates(self) -> list[Any]:
        """Steps along eigenvectors, in units of the size at which the doubt outweighs the noise."""
        found = []
        for q in np.linalg.eigh(self.A)[1].T:
            deviation = np.linalg.norm(svec(np.outer(q, q)) @ self.root[: self.model.unknowns])
            found += [size * math.sqrt(2.0 * self.noise / deviation) * q for size in SIZES]
        return found


CASES = [
    (2, "none", 0.0),
    (2, "none", 3.0),
    (3, "none", 5.0),
    (2, "constant", 0.0),
    (2, "constant", 3.0),
    (2, "direction", 3.0),
]


def doubt(dim: int, bias: str, planned: float) -> Doubt:
    case = Doubt(dim, bias)
    case.planned = planned * np.random.default_rng(9).standard_normal(dim)
    return case


@pytest.mark.parametrize(("dim", "bias", "planned"), CASES)
def test_a_probe_pays_once_it_saves_so_many_times_its_price(dim: int, bias: str, planned: float) -> None:
    case = doubt(dim, bias, planned)
    patience = case.patience()
    step = case.probe(patience)
    draws = 40_000
    rng = np.random.default_rng(1)
    normal = rng.standard_normal((draws, case.model.unknowns))
    w = rng.standard_normal((draws, dim)) @ np.linalg.cholesky(case.moment).T
    without = case.regret(case.after_reading(case.planned), normal, w)
    saved = without - case.regret(case.after_reading(case.planned + step), normal, w)
    error = saved.std(ddof=1) / math.sqrt(draws)
    assert 4.0 * error < 0.2 * saved.mean()  # or there would be nothing to see
    assert abs(saved.mean() - SAFETY * case.price(step) / patience) < 4.0 * error


@pytest.mark.parametrize(("dim", "bias", "planned"), CASES)
def test_the_probe_is_the_one_of_all_that_promises_most(dim: int, bias: str, planned: float) -> None:
    case = doubt(dim, bias, planned)
    anyway = case.saving(case.after_reading(case.planned))
    steps = case.candidates()
    price = np.array([SAFETY * case.price(step) for step in steps])
    saved = [case.saving(case.after_reading(case.planned + step)) - anyway for step in steps]
    # The slope at an eigenvalue is a difference over two parts in a thousand of it, right to about the square of one.
    patience = case.patience()
    assert 1.0 / np.max(saved / price) == pytest.approx(patience, rel=5e-6)
    for left in (1.001 * patience, 10.0 * patience, 1000.0 * patience):
        best = steps[int(np.argmax(left * np.array(saved) - price))]
        np.testing.assert_allclose(case.probe(left), best, rtol=1e-9)


def test_an_eigenvalue_counts_as_no_less_than_its_doubt() -> None:
    # At zero the gain without end is infinitely steep, but nobody knows that an eigenvalue is zero.
    case = Doubt(3)
    case.to_go = math.inf
    Q = np.linalg.eigh(case.A)[1]
    doubt_of_lowest = np.linalg.norm(svec(np.outer(Q[:, 0], Q[:, 0])) @ case.root)
    patience = []
    for lowest in (0.0, doubt_of_lowest, 1.5 * doubt_of_lowest):
        case.A = (Q * [lowest, 1.0, 2.0]) @ Q.T
        patience.append(case.patience())
    assert patience[0] == pytest.approx(patience[1], rel=1e-6)
    assert patience[2] > 1.05 * patience[1]


def test_movement_that_tells_the_same_makes_a_probe_worth_less() -> None:
    # Doubt about one number z only: A is known but for z X. A reading at u tells z with the precision
    # (1/2 u'Xu / noise)^2; where u is normal, its mean is what every round tells for nothing, here by Monte Carlo.
    case = Doubt(3, rank=1)
    quiet = case.patience()
    half = np.random.default_rng(2).standard_normal((3, 3))
    u = np.random.default_rng(3).standard_normal((200_000, 3)) @ half.T
    X = smat(case.root[:, 0])
    precision = np.square(0.5 * np.vecdot(u @ X, u) / case.noise)
    error = precision.std(ddof=1) / math.sqrt(precision.size)
    # What z's variance falls by, from a little more precision, falls itself as 1 / (1 + rate t)^2 while z is told for
    # nothing: over t = 0..left that makes left / (1 + rate left) in the place of left. Ten times the rounds are left
    # that would do; so just as much movement spoils the probe as makes 1 + rate left = 10.
    left = 10.0 * quiet
    case.readings = 50.0
    low, high = 0.0, 1e9
    for _ in range(60):
        scale = 0.5 * (low + high)
        case.second_moment = case.readings * scale * half @ half.T
        low, high = (scale, high) if case.probe(left).any() else (low, scale)
    rate = 9.0 / (left * scale**2)
    assert abs(rate - precision.mean()) < 4.0 * error
    assert 4.0 * error < 0.05 * precision.mean()


def test_the_step_is_along_an_eigenvector_and_of_a_size_to_choose_from() -> None:
    case = doubt(3, "direction", 5.0)
    patience = case.patience()
    for left in (1.01 * patience, 10.0 * patience, 1e3 * patience):
        step = case.probe(left)
        assert any(np.allclose(step, other) or np.allclose(step, -other) for other in case.candidates())


def test_no_rounds_left_no_probe() -> None:
    case = doubt(3, "direction", 5.0)
    assert case.probe(1e15).any()
    np.testing.assert_array_equal(case.probe(0.0), np.zeros(3))


def test_without_movement_there_is_nothing_to_save() -> None:
    case = doubt(3, "none", 5.0)
    case.moment = np.zeros((3, 3))
    np.testing.assert_array_equal(case.probe(1e15), np.zeros(3))


@pytest.mark.parametrize("bias", ["none", "constant", "direction"])
def test_more_noise_asks_for_a_longer_step_and_more_patience(bias: str) -> None:
    case = doubt(2, bias, 0.0)
    quiet = case.patience()
    short = np.linalg.norm(case.probe(quiet))
    case.noise *= 4.0
    noisy = case.patience()
    assert noisy > 2.0 * quiet
    assert np.linalg.norm(case.probe(noisy)) > 1.5 * short


# ---- boldness ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", ["none", "constant", "direction"])
def test_it_is_bold_where_the_trace_is_in_doubt_by_more_than_a_known_scale_allows(
    bias: str,
) -> None:
    model = Model(4, bias)
    belief = Belief.start(model, 2)
    values = np.array([0.4, 0.9, 3.0, 7.0])
    spectrum = Spectrum.of(np.tile(np.diag(values), (2, 1, 1)))
    p = model.unknowns
    identity = svec(np.eye(4))
    # With the scale known to be the mean eigenvalue, the trace has deviation 3 sqrt(4) times that, by the prior.
    allowed = 3.0 * 2.0 * values.mean()
    trace = math.sqrt(identity @ (belief.root[0] @ belief.root[0].T)[:p, :p] @ identity)
    factor = allowed / trace * np.array([0.99, 1.01])
    belief = replace(belief, root=factor[:, None, None] * belief.root)
    played = boldly(belief, model, spectrum)
    np.testing.assert_array_equal(played.values, [values, [0.4, 0.9, 1.0, 1.0]])
    np.testing.assert_array_equal(played.vectors, spectrum.vectors)


LARGE = RandomProblem(4, 4, 10.0, 100.0)


def test_a_large_curvature_is_found_boldly_where_readings_are_noise() -> None:
    environment = Environment(LARGE, Gaussian(1.0), Uniform(10.0))
    policies = {"bold": GLIDE(), "timid": GLIDE(probing=False)}
    result = simulate(environment, policies, 400, 60, seed=0)
    bold, timid = (np.median(result.tracks[name].excess.sum(axis=1)) for name in policies)
    assert bold < 0.7 * timid
    np.testing.assert_array_equal(  # not before two readings were heard
        result.tracks["bold"].excess[:, : BOLD.start],
        result.tracks["timid"].excess[:, : BOLD.start],
    )


def test_readings_above_the_noise_leave_no_room_for_boldness() -> None:
    environment = Environment(LARGE, Gaussian(50.0), Uniform(10.0))
    policies = {"GLIDE": GLIDE(), "timid": GLIDE(probing=False)}
    result = simulate(environment, policies, 40, 20, seed=0)
    assert not result.tracks["GLIDE"].diagnostics["probes"].any()
    np.testing.assert_array_equal(result.tracks["GLIDE"].excess, result.tracks["timid"].excess)


# ---- in play -------------------------------------------------------------------------------------------------------


def readings(scale: Any, rounds: int, runs: int) -> tuple[Any, Any]:
    """Places u of deviation ``scale`` along each axis, and noisy readings there, of an A for each run."""
    rng = np.random.default_rng(4)
    A = random_curvature(3, 3, 0.3, 2.0, rng=[rng] * runs)
    u = rng.standard_normal((rounds, runs, 3)) * scale
    return u, 0.5 * np.vecdot(u, np.matvec(A, u)) + rng.uniform(-1.0, 1.0, (rounds, runs))


def asked(u: Any, y: Any, left: float) -> Any:
    """What is proposed after all of these readings, by who moves on in the same way."""
    model = Model(3)
    belief = Belief.start(model, u.shape[1])
    for place, reading in zip(u, y, strict=True):
        belief = belief.update(model, place, reading)
    mean = Spectrum.of(smat(belief.mean[:, : model.unknowns]))
    spectrum = Spectrum(np.maximum(mean.values, 0.0), mean.vectors)
    moment = np.einsum("tri,trj->rij", u, u) / len(u)
    return worthwhile_probe(belief, model, spectrum, u[-1], moment, left, left)


def test_who_moves_along_one_direction_looks_aside() -> None:
    # No reading along an axis tells anything about the others, which matter as soon as A couples them.
    u, y = readings([10.0, 0.0, 0.0], rounds=40, runs=6)
    step = asked(u, y, left=1000.0)
    length = np.linalg.norm(step, axis=1)
    assert (length > 0.0).all()
    np.testing.assert_allclose(step[:, 0] / length, 0.0, atol=1e-9)


def test_who_moves_everywhere_and_heard_much_needs_no_probe() -> None:
    u, y = readings([10.0, 10.0, 10.0], rounds=100, runs=6)
    np.testing.assert_array_equal(asked(u, y, left=1e5), np.zeros((6, 3)))


def test_runs_are_asked_one_by_one() -> None:
    u, y = readings([10.0, 0.0, 0.0], rounds=40, runs=4)
    u[:, 2:], y[:, 2:] = (part[:, 2:] for part in readings(10.0, rounds=40, runs=4))
    together = asked(u, y, left=1000.0)
    assert together.any(axis=1).tolist() == [True, True, False, False]
    for run in range(4):
        alone = asked(u[:, run : run + 1], y[:, run : run + 1], left=1000.0)
        # Of two directions that are unknown alike, either may be the one.
        assert np.linalg.norm(alone[0]) == pytest.approx(np.linalg.norm(together[run]), rel=1e-6)


def test_glide_probes_where_v_moves_along_one_direction_and_gains_by_it() -> None:
    world = Environment(RandomProblem(3, 3, 0.2, 3.0), Gaussian([20.0, 0.0, 0.0]), Uniform(1.0))
    policies = {"probes": GLIDE(), "never": GLIDE(probing=False)}
    result = simulate(world, policies, horizon=300, runs=24, seed=1)
    assert (result["probes"].diagnostics["probes"] > 0).all()
    assert (result["never"].diagnostics["probes"] == 0).all()
    regret = {name: np.median(result.regret(name)[:, -1]) for name in policies}
    assert 0.0 < regret["probes"] <= 0.5 * regret["never"]
