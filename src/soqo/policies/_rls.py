"""RLS: recursive least squares and certainty equivalence, the baseline of any engineer."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from soqo._foundation.arguments import number
from soqo._foundation.frozen_dataclasses import Value, evolve, set_fields
from soqo._model.planner import lai_step
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.estimators import smat, svec, svec_rows
from soqo.policies._base import Policy, State
from soqo.typing import Array, BoolArray, Rng

_CONSTANT_PRIOR_FACTOR = 1e3
"""The prior of the constant is this much wider than that of A, since a base load may have any size."""

_RELATIVE_RANK_TOLERANCE = 1e-2
"""Directions whose eigenvalue is below this share of the largest do not say where the minimum is."""


@register("RLS.memory")
@dataclass(frozen=True)
class RLSMemory(Value):
    """The memory of RLS: the normal posterior of its unknowns.

    Attributes
    ----------
    mean : Array, shape (*batch, k)
        The estimate of svec(A), and with an offset of g = A b and of the constant.
    covariance : Array, shape (*batch, k, k)
        Its covariance.
    spectrum : Spectrum
        The spectrum of the estimate of A without its negative eigenvalues.
    readings : Array, shape (*batch,)
        The number of readings.
    diverged : BoolArray, shape (*batch,)
        The runs in which an update overflowed and was refused.
    """

    mean: Array
    covariance: Array
    spectrum: Spectrum
    readings: Array
    diverged: BoolArray


@register("RLS")
@dataclass(frozen=True)
class RLS(Policy[RLSMemory]):
    """LAI for the least-squares estimate of A, which each reading updates (certainty equivalence).

    A reading 1/2 u'Au + noise at u = x - v is linear in A. The estimate is the mean of the normal posterior, without
    its negative eigenvalues. With ``offset``, the reading is 1/2 (u + b)'A(u + b) + c + noise, which is linear in A, in
    g = A b and in the constant 1/2 b'A b + c; the policy then aims at v - b. A factor of the hitting cost multiplies
    the reading but for c and the noise (1/2 b'A b of the current estimate tells the parts of the constant apart), and
    the policy plans with it as LAI does.

    Parameters
    ----------
    noise : float
        The standard deviation of the noise of a reading.
    prior_deviation : float
        The standard deviation of A before the first reading, per entry and around the identity, and of g; that of the
        constant is a thousand times as large.
    offset : bool
        Whether the minimizer may differ from v by a constant b, and the readings by a constant c.

    See Also
    --------
    soqo.GLIDE : Learns from the same readings, and estimates the noise and the scale of A as well.

    Examples
    --------
    >>> policy = RLS(noise=0.1)
    >>> state = policy.start(x0=np.zeros(1))
    >>> for v in (1.0, -2.0, 3.0, -1.0):
    ...     x, state = policy.act(state, [v])
    ...     state = policy.observe(state, 0.5 * 4.0 * (x[0] - v) ** 2)
    >>> policy.diagnostics(state)["estimate"].round(2)
    array([[4.]])
    """

    noise: float = 1.0
    prior_deviation: float = 10.0
    _: KW_ONLY
    offset: bool = False

    def __post_init__(self) -> None:
        set_fields(
            self,
            noise=number("noise", self.noise, above=0.0),
            prior_deviation=number("prior_deviation", self.prior_deviation, above=0.0),
        )
        if not isinstance(self.offset, bool):
            raise ArgumentError(f"offset must be True or False, got {self.offset!r}")

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> RLSMemory:
        *batch, d = x0.shape
        identity = np.broadcast_to(np.eye(d), (*batch, d, d))
        mean = np.zeros((*batch, d * (d + 1) // 2 + (d + 1 if self.offset else 0)))
        mean[..., : d * (d + 1) // 2] = svec(identity)
        deviations = np.full(mean.shape[-1], self.prior_deviation)
        if self.offset:
            deviations[-1] *= _CONSTANT_PRIOR_FACTOR
        covariance = np.broadcast_to(np.diag(np.square(deviations)), (*mean.shape, mean.shape[-1]))
        nothing = np.zeros(batch)
        return RLSMemory(mean, covariance.copy(), Spectrum.of(identity.copy()), nothing, nothing > 0.0)

    def decide(self, state: State[RLSMemory], v: Array) -> tuple[Array, RLSMemory]:
        memory = state.memory
        aim = v - self._offset(memory)
        return lai_step(memory.spectrum, state.rounds_to_go, state.x, aim, state.factor), memory

    def learn(self, state: State[RLSMemory], y: Array) -> RLSMemory:
        memory, u = state.memory, state.u
        with np.errstate(over="ignore", invalid="ignore"):  # an update that overflows is refused
            row = svec_rows(u)
            if self.offset:
                row = np.concatenate([row, u, np.ones((*u.shape[:-1], 1))], axis=-1)
            if state.factor is not None:
                row, y = self._with_factor(memory, row, y, state.factor)
            spread = np.matvec(memory.covariance, row)
            gain = spread / (self.noise**2 + np.vecdot(row, spread))[..., None]
            mean = memory.mean + gain * (y - np.vecdot(row, memory.mean))[..., None]
            covariance = memory.covariance - gain[..., :, None] * spread[..., None, :]
        observed = ~np.isnan(y)
        finite = np.isfinite(mean).all(axis=-1) & np.isfinite(covariance).all(axis=(-1, -2))
        used = observed & finite
        mean = np.where(used[..., None], mean, memory.mean)
        d = u.shape[-1]
        spectrum = Spectrum.of(smat(mean[..., : d * (d + 1) // 2]))
        return evolve(
            memory,
            mean=mean,
            covariance=np.where(used[..., None, None], covariance, memory.covariance),
            spectrum=Spectrum(np.maximum(spectrum.values, 0.0), spectrum.vectors),
            readings=memory.readings + used,
            diverged=memory.diverged | (observed & ~finite),
        )

    def _with_factor(self, memory: RLSMemory, row: Array, y: Array, factor: Array) -> tuple[Array, Array]:
        """Return the row and the reading of a round whose hitting cost has a factor."""
        if not self.offset:
            return row * factor[..., None], y
        scales = np.repeat(factor[..., None], row.shape[-1], axis=-1)
        scales[..., -1] = 1.0
        # s (1/2 b'A b) + c = (1/2 b'A b + c) + (s - 1) 1/2 b'A b, with 1/2 b'A b = 1/2 b'g.
        d = memory.spectrum.values.shape[-1]
        minimum = 0.5 * np.vecdot(self._offset(memory), memory.mean[..., -d - 1 : -1])
        return row * scales, y - (factor - 1.0) * minimum

    def _offset(self, memory: RLSMemory) -> Array:
        """Return b, the solution of A b = g in the directions that the estimate of A determines."""
        if not self.offset:
            return np.zeros(memory.spectrum.vectors.shape[:-1])
        d = memory.spectrum.values.shape[-1]
        values = memory.spectrum.values
        known = values > _RELATIVE_RANK_TOLERANCE * values[..., -1:]
        inverse = np.where(known, 1.0 / np.where(known, values, 1.0), 0.0)
        return memory.spectrum.apply(inverse, memory.mean[..., -d - 1 : -1])

    @property
    def mixes_rounds(self) -> bool:
        return True

    def diverged(self, state: State[RLSMemory]) -> BoolArray:
        return state.diverged | state.memory.diverged

    def diagnostics(self, state: State[RLSMemory]) -> dict[str, Any]:
        """Return the ``estimate`` of A, and with an offset the estimated ``offset`` b.

        Parameters
        ----------
        state : State
            The state.
        """
        found = {**super().diagnostics(state), "estimate": state.memory.spectrum.matrix()}
        return {**found, "offset": self._offset(state.memory)} if self.offset else found

    def explain(self, state: State[RLSMemory]) -> str:
        readings, unknowns = int(state.memory.readings.item()), state.memory.mean.shape[-1]
        return f"RLS plays the least-squares estimate of {unknowns} unknowns from {readings} readings."
