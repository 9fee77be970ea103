"""Checks of orders: exponents of exact regret in the horizon and in the error, where both are extreme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from soqo.experiments.judgment._random_instances import DIM, near, random_curvature
from soqo.experiments.judgment._verdicts import Case, Number, Status
from soqo.theory import exact_regret, exact_scale_regret
from soqo.typing import Array

_LONG = (10**6, 10**7, 10**8)
"""Horizons at which orders are measured: so long that an error of T^(-p) is far below every sigma."""

SAME_ORDER = 0.05
"""Exponents within this distance of each other are the same order."""

_PROBES = 48
"""The number of probes where r = d = 4 and c1 = 3."""


def measure_parts(rank: int, sigma: float) -> tuple[Array, Array]:
    """Return the sizes of mean R_val and R_basis over long horizons, for errors that Corollary 1 balances.

    Parameters
    ----------
    rank : int
        The rank of A.
    sigma : float
        Its smallest nonzero eigenvalue.
    """
    rng = np.random.default_rng(2)
    A = random_curvature(rng, rank, sigma)
    found = []
    for T in _LONG:
        epsilon = T ** -_power(rank)
        estimates = near(np.random.default_rng(3), A, epsilon, 20)
        parts = exact_regret(A, estimates, covariance=1.0, horizon=T)
        found.append([np.abs(np.mean(parts.value)), np.abs(np.mean(parts.basis))])
    value, basis = np.array(found).T
    return value, basis


def check_orders(rank: int, sigma: float, value: Array, basis: Array) -> Case:
    """Test whether neither part grows faster than Corollary 1 says.

    Parameters
    ----------
    rank, sigma
        As in :func:`measure_parts`.
    value, basis : Array
        The parts, from :func:`measure_parts`.
    """
    powers = {"R_val": _exponent(value), "R_basis": _exponent(basis)}
    numbers = tuple(Number(f"exponent of {name}", power) for name, power in powers.items())
    holds = max(powers.values()) <= _power(rank) + SAME_ORDER
    return Case(f"r = {rank}, d = {DIM}, sigma_r = {sigma:g}", Status.HOLDS if holds else Status.FAILS, numbers)


def check_balance(rank: int, sigma: float, value: Array, basis: Array) -> Case:
    """Test whether both parts grow alike.

    Parameters
    ----------
    rank, sigma, value, basis
        As in :func:`check_orders`.
    """
    powers = _exponent(value), _exponent(basis)
    numbers = (
        Number("exponent of R_val", powers[0]),
        Number("exponent of R_basis", powers[1]),
        Number(f"|R_val| over |R_basis| at T = {_LONG[-1]:.0e}", float(value[-1] / basis[-1])),
    )
    holds = abs(powers[0] - powers[1]) < SAME_ORDER
    return Case(f"r = {rank}, d = {DIM}, sigma_r = {sigma:g}", Status.HOLDS if holds else Status.FAILS, numbers)


def _power(rank: int) -> float:
    return 0.5 if rank == DIM else 2.0 / 3.0


def _exponent(sizes: Array, of: Sequence[float] | Array = _LONG) -> float:
    """Return the power of a parameter, the horizon by default, that some sizes grow with."""
    return float(np.polyfit(np.log(np.array(of, dtype=float)), np.log(sizes), 1)[0])


# ---- the orders of Theorem 4 ---------------------------------------------------------------------------------------

_ROTATIONS, _FLAT_ERRORS = (1e-6, 1e-5, 1e-4), (1e-4, 1e-3, 1e-2)
"""Errors so small that regret has not yet left its order: of the basis alone, and of an eigenvalue that is zero."""

_ROTATED_HORIZONS = (10**3, 2 * 10**3, 4 * 10**3)


def check_squared_error() -> Iterator[Case]:
    """Measure how regret grows with an error of the basis alone, where r < d: as epsilon^2 T^2, or as epsilon T^2."""
    for sigma in (1.0, 0.01):
        by_error = [_rotated_regret(sigma, epsilon, _ROTATED_HORIZONS[0]) for epsilon in _ROTATIONS]
        by_horizon = [_rotated_regret(sigma, _ROTATIONS[0], T) for T in _ROTATED_HORIZONS]
        powers = _exponent(np.array(by_error), _ROTATIONS), _exponent(np.array(by_horizon), _ROTATED_HORIZONS)
        numbers = (Number("exponent of epsilon", powers[0]), Number("exponent of T", powers[1]))
        holds = max(abs(power - 2.0) for power in powers) < SAME_ORDER
        yield Case(f"r = 1, d = {DIM}, sigma_r = {sigma:g}", Status.HOLDS if holds else Status.FAILS, numbers)


def check_attained() -> Iterator[Case]:
    """Test whether both orders of Theorem 4 are attained, by an error of the basis and by one of an eigenvalue."""
    for sigma in (1.0, 0.01):
        rotated = _exponent(np.array([_rotated_regret(sigma, e, _ROTATED_HORIZONS[0]) for e in _ROTATIONS]), _ROTATIONS)
        A = random_curvature(np.random.default_rng(4), 1, sigma)
        flat = np.linalg.eigh(A)[1][:, 0]
        errors = np.array(_FLAT_ERRORS) * sigma
        sizes = [
            float(exact_regret(A, A + e * np.outer(flat, flat), covariance=1.0, horizon=10**8).total) for e in errors
        ]
        lifted = _exponent(np.array(sizes), errors)
        numbers = (
            Number("exponent of epsilon, error of the basis", rotated),
            Number("exponent of epsilon, error of an eigenvalue that is 0", lifted),
        )
        holds = abs(rotated - 2.0) < SAME_ORDER and abs(lifted - 0.5) < SAME_ORDER
        yield Case(f"r = 1, d = {DIM}, sigma_r = {sigma:g}", Status.HOLDS if holds else Status.FAILS, numbers)


def _rotated_regret(sigma: float, share: float, T: int) -> float:
    """Return the regret of an estimate that is A, turned so far that the nuclear error is a share of sigma."""
    A = random_curvature(np.random.default_rng(4), 1, sigma)
    values, vectors = np.linalg.eigh(A)
    angle = np.arcsin(0.5 * share)  # the nuclear norm of the difference of two projections is twice the sine
    turned = np.cos(angle) * vectors[:, -1] + np.sin(angle) * vectors[:, 0]
    return float(exact_regret(A, values[-1] * np.outer(turned, turned), covariance=1.0, horizon=T).total)


# ---- the order of SCaLE's regret where r = d -----------------------------------------------------------------------


def scale_exponent(power: float) -> Iterator[tuple[str, float]]:
    """Yield the exponent of SCaLE's exact regret where r = d, for probes of variance T^p that leave an error of T^(-p).

    Parameters
    ----------
    power : float
        The p of the probes: 1/2 in the paper.
    """
    for sigma in (1.0, 0.1):
        A = random_curvature(np.random.default_rng(2), DIM, sigma)
        sizes = []
        for T in _LONG:
            estimates = near(np.random.default_rng(3), A, T**-power, 20)
            found = exact_scale_regret(A, estimates, covariance=1.0, horizon=T, m=_PROBES, gamma2=T**power)
            sizes.append(np.mean(found.total - found.irreducible))
        yield f"r = d = {DIM}, sigma_r = {sigma:g}", _exponent(np.array(sizes))


def check_scale_order() -> Iterator[Case]:
    """Test whether SCaLE's regret is of the order T^(1/2), from below and from above."""
    for place, power in scale_exponent(0.5):
        holds = abs(power - 0.5) < SAME_ORDER
        yield Case(place, Status.HOLDS if holds else Status.FAILS, (Number("exponent of SCaLE", power),))


def check_tightness() -> Iterator[Case]:
    """Test whether SCaLE's own probes, chosen with another power of T, do no better than T^(1/2)."""
    for place, power in scale_exponent(1.0 / 3.0):
        holds = power >= 0.5 - SAME_ORDER
        number = Number("exponent of SCaLE with gamma^2 of order T^(1/3)", power)
        yield Case(place, Status.HOLDS if holds else Status.FAILS, (number,))
