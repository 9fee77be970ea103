"""The paper's own model as a plant: a quadratic hitting cost around a minimizer that walks at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np

from soqo._foundation.arguments import number
from soqo._foundation.figure_style import Theme
from soqo._foundation.frozen_dataclasses import freeze, set_fields
from soqo._foundation.random_streams import stream
from soqo._model.spectrum import positive_semidefinite
from soqo.errors import ArgumentError
from soqo.plants._plant import Conditions, Plant
from soqo.typing import Array, ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Quadratic(Plant):
    """A plant with exactly the paper's costs, 1/2 (x - v)'A(x - v) + 1/2 W |x - x_prev|^2.

    Parameters
    ----------
    A : array_like, shape (d, d)
        The curvature.
    wear : float
        The weight W of the switching cost.
    step : float
        The standard deviation of the steps of v, which are normal.
    noise : float
        The readings have normal noise of this standard deviation.
    price : float
        The price of energy, in EUR/MWh.

    Examples
    --------
    >>> plant = Quadratic([[2.0]])
    >>> conditions = plant.draw(rounds=3, seeds=[0])
    >>> plant.lost(conditions[0], conditions.best[0] + 3.0)
    array([9.])
    """

    A: ArrayLike
    _: KW_ONLY
    wear: float = 1.0
    step: float = 10.0
    noise: float = 1.0
    price: float = 0.0

    def __post_init__(self) -> None:
        A = positive_semidefinite("A", self.A)[0]
        if A.ndim != 2:
            raise ArgumentError(f"A must have shape (d, d), got {A.shape}")
        set_fields(
            self,
            A=freeze(A),
            wear=number("wear", self.wear, above=0.0),
            step=number("step", self.step, above=0.0),
            noise=number("noise", self.noise, least=0.0),
            price=number("price", self.price, least=0.0),
        )

    @property
    def dim(self) -> int:
        return len(np.asarray(self.A))

    @property
    def switching_weight(self) -> float:
        return self.wear

    @property
    def actuators(self) -> Sequence[str]:
        return [f"actuator {k + 1}" for k in range(self.dim)]

    @property
    def title(self) -> str:
        return f"The paper's model in dimension {self.dim}"

    @property
    def round_minutes(self) -> float:
        return 60.0

    @property
    def position_unit(self) -> str:
        return "1"

    @property
    def typical_step(self) -> float:
        return self.step

    @property
    def deadband(self) -> float:
        return self.step

    @property
    def reading_deviation(self) -> float:
        return max(self.noise, 1e-3)

    def draw(self, rounds: int, seeds: Sequence[int]) -> Conditions:
        steps = [stream(seed, 0, "steps").standard_normal((rounds, self.dim)) for seed in seeds]
        best = self.step * np.cumsum(np.stack(steps, axis=1), axis=0)
        noise = np.stack([stream(seed, 0, "noise").standard_normal(rounds) for seed in seeds], axis=1)
        return Conditions(best=best, told=best, noise=noise)

    def lost(self, conditions: Conditions, x: Array) -> Array:
        u = x - conditions.best
        return np.asarray(0.5 * np.einsum("...i,ij,...j->...", u, np.asarray(self.A), u))

    def read(self, conditions: Conditions, lost: Array) -> Array:
        return np.asarray(lost + self.noise * conditions.noise)

    def draw_map(self, axes: Axes, conditions: Conditions, x: Array, theme: Theme) -> None:
        places = np.arange(1, self.dim + 1)
        axes.plot(places, conditions.best, marker="_", markersize=24, linestyle="", color=theme.expected, label="v")
        axes.plot(places, x, marker="o", linestyle="", color=theme.position, label="x")
        axes.set(xlabel="actuator", xticks=places)
        axes.legend()
        axes.set_title("Positions and minimizer")

    def describe(self, conditions: Conditions) -> str:
        values = np.linalg.eigvalsh(np.asarray(self.A))
        return (
            f"The hitting cost is quadratic with eigenvalues from {values[0]:.3g} to {values[-1]:.3g}, v walks with "
            f"normal steps of deviation {self.step:g}, and readings have noise of deviation {self.noise:g}."
        )
