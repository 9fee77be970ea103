"""The twelve settings in which slopes of regret in log T are compared with kappa."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import soqo
from soqo import processes
from soqo.noise import Gaussian, Noise, StudentT, Uniform
from soqo.processes import Process
from soqo.typing import Array


@dataclass(frozen=True)
class Setting:
    """A curvature, a process and a noise."""

    name: str
    A: Array
    process: Process
    noise: Noise

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        variance = self.noise.variance
        assert variance is not None
        return math.sqrt(variance)


def settings() -> Iterator[Setting]:
    """Yield the settings: d = 2 to 6, narrow and wide spectra, small and large steps, light and heavy tails."""
    skewed = np.array([[5.0, 0.0], [2.0, 3.0]])
    for name, values, process, noise in (
        ("d=2, 0.3..1, steps 5", (0.3, 1.0), processes.Gaussian(5.0), Gaussian(5.8)),
        ("d=2, 1..1, steps 5", (1.0, 1.0), processes.Gaussian(5.0), Gaussian(3.0)),
        ("d=2, 0.1..4, steps 20", (0.1, 4.0), processes.Gaussian(20.0), Gaussian(10.0)),
        ("d=2, 0.2..0.5, skewed steps", (0.2, 0.5), processes.Gaussian(skewed), Uniform(5.0)),
        ("d=2, 0.3..1, Laplace steps", (0.3, 1.0), processes.Laplace(5.0), Gaussian(5.0)),
        ("d=2, 0.3..1, noise t(5)", (0.3, 1.0), processes.Gaussian(5.0), StudentT(3.0, df=5.0)),
        ("d=3, 0.3..2, steps 5", (0.3, 1.0, 2.0), processes.Gaussian(5.0), Gaussian(3.0)),
        ("d=3, 0.1..10, steps 50", (0.1, 1.0, 10.0), processes.Gaussian(50.0), Gaussian(10.0)),
        ("d=4, 1..4, steps 50", (1.0, 2.0, 3.0, 4.0), processes.Gaussian(50.0), Uniform(10.0)),
        ("d=4, 1..10, steps 50", (1.0, 4.0, 7.0, 10.0), processes.Gaussian(50.0), Gaussian(10.0)),
        ("d=5, 0.5..2, steps 10", (0.5, 0.8, 1.2, 1.6, 2.0), processes.Gaussian(10.0), Gaussian(3.0)),
        ("d=6, 0.3..3, steps 10", (0.3, 0.6, 1.0, 1.5, 2.2, 3.0), processes.Gaussian(10.0), Gaussian(3.0)),
    ):
        Q = np.linalg.qr(np.random.default_rng(len(name)).standard_normal((len(values), len(values))))[0]
        yield Setting(name, (Q * np.array(values)) @ Q.T, process, noise)


def policies(setting: Setting) -> dict[str, soqo.Policy[Any]]:
    """Return RLS, which is told the noise, and GLIDE."""
    return {"RLS": soqo.RLS(setting.deviation), "GLIDE": soqo.GLIDE()}
