"""Checks of the last appendix: the example of the fundamental trade-off between tracking and estimating."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from soqo._model.planner import Plan
from soqo.experiments.judgment._order_checks import SAME_ORDER
from soqo.experiments.judgment._verdicts import Case, Number, Status
from soqo.theory import exact_scale_regret

_DIM = 6
_PROBE_VARIANCES = (1e2, 1e3, 1e4)


def check_blindness() -> Case:
    """Play a policy that tracks v in the paper's example, and count the rounds for which it has no information on A.

    In rounds 1..d the minimizer moves along e_1, in round d + i along e_{i+1}, from the player's own position. A round
    needs A's entry of its own axis; an earlier reading responds to it if it was taken off v along that axis.
    """
    rng = np.random.default_rng(0)
    plan = Plan(np.diag(np.linspace(0.5, 2.0, _DIM)), 2 * _DIM - 1)
    x = v = np.zeros(_DIM)
    seen, blind = np.zeros(_DIM), 0
    for t in range(1, 2 * _DIM):
        axis = 0 if t <= _DIM else t - _DIM
        v = (v if t <= _DIM else x) + rng.standard_normal() * np.eye(_DIM)[axis]
        blind += t > _DIM and seen[axis] == 0.0
        x = plan.step(t, x, v)
        seen += (x - v) ** 2
    number = Number(f"rounds d+1 to 2d-1 without any information, of {_DIM - 1}", float(blind))
    return Case(f"d = {_DIM}, A diagonal", Status.HOLDS if blind == _DIM - 1 else Status.FAILS, (number,))


def check_probe_cost() -> Iterator[Case]:
    """Measure how the exact cost of probes grows with gamma^2 and with their number."""
    for largest in (1.0, 10.0):
        A = np.diag(np.linspace(0.01, largest, 4))

        def cost(gamma2: float, m: int, A: np.ndarray = A) -> float:
            return float(exact_scale_regret(A, A, covariance=1.0, horizon=10**4, m=m, gamma2=gamma2).exploration)

        by_variance = [cost(gamma2, 48) for gamma2 in _PROBE_VARIANCES]
        by_number = [cost(_PROBE_VARIANCES[-1], m) for m in (48, 96, 192)]
        powers = [
            float(np.polyfit(np.log(at), np.log(found), 1)[0])
            for at, found in ((_PROBE_VARIANCES, by_variance), ((48, 96, 192), by_number))
        ]
        numbers = (Number("exponent of gamma^2", powers[0]), Number("exponent of m", powers[1]))
        holds = max(abs(power - 1.0) for power in powers) < SAME_ORDER
        yield Case(f"eigenvalues 0.01 to {largest:g}", Status.HOLDS if holds else Status.FAILS, numbers)
