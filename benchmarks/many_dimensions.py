"""The settings of GLIDE's benchmarks with many dimensions: eigenvalues 1..4 and noise up to 10 unless stated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import soqo
from soqo.noise import Uniform
from soqo.processes import Cauchy, Gaussian, Laplace, Process
from soqo.typing import Array


class Setting(NamedTuple):
    """An environment with many dimensions."""

    name: str
    dim: int
    rank: int
    process: Process
    horizon: int = 1000
    values: tuple[float, float] = (1.0, 4.0)
    geometric: bool = False

    def environment(self) -> soqo.Environment:
        problem = soqo.RandomProblem(
            self.dim,
            self.rank,
            min_eigenvalue=self.values[0],
            max_eigenvalue=self.values[1] if self.rank > 1 else None,
            spacing="geometric" if self.geometric else "linear",
        )
        return soqo.Environment(problem, self.process, Uniform(10.0))


SETTINGS = tuple(
    Setting(f"d={d}, r={r}, steps of {scale:g}", d, r, Gaussian(scale), horizon)
    for d, r, horizon in ((10, 2, 1000), (30, 3, 1000), (30, 30, 1000), (100, 3, 3000), (300, 3, 2000))
    for scale in (50.0, 5.0)
)
OTHERS = (
    Setting("d=20, A 0.01..4 geometric", 20, 20, Gaussian(50.0), values=(0.01, 4.0), geometric=True),
    Setting("the same, steps of 5", 20, 20, Gaussian(5.0), values=(0.01, 4.0), geometric=True),
    Setting("d=20, r=10", 20, 10, Gaussian(50.0)),
    Setting("d=20, r=3, Laplace", 20, 3, Laplace(50.0)),
    Setting("d=20, r=3, Cauchy", 20, 3, Cauchy(1.0)),
    Setting("d=20, r=20, Cauchy", 20, 20, Cauchy(1.0)),
    Setting("d=20, r=3, A 10..100", 20, 3, Gaussian(50.0), values=(10.0, 100.0)),
    Setting("d=20, r=20, steps of 5", 20, 20, Gaussian(5.0)),
    Setting("d=20, r=3, steps of 1", 20, 3, Gaussian(1.0)),
)


def few_directions(kind: str, directions: int, d: int, horizon: int, seed: int) -> tuple[Array, Array]:
    """Return A and a path of v, which moves in a random subspace with steps of 50."""
    rng = np.random.default_rng([7, seed])
    values = {"full": np.linspace(1.0, 4.0, d), "low": np.r_[np.zeros(d - 3), 1.0, 2.5, 4.0]}
    values["geometric"] = np.geomspace(0.01, 4.0, d)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    basis = np.linalg.qr(rng.standard_normal((d, directions)))[0]
    return (Q * values[kind]) @ Q.T, np.cumsum(50.0 * rng.standard_normal((horizon, directions)) @ basis.T, axis=0)
