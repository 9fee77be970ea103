"""The measurement operator against its definition, its adjoint against inner products, svec against both."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.estimators import adjoint, measure, smat, svec, svec_rows


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_operator_adjoint_and_svec_agree(d: int, batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((*batch, 7, d))
    M = rng.standard_normal((*batch, d, d))
    M = M + M.swapaxes(-1, -2)
    w = rng.standard_normal((*batch, 7))
    readings = measure(Z, M)
    np.testing.assert_allclose(readings, 0.5 * np.einsum("...mi,...ij,...mj->...m", Z, M, Z))
    inner = (M * adjoint(Z, w)).sum(axis=(-1, -2))
    np.testing.assert_allclose(inner, (readings * w).sum(axis=-1))
    np.testing.assert_allclose(np.matmul(svec_rows(Z), svec(M)[..., None])[..., 0], readings)
    np.testing.assert_allclose(smat(svec(M)), M)
    np.testing.assert_allclose(np.square(svec(M)).sum(axis=-1), np.square(M).sum(axis=(-1, -2)))
