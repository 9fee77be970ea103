"""Spectra of symmetric matrices, and errors for matrices that are not positive semi-definite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo._model.spectrum import Spectrum, positive_semidefinite, quadratic_form
from soqo.errors import ArgumentError


def symmetric_batch(seed: int, *shape: int) -> Any:
    M = np.random.default_rng(seed).standard_normal(shape)
    return M + M.swapaxes(-1, -2)


def test_apply_multiplies_by_the_matrix_with_other_eigenvalues() -> None:
    M = symmetric_batch(0, 5, 4, 4)
    x = np.random.default_rng(1).standard_normal((5, 4))
    spectrum = Spectrum.of(M)
    np.testing.assert_allclose(spectrum.apply(spectrum.values**2, x), np.einsum("rij,rjk,rk->ri", M, M, x), atol=1e-12)
    np.testing.assert_allclose(spectrum.matrix(), M, atol=1e-13)


def test_matrix_is_exactly_symmetric() -> None:
    rebuilt = Spectrum.of(symmetric_batch(2, 100, 7, 7)).matrix()
    np.testing.assert_array_equal(rebuilt, rebuilt.swapaxes(-1, -2))


@pytest.mark.parametrize("batch", [(), (6,), (2, 3)])
def test_quadratic_form_is_half_of_uAu(batch: tuple[int, ...]) -> None:
    u = np.random.default_rng(3).standard_normal((*batch, 4))
    one, many = symmetric_batch(4, 4, 4), symmetric_batch(5, *batch, 4, 4)
    np.testing.assert_allclose(quadratic_form(one, u), 0.5 * np.einsum("...i,ij,...j->...", u, one, u), atol=1e-13)
    np.testing.assert_allclose(quadratic_form(many, u), 0.5 * np.einsum("...i,...ij,...j->...", u, many, u), atol=1e-13)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            np.array([[[1e20, 1e5], [0.0, 1e20]], [[1.0, 0.5], [0.0, 1.0]]]),
            r"asymmetry of 0\.5 \(entry \[1, 0, 1\]\)",
        ),
        (np.ones((2, 3)), r"A must be square.* got \(2, 3\)"),
        (np.ones(3), r"A must be square.* got \(3,\)"),
        (np.ones((0, 0)), r"A must be square"),
        ([[1.0, 0.5], [0.0, 1.0]], r"A must be symmetric, got an asymmetry of 0\.5"),
        ([[1.0, np.nan], [np.nan, 1.0]], r"A must be finite, got nan at \[0, 1\]"),
        ([[1.0, 2.0], [2.0, 1.0]], r"positive semi-definite, got a smallest eigenvalue of -1 "),
        (np.stack([np.eye(2), -np.eye(2)]), r"smallest eigenvalue of -1 .* in matrix \[1\]"),
        (np.diag([1.0, -1e-9]), r"smallest eigenvalue of -1e-09"),
        ("text", r"A must be an array of real numbers, got str"),
    ],
)
def test_positive_semidefinite_names_what_is_wrong(matrix: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        positive_semidefinite("A", matrix)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_round_off_of_a_rank_deficient_matrix_is_accepted(scale: float) -> None:
    rng = np.random.default_rng(6)
    for _ in range(50):
        G = rng.standard_normal((8, 2))
        _, spectrum = positive_semidefinite("A", scale * (G @ G.T))
        assert (spectrum.values >= 0.0).all()


def test_the_largest_numbers_do_not_overflow() -> None:
    matrix, _ = positive_semidefinite("A", 1e308 * np.eye(2))
    assert matrix[0, 0] == 1e308


def test_zero_is_positive_semidefinite() -> None:
    _, spectrum = positive_semidefinite("A", np.zeros((3, 3)))
    np.testing.assert_array_equal(spectrum.values, 0.0)
