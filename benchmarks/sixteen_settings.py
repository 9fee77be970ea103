"""The 16 settings of the appendix for GLIDE's benchmarks; `soqo reproduce` has the paper's own policies in them.

The paper gives d = 4, r, the smallest eigenvalue sigma_r, sigma_v, eta and c1 (3 for light tails, 5 for heavy ones).
The rest is chosen here: eigenvalues spaced linearly up to 10 where r = 4; a new A for each run; c1 = 10 where r = 1,
since 3 rd = 12 probes of 10 unknowns carry no information about the noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import soqo
from soqo.processes import Cauchy, Correlated, Gaussian, Laplace, Process


@dataclass(frozen=True)
class Setting:
    """One of the sixteen settings."""

    name: str
    process: Process
    rank: int
    sigma: float
    cap: float
    c1: float

    def environment(self) -> soqo.Environment:
        """Return the environment, with a new A for each run."""
        max_eigenvalue = 10.0 if self.rank > 1 else None
        problem = soqo.RandomProblem(4, self.rank, min_eigenvalue=self.sigma, max_eigenvalue=max_eigenvalue)
        return soqo.Environment(problem, self.process, soqo.noise.Uniform(self.cap))


def settings() -> Iterator[Setting]:
    """Yield the settings: four processes, two ranks, two smallest eigenvalues."""
    for name, process, cap, c1 in (
        ("Gaussian", Gaussian(50.0), 10.0, 3.0),
        ("correlated", Correlated(50.0, alpha=0.7, form="additive"), 10.0, 3.0),
        ("Cauchy", Cauchy(1.0), 1.0, 5.0),
        ("Laplace", Laplace(50.0), 1.0, 5.0),
    ):
        for rank in (4, 1):
            for sigma in (1.0, 0.01):
                probes = 10.0 if rank == 1 else c1
                yield Setting(f"{name} r={rank} {sigma:g}", process, rank, sigma, cap, probes)
