"""The noise, the base load and the scale of A by marginal likelihood, against dense Gaussians and the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from soqo.estimators.lowrank import _evidence, fit_levels
from soqo.typing import Array


def readings(n: int, d: int, *, load: float, noise: float, scale: float = 0.7, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    Z = 3.0 * rng.standard_normal((n, d))
    return Z, load + scale * np.vecdot(Z, Z) / 2.0 + noise * rng.standard_normal(n)


def test_the_evidence_is_that_of_a_dense_gaussian(monkeypatch: pytest.MonkeyPatch) -> None:
    Z, y = readings(12, 5, load=30.0, noise=3.0)
    c, zeros = np.linspace(0.5, 1.0, 12), np.array([2.0, 55.0, 1600.0])
    size, unit = np.sqrt((y @ y + zeros[2]) / 14.0), np.sqrt(np.square(np.vecdot(Z, Z) / 2.0).mean())
    for name, value in (("_NOISES", 0.1), ("_DEVIATIONS", 0.2), ("_SCALES", 3.0)):
        monkeypatch.setattr(_evidence, name, np.array([value]))
    monkeypatch.setattr(_evidence, "_SCALE_NATS", np.zeros(1))
    fit = fit_levels(Z, c, y, zeros)
    # The readings at z = 0, of which only the sum and that of the squares matter: two with these.
    half, spread = 27.5, np.sqrt(800.0 - 27.5**2)
    all_y = np.concatenate([y, [half + spread, half - spread]])
    q, level = np.append(np.vecdot(Z, Z) / 2.0, [0.0, 0.0]), np.append(c, [1.0, 1.0])
    K = np.zeros((14, 14))
    K[:12, :12] = np.square(Z @ Z.T) / 4.0
    base = (0.1 * size) ** 2 * np.eye(14) + (0.2 * size / unit) ** 2 * K + 9.0 * np.outer(q, q)
    width = 2.0 * min(np.sqrt(800.0) / size, 1.0) * size
    with_load = base + width**2 * np.outer(level, level)
    nats = [multivariate_normal(3.0 * q, cov).logpdf(all_y) for cov in (base, with_load)]
    assert fit.load_nats == pytest.approx(nats[1] - nats[0] - 1.0, rel=1e-6)
    constant = 7.0 * np.log(2.0 * np.pi)
    assert fit.nats == pytest.approx(np.logaddexp(nats[0], nats[1] - 1.0) + constant, rel=1e-6)


def test_a_base_load_of_many_times_the_signal_is_found_and_none_is_not() -> None:
    loads, scales = [], []
    for seed in range(20):
        Z, y = readings(150, 20, load=2000.0, noise=60.0, seed=seed)
        fit = fit_levels(Z, np.ones(150), y, np.array([1.0, 2030.0, 2030.0**2]))
        assert fit.load_nats > 10.0
        loads.append(fit.load)
        scales.append(fit.scale)
        Z, y = readings(150, 20, load=0.0, noise=10.0, seed=seed)
        assert fit_levels(Z, np.ones(150), y, np.array([1.0, 8.0, 64.0])).load_nats < 3.0
    for found, truth in ((loads, 2000.0), (scales, 0.7)):
        assert abs(np.mean(found) - truth) < 5.0 * np.std(found) / np.sqrt(20.0)


@pytest.mark.parametrize(("noise", "found"), [(60.0, [False, False, True]), (1.0, [False, False, False])])
def test_the_lead_of_a_multiple_of_the_identity_counts_where_noise_dominates(noise: float, found: list[bool]) -> None:
    rng = np.random.default_rng(5)
    Z, E = 3.0 * rng.standard_normal((256, 16)), rng.standard_normal((16, 16))
    bent = 0.3 * np.eye(16) + 0.275 * (E + E.T)
    y = np.vecdot(Z @ bent, Z) / 2.0 + noise * rng.standard_normal(256)
    fits = [fit_levels(Z, np.ones(256), y, np.zeros(3), lead=lead) for lead in (0.0, 4.0, 8.0)]
    assert [fit.is_flat for fit in fits] == found


def test_readings_near_v_are_no_evidence_for_a_huge_scale() -> None:
    rng = np.random.default_rng(0)
    Z, y = 0.1 * rng.standard_normal((5, 16)), 700.0 + 300.0 * rng.standard_normal(5)
    assert fit_levels(Z, np.ones(5), y, np.array([1.0, 760.0, 760.0**2])).scale < 50.0


def test_a_base_load_that_a_reading_at_v_does_not_show_is_not_believed() -> None:
    Z, y = readings(60, 20, load=500.0, noise=5.0)
    fit = fit_levels(Z, np.ones(60), y, np.array([1.0, 2.0, 4.0]))
    assert abs(fit.load) < 100.0


def test_without_a_base_load_there_is_none() -> None:
    Z, y = readings(40, 20, load=500.0, noise=5.0)
    assert fit_levels(Z, np.ones(40), y, np.zeros(3), base_load=False).load == 0.0


def near_identity(Z: Array, deviation: float, rng: np.random.Generator) -> Array:
    """Return 2 I with entries of some deviation, as the model has them."""
    E = rng.standard_normal((Z.shape[1], Z.shape[1]))
    return np.asarray(2.0 * np.eye(len(E)) + 0.5 * deviation * (E + E.T))


def test_noise_is_found_though_a_few_readings_are_a_million_times_as_large() -> None:
    """With heavy tails the mean square of the readings says nothing about most of them."""
    rng = np.random.default_rng(0)
    Z = 3.0 * rng.standard_normal((200, 16))
    Z[::40] *= 1e3
    y = np.vecdot(Z @ near_identity(Z, 0.2, rng), Z) / 2.0 + 6.0 * rng.standard_normal(200)
    fit = fit_levels(Z, np.ones(200), y, np.array([1.0, 4.0, 16.0]))
    assert 4.0 < fit.noise < 9.0
    assert fit.is_flat


@pytest.mark.parametrize("deviation", [0.15, 0.175, 0.2, 0.225, 0.25])
def test_the_deviation_of_the_entries_is_not_rounded_to_a_grid(deviation: float) -> None:
    rng = np.random.default_rng(1)
    Z = 30.0 * rng.standard_normal((250, 20))
    y = np.vecdot(Z @ near_identity(Z, deviation, rng), Z) / 2.0 + 6.0 * rng.standard_normal(250)
    found = fit_levels(Z, np.ones(250), y, np.array([1.0, 4.0, 16.0])).deviation
    assert abs(found / deviation - 1.0) < 0.1
