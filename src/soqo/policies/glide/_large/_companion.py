r"""Streams beside a dense posterior, for dimensions in which both are affordable.

The dense posterior knows more about plants, and a stream knows more about a low rank. Both learn from the same
readings, and predict each before it comes. The policy plays for the estimate of the stream once that shows a low rank
and predicts clearly better, until the dense posterior predicts better again. A stream without a low rank computes only
now and then, since the dense posterior is as good.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._model.spectrum import Spectrum, quadratic_form
from soqo._storage.registry import register
from soqo.policies.glide._large._learning import Options, collect, learn
from soqo.policies.glide._large._row import make_row, place
from soqo.policies.glide._large._stream import Stream
from soqo.typing import Array, BoolArray, IntArray

COMPANION_DIMS = range(10, 13)
"""The dimensions in which a dense posterior has a companion."""

_MEMORY = 12
"""The number of latest readings whose predictions are compared."""

_ENOUGH = 1.5
"""A stream without a factor learns from this many times as many readings as there are unknowns."""

_FIRST = 4
"""The number of readings with which a stream begins to compute; before, a few readings determine no rank."""

_FULL_RANK, _PERIOD = 0.85, 8
"""While the effective rank of a stream's estimate is above this share of the dimensions, it computes only in every
eighth round."""

_MAX_RANK, _MAX_ERROR = 0.6, 0.5
"""A stream without a factor leads only if the effective rank of its estimate is below this share of the dimensions, and
the squares of its errors are below this share of those of the readings."""

_LEAD_NATS = 3.0
"""The lead that a stream needs to begin, in the logarithm of the odds."""


def _with_leads(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the first version, which found out anew in each round which streams lead."""
    leads = [_learns(stream) and _lead(errors) > _LEAD_NATS for stream, errors in zip(*fields.values(), strict=True)]
    return {**fields, "leads": np.array(leads, dtype=np.bool_)}


@register("GLIDE.companion", version=2, migrations={1: _with_leads})
@dataclass(frozen=True)
class Companion(Value):
    """Streams and the latest prediction errors, for each run.

    Attributes
    ----------
    streams : tuple of Stream
        The streams.
    errors : Array, shape (runs, 12, 2)
        The latest squared errors of the dense estimate and of the stream's; NaN for none.
    leads : BoolArray, shape (runs,)
        The runs that play for their streams.
    """

    streams: tuple[Stream, ...]
    errors: Array
    leads: BoolArray

    @classmethod
    def start(cls, runs: int, dim: int) -> Companion:
        """Return the streams before the first reading.

        Parameters
        ----------
        runs, dim : int
            The number of runs and of dimensions.
        """
        return cls((Stream.start(dim),) * runs, np.full((runs, _MEMORY, 2), np.nan), np.zeros(runs, dtype=np.bool_))

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
        learning = [i for i in np.flatnonzero(~np.isnan(y)).tolist() if self.leads[i] or _learns(self.streams[i])]
        if not learning:
            return self
        streams, errors, leads = list(self.streams), self.errors.copy(), self.leads.copy()
        scale = np.ones(len(y)) if factor is None else factor
        for i in learning:
            before = streams[i]
            row = make_row(u[i], y[i], scale[i])
            if _waits(before) and place(row).any():
                streams[i] = collect(before, row, options)
                continue
            own = np.nan
            if before.spectrum.values.size:
                own = float(before.hitting_cost(row)) - scale[i] * float(quadratic_form(before.estimate, u[i]))
            with np.errstate(over="ignore"):
                latest = np.minimum(np.square([y[i] - expected[i], own]), 1e300)
            errors[i] = np.concatenate([errors[i, 1:], latest[None]])
            streams[i] = learn(before, row, options, round_number)
            # A stream that leads goes on while it predicts as well: small readings say little about either.
            leads[i] = _has_low_rank(streams[i]) and _lead(errors[i]) > (0.0 if leads[i] else _LEAD_NATS)
        return Companion(tuple(streams), errors, leads)

    @property
    def is_idle(self) -> bool:
        """Whether no stream leads or learns any more."""
        return not any(self.leads) and not any(map(_learns, self.streams))

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
        return Companion(tuple(self.streams[i] for i in index), self.errors[index], self.leads[index])

    @staticmethod
    def join_runs(parts: Sequence[Companion]) -> Companion:
        """Return the streams of the runs of several.

        Parameters
        ----------
        parts : sequence of Companion
            The streams.
        """
        streams = tuple(stream for part in parts for stream in part.streams)
        errors, leads = (np.concatenate([getattr(part, name) for part in parts]) for name in ("errors", "leads"))
        return Companion(streams, errors, leads)

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
        return Companion(tuple(stream.shift_rounds(by) for stream in self.streams), self.errors, self.leads)


def _learns(stream: Stream) -> bool:
    """Return whether a stream learns; without a low rank, it soon knows no more than the dense posterior."""
    return stream.factored is not None or stream.seen < _ENOUGH * stream.unknowns


def _lead(errors: Array) -> float:
    """Return the logarithm of the odds that the second column predicts better."""
    known = errors[~np.isnan(errors).any(axis=1)]
    if not len(known):
        return 0.0
    dense, own = (known.mean(axis=0) + 1e-300).tolist()
    return 0.5 * len(known) * math.log(dense / own)


def _waits(stream: Stream) -> bool:
    """Return whether a stream only stores the next reading: it cannot lead soon."""
    if stream.factored is not None:
        return False
    n = stream.seen + 1
    return n < _FIRST or (n % _PERIOD != 0 and _effective_rank(stream) > _FULL_RANK * stream.dim)


def _effective_rank(stream: Stream) -> float:
    """Return the square of the sum of the eigenvalues over the sum of their squares."""
    values = stream.spectrum.values
    return float(values.sum()) ** 2 / max(float(values @ values), 1e-300)


def _has_low_rank(stream: Stream) -> bool:
    """Return whether a stream shows a low rank, and not only noise; otherwise the dense posterior knows more."""
    if stream.factored is not None:
        return True
    latest = stream.predictions[-_MEMORY:]
    expected, error = latest[~np.isnan(latest[:, 1])].T
    shows_noise = float(error @ error) > _MAX_ERROR * float(np.square(expected - error).sum())
    return not shows_noise and _effective_rank(stream) < _MAX_RANK * stream.dim
