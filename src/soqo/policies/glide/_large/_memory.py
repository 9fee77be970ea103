"""The memory of GLIDE with many dimensions: a stream for each run, and what the runs share the code of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.policies._runs import join_rows, rows_key, take_rows
from soqo.policies.glide._drift import Drift
from soqo.policies.glide._forecasts import ForecastTrust
from soqo.policies.glide._large._stream import Stream
from soqo.policies.glide._meter_faults import MeterFaults
from soqo.typing import Array, IntArray


def _without_probes(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the first version, which did not probe: without a moment, it goes on so."""
    drift: Drift = fields["drift"]
    runs, d = len(fields["alarms"]), drift.last_step.shape[1]
    matrices = dict.fromkeys(("moment", "directions"), np.zeros((runs, d, d)))
    return {**fields, **matrices, **dict.fromkeys(("probes", "last_probe", "next_probe"), np.zeros(runs))}


@register("GLIDE.many_dimensions", version=2, migrations={1: _without_probes})
@dataclass(frozen=True)
class LargeMemory(Value):
    """The memory. The batch of any shape is flattened.

    Attributes
    ----------
    streams : tuple of Stream
        What is known about each run; runs may be in different phases.
    faults : MeterFaults
        Repeated readings.
    drift : Drift
        The predictable part of the steps of v.
    forecasts : ForecastTrust
        How far forecasts of v have come true.
    alarms, last_alarm : Array, shape (runs,)
        The number of alarms, and the round of the last one (0 for none).
    moment : Array, shape (runs, d, d)
        The mean of (x_prev - v)(x_prev - v)'.
    directions : Array, shape (runs, d, d)
        The sum of s s'/|s|^2 over the steps s of v.
    probes, last_probe, next_probe : Array, shape (runs,)
        The number of probes, the round of the last one (0 for none), and after how many rounds of the run the next one
        is considered.
    """

    streams: tuple[Stream, ...]
    faults: MeterFaults
    drift: Drift
    forecasts: ForecastTrust
    alarms: Array
    last_alarm: Array
    moment: Array
    directions: Array
    probes: Array
    last_probe: Array
    next_probe: Array

    @classmethod
    def start(cls, batch: tuple[int, ...], dim: int) -> LargeMemory:
        """Return the memory before the first round.

        Parameters
        ----------
        batch : tuple of int
            The batch shape.
        dim : int
            The number of dimensions.
        """
        runs = math.prod(batch)
        stream = Stream.start(dim)
        zeros = np.zeros(runs)
        return cls(
            (stream,) * runs,
            MeterFaults.start(runs, dim),
            Drift.start(runs, dim),
            ForecastTrust.start(runs, dim),
            zeros,
            zeros,
            np.zeros((runs, dim, dim)),
            np.zeros((runs, dim, dim)),
            zeros,
            zeros,
            zeros,
        )

    # ---- batches that change ---------------------------------------------------------------------------------------

    def take_runs(self, index: IntArray) -> LargeMemory:
        """Return the memory of some of the runs.

        Parameters
        ----------
        index : IntArray, shape (k,)
            The runs.
        """
        return LargeMemory(
            tuple(self.streams[i] for i in index),
            take_rows(self.faults, index),
            take_rows(self.drift, index),
            take_rows(self.forecasts, index),
            self.alarms[index],
            self.last_alarm[index],
            self.moment[index],
            self.directions[index],
            self.probes[index],
            self.last_probe[index],
            self.next_probe[index],
        )

    @staticmethod
    def join_runs(parts: Sequence[LargeMemory]) -> LargeMemory:
        """Return one memory for the runs of several.

        Parameters
        ----------
        parts : sequence of LargeMemory
            The memories.
        """
        return LargeMemory(
            tuple(stream for part in parts for stream in part.streams),
            join_rows([part.faults for part in parts]),
            join_rows([part.drift for part in parts]),
            join_rows([part.forecasts for part in parts]),
            np.concatenate([part.alarms for part in parts]),
            np.concatenate([part.last_alarm for part in parts]),
            np.concatenate([part.moment for part in parts]),
            np.concatenate([part.directions for part in parts]),
            np.concatenate([part.probes for part in parts]),
            np.concatenate([part.last_probe for part in parts]),
            np.concatenate([part.next_probe for part in parts]),
        )

    def runs_key(self) -> Any:
        """Return what memories must have in common to be joined."""
        return LargeMemory, rows_key(self.drift), rows_key(self.forecasts)

    def shift_rounds(self, by: int) -> LargeMemory:
        """Return the memory with round numbers that are larger by some number.

        Parameters
        ----------
        by : int
            What is added to them.
        """
        return evolve(
            self,
            streams=tuple(stream.shift_rounds(by) for stream in self.streams),
            last_alarm=np.where(self.last_alarm > 0.0, self.last_alarm + by, 0.0),
            last_probe=np.where(self.last_probe > 0.0, self.last_probe + by, 0.0),
        )
