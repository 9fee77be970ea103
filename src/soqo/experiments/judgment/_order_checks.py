"""Checks of orders: exponents of exact regret in the horizon and in the error, where both are extreme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from soqo.experiments.judgment._verdicts import Case, exact_case
from soqo.theory import exact_regret, exact_scale_regret
from soqo.typing import Array

DIM = 4
"""The dimension of the paper's experiments."""

SAME_ORDER = 0.05
"""Exponents within this distance of each other are the same order."""

_LONG = (10**6, 10**7, 10**8)
"""Horizons at which orders are measured: so long that an error of T^(-p) is far below every sigma."""

_PROBES = 48
"""The number of probes where r = d = 4 and c1 = 3."""

_ROTATIONS, _FLAT_ERRORS = (1e-6, 1e-5, 1e-4), (1e-4, 1e-3, 1e-2)
"""Errors so small that regret has not yet left its order: of the basis alone, and of an eigenvalue that is zero."""

_ROTATED_HORIZONS = (10**3, 2 * 10**3, 4 * 10**3)


def random_curvature(rng: np.random.Generator, rank: int, sigma: float, dim: int = DIM) -> Array:
    """Return a random A of a rank, with eigenvalues from sigma linearly up to 1 or 10."""
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    largest = 10.0 if sigma >= 1.0 else 1.0
    values = np.zeros(dim)
    values[:rank] = np.linspace(sigma, largest, rank) if rank > 1 else sigma
    return np.asarray(basis * values @ basis.T)


def near(rng: np.random.Generator, A: Array, size: float, count: int) -> Array:
    """Return estimates whose errors have a nuclear norm of about ``size`` before projection, in random directions."""
    drawn = rng.standard_normal((count, *A.shape))
    errors = drawn + np.swapaxes(drawn, 1, 2)
    errors *= size / np.abs(np.linalg.eigvalsh(errors)).sum(axis=1)[:, None, None]
    values, vectors = np.linalg.eigh(A + errors)
    return np.asarray((vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2))


def exponent(sizes: Sequence[float] | Array, of: Sequence[float] | Array = _LONG) -> float:
    """Return the power of a parameter, the horizon by default, that some sizes grow with."""
    return float(np.polyfit(np.log(np.array(of, dtype=float)), np.log(np.asarray(sizes)), 1)[0])


def check_parts() -> dict[str, tuple[Case, ...]]:
    """Test Corollary 1: that R_val and R_basis grow no faster than it says, and that both grow alike.

    Errors are those that the corollary balances, of nuclear norm T^(-1/2), or T^(-2/3) where r < d.
    """
    orders, balances = [], []
    for rank in (DIM, 1):
        for sigma in (1.0, 0.01):
            power = 0.5 if rank == DIM else 2.0 / 3.0
            A = random_curvature(np.random.default_rng(2), rank, sigma)
            sizes = []
            for T in _LONG:
                estimates = near(np.random.default_rng(3), A, T**-power, 20)
                parts = exact_regret(A, estimates, covariance=1.0, horizon=T)
                sizes.append([np.abs(np.mean(parts.value)), np.abs(np.mean(parts.basis))])
            value, basis = np.array(sizes).T
            powers = {"exponent of R_val": exponent(value), "exponent of R_basis": exponent(basis)}
            first, second = powers.values()
            place = f"r = {rank}, d = {DIM}, sigma_r = {sigma:g}"
            orders.append(exact_case(place, max(first, second) <= power + SAME_ORDER, powers))
            ratio = {f"|R_val| over |R_basis| at T = {_LONG[-1]:.0e}": float(value[-1] / basis[-1])}
            balances.append(exact_case(place, abs(first - second) < SAME_ORDER, powers | ratio))
    return {"corollary1": tuple(orders), "equal-contribution": tuple(balances)}


def check_squared_error() -> Iterator[Case]:
    """Measure how regret grows with an error of the basis alone, where r < d: as epsilon^2 T^2, or as epsilon T^2."""
    for sigma in (1.0, 0.01):
        by_error = [rotated_regret(sigma, epsilon, _ROTATED_HORIZONS[0]) for epsilon in _ROTATIONS]
        by_horizon = [rotated_regret(sigma, _ROTATIONS[0], T) for T in _ROTATED_HORIZONS]
        powers = exponent(by_error, _ROTATIONS), exponent(by_horizon, _ROTATED_HORIZONS)
        holds = max(abs(power - 2.0) for power in powers) < SAME_ORDER
        numbers = {"exponent of epsilon": powers[0], "exponent of T": powers[1]}
        yield exact_case(f"r = 1, d = {DIM}, sigma_r = {sigma:g}", holds, numbers)


def check_attained() -> Iterator[Case]:
    """Test whether both orders of Theorem 4 are attained, by an error of the basis and by one of an eigenvalue."""
    for sigma in (1.0, 0.01):
        rotated = exponent([rotated_regret(sigma, e, _ROTATED_HORIZONS[0]) for e in _ROTATIONS], _ROTATIONS)
        A = random_curvature(np.random.default_rng(4), 1, sigma)
        flat = np.linalg.eigh(A)[1][:, 0]
        errors = np.array(_FLAT_ERRORS) * sigma
        sizes = [
            float(exact_regret(A, A + e * np.outer(flat, flat), covariance=1.0, horizon=10**8).total) for e in errors
        ]
        lifted = exponent(sizes, errors)
        holds = abs(rotated - 2.0) < SAME_ORDER and abs(lifted - 0.5) < SAME_ORDER
        numbers = {
            "exponent of epsilon, error of the basis": rotated,
            "exponent of epsilon, error of an eigenvalue that is 0": lifted,
        }
        yield exact_case(f"r = 1, d = {DIM}, sigma_r = {sigma:g}", holds, numbers)


def rotated_regret(sigma: float, share: float, T: int) -> float:
    """Return the regret of an estimate that is A, turned so far that the nuclear error is a share of sigma."""
    A = random_curvature(np.random.default_rng(4), 1, sigma)
    values, vectors = np.linalg.eigh(A)
    angle = np.arcsin(0.5 * share)  # the nuclear norm of the difference of two projections is twice the sine
    turned = np.cos(angle) * vectors[:, -1] + np.sin(angle) * vectors[:, 0]
    return float(exact_regret(A, values[-1] * np.outer(turned, turned), covariance=1.0, horizon=T).total)


def check_scale(power: float, label: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the exponent of SCaLE's exact regret where r = d, for probes of variance T^p that leave an error of T^(-p).

    Parameters
    ----------
    power : float
        The p of the probes: 1/2 in the paper.
    label : str
        What the exponent is.
    """
    for sigma in (1.0, 0.1):
        A = random_curvature(np.random.default_rng(2), DIM, sigma)
        sizes = []
        for T in _LONG:
            estimates = near(np.random.default_rng(3), A, T**-power, 20)
            found = exact_scale_regret(A, estimates, covariance=1.0, horizon=T, m=_PROBES, gamma2=T**power)
            sizes.append(np.mean(found.total - found.irreducible))
        yield f"r = d = {DIM}, sigma_r = {sigma:g}", {label: exponent(sizes)}


def check_scale_order() -> Iterator[Case]:
    """Test whether SCaLE's regret is of the order T^(1/2), from below and from above."""
    for place, numbers in check_scale(0.5, "exponent of SCaLE"):
        yield exact_case(place, all(abs(power - 0.5) < SAME_ORDER for power in numbers.values()), numbers)


def check_tightness() -> Iterator[Case]:
    """Test whether SCaLE's own probes, chosen with another power of T, do no better than T^(1/2)."""
    for place, numbers in check_scale(1.0 / 3.0, "exponent of SCaLE with gamma^2 of order T^(1/3)"):
        yield exact_case(place, all(power >= 0.5 - SAME_ORDER for power in numbers.values()), numbers)
