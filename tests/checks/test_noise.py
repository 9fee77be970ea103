"""Noises that violate one property of the contract each are caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from soqo.checks import check_noise
from soqo.errors import CheckError
from soqo.noise import Noise, Uniform


@dataclass(frozen=True)
class OverTheCap(Uniform):
    def perturb(self, variate: Any, u: Any, problem: Any) -> Any:
        return 1.5 * super().perturb(variate, u, problem)


@dataclass(frozen=True)
class OneForAll(Uniform):
    def perturb(self, variate: Any, u: Any, problem: Any) -> Any:
        return np.asarray(super().perturb(variate, u, problem)).mean()


@dataclass(frozen=True)
class Unseeded(Uniform):
    def variates(self, rng: Any, horizon: int) -> Any:
        return super().variates(np.random.default_rng(), horizon)


@dataclass(frozen=True)
class KnowsTheEnd(Uniform):
    def variates(self, rng: Any, horizon: int) -> Any:
        return super().variates(rng, horizon)[::-1]


@dataclass(frozen=True)
class Biased(Uniform):
    def perturb(self, variate: Any, u: Any, problem: Any) -> Any:
        return 0.9 * super().perturb(variate, u, problem) + 0.05 * self.cap

    @property
    def variance(self) -> Any:
        return None


@dataclass(frozen=True)
class Understates(Uniform):
    @property
    def variance(self) -> float:
        return 0.9 * super().variance


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (OverTheCap(2.0), "bound"),
        (OneForAll(2.0), "bound"),
        (Unseeded(2.0), "draws"),
        (KnowsTheEnd(2.0), "draws"),
        (Biased(2.0), "moments"),
        (Understates(2.0), "moments"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Noise) else str(value),
)
def test_a_broken_noise_is_caught(broken: Noise, check: str) -> None:
    with pytest.raises(CheckError, match=f"^{check}: "):
        check_noise(broken)


def test_other_types_than_noises_are_refused() -> None:
    nonsense: Any = 3
    with pytest.raises(CheckError, match=r"must be a soqo\.noise\.Noise, got int"):
        check_noise(nonsense)
