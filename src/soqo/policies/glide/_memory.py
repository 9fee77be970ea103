"""The memory of GLIDE, and what becomes of the memories that earlier versions wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register, retire
from soqo.estimators.bayes import Bank, Terms
from soqo.estimators.factored import Factored
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._drift import Drift
from soqo.policies.glide._earlier_files import from_earlier, from_many_dimensions
from soqo.policies.glide._forecasts import ForecastTrust
from soqo.policies.glide._health import Health
from soqo.policies.glide._meter_faults import MeterFaults
from soqo.policies.glide._probes import Motion
from soqo.typing import Array


def _with_health(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the memory of a version without a record of health."""
    return {**fields, "health": Health.start(len(fields["alarms"]), fields["terms"].dim)}


MAX_DENSE_DIM = 12
"""Up to this dimension, a bank of filters for all d(d+1)/2 unknowns is within the budget of a round."""


@register("GLIDE.memory", version=7, migrations={5: from_earlier, 6: _with_health})
@dataclass(frozen=True)
class Memory(Value):
    """The memory of GLIDE. The batch of any shape is flattened: arrays have the shape (runs, ...).

    Attributes
    ----------
    beliefs : Beliefs
        The hypotheses about the readings, each with a posterior of A.
    drift : Drift
        The predictable part of the steps of v.
    forecasts : ForecastTrust
        How far forecasts of v have come true.
    faults : MeterFaults
        Repeated readings.
    motion : Motion
        In which directions v moves, for probes.
    alarms, last_alarm : Array, shape (runs,)
        The number of suspected changes, and the round of the last one (0 for none).
    terms : Terms
        The terms of a reading.
    health : Health
        Whether what is told and measured fits together.
    """

    beliefs: Beliefs
    drift: Drift
    forecasts: ForecastTrust
    faults: MeterFaults
    motion: Motion
    alarms: Array
    last_alarm: Array
    terms: Terms
    health: Health

    @classmethod
    def start(cls, runs: int, terms: Terms) -> Memory:
        """Return the memory before the first round."""
        zeros, d = np.zeros(runs), terms.dim
        return cls(
            Beliefs.start((Bank if d <= MAX_DENSE_DIM else Factored).start(terms, runs), runs),
            Drift.start(runs, d),
            ForecastTrust.start(runs, d),
            MeterFaults.start(runs, d),
            Motion.start(runs, d),
            zeros,
            zeros,
            terms,
            Health.start(runs, d),
        )

    def with_terms(self, terms: Terms) -> Memory:
        """Return the memory with other terms, which only more regressors can be after the first reading."""
        if terms == self.terms:
            return self
        if not self.beliefs.age.any():
            return evolve(self, beliefs=Memory.start(len(self.alarms), terms).beliefs, terms=terms)
        if terms != evolve(self.terms, regressors=terms.regressors) or self.terms.regressors != terms.dim + 1:
            return self
        beliefs = evolve(self.beliefs, posterior=self.beliefs.posterior.with_terms(terms))
        return evolve(self, beliefs=beliefs, terms=terms)

    def shift_rounds(self, by: int) -> Memory:
        """Return the memory with round numbers that are larger by some number."""

        def shift(rounds: Array) -> Any:
            return np.where(rounds > 0.0, rounds + by, rounds)

        beliefs = evolve(self.beliefs, epoch=shift(self.beliefs.epoch))
        health = evolve(self.health, since=shift(self.health.since))
        return evolve(self, beliefs=beliefs, last_alarm=shift(self.last_alarm), health=health)


retire("GLIDE.many_dimensions", convert=lambda fields: Memory(**_with_health(from_many_dimensions(fields))))
