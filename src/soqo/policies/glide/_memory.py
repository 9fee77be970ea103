"""The memory of GLIDE, and how files of earlier versions become it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import add_fields, register, rename_fields
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._drift import Drift
from soqo.policies.glide._forecasts import ForecastTrust
from soqo.policies.glide._large._companion import Companion
from soqo.policies.glide._meter_faults import MeterFaults
from soqo.typing import Array


@register("GLIDE.outliers", version=2, migrations={1: lambda _: {}})
@dataclass(frozen=True)
class RemovedMonitor(Value):
    """What files of earlier versions hold in place of the beliefs, and what is not used any more."""


def _from_one_posterior(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a memory that earlier versions wrote, with its posterior as the only belief."""
    posterior = fields.pop("posterior")
    fields.pop("monitor", None)
    runs, dim, _ = fields["moment"].shape
    shift = np.zeros((runs, dim, 1))
    return {
        **fields,
        "beliefs": Beliefs.around(posterior),
        "faults": MeterFaults.start(runs, dim),
        "forecasts": fields.get("forecasts") or ForecastTrust.start(runs, dim),
        "shift": shift,
    }


def _without_hedge(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of version 3, in which the estimate was what the policy played for."""
    return {**fields, "played": fields["spectrum"]}


@register(
    "GLIDE.memory",
    version=5,
    migrations={
        0: rename_fields(belief="posterior", suspicion="monitor"),
        2: _from_one_posterior,
        3: _without_hedge,
        4: add_fields(companion=None),
    },
)
@dataclass(frozen=True)
class GlideMemory(Value):
    """The memory of GLIDE. The batch of any shape is flattened: arrays have the shape (runs, ...).

    Attributes
    ----------
    beliefs : Beliefs
        The hypotheses about the readings, each with a posterior of A.
    spectrum : Spectrum
        The spectrum of the estimate.
    played : Spectrum
        The spectrum that the policy plays for: that of the estimate, or a mixture while A may have changed.
    shift : Array, shape (runs, d, 1 + k)
        The estimates of b and M: the minimizer is v - b - M w.
    moment : Array, shape (runs, d, d)
        The mean of (x_prev - v)(x_prev - v)', which determines the value of a better estimate.
    faults : MeterFaults
        Repeated readings.
    probes, alarms, last_probe, last_alarm : Array, shape (runs,)
        The numbers of probes and alarms, and the rounds of the last ones (0 for none).
    drift : Drift
        The predictable part of the steps of v.
    forecasts : ForecastTrust
        How far forecasts of v have come true.
    companion : Companion or None
        Streams that know more about a low rank, if the dimension is large enough for it to matter.
    """

    beliefs: Beliefs
    spectrum: Spectrum
    played: Spectrum
    shift: Array
    moment: Array
    faults: MeterFaults
    probes: Array
    alarms: Array
    last_probe: Array
    last_alarm: Array
    drift: Drift
    forecasts: ForecastTrust
    companion: Companion | None
