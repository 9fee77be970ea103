"""The policies that are compared."""

from __future__ import annotations

import numpy as np

from soqo import GLIDE, LAI
from soqo.plants import ORACLE, DataCenter, Quadratic, contenders


def test_contenders_know_the_curvature_in_the_coordinates_of_policies() -> None:
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    chosen = contenders(Quadratic(A, wear=4.0), rounds=20, seeds=[1])
    fitted = chosen["LAI, fitted A"]
    assert isinstance(fitted.policy, LAI)
    np.testing.assert_allclose(np.asarray(fitted.policy.A), A / 4.0, rtol=1e-9)
    assert not fitted.factor
    assert chosen[ORACLE].context
    assert isinstance(chosen["GLIDE"].policy, GLIDE)
    assert chosen["GLIDE"].policy == GLIDE()
    assert "GLIDE, told nothing" not in chosen
    assert [name for name in chosen if "as printed" in name] == ["HySCaLE as printed", "SCaLE as printed"]


def test_glide_is_told_what_an_engineer_knows_in_the_coordinates_of_policies() -> None:
    center = DataCenter(wear=4.0)
    chosen = contenders(center, rounds=20, seeds=1)
    assert chosen["GLIDE"].policy == GLIDE(offset=False, trusted_distance=2.0 * center.trusted_distance)
    assert chosen["GLIDE, told nothing"].policy == GLIDE()
