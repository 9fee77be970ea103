"""RUB constants, against an exhaustive search and their outer bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo.errors import ArgumentError
from soqo.theory import least_response, rub_constants, rub_ratios
from soqo.typing import Array

Z = np.random.default_rng(0).standard_normal((30, 2))


def ratios(Z: Array, M: Array) -> Array:
    """Return the mean of |1/2 z'Mz| for matrices scaled to norm 1."""
    M = M / np.linalg.norm(M, axis=(-1, -2), keepdims=True)
    return np.asarray(np.abs(0.5 * np.einsum("mi,kij,mj->km", Z, M, Z)).mean(axis=1))


def test_rank_one_in_the_plane_agrees_with_a_search_over_angles() -> None:
    angles = np.linspace(0.0, np.pi, 20_001)
    u = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    exhaustive = ratios(Z, u[:, :, None] * u[:, None, :])
    found = rub_constants(Z, rank=1)
    assert found.smallest_found == pytest.approx(exhaustive.min(), rel=1e-3)
    assert found.largest_found == pytest.approx(exhaustive.max(), rel=1e-6)


def test_full_rank_in_the_plane_agrees_with_a_search_over_a_sphere() -> None:
    polar, around = np.meshgrid(np.linspace(0, np.pi, 301), np.linspace(0, 2 * np.pi, 601))
    a, b, c = np.cos(polar), np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around)
    M = np.stack([a, b / np.sqrt(2), b / np.sqrt(2), c], axis=-1).reshape(-1, 2, 2)
    exhaustive = ratios(Z, M)
    found = rub_constants(Z, rank=2)
    assert found.smallest_found == pytest.approx(exhaustive.min(), rel=1e-2)
    assert found.largest_found == pytest.approx(exhaustive.max(), rel=1e-3)


def test_no_random_matrix_is_outside_the_bounds_or_beyond_the_search() -> None:
    rng = np.random.default_rng(1)
    probes = rng.standard_normal((40, 4))
    for rank in (1, 2, 4):
        found = rub_constants(probes, rank)
        factor = rng.standard_normal((5000, 4, rank))
        signs = rng.choice([-1.0, 1.0], (5000, 1, rank))
        sampled = ratios(probes, (factor * signs) @ factor.swapaxes(-1, -2))
        assert found.lower_bound <= found.smallest_found <= sampled.min()
        assert sampled.max() <= found.largest_found <= found.upper_bound
        assert found.ratio > 1.0


def test_with_too_few_probes_some_matrix_has_zero_readings() -> None:
    found = rub_constants(np.random.default_rng(0).standard_normal((9, 4)), rank=4)
    assert found.lower_bound == 0.0
    assert found.smallest_found < 1e-12
    assert found.ratio > 1e10
    assert "C2/C1" in str(found)


def test_constants_scale_with_the_square_of_the_probes() -> None:
    once, twice = rub_constants(Z, 1), rub_constants(2.0 * Z, 1)
    assert twice.smallest_found == pytest.approx(4.0 * once.smallest_found, rel=1e-6)
    assert twice.largest_found == pytest.approx(4.0 * once.largest_found, rel=1e-6)
    assert twice.upper_bound == pytest.approx(4.0 * once.upper_bound)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"Z": np.ones(3), "rank": 1}, r"Z must have shape \(m, d\), got \(3,\)"),
        ({"Z": Z, "rank": 3}, "rank must be at most the dimension 2 of Z, got 3"),
        ({"Z": Z, "rank": 0}, "rank must be a positive integer"),
        ({"Z": Z, "rank": 1, "starts": 0}, "starts must be a positive integer"),
    ],
)
def test_errors_name_the_argument(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        rub_constants(**given)


def test_ratios_of_many_sets_are_those_of_each_and_do_not_depend_on_scale() -> None:
    Z = np.random.default_rng(3).standard_normal((4, 40, 4))
    Z[1] *= [1.0, 0.05, 1.0, 1.0]  # one direction is hardly queried
    found = rub_ratios(Z, rank=1, starts=16)
    alone = [rub_constants(one, rank=1).ratio for one in Z]
    np.testing.assert_allclose(found, alone, rtol=0.05)
    assert found[1] > 10.0 * found[0]
    np.testing.assert_allclose(rub_ratios(1e3 * Z, rank=1, starts=16), found, rtol=1e-6)


@pytest.mark.parametrize("dim", [3, 4, 5])
def test_a_difference_of_rank_one_matrices_is_unseen_by_up_to_2d_minus_2_probes(dim: int) -> None:
    """uu' - vv' is a symmetric product of two vectors, each of which can be orthogonal to d - 1 probes."""
    Z = np.random.default_rng(dim).standard_normal((2 * dim, dim))
    assert least_response(Z[: 2 * dim - 2], rank=1, starts=200) < 1e-9
    assert least_response(Z, rank=1, starts=200) > 1e-4


def test_the_response_to_all_symmetric_matrices_is_a_singular_value() -> None:
    Z = np.random.default_rng(0).standard_normal((12, 3))
    i, j = np.triu_indices(3)
    # A reading of an orthonormal basis of the symmetric matrices.
    rows = np.where(i == j, 0.5, np.sqrt(0.5)) * Z[:, i] * Z[:, j]
    expected = np.linalg.svd(rows, compute_uv=False)[-1] / np.sqrt(12)
    assert least_response(Z, rank=2) == pytest.approx(expected)
    with pytest.raises(ArgumentError, match=r"Z must have shape \(m, d\)"):
        least_response(Z[0], rank=1)
    with pytest.raises(ArgumentError, match=r"Z must have shape \(n, m, d\)"):
        rub_ratios(Z, rank=1)
