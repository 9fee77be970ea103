"""LAI: lazy adaptive interpolation, the optimal policy for a known A."""

from __future__ import annotations

from dataclasses import dataclass

from soqo._model.planner import anticipation, lai_step
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import add_fields, register
from soqo.policies._base import State
from soqo.policies._known_curvature import KnownCurvature
from soqo.typing import Array


@register("LAI", version=2, migrations={1: add_fields(plain_for=None)})
@dataclass(frozen=True)
class LAI(KnownCurvature):
    """Lazy adaptive interpolation: the optimal policy for a known A if v is a martingale, and the benchmark of regret.

    It plays x_t = C_t x_{t-1} + (I - C_t) v_t with the gains of :class:`soqo.Plan` (Bhuyan, Mukherjee and Wierman). A
    forecast shifts its aim; it is then optimal if the forecast is the conditional mean of v. If the hitting cost of the
    round has a factor s_t, it plans with s_t A now and with A, the mean, in later rounds: C_t = (2I + s_t A - C)^{-1}
    with the gain C of the next round.

    Parameters
    ----------
    A : array_like, shape (d, d) or (*batch, d, d)
        The curvature in coordinates where the switching cost is unweighted: ``problem.plain.A``, which is A itself if
        the problem has no switching weight. With an estimate in its place, this is the paper's LAI(A-hat).
        ``LAI.for_problem(Problem(A, switching_weight=W))`` takes A in the units of a plant, as
        ``Controller.diagnostics()["estimate"]`` is.
    plain_for : None, float or array_like of shape (d,) or (d, d), optional
        The switching weight for which A was converted; ``for_problem`` sets it. A :class:`soqo.Controller` with another
        switching weight refuses the policy.

    Examples
    --------
    >>> policy = LAI([[1.0]])
    >>> policy.act(policy.start([0.0], horizon=1), v=[4.0])[0]         # the last round: C = 1/2
    array([2.])
    >>> policy.act(policy.start([0.0], horizon=1), v=[4.0], factor=3.0)[0]      # C = 1 / (1 + 3)
    array([3.])
    """

    def decide(self, state: State[Spectrum], v: Array) -> tuple[Array, Spectrum]:
        spectrum, n, factor = state.memory, state.rounds_to_go, state.factor
        x = lai_step(spectrum, n, state.x, v, factor)
        return (x if state.forecast is None else x + anticipation(spectrum, n, v, state.forecast, factor)), spectrum
