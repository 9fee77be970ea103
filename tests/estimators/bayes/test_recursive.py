"""The belief about A against dense Gaussian algebra on the raw readings, and what each run owes to its own alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from scipy import stats

from soqo.estimators._measurements import measure, smat, svec
from soqo.estimators.bayes._recursive import RELATIVE_ERROR, Belief, Model, fitted, folded, tamed
from soqo.estimators.bayes._scales import (
    LEAST,
    NOISE_POWER,
    SCALE_DEVIATION,
    SCALES,
    Likelihood,
    averaged,
)
from soqo.typing import Array

BIASES = ("direction", "constant", "none")


# ---- readings ------------------------------------------------------------------------------------------------------


def readings(seed: int, d: int, n: int, noise: float = 0.3, size: float = 2.0) -> tuple[Array, Array, Array]:
    """A matrix, n points of different lengths and directions, and noisy readings there."""
    rng = np.random.default_rng([31, seed, d, n])
    F = rng.standard_normal((d, d))
    A = F @ F.T / d
    U = size * rng.standard_normal((n, d))
    return A, U, measure(U, A) + noise * rng.standard_normal(n)


def heard(model: Model, U: Array, y: Array, belief: Belief | None = None) -> tuple[Belief, Array]:
    """One run's belief after the readings, and the weight that each should have."""
    belief = Belief.start(model, 1) if belief is None else belief
    weights = np.ones(len(y))
    for k in range(len(y)):
        if belief.readings[0]:
            relative = RELATIVE_ERROR * float(U[k] @ U[k]) / float(belief.noise[0])
            weights[k] = 1.0 / math.hypot(1.0, relative)
        belief = belief.update(model, U[k : k + 1], y[k : k + 1])
    return belief, weights


def never_due(belief: Belief) -> Belief:
    """Such that no look at the scales is due from now on."""
    return replace(belief, due=np.full(belief.due.shape, np.inf))


def looked_anew(model: Model, belief: Belief) -> Belief:
    return belief.refitted(model, np.ones(belief.readings.shape, dtype=np.bool_))


def covariance(belief: Belief) -> Array:
    return np.asarray(belief.root @ belief.root.mT)


def arrays(belief: Belief, run: int) -> dict[str, bytes]:
    """All that is remembered of a run, to the bit."""
    return {field.name: getattr(belief, field.name)[run].tobytes() for field in fields(belief)}


def assert_close(ours: Array, dense: Array, share: float) -> None:
    """Entries agree up to a share of the largest."""
    np.testing.assert_allclose(ours, dense, rtol=0.0, atol=share * np.abs(dense).max())


# ---- the same by dense algebra -------------------------------------------------------------------------------------


def design(model: Model, U: Array) -> tuple[Array, Array]:
    """What svec(A) and N are multiplied by in each reading, from the definition of a reading."""
    basis = smat(np.eye(model.unknowns))
    forms = np.einsum("ni,kij,nj->nk", U, basis, U)
    bias = {
        "direction": forms / np.einsum("ni,ni->n", U, U)[:, None],
        "constant": np.ones((len(U), 1)),
        "none": np.zeros((len(U), 0)),
    }[model.bias]
    return 0.5 * forms, bias


def prior_covariance(d: int) -> Array:
    """Deviation 1 in each direction of svec(A), 3 along the identity."""
    along = svec(np.eye(d)) / math.sqrt(d)
    return np.asarray(np.eye(along.size) + (9.0 - 1.0) * np.outer(along, along))


def log_density(y: Array, mean: Array, covariance: Array) -> float:
    factor = stats.Covariance.from_cholesky(np.linalg.cholesky(covariance))
    return float(stats.multivariate_normal.logpdf(y, mean, factor))


@dataclass
class Dense:
    """The posterior of svec(A) averaged over every (sigma, s), by n x n covariances of the readings themselves."""

    model: Model
    U: Array
    y: Array
    weights: Array
    center: Array
    unit: float = 1.0
    count: float | None = None

    def __post_init__(self) -> None:
        B, H = design(self.model, self.U)
        self.B, self.H = self.weights[:, None] * B, self.weights[:, None] * H
        self.y = self.weights * self.y
        self.prior = self.unit**2 * prior_covariance(self.model.dim)
        self._average()

    def noises(self) -> Array:
        """Sigma in octaves from twice the largest reading down to 1e-12 of it, not above the cap."""
        largest = np.abs(self.y).max()
        sigma = largest * 2.0 ** np.arange(1, -39, -1)
        sigma = np.minimum(sigma, np.inf if self.model.noise_cap is None else self.model.noise_cap)
        # Where there are more readings than unknowns, covariances of still smaller noise are singular to the computer.
        floor = 1e-5 * largest if len(self.y) > self.model.unknowns else 0.0
        return np.asarray(sigma[sigma > floor])

    def given(self, sigma: float, s: float) -> tuple[float, Array, Array]:
        """The logarithm of the density of the readings, and mean and covariance of svec(A), for one pair."""
        B, theta, P = self.B, s * svec(self.center), s * s * self.prior
        n = len(self.y)
        noise = sigma**2 * (np.eye(n) + self.model.kappa**2 * self.H @ self.H.T)
        total = B @ P @ B.T + noise
        gain = np.linalg.solve(total, B @ P).T
        density = log_density(self.y, B @ theta, total)
        if self.count is not None:
            # The readings count for fewer than there are rows.
            density += (n - self.count) * math.log(sigma)
        return density, theta + gain @ (self.y - B @ theta), P - gain @ B @ P

    def _average(self) -> None:
        sigmas, scales = self.noises(), np.exp(SCALES)
        logs = np.zeros((sigmas.size, scales.size))
        means = np.zeros((*logs.shape, self.model.unknowns))
        covariances = np.zeros((*means.shape, self.model.unknowns))
        for i, sigma in enumerate(sigmas):
            for j, s in enumerate(scales):
                logs[i, j], means[i, j], covariances[i, j] = self.given(sigma, s)
                logs[i, j] += NOISE_POWER * math.log(sigma)
                logs[i, j] -= 0.5 * (math.log(s) / SCALE_DEVIATION) ** 2
        if sigmas.size < 40:
            # The noise that was left out is less likely still: the misfit grows as one over its square.
            assert logs[-1].max() < logs.max() - 50.0
        w = np.exp(logs - logs.max())
        w /= w.sum()
        self.mean = np.einsum("ij,ijk->k", w, means)
        self.covariance = np.einsum("ij,ijkl->kl", w, covariances)
        self.noise = math.exp(float(w.sum(axis=1) @ np.log(sigmas)))
        self.scale = self.unit * float(w.sum(axis=0) @ scales)

    def agrees_with(self, belief: Belief) -> None:
        """Solving with a covariance of condition 1e9 costs the pairs that count nine of sixteen digits at worst."""
        p = self.model.unknowns
        assert_close(belief.mean[0, :p], self.mean, 1e-6)
        assert_close(covariance(belief)[0, :p, :p], self.covariance, 1e-6)
        assert belief.noise[0] == pytest.approx(self.noise, rel=1e-6)
        assert belief.scale[0] == pytest.approx(self.scale, rel=1e-6)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize(("d", "n"), [(2, 2), (2, 3), (2, 8), (3, 3), (3, 6), (3, 12)])
def test_the_average_over_all_scales_is_that_of_dense_algebra(d: int, n: int, bias: str) -> None:
    model = Model(d, bias, kappa=0.7)
    _, U, y = readings(1, d, n)
    belief, weights = heard(model, U, y)
    assert belief.filled[0] == 0  # the scales were weighed at the last reading
    Dense(model, U, y, weights, np.eye(d)).agrees_with(belief)


def test_a_cap_on_the_noise_takes_the_place_of_all_that_is_above() -> None:
    capped = Model(2, "constant", noise_cap=0.2)
    _, U, y = readings(2, 2, 8, noise=0.6)
    belief, weights = heard(capped, U, y)
    Dense(capped, U, y, weights, np.eye(2)).agrees_with(belief)


@pytest.mark.parametrize("bias", ["direction", "constant"])
@pytest.mark.parametrize(("n", "kappa"), [(2, 1.0), (8, 1.0), (8, 3.0)])
def test_the_bias_given_a_is_conditioned_on_the_readings(n: int, kappa: float, bias: str) -> None:
    model = Model(2, bias, kappa)
    _, U, y = readings(4, 2, n)
    belief, weights = heard(model, U, y)
    p, q, sigma = model.unknowns, model.biases, float(belief.noise[0])
    B, H = (weights[:, None] * rows for rows in design(model, U))
    # y - B svec(A) = H N + sigma e, with N of deviation kappa sigma.
    own = (kappa * sigma) ** 2
    gain = own * H.T @ np.linalg.inv(own * H @ H.T + sigma**2 * np.eye(n))
    mean, joint = belief.mean[0], covariance(belief)[0]
    assert_close(mean[p:], gain @ (weights * y - B @ mean[:p]), 1e-9)
    assert_close(joint[p:, :p], -gain @ B @ joint[:p, :p], 1e-9)
    doubt = own * (np.eye(q) - gain @ H)
    assert_close(joint[p:, p:], doubt + gain @ B @ joint[:p, :p] @ B.T @ gain.T, 1e-9)


def test_a_fit_to_the_factor_is_what_the_belief_holds() -> None:
    model = Model(3, "direction")
    _, U, y = readings(5, 3, 9)
    belief, weights = heard(model, U, y)
    B, H = design(model, U)
    # Any rows with the same squares will do, so rows of another order and signs give the same fit.
    rows = (weights[:, None] * np.column_stack([H, B, y]))[::-1] * (-1.0) ** np.arange(9)[:, None]
    factor = folded(np.zeros_like(belief.factor), rows[None])
    fit = fitted(model, belief, factor, np.zeros(1, dtype=np.int64))
    assert_close(fit["mean"], belief.mean, 1e-9)
    assert_close(fit["root"] @ fit["root"].mT, covariance(belief), 1e-9)
    assert fit["noise"] == pytest.approx(belief.noise, rel=1e-9)
    assert fit["scale"] == pytest.approx(belief.scale, rel=1e-9)


def test_averages_over_many_runs_are_those_of_each() -> None:
    rng = np.random.default_rng(6)
    runs, p = 150, 3  # more than two pieces of 64
    data = Likelihood(
        D=rng.uniform(0.1, 5.0, (runs, p)),
        c=rng.standard_normal((runs, p)),
        c0=rng.standard_normal((runs, p)),
        rest=rng.uniform(0.0, 2.0, runs),
        readings=np.tile(np.arange(1.0, 11.0), 15),
    )
    largest = rng.uniform(0.5, 2.0, runs)
    together = averaged(data, largest, None)
    for k in (0, 63, 64, 127, 128, 149):
        alone = averaged(data.of(slice(k, k + 1)), largest[k : k + 1], None)
        for ours, single in zip(together, alone, strict=True):
            np.testing.assert_allclose(ours[k], single[0], rtol=1e-12)


# ---- the model -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bias", "q"), [("direction", 6), ("constant", 1), ("none", 0)])
def test_features_are_what_a_reading_multiplies_its_unknowns_by(bias: str, q: int) -> None:
    model = Model(3, bias)
    assert (model.unknowns, model.biases) == (6, q)
    rng = np.random.default_rng(7)
    u, A, N = rng.standard_normal((5, 3)), smat(rng.standard_normal(6)), rng.standard_normal(q)
    share = {
        "direction": 2.0 * measure(u, smat(np.resize(N, 6))) / np.vecdot(u, u),
        "constant": np.full(5, N.sum()),
        "none": np.zeros(5),
    }[bias]
    # Products of numbers near one: all digits but the last few.
    np.testing.assert_allclose(model.features(u) @ np.concatenate([svec(A), N]), measure(u, A) + share, rtol=1e-12)


def test_at_u_zero_there_is_no_direction_to_be_biased_in() -> None:
    np.testing.assert_array_equal(Model(3).features(np.zeros((1, 3))), 0.0)


def test_the_belief_starts_from_the_prior() -> None:
    belief = Belief.start(Model(3, "none"), 2)
    weights = stats.norm.pdf(SCALES, scale=SCALE_DEVIATION)
    s, square = (np.average(np.exp(k * SCALES), weights=weights) for k in (1.0, 2.0))
    np.testing.assert_allclose(smat(belief.mean), np.tile(s * np.eye(3), (2, 1, 1)), rtol=1e-14)
    np.testing.assert_allclose(covariance(belief)[1] / square, prior_covariance(3), atol=1e-14)
    np.testing.assert_allclose(belief.scale, s, rtol=1e-14)


def test_a_reading_that_tells_nothing_of_the_matrix_leaves_the_prior() -> None:
    model = Model(3, "none")
    before = Belief.start(model, 1)
    after = before.update(model, np.zeros((1, 3)), np.array([0.7]))
    np.testing.assert_allclose(after.mean, before.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(covariance(after), covariance(before), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(after.scale, before.scale, rtol=1e-12)


@pytest.mark.parametrize("bias", BIASES)
def test_a_prediction_is_the_row_times_mean_and_covariance(bias: str) -> None:
    model = Model(3, bias)
    _, U, y = readings(8, 3, 7)
    belief, _ = heard(model, U, y)
    u = np.array([[1.0, -2.0, 0.5]])
    row = np.concatenate(design(model, u), axis=1)[0]
    expected, doubt = belief.prediction(model, u)
    # One inner product, and a square: round-off alone.
    assert expected[0] == pytest.approx(row @ belief.mean[0], rel=1e-12)
    assert doubt[0] == pytest.approx(row @ covariance(belief)[0] @ row, rel=1e-12)


# ---- Potter's steps ------------------------------------------------------------------------------------------------


def any_belief(model: Model, seed: int) -> Belief:
    """A belief with a mean and a square root of no particular form, as if many readings had been heard."""
    rng = np.random.default_rng([9, seed])
    size = model.unknowns + model.biases
    belief = Belief.start(model, 1)
    return never_due(
        replace(
            belief,
            mean=rng.standard_normal((1, size)),
            root=np.eye(size) + 0.2 * rng.standard_normal((1, size, size)),
            noise=np.array([0.3]),
            readings=np.array([50.0]),
        )
    )


def bayes(mean: Array, P: Array, rows: Array, y: Array, sigma: float) -> tuple[Array, Array]:
    """Mean and covariance given y = rows x + sigma e, all at once."""
    gain = P @ rows.T @ np.linalg.inv(rows @ P @ rows.T + sigma**2 * np.eye(len(y)))
    return mean + gain @ (y - rows @ mean), P - gain @ rows @ P


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weight", [1.0, 0.2])
def test_a_step_is_the_dense_update(bias: str, weight: float) -> None:
    model = Model(2, bias)
    belief = any_belief(model, 0)
    u, y = np.array([[0.4, -1.2]]), np.array([2.5])
    after = belief._stepped(model, u, y, np.array([weight]))
    row = weight * np.concatenate(design(model, u), axis=1)
    mean, P = bayes(belief.mean[0], covariance(belief)[0], row, weight * y, 0.3)
    # One division by the variance: round-off, with a few digits in hand.
    assert_close(after.mean[0], mean, 1e-12)
    assert_close(covariance(after)[0], P, 1e-12)


def test_many_steps_are_one_update_with_all_rows() -> None:
    model = Model(3, "direction")
    belief = any_belief(model, 1)
    _, U, y = readings(10, 3, 60)
    after, weights = heard(model, U, y, belief)
    rows = weights[:, None] * np.concatenate(design(model, U), axis=1)
    mean, P = bayes(belief.mean[0], covariance(belief)[0], rows, weights * y, 0.3)
    # The dense covariance shrinks by 1e4 and so loses four digits, the steps lose none.
    assert_close(after.mean[0], mean, 1e-9)
    assert_close(covariance(after)[0], P, 1e-9)
    assert after.readings[0] == 110.0


PINNED = 1e-13
"""A cap far below 1e-12 of any reading: it leaves one noise only. Then a row's relative error, 1e-6 of |u|^2, rules."""


def precise(seed: int, d: int, n: int) -> tuple[Array, Array]:
    """Readings that are wrong by a millionth of |u|^2."""
    A, U, _ = readings(seed, d, n)
    errors = np.random.default_rng([11, seed]).standard_normal(n)
    return U, measure(U, A) + 1e-6 * np.vecdot(U, U) * errors


@pytest.mark.parametrize("bias", BIASES)
def test_a_hundred_steps_end_where_a_look_at_all_readings_does(bias: str) -> None:
    # With kappa = 1e7, the bias is as large as the error of a reading.
    model = Model(2, bias, kappa=1e7, noise_cap=PINNED)
    U, y = precise(12, 2, 120)
    early, _ = heard(model, U[:20], y[:20])
    late, _ = heard(model, U[20:], y[20:], never_due(early))
    anew = looked_anew(model, late)
    assert late.noise[0] == pytest.approx(PINNED)
    assert anew.noise[0] == pytest.approx(PINNED)
    # The weights of the scales s are all that differs. A prior a million times as wide as the doubt moves the mean by a
    # millionth of the doubt for each deviation that A is off; one for s = 0.1, by a thousandth.
    deviations = np.sqrt(np.diagonal(covariance(anew)[0]))
    np.testing.assert_array_less(np.abs(late.mean[0] - anew.mean[0]), 2e-3 * deviations)
    # The first row has weight one, the others 1e-7: with such a kappa, a square of condition 1e14 is decomposed.
    assert_close(covariance(late)[0], covariance(anew)[0], 1e-3)


def test_the_scales_are_weighed_with_each_early_reading_and_with_each_tenth_more() -> None:
    model = Model(3, "none")
    _, U, y = readings(13, 3, 120)
    belief, looks = Belief.start(model, 1), []
    for k in range(120):
        belief = belief.update(model, U[k : k + 1], y[k : k + 1])
        if belief.filled[0] == 0:
            looks.append(k + 1)
    due = [*range(1, 13)]  # twice the number of unknowns
    while (later := math.ceil(round(1.1 * due[-1], 9))) <= 120:
        due.append(later)
    assert looks == due


# ---- what is remembered --------------------------------------------------------------------------------------------


def mixed_runs(seed: int, runs: int, n: int) -> tuple[Array, Array]:
    """Runs with matrices of their own, of different size and noise, with some readings missing."""
    rng = np.random.default_rng([14, seed])
    size = 10.0 ** rng.uniform(-1.0, 1.0, (runs, 1, 1))
    U = size * rng.standard_normal((n, runs, 2)).swapaxes(0, 1)
    y = np.stack([measure(U[k], readings(k, 2, 1)[0]) for k in range(runs)])
    y = y + rng.uniform(0.01, 1.0, (runs, 1)) * rng.standard_normal((runs, n))
    y[rng.random((runs, n)) < 0.2] = np.nan
    return U, y


def played(model: Model, U: Array, y: Array) -> Belief:
    """A batch of runs after all readings."""
    belief = Belief.start(model, len(U))
    for k in range(U.shape[1]):
        belief = belief.update(model, U[:, k], y[:, k])
    return belief


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
@pytest.mark.parametrize("bias", BIASES)
def test_runs_in_a_batch_know_nothing_of_each_other(bias: str, forgetting: float) -> None:
    model = Model(2, bias, forgetting=forgetting)
    U, y = mixed_runs(0, 5, 60)
    together = played(model, U, y)
    for k in range(5):
        alone = played(model, U[k : k + 1], y[k : k + 1])
        for field in ("mean", "noise", "scale", "readings", "second_moment", "due", "largest"):
            ours, single = getattr(together, field)[k], getattr(alone, field)[0]
            # Products over a batch may be summed in another order than those of one run.
            np.testing.assert_allclose(ours, single, rtol=1e-9, atol=1e-12, err_msg=field)
        assert_close(covariance(together)[k], covariance(alone)[0], 1e-9)
        assert together.filled[k] == alone.filled[0]


def test_a_missing_reading_changes_no_bit_while_other_runs_learn() -> None:
    model = Model(2, "direction", forgetting=0.99)
    rng = np.random.default_rng(15)
    _, U, y = readings(16, 2, 120)
    belief = Belief.start(model, 3)
    for k in range(40):
        heard_now = rng.random(3) < 0.6
        reading = np.where(heard_now, y[3 * k : 3 * k + 3], np.nan)
        # Nor does it matter where there was nothing to hear.
        u = np.where(heard_now[:, None], U[3 * k : 3 * k + 3], np.inf)
        after = belief.update(model, u, reading)
        for run in range(3):
            before, now = arrays(belief, run), arrays(after, run)
            if heard_now[run]:
                assert now["mean"] != before["mean"]
                assert now["root"] != before["root"]
                assert after.readings[run] == pytest.approx(0.99 * belief.readings[run] + 1.0)
            else:
                assert now == before
        belief = after


def test_an_update_leaves_the_belief_before_it_as_it_was() -> None:
    model = Model(2, "none")
    U, y = mixed_runs(2, 3, 80)
    belief = Belief.start(model, 3)
    for k in range(80):
        before = [arrays(belief, run) for run in range(3)]
        after = belief.update(model, U[:, k], y[:, k])
        belief.refitted(model, np.array([True, False, True]))
        belief.restarted(np.array([False, True, True]), np.zeros((3, 2, 2)))
        assert [arrays(belief, run) for run in range(3)] == before
        belief = after


@pytest.mark.parametrize("bias", BIASES)
def test_rows_lose_nothing_when_they_become_part_of_the_factor(bias: str) -> None:
    model = Model(2, bias)
    _, U, y = readings(18, 2, 60)
    belief = never_due(Belief.start(model, 1))
    room = belief.waiting.shape[1]
    rows = np.column_stack([*design(model, U)[::-1], y])
    folds = 0
    for k in range(60):
        belief = belief.update(model, U[k : k + 1], y[k : k + 1])
        folds += int(belief.filled[0] == 1)
        factor, waiting = belief.factor[0], belief.waiting[0]
        kept = factor.T @ factor + waiting.T @ waiting
        # The noise is that of the start, one: weights differ from one by (1e-6 |u|^2)^2 / 2, at most 1e-9 here.
        assert_close(kept, rows[: k + 1].T @ rows[: k + 1], 1e-8)
    assert folds == math.ceil(60 / room) > 5
    assert_close(belief.second_moment[0], U.T @ U, 1e-8)


def test_a_giant_reading_weighs_what_its_relative_error_allows() -> None:
    model = Model(2, "direction")
    _, U, y = readings(3, 2, 9)
    U[4:] *= 10.0 ** np.arange(1.0, 6.0)[:, None]
    y[4:] *= 100.0 ** np.arange(1.0, 6.0)
    belief, weights = heard(model, U[:4], y[:4])
    belief, weights = heard(model, U[4:], y[4:], never_due(belief))
    # With a relative error of 1e-6 and noise sigma, a row is worth sigma^2 / (sigma^2 + (1e-6 |u|^2)^2) of another.
    assert weights[0] > 0.99
    assert weights[-1] < 1e-4
    rows = weights[:, None] * np.column_stack([*design(model, U[4:])[::-1], y[4:]])
    np.testing.assert_allclose(belief.waiting[0, :5], rows, rtol=1e-12)
    assert belief.largest[0] == pytest.approx(max(np.abs(y[:4]).max(), np.abs(rows[:, -1]).max()))


# ---- forgetting and starting again ---------------------------------------------------------------------------------


def test_with_forgetting_the_average_is_that_of_rows_that_fade() -> None:
    model = Model(2, "constant", forgetting=0.8)
    _, U, y = readings(19, 2, 9)
    belief, weights = heard(model, U, y)
    fading = 0.8 ** np.arange(8, -1, -1)
    dense = Dense(model, U, y, weights * np.sqrt(fading), np.eye(2), count=fading.sum())
    # The largest reading, from which sigma's octaves are counted, does not fade.
    belief = replace(belief, largest=np.abs(dense.y).max(keepdims=True))
    dense.agrees_with(looked_anew(model, belief))
    assert belief.readings[0] == pytest.approx(fading.sum())


def test_with_forgetting_the_mean_is_that_of_weighted_least_squares() -> None:
    model = Model(2, "none", noise_cap=PINNED, forgetting=0.9)
    (U, old), (later, new) = precise(20, 2, 30), precise(21, 2, 30)
    U, y = np.concatenate([U, later]), np.concatenate([old, new])  # A changes half way
    belief, weights = heard(model, U, y)
    roots = weights * np.sqrt(0.9 ** np.arange(59, -1, -1))
    B, _ = design(model, U)
    theirs, *_ = np.linalg.lstsq(roots[:, None] * B, roots * y, rcond=None)
    # The prior weighs 1e-12 of a reading.
    assert_close(looked_anew(model, belief).mean[0], theirs, 1e-9)
    outer = np.einsum("n,ni,nj->ij", weights * 0.9 ** np.arange(59, -1, -1), U, U)
    assert_close(belief.second_moment[0], outer, 1e-9)


@pytest.mark.parametrize("n", [2, 6])
def test_a_restart_keeps_the_matrix_and_the_scale_alone(n: int) -> None:
    model = Model(2, "direction")
    _, U, y = readings(22, 2, 25, size=5.0)
    old, _ = heard(model, U, y)
    matrix = np.array([[2.0, 0.3], [0.3, 0.1]])
    restarted = old.restarted(np.array([True]), matrix[None])
    _, U, y = readings(23, 2, n)
    new, weights = heard(model, U, y, restarted)
    unit = float(old.scale[0])
    Dense(model, U, y, weights, matrix, unit).agrees_with(new)
    # A belief that never heard the old readings, with the same prior, knows the same to the bit.
    prior_mean, prior_unit = matrix[None], np.array([unit])
    fresh = replace(Belief.start(model, 1), prior_mean=prior_mean, prior_unit=prior_unit)
    assert arrays(heard(model, U, y, fresh)[0], 0) == arrays(new, 0)


def test_a_restart_leaves_other_runs_alone() -> None:
    model = Model(2, "direction")
    U, y = mixed_runs(1, 3, 30)
    belief = played(model, U, y)
    after = belief.restarted(np.array([False, True, False]), np.full((3, 2, 2), 7.0))
    assert arrays(after, 0) == arrays(belief, 0)
    assert arrays(after, 2) == arrays(belief, 2)
    np.testing.assert_array_equal(after.prior_mean[1], 7.0)
    for name in ("factor", "waiting", "filled", "readings", "largest", "second_moment"):
        np.testing.assert_array_equal(getattr(after, name)[1], 0.0, err_msg=name)


# ---- numbers of every size -----------------------------------------------------------------------------------------


def test_readings_in_another_unit_give_the_estimate_in_that_unit() -> None:
    model = Model(2, "direction")
    _, U, y = readings(24, 2, 80, noise=0.002)
    plain, _ = heard(model, U, y)
    scaled, _ = heard(model, U, 1000.0 * y)
    plain, scaled = looked_anew(model, plain), looked_anew(model, scaled)
    # The largest s is 100, so A = 1000 is ten deviations off. The noise of 2 makes A doubtful by 0.1 or so, and the
    # prior moves it by 10 (0.1 / 100)^2 of that deviation.
    assert_close(scaled.mean[0, :3], 1000.0 * plain.mean[0, :3], 1e-5)
    assert scaled.noise[0] == pytest.approx(1000.0 * plain.noise[0], rel=1e-3)
    assert_close(covariance(scaled)[0], 1e6 * covariance(plain)[0], 1e-3)


def test_taming_leaves_ordinary_readings_as_they_are() -> None:
    u, y = np.array([[3.0, -1e20], [0.0, 1e-300]]), np.array([1e40, np.nan])
    near, reading = tamed(u, y)
    np.testing.assert_array_equal(near, u)
    np.testing.assert_array_equal(reading, y)


def test_taming_moves_giants_nearer_along_the_parabola() -> None:
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    u = np.array([[1e150, -3e150], [1e40, 1e30]])
    near, reading = tamed(u, measure(u, A))
    np.testing.assert_allclose(near[:, 0] / near[:, 1], u[:, 0] / u[:, 1], rtol=1e-12)
    np.testing.assert_allclose(reading, measure(near, A), rtol=1e-12)
    assert np.isfinite(np.vecdot(near, near) ** 2).all()
    _, clipped = tamed(np.ones((2, 1)), np.array([1e300, -1e300]))
    np.testing.assert_array_equal(clipped, [1e60, -1e60])


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("sizes", [(1e150,), (1e-150,), (0.0,), (1.0, 1e150), (1e-150, 1e150, 1.0)])
def test_points_of_any_size_give_finite_numbers(sizes: tuple[float, ...], bias: str) -> None:
    model = Model(2, bias)
    rng = np.random.default_rng(25)
    belief = Belief.start(model, 1)
    for k in range(24):
        u = sizes[k % len(sizes)] * rng.standard_normal((1, 2))
        belief = belief.update(model, *tamed(u, np.vecdot(u, u) + rng.standard_normal(1)))
        expected, doubt = belief.prediction(model, tamed(u, np.zeros(1))[0])
        for field in fields(belief):
            if field.name != "due":
                assert np.isfinite(getattr(belief, field.name)).all(), field.name
        assert np.isfinite(expected).all()
        assert np.isfinite(doubt).all()


def test_a_giant_reading_does_not_undo_what_was_learned() -> None:
    model = Model(2, "none")
    A, U, y = readings(26, 2, 60, noise=0.1)
    belief, _ = heard(model, U, y)
    error = np.abs(smat(belief.mean[0]) - A).max()
    giant = np.array([[1e150, 2e150]])
    after = looked_anew(model, belief.update(model, *tamed(giant, measure(giant, A))))
    # It says all about its own direction, and nothing that is wrong.
    assert np.abs(smat(after.mean[0]) - A).max() < 2.0 * error
    assert measure(giant[0] / 1e150, smat(after.mean[0]) - A) == pytest.approx(0.0, abs=1e-4)


def test_silence_is_finite_too() -> None:
    model = Model(2, "direction")
    belief, _ = heard(model, np.eye(2)[[0, 1, 0, 1, 0]], np.zeros(5))
    assert LEAST * 1e-12 < belief.noise[0] < 1e-90
    # The smallest of the scales is 0.01; readings of zero leave no more of A's diagonal than that.
    assert np.abs(np.diagonal(smat(belief.mean[0, :3]))).max() < 0.01


@pytest.mark.parametrize("cap", [0.0, 1e-3, 0.4])
def test_the_noise_stays_below_its_cap(cap: float) -> None:
    model = Model(2, "direction", noise_cap=cap)
    _, U, y = readings(27, 2, 40, noise=1.0)
    belief = Belief.start(model, 1)
    for k in range(40):
        belief = belief.update(model, U[k : k + 1], y[k : k + 1])
        # To exponentiate a logarithm costs the last digits.
        assert 0.0 < belief.noise[0] <= max(cap, LEAST) * (1.0 + 1e-12)
    free, _ = heard(Model(2, "direction"), U, y)
    assert free.noise[0] > 0.5  # without the cap, it is found
