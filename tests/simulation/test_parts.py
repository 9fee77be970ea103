"""The parts of an environment: each draws from streams of its own, and names what is wrong with its settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import Actuation, Context, Covariates, Delay, Environment, Factor, Offset, Outages, Problem
from soqo.errors import ArgumentError
from soqo.meters import BaseLoad, Dropout
from soqo.noise import Uniform
from soqo.processes import Gaussian

WRONG: Any = 1.0
M = np.array([[2.0, 0.0, -1.0], [0.5, 1.0, 0.0]])


def world(**parts: Any) -> Environment:
    """An environment of two dimensions with some parts."""
    return Environment(Problem(np.diag([1.0, 3.0])), Gaussian(3.0), Uniform(0.5), **parts)


@pytest.mark.parametrize(
    ("name", "part", "drawn"),
    [
        ("offset", Offset(1.0, scale=2.0, walk=0.1), ["offset"]),
        ("context", Context(size=1.0, dim=2), ["context", "shift"]),
        ("covariates", Covariates([2.0, -1.0], scale=2.0), ["covariates", "load"]),
        ("factor", Factor(0.6, period=7.0, deviation=0.5, correlation=0.5), ["factor"]),
        ("outages", Outages(0.3), ["active"]),
        ("delay", Delay(1, jitter=2), ["delays"]),
    ],
)
def test_a_part_does_not_depend_on_the_runs_or_on_the_horizon_and_changes_nothing_else(
    name: str, part: Any, drawn: list[str]
) -> None:
    environment = world(**{name: part})
    few, many, later = (
        environment.draw(6, 2, seed=3),
        environment.draw(9, 4, seed=3),
        environment.draw(6, 1, seed=3, first_run=1),
    )
    for each in drawn:
        np.testing.assert_array_equal(getattr(few, each), getattr(many, each)[:2, :6])
        np.testing.assert_array_equal(getattr(later, each), getattr(few, each)[1:])
    plain = world().draw(6, 2, seed=3)
    np.testing.assert_array_equal(few.v, plain.v)
    np.testing.assert_array_equal(few.variates, plain.variates)


def test_meters_do_not_depend_on_the_runs_or_on_the_horizon() -> None:
    environment = world(meters=[BaseLoad(walk=1.0), Dropout(0.5)])
    few, many = environment.draw(6, 2, seed=3), environment.draw(9, 4, seed=3)
    for (_, one), (_, other) in zip(few.meters, many.meters, strict=True):
        np.testing.assert_allclose(one, other[:2, :6])
    assert not np.allclose(few.meters[0][1], few.meters[1][1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Offset(np.eye(2)), r"b must be a number or a vector, got shape \(2, 2\)"),
        (lambda: Offset(scale=-1.0), "scale must be"),
        (lambda: world(offset=Offset([1.0, 2.0, 3.0])), r"b must be a number or have shape \(2,\), got \(3,\)"),
        (lambda: Context(), "M must be given, or else size and dim to draw it, got M = None"),
        (lambda: Context(size=1.0), "M must be given, or else size and dim"),
        (lambda: Context(M, size=1.0), "size and dim must not be given beside M"),
        (lambda: Context([1.0]), r"M must have shape \(d, k\), got \(1,\)"),
        (lambda: Context(M, scale=-1.0), "scale must be"),
        (lambda: Context(M, correlation=1.0), "correlation must be below 1, got 1.0"),
        (lambda: Context(size=1.0, dim=0), "dim must be a positive integer, got 0"),
        (lambda: world(context=Context(M.T)), r"M must have 2 rows, one for each coordinate of v, got shape \(3, 2\)"),
        (lambda: Covariates([]), r"h must have shape \(k,\), got \(0,\)"),
        (lambda: Covariates([[1.0]]), r"h must have shape \(k,\), got \(1, 1\)"),
        (lambda: Covariates([np.nan]), "h must be finite"),
        (lambda: Covariates([1.0], scale=-1.0), "scale must be"),
        (lambda: Covariates([1.0], correlation=1.0), "correlation must be below 1, got 1.0"),
        (lambda: Factor(1.0), "swing must be below 1, got 1.0"),
        (lambda: Factor(period=0.0), "period must be a finite number above 0"),
        (lambda: Factor(deviation=-1.0), "deviation must be"),
        (lambda: Factor(correlation=1.0), "correlation must be below 1, got 1.0"),
        (lambda: Outages(1.0), "share must be below 1, got 1.0"),
        (lambda: Outages(duration=0.5), "duration must be a finite number at least 1, got 0.5"),
        (lambda: Outages(0.8, duration=2.0), "duration must be a finite number at least 4, got 2.0"),
        (lambda: Delay(-1), "rounds must be an integer of at least 0, got -1"),
        (lambda: Delay(jitter=-1), "jitter must be an integer of at least 0, got -1"),
        (lambda: Actuation(rate=0.0), "rate must be above 0, got 0.0"),
        (lambda: Actuation(rate=[[1.0]]), r"rate must be a number or a vector, got shape \(1, 1\)"),
        (lambda: Actuation(deadband=np.inf), "deadband must be finite and at least 0, got inf"),
        (lambda: Actuation(lag=-1.0), "lag must be a finite number at least 0"),
        (lambda: world(actuation=Actuation(rate=[1.0])), r"rate must be a number or have shape \(2,\), got \(1,\)"),
    ],
)
def test_bad_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_something_else_than_a_part_is_refused() -> None:
    for name in ("offset", "context", "factor", "outages", "delay", "actuation"):
        with pytest.raises(ArgumentError, match=rf"{name} must be an? {name.title()}, got float"):
            world(**{name: WRONG})
