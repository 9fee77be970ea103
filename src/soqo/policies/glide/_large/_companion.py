r"""Streams beside a dense posterior, for dimensions in which both are affordable.

The dense posterior knows more about plants, and a stream knows more about a low rank. Both learn from the same
readings, and predict each before it comes. The policy plays for the estimate of the stream while that predicts clearly
better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._model.spectrum import Spectrum, quadratic_form
from soqo._storage.registry import register
from soqo.policies.glide._large._learning import Options, learn
from soqo.policies.glide._large._row import make_row
from soqo.policies.glide._large._stream import Stream
from soqo.typing import Array, BoolArray, IntArray

COMPANION_DIMS = range(10, 13)
"""The dimensions in which a dense posterior has a companion."""

_MEMORY = 12
"""The number of latest readings whose predictions are compared."""

_ENOUGH = 1.5
"""A stream without a factor learns from this many times as many readings as there are unknowns."""

_LEAD_NATS = 3.0
"""The lead that a stream needs, in the logarithm of the odds."""


@register("GLIDE.companion")
@dataclass(frozen=True)
class Companion(Value):
    """Streams and the latest prediction errors, for each run.

    Attributes
    ----------
    streams : tuple of Stream
        The streams.
    errors : Array, shape (runs, 12, 2)
        The latest squared errors of the dense estimate and of the stream's; NaN for none.
    """

    streams: tuple[Stream, ...]
    errors: Array

    @classmethod
    def start(cls, runs: int, dim: int) -> Companion:
        """Return the streams before the first reading.

        Parameters
        ----------
        runs, dim : int
            The number of runs and of dimensions.
        """
        return cls((Stream.start(dim),) * runs, np.full((runs, _MEMORY, 2), np.nan))

    def observe(
        self, u: Array, y: Array, factor: Array | None, expected: Array, options: Options, round_number: int
    ) -> Companion:
        """Return the streams after the readings of a round.

        Parameters
        ----------
        u, y : Array, shape (runs, d) and (runs,)
            The displacements and the readings; y is NaN for none.
        factor : Array, shape (runs,), or None
            What multiplied the hitting costs.
        expected : Array, shape (runs,)
            The predictions of the dense posterior.
        options : Options
            What the policy is told about the readings.
        round_number : int
            The round.
        """
        streams, errors = list(self.streams), self.errors.copy()
        scale = np.ones(len(y)) if factor is None else factor
        for i in np.flatnonzero(~np.isnan(y)):
            before = streams[i]
            if not _learns(before):
                continue
            row = make_row(u[i], y[i], scale[i])
            own = np.nan
            if before.spectrum.values.size:
                own = float(before.hitting_cost(row)) - scale[i] * float(quadratic_form(before.estimate, u[i]))
            with np.errstate(over="ignore"):
                latest = np.minimum(np.square([y[i] - expected[i], own]), 1e300)
            errors[i] = np.concatenate([errors[i, 1:], latest[None]])
            streams[i] = learn(before, row, options, round_number)
        return Companion(tuple(streams), errors)

    def leads(self) -> BoolArray:
        """Return the runs in which the stream predicts clearly better than the dense estimate, shape (runs,)."""
        found = zip(self.streams, self.errors, strict=True)
        return np.array([_learns(stream) and _leads(errors) for stream, errors in found], dtype=np.bool_)

    def spectrum(self, dense: Spectrum, where: BoolArray) -> Spectrum:
        """Return the spectra that the policy plays for: those of the streams in some of the runs.

        Parameters
        ----------
        dense : Spectrum
            The spectra of the dense estimates.
        where : BoolArray, shape (runs,)
            The runs that play for their streams.
        """
        if not where.any():
            return dense
        values, vectors = dense.values.copy(), dense.vectors.copy()
        for i in np.flatnonzero(where):
            stream = self.streams[i]
            full = stream.spectrum
            if full.values.size < stream.dim:
                full = Spectrum.of(stream.estimate)
            values[i], vectors[i] = np.maximum(full.values, 0.0), full.vectors
        return Spectrum(values, vectors)

    def take_runs(self, index: IntArray) -> Companion:
        """Return the streams of some of the runs.

        Parameters
        ----------
        index : IntArray, shape (k,)
            The runs.
        """
        return Companion(tuple(self.streams[i] for i in index), self.errors[index])

    def with_runs(self, index: IntArray, part: Companion) -> Companion:
        """Return the streams with others in some of the runs.

        Parameters
        ----------
        index : IntArray, shape (k,)
            The runs.
        part : Companion
            Their streams.
        """
        streams, errors = list(self.streams), self.errors.copy()
        for place, stream in zip(index.tolist(), part.streams, strict=True):
            streams[place] = stream
        errors[index] = part.errors
        return Companion(tuple(streams), errors)

    @staticmethod
    def join_runs(parts: Sequence[Companion]) -> Companion:
        """Return the streams of the runs of several.

        Parameters
        ----------
        parts : sequence of Companion
            The streams.
        """
        streams = tuple(stream for part in parts for stream in part.streams)
        return Companion(streams, np.concatenate([part.errors for part in parts]))

    def runs_key(self) -> type:
        """Return what companions must have in common to be joined."""
        return Companion

    def shift_rounds(self, by: int) -> Companion:
        """Return the streams with round numbers that are larger by some number.

        Parameters
        ----------
        by : int
            What is added to them.
        """
        return Companion(tuple(stream.shift_rounds(by) for stream in self.streams), self.errors)


def _learns(stream: Stream) -> bool:
    """Return whether a stream learns; without a low rank, it soon knows no more than the dense posterior."""
    return stream.factored is not None or stream.seen < _ENOUGH * stream.unknowns


def _leads(errors: Array) -> bool:
    """Return whether the errors of the second column are clearly smaller."""
    known = errors[~np.isnan(errors).any(axis=1)]
    if not len(known):
        return False
    dense, own = (known.mean(axis=0) + 1e-300).tolist()
    return 0.5 * len(known) * math.log(dense / own) > _LEAD_NATS
