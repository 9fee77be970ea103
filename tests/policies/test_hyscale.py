"""HySCaLE against SCaLE while it probes, and against a plain loop of Algorithm 2 while it exploits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import Environment, HySCaLE, Problem, SCaLE, play, random_curvature, simulate
from soqo.errors import ArgumentError
from soqo.noise import Uniform
from soqo.policies import Phase
from soqo.processes import Gaussian

UNKNOWN: Any = "x"
A = random_curvature(3, 3, min_eigenvalue=0.2, max_eigenvalue=2.0, rng=np.random.default_rng(0))
M = 27
"""The rounds of probing at rank 3 in three dimensions."""


def literal_exploitation(estimate: Any, x: Any, v: Any, noise: Any, rate: float, gradient: str) -> Any:
    """Return x_m..x_T of Algorithm 2 from x_m, and its last estimate, with gains by matrix inverses."""
    path, eye = [x], np.eye(3)
    for t in range(M, len(v)):
        if t > M:
            C = eye
            for _ in range(len(v) - t):
                C = np.linalg.inv(2 * eye + estimate - C)
            x = C @ x + (eye - C) @ v[t]
            path.append(x)
        u = x - v[t]
        y = 0.5 * u @ A @ u + noise[t]
        slope = 0.5 * (0.5 * u @ estimate @ u - y) if gradient == "exact" else u @ estimate @ u - y
        values, vectors = np.linalg.eigh(estimate - rate * slope * np.outer(u, u))
        estimate = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return np.array(path), estimate


@pytest.mark.parametrize("handover", ["direct", "virtual"])
@pytest.mark.parametrize("radius", ["residual", "cap"])
@pytest.mark.parametrize("gradient", ["exact", "as_printed"])
def test_hyscale_is_scale_up_to_its_first_exploiting_action_and_then_algorithm_2(
    handover: Any, radius: Any, gradient: Any
) -> None:
    options: dict[str, Any] = {"handover": handover, "radius": radius}
    paths = Environment(Problem(A), Gaussian(5.0), Uniform(1.0)).draw(60, 3, seed=1)
    scale = play(SCaLE(1.0, 3, min_eigenvalue=0.2, **options), paths)
    hyscale = play(HySCaLE(1.0, 3, min_eigenvalue=0.2, learning_rate=1e-4, gradient=gradient, **options), paths)
    np.testing.assert_array_equal(hyscale.x[:, : M + 1], scale.x[:, : M + 1])
    for run in range(3):
        start = scale.diagnostics["estimate"][run], scale.x[run, M], paths.v[run], paths.variates[run]
        expected, estimate = literal_exploitation(*start, 1e-4, gradient)
        np.testing.assert_allclose(hyscale.x[run, M:], expected, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(hyscale.diagnostics["estimate"][run], estimate, atol=1e-10)
        assert np.abs(hyscale.x[run] - scale.x[run]).max() > 1e-3  # otherwise the test has no power
    assert (hyscale.diagnostics["phase"] == Phase.SOLVED).all()


def test_hyscale_improves_the_estimate_while_it_exploits() -> None:
    """After few and small probes, the error falls by more than four standard errors in the mean over runs."""
    environment = Environment(Problem(A), Gaussian(3.0), Uniform(1.0))
    options: dict[str, Any] = {"gamma2": 4.0, "c1": 2.0}
    entries = {
        "SCaLE": SCaLE(1.0, 3, min_eigenvalue=0.2, **options),
        "Hy": HySCaLE(1.0, 3, min_eigenvalue=0.2, learning_rate=1e-4, **options),
    }
    result = simulate(environment, entries, horizon=800, runs=30)
    errors = {name: np.linalg.norm(result[name].diagnostics["estimate"] - A, axis=(1, 2)) for name in result}
    gain = errors["SCaLE"] - errors["Hy"]
    assert gain.mean() > 4 * gain.std() / np.sqrt(gain.size)


def test_an_estimate_that_would_overflow_stays_finite_and_is_reported() -> None:
    policy = HySCaLE(1.0, 1, min_eigenvalue=1.0, c1=1.0, gamma2=1.0, learning_rate=1e3)
    state = policy.start(np.zeros((2, 2)), 20, [np.random.default_rng(k) for k in range(2)])
    for t in range(8):
        v = np.array([[10.0**100 * (-1) ** t, 0.0], [0.1 * t, 0.0]]) if t > 3 else np.zeros((2, 2))
        x, state = policy.act(state, v)
        with np.errstate(over="ignore"):
            y = 0.5 * np.square(x - v).sum(axis=-1)
        state = policy.observe(state, np.minimum(y, 1e300))
    assert np.isfinite(policy.diagnostics(state)["estimate"]).all()
    np.testing.assert_array_equal(policy.diverged(state), [True, False])


def test_the_printed_variant_is_that_of_scale_with_the_printed_gradient() -> None:
    printed, scale = (
        HySCaLE.as_printed(2.0, 1, min_eigenvalue=0.5, c1=4.0),
        SCaLE.as_printed(2.0, 1, min_eigenvalue=0.5, c1=4.0),
    )
    assert type(printed) is HySCaLE
    assert all(getattr(printed, name) == getattr(scale, name) for name in ("c1", "radius", "handover", "fallback"))
    assert (printed.learning_rate, printed.gradient) == (1e-6, "as_printed")
    assert HySCaLE.as_printed(2.0, 1, min_eigenvalue=0.5, learning_rate=3.0, gradient="exact", radius=1.0) == HySCaLE(
        2.0, 1, min_eigenvalue=0.5, learning_rate=3.0, radius=1.0, handover="virtual", fallback="none"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be a finite number above 0, got 0.0"),
        ({"gradient": UNKNOWN}, "gradient must be one of 'exact', 'as_printed', got 'x'"),
        ({"handover": UNKNOWN}, "handover must be one of 'direct', 'virtual', got 'x'"),
    ],
)
def test_invalid_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        HySCaLE(1.0, 1, min_eigenvalue=1.0, **options)
