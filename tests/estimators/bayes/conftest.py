"""The grids of fits, which dense algebra uses as well."""

from __future__ import annotations

from typing import Any

import pytest

from soqo.estimators.bayes._marginal_likelihood import MarginalLikelihood, ScaleAverage
from soqo.typing import Array


@pytest.fixture
def grids(monkeypatch: pytest.MonkeyPatch) -> list[Array]:
    """The grids of log sigma of all fits, in their order."""
    recorded: list[Array] = []
    original = MarginalLikelihood._average

    def spy(self: MarginalLikelihood, grid: Any, top: Array) -> ScaleAverage:
        density = grid.log_weights[0].max(axis=1)
        # Dense algebra loses all digits where the noise is so small that it has no weight.
        recorded.append(grid.log_noise[0, density > density.max() - 30.0])
        return original(self, grid, top)

    monkeypatch.setattr(MarginalLikelihood, "_average", spy)
    return recorded
