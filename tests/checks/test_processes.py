"""Processes that violate one property of the contract each are caught."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo.checks import check_process
from soqo.errors import CheckError
from soqo.processes import Correlated, Gaussian, Process, StudentT


class Transposed(Gaussian):
    def steps(self, rng: Any, horizon: int, dim: int) -> Any:
        return super().steps(rng, horizon, dim).T


class Infinite(Gaussian):
    def steps(self, rng: Any, horizon: int, dim: int) -> Any:
        return super().steps(rng, horizon, dim) / 0.0


class Unseeded(Gaussian):
    def steps(self, rng: Any, horizon: int, dim: int) -> Any:
        return super().steps(np.random.default_rng(), horizon, dim)


class KnowsTheEnd(Gaussian):
    def steps(self, rng: Any, horizon: int, dim: int) -> Any:
        return super().steps(rng, horizon, dim)[::-1]


class Drifts(Gaussian):
    def steps(self, rng: Any, horizon: int, dim: int) -> Any:
        return super().steps(rng, horizon, dim) + 0.1


class Remembers(Gaussian):
    def steps(self, rng: Any, horizon: int, dim: int) -> Any:
        new = super().steps(rng, horizon, dim)
        new[1:] = (new[1:] + 0.2 * new[:-1]) / np.sqrt(1.04)
        return new


class Understates(Gaussian):
    def covariance(self, dim: int) -> Any:
        return 0.8 * np.asarray(super().covariance(dim))


class SharesOneGenerator(Gaussian):
    def paths(self, rngs: Any, horizon: int, v0: Any, first_run: int = 0) -> Any:
        return super().paths([rngs[0]] * len(rngs), horizon, v0=v0, first_run=first_run)


class ScalesWithRuns(Gaussian):
    def paths(self, rngs: Any, horizon: int, v0: Any, first_run: int = 0) -> Any:
        return len(rngs) * super().paths(rngs, horizon, v0=v0, first_run=first_run)


class DriftsWithoutVariance(StudentT):
    def steps(self, rng: Any, horizon: int, dim: int) -> Any:
        return super().steps(rng, horizon, dim) + 1.0


class FlatCovariance(Gaussian):
    def covariance(self, dim: int) -> Any:
        return np.ones(dim)


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (Transposed(), "shapes"),
        (Unseeded(), "repeatability"),
        (KnowsTheEnd(), "prefix"),
        (SharesOneGenerator(), "paths"),
        (ScalesWithRuns(), "paths"),
        (Drifts(), "moments"),
        (DriftsWithoutVariance(df=1.5), "moments"),
        (Remembers(), "moments"),
        (Understates(), "moments"),
        (FlatCovariance(), "moments"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Process) else str(value),
)
def test_a_broken_process_is_caught(broken: Process, check: str) -> None:
    with pytest.raises(CheckError, match=f"^{check}: "):
        check_process(broken)


def test_infinite_steps_are_caught() -> None:
    with np.errstate(divide="ignore"), pytest.raises(CheckError, match=r"^shapes: "):
        check_process(Infinite())


def test_other_types_than_processes_are_refused() -> None:
    nonsense: Any = 3
    with pytest.raises(CheckError, match=r"must be a soqo\.processes\.Process, got int"):
        check_process(nonsense)


@pytest.mark.parametrize("process", [StudentT(1.0, 2.1), StudentT(1.0, 3.0), Correlated(1.0, 0.02)], ids=repr)
def test_slow_and_heavy_processes_pass(process: Process) -> None:
    for seed in range(3):
        check_process(process, seed=seed)
