"""ROBD: regularized online balanced descent."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from soqo._foundation.arguments import number
from soqo._foundation.frozen_dataclasses import set_fields
from soqo._model.planner import towards
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import add_fields, register
from soqo.policies._base import State
from soqo.policies._known_curvature import KnownCurvature
from soqo.typing import Array


@register("ROBD", version=2, migrations={1: add_fields(plain_for=None)})
@dataclass(frozen=True)
class ROBD(KnownCurvature):
    """Regularized online balanced descent for a known quadratic, which is designed for the worst case.

    It plays the minimizer of f_t(x) + lambda1/2 |x - x_{t-1}|^2 + lambda2/2 |x - v_t|^2 (Goel, Lin, Sun and Wierman
    2019, "Beyond online balanced descent"), here in closed form.

    Parameters
    ----------
    A : array_like, shape (d, d) or (*batch, d, d)
        The curvature in coordinates where the switching cost is unweighted.
    plain_for : None, float or array_like of shape (d,) or (d, d), optional
        The switching weight for which A was converted, as in :class:`soqo.LAI`.
    lambda1 : float
        The weight of the movement.
    lambda2 : float, optional
        The weight of the distance to v; None for the value with the best competitive ratio. With m the smallest
        eigenvalue of A, that ratio is (1 + sqrt(1 + 4/m)) / 2, and m + lambda2 = m lambda1 times the ratio, or
        lambda2 = 0 where that would be negative (a small lambda1).

    Examples
    --------
    >>> policy = ROBD([[2.0]])                # m = 2, ratio (1 + sqrt 3) / 2, C = 1 / (1 + 2 ratio)
    >>> policy.act(policy.start([0.0]), v=[1.0])[0].round(6)
    array([0.732051])
    """

    _: KW_ONLY
    lambda1: float = 1.0
    lambda2: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, lambda1=number("lambda1", self.lambda1, above=0.0))
        if self.lambda2 is not None:
            set_fields(self, lambda2=number("lambda2", self.lambda2, least=0.0))

    def decide(self, state: State[Spectrum], v: Array) -> tuple[Array, Spectrum]:
        spectrum = state.memory
        values = spectrum.values if state.factor is None else state.factor[..., None] * spectrum.values
        if self.lambda2 is None:
            # m r with r = (1 + sqrt(1 + 4/m)) / 2, in a form that gives 0 for m = 0.
            m = values[..., :1]
            pull = values - m + np.maximum(m, self.lambda1 * 0.5 * (m + np.sqrt(m * (m + 4.0))))
        else:
            pull = values + self.lambda2
        return towards(spectrum, pull / (pull + self.lambda1), state.x, v), spectrum
