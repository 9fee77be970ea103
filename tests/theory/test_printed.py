"""The printed formulas, transcribed once more from the paper's text, at numbers that are powers of nothing."""

from __future__ import annotations

from math import isclose, sqrt

import numpy as np
import pytest

from soqo.theory import corollary1, theorem1, theorem2, theorem3, theorem4, theorem5

FULL, DEFICIENT = np.diag([0.7, 1.3, 2.9]), np.diag([0.7, 2.9, 0.0])
SIGMA = np.array([[2.0, 0.3, 0.0], [0.3, 1.1, -0.2], [0.0, -0.2, 0.6]])
D, LOW, HIGH, E, T = 3, 0.7, 2.9, 0.15, 37
TR, NORM = 3.7, float(np.linalg.norm(SIGMA))


def test_theorem_4_of_the_main_text() -> None:
    expected = {
        "value": 2 * D * HIGH * NORM / (LOW - E) ** 2 * E**2 * T**2,
        "basis": TR * sqrt(E) * T,
        "rest": E * T * (3 * sqrt(2 * D) + 2 * E * D + 2 * HIGH * sqrt(2 * D)) * NORM / (LOW - E) ** 2,
    }
    assert theorem4(DEFICIENT, SIGMA, E, T, "as_printed").terms == pytest.approx(expected)


def test_theorem_4_of_its_proof() -> None:
    regret_a = (
        D * HIGH * NORM / (LOW - E) ** 2 * E**2 * T * (T + 1)
        + 2 * NORM * HIGH * sqrt(2 * D) * E * T / ((LOW - E) * (1 + LOW - E))
        + TR * E * T / ((1 + LOW - E) ** 2 - 1)
    )
    bracket = 2 * D * E**2 / (LOW - E) ** 2 + sqrt(2 * D) * E / (LOW - E)
    regret_b = T * (bracket * NORM + max(sqrt(E), E / LOW) * TR)
    found = theorem4(DEFICIENT, SIGMA, E, T, "appendix")
    assert found.terms == pytest.approx({"basis": regret_a, "value": regret_b})


def test_theorem_5_of_the_main_text() -> None:
    first = E * T * (1 + (sqrt(2) + E * sqrt(D)) * HIGH) * sqrt(D) * NORM / (LOW - E) ** 3
    found = theorem5(FULL, SIGMA, E, T, "as_printed")
    assert found.terms == pytest.approx({"value": first, "basis": E * T * TR / (2 * LOW)})


def test_theorem_5_of_the_appendix() -> None:
    s = (1 + LOW - E) ** 2 - 1
    inside = 2 * D * HIGH * NORM / (LOW - E) ** 2 * E + 2 * NORM * HIGH * sqrt(2 * D) / (LOW - E) + TR / s
    found = theorem5(FULL, SIGMA, E, T, "appendix")
    assert found.terms == pytest.approx({"basis": E * T / s * inside, "value": TR / (2 * LOW) * E * T})


def test_theorem_3() -> None:
    m, g = 7, 1.9
    found = theorem3(FULL, SIGMA, m, g, 5.5, "as_printed")
    data = m * g * (0.5 * 4.9 + D) + g / 2 * D
    expected = {
        "irreducible": m * 0.5 * TR / (1 + LOW),
        "data collection": data,
        "exploitation": 5.5,
    }
    assert found.terms == pytest.approx(expected)
    null = SIGMA[2, 2]
    corrected = theorem3(DEFICIENT, SIGMA, m, g, 0.0).terms["irreducible"]
    assert isclose(corrected, 0.5 * m * ((TR - null) / (1 + LOW) + null))


@pytest.mark.parametrize("horizon", [40, 5000])
def test_corollary_1_of_the_appendix(horizon: int) -> None:
    eta, c1 = 1.7, 1.1
    for A, r, p, trace in ((FULL, 3, 0.5, 4.9), (DEFICIENT, 2, 2 / 3, 3.6)):
        m = {3: 10, 2: 7}[r]
        left = horizon - m
        if r == 3:
            rate = (4 * HIGH * NORM * (D + sqrt(2 * D)) + TR) / LOW**2 + TR / (2 * LOW)
        else:
            rate = 8 * D * HIGH * NORM / LOW**2
            inside = ((4 * HIGH + 2) * sqrt(D) + 4 * sqrt(2) * D) * NORM + (LOW + sqrt(2)) * TR
            rate += inside / LOW**0.5
        probes = m / 2 * (trace + D) + D / 2
        expected = {
            "exploitation": sqrt(eta) * left**p * rate,
            "data collection": sqrt(eta) * max(left**p, 2 / LOW) * probes,
            "irreducible": m * 0.5 * TR / (1 + LOW),
        }
        found = corollary1(A, SIGMA, horizon, eta, c1, "appendix")
        assert found.terms == pytest.approx(expected)
        growing = sqrt(eta) * (rate + probes) * left**p
        constant = 2 * sqrt(eta) / LOW * probes + expected["irreducible"]
        whole = theorem1(A, SIGMA, horizon, eta, c1, "appendix")
        assert whole.terms == pytest.approx({"growing": growing, "constant": constant})
        assert whole.terms == theorem1(A, SIGMA, horizon, eta, c1, "as_printed").terms


def test_theorem_2() -> None:
    third = E**2 / 8 * sum((1 - (1 - E) ** (2 * s)) / (E * (2 - E)) for s in range(1, T + 1))
    assert isclose(theorem2(E, T, variant="appendix").value, third)
    assert isclose(theorem2(E, T, variant="as_printed").value, E * T / 8)
    assert isclose(theorem2(E, T, trace=TR).value, TR * theorem2(E, T).value)


def test_the_coefficients_of_theorem_1_corrected_add_up_to_the_corollary() -> None:
    """Where T^p is the larger of the two, and T so large that the corrections to epsilon = T^-p vanish."""
    eta, horizon = 0.4, 10**12
    for A in (FULL, DEFICIENT):
        whole, parts = theorem1(A, SIGMA, horizon, eta), corollary1(A, SIGMA, horizon, eta)
        assert parts.value <= whole.value <= 8.0 * parts.value
