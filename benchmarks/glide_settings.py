"""The sixteen settings of the paper for GLIDE's benchmarks, and the learning rates from which the best is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sixteen_settings
import soqo

ROUNDS = 1000
RATES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)


@dataclass(frozen=True)
class Setting:
    """An environment, and the parameters of SCaLE for it."""

    name: str
    environment: soqo.Environment
    cap: float
    rank: int
    sigma: float
    c1: float


def paper_settings() -> Iterator[Setting]:
    """Yield the sixteen settings of the paper's appendix."""
    for s in sixteen_settings.settings():
        yield Setting(s.name, s.environment(), s.cap, s.rank, s.sigma, s.c1)
