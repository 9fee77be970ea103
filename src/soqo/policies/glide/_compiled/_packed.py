"""The memory of GLIDE in the form that compiled functions use: a few arrays instead of forty.

It holds the same numbers as :class:`GlideMemory`, which files contain and which reports and NumPy's code use. Each
attribute of that class can be read here, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._model.spectrum import Spectrum
from soqo.estimators.bayes import Posterior
from soqo.policies._base import State
from soqo.policies._runs import rows_key, take_rows
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._compiled import _layout as at
from soqo.policies.glide._drift import Drift
from soqo.policies.glide._forecasts import ForecastTrust
from soqo.policies.glide._large._companion import Companion
from soqo.policies.glide._memory import GlideMemory
from soqo.policies.glide._meter_faults import MeterFaults
from soqo.typing import Array, IntArray

_OF_A_BELIEF = (
    ("log_weight", at.LOG_WEIGHT),
    ("epoch", at.EPOCH),
    ("in_a_row", at.IN_A_ROW),
    ("rejected", at.REJECTED),
    ("age", at.AGE),
    ("protected", at.PROTECTED),
    ("surprise", at.SURPRISE),
    ("gain", at.GAIN),
    ("gain_error", at.GAIN_ERROR),
    ("same_gain", at.SAME_GAIN_CHANCE),
)
_OF_A_POSTERIOR = (
    ("noise", at.NOISE),
    ("scale", at.SCALE),
    ("readings", at.READINGS),
    ("total_readings", at.TOTAL_READINGS),
    ("max_abs_reading", at.MAX_ABS_READING),
    ("prior_unit", at.PRIOR_UNIT),
    ("scale_deviation", at.SCALE_DEVIATION),
    ("noise_cap", at.NOISE_CAP),
    ("known_noise", at.KNOWN_NOISE),
    ("level_variance", at.LEVEL_VARIANCE),
    ("level_speed", at.LEVEL_SPEED),
    ("offset_step", at.OFFSET_STEP),
    ("first_reading", at.FIRST_READING),
    ("log_evidence", at.LOG_EVIDENCE),
    ("log_marginal", at.LOG_MARGINAL),
    ("log_jacobian", at.LOG_JACOBIAN),
)
_OF_A_RUN = (
    ("probes", at.PROBES),
    ("alarms", at.ALARMS),
    ("last_probe", at.LAST_PROBE),
    ("last_alarm", at.LAST_ALARM),
)
_OF_FAULTS = (
    ("last_y", at.LAST_READING),
    ("readings", at.COUNT_READINGS),
    ("repetitions", at.REPETITIONS),
    ("stuck", at.STUCK),
    ("max_reading", at.MAX_READING),
    ("max_count", at.MAX_COUNT),
)
_OF_DRIFT = (("products", at.PRODUCTS), ("squares", at.SQUARES), ("squared_products", at.SQUARED_PRODUCTS))


@dataclass(frozen=True)
class CompiledMemory(Value):
    """The memory of GLIDE in a few arrays.

    Attributes
    ----------
    table : Array, shape (beliefs, columns)
        The numbers of each belief, its mean, level, second moment and prior mean.
    root, factor, buffer : Array, shape (beliefs, m, m), (beliefs, m + 1, m + 1) and (beliefs, rows, m + 1)
        As in the posterior. The factor has no entries while all readings of all beliefs are in their buffers.
    walks : tuple of two Array, or None
        ``walk_mean`` and ``walk_covariance`` of the posterior; None if no offset walks.
    starts : IntArray, shape (runs + 1,)
        The first belief of each run.
    runs : Array, shape (runs, columns)
        The numbers of each run.
    recent : Array, shape (runs, rows, d + 2)
        The latest readings: u, y, and whether the reading was rejected.
    companion : Companion or None
        As in :class:`GlideMemory`.
    """

    table: Array
    root: Array
    factor: Array
    buffer: Array
    walks: tuple[Array, Array] | None
    starts: IntArray
    runs: Array
    recent: Array
    companion: Companion | None

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.recent.shape[2] - 2)

    @property
    def whole_factor(self) -> Array:
        """The factors, zero where all readings are in the buffers."""
        return self.factor if len(self.factor) else np.broadcast_to(0.0, (len(self.table), *self.factor.shape[1:]))

    @cached_property
    def plain(self) -> GlideMemory:
        """The same memory as a :class:`GlideMemory`."""
        d, m, n = self.dim, self.root.shape[1], len(self.table)
        columns, of_run = at.belief_columns(d, m), at.run_columns(d)
        table, runs = self.table, self.runs

        def block(rows: Array, first: int, *shape: int) -> Array:
            size = int(np.prod(shape))
            return rows[:, first : first + size].reshape(len(rows), *shape)

        walks = self.walks or tuple(np.broadcast_to(0.0, (n, 1 + d, last)) for last in (m + 1, 1 + d))
        posterior = Posterior(
            **{name: table[:, column].copy() for name, column in _OF_A_POSTERIOR},
            mean=block(table, columns.mean, m),
            root=self.root,
            second_moment=block(table, columns.second_moment, d, d),
            log_sizes=table[:, at.LOG_SIZE : at.LOG_SIZE + 1].copy(),
            factor=self.whole_factor,
            buffer=self.buffer,
            buffer_rows=table[:, at.BUFFER_ROWS].astype(np.int64),
            prior_mean=block(table, columns.prior_mean, d, d),
            level=block(table, columns.level, m + 1),
            walk_mean=walks[0],
            walk_covariance=walks[1],
            variants=block(table, at.VARIANTS, 4),
        )
        beliefs = Beliefs(
            **{name: table[:, column].copy() for name, column in _OF_A_BELIEF},
            owner=np.repeat(np.arange(len(runs)), np.diff(self.starts)),
            posterior=posterior,
            densities=block(table, at.DENSITIES, 5),
            recent_u=self.recent[:, :, :d],
            recent_w=np.zeros((*self.recent.shape[:2], 0)),
            recent_factor=np.ones(self.recent.shape[:2]),
            recent_y=self.recent[:, :, d],
            recent_refused=self.recent[:, :, d + 1] > 0.0,
            best=self.starts[:-1] + runs[:, at.BEST].astype(np.int64),
        )
        return GlideMemory(
            **{name: runs[:, column].copy() for name, column in _OF_A_RUN},
            beliefs=beliefs,
            spectrum=Spectrum(block(runs, of_run.values, d), block(runs, of_run.vectors, d, d)),
            played=Spectrum(block(runs, of_run.played_values, d), block(runs, of_run.played_vectors, d, d)),
            shift=block(runs, of_run.shift, d, 1),
            moment=block(runs, of_run.moment, d, d),
            faults=MeterFaults(
                last_u=block(runs, of_run.last_u, d), **{name: runs[:, column].copy() for name, column in _OF_FAULTS}
            ),
            drift=Drift(
                last_step=block(runs, of_run.last_step, d),
                **{name: runs[:, column].copy() for name, column in _OF_DRIFT},
            ),
            forecasts=ForecastTrust.start(len(runs), d),
            companion=self.companion,
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.plain, name)

    def __eq__(self, other: object) -> bool:
        # In either form: a memory that was read from a file is equal to the one that was written.
        if isinstance(other, CompiledMemory | GlideMemory):
            return bool(self.plain == (other.plain if isinstance(other, CompiledMemory) else other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.plain)

    @property
    def alarms(self) -> Array:
        """The number of alarms of each run, which a controller reads in every round."""
        return np.asarray(self.runs[:, at.ALARMS])

    def for_file(self) -> GlideMemory:
        """Return what files hold."""
        return self.plain

    def take_runs(self, index: IntArray) -> GlideMemory:
        """Return the memory of some of the runs."""
        taken: GlideMemory = take_rows(self.plain, index)
        return taken

    def runs_key(self) -> Any:
        """Return what memories must have in common to be joined."""
        return rows_key(self.plain)

    @property
    def of_run(self) -> at.RunColumns:
        """The columns of the rows of the runs."""
        return at.run_columns(self.dim)

    def replace(self, **fields: Any) -> CompiledMemory:
        """Return the memory with other values in some fields, and without what was derived from the old ones."""
        after = evolve(self, **fields)
        after.__dict__.pop("plain", None)
        return after


def with_plain_memory(state: State[Any]) -> State[GlideMemory]:
    """Return the state with its memory in the form for NumPy's code."""
    return evolve(state, memory=state.memory.plain) if isinstance(state.memory, CompiledMemory) else state


def is_packable(memory: Any) -> bool:
    """Return whether a memory can have the compact form: without context, factor and forecasts."""
    beliefs = memory.beliefs
    return bool(
        memory.shift.shape[2] == 1
        and not memory.forecasts.leads
        and beliefs.recent_w.shape[2] == 0
        and (beliefs.recent_factor == 1.0).all()
    )


def pack_beliefs(beliefs: Beliefs) -> tuple[Array, Array, Array, Array]:
    """Return table, root, factor and buffer of some beliefs."""
    posterior = beliefs.posterior
    n, d = posterior.mean.shape[0], posterior.second_moment.shape[1]
    columns = at.belief_columns(d, posterior.mean.shape[1])
    table = np.empty((n, columns.end))
    for source, names in ((beliefs, _OF_A_BELIEF), (posterior, _OF_A_POSTERIOR)):
        for name, column in names:
            table[:, column] = getattr(source, name)
    _fill(
        table,
        (at.DENSITIES, beliefs.densities),
        (at.BUFFER_ROWS, posterior.buffer_rows),
        (at.VARIANTS, posterior.variants),
        (at.LOG_SIZE, posterior.log_sizes),
        (columns.mean, posterior.mean),
        (columns.level, posterior.level),
        (columns.second_moment, posterior.second_moment),
        (columns.prior_mean, posterior.prior_mean),
    )
    few = bool((posterior.buffer_rows == posterior.total_readings).all()) and posterior.factor.size
    # An array that cannot be written would have a type of its own, for which all functions are compiled again.
    factor = np.empty((0, *posterior.factor.shape[1:])) if few else _writable(posterior.factor)
    return table, _writable(posterior.root), factor, _writable(posterior.buffer)


def _writable(array: Array) -> Array:
    """Return a contiguous array that can be written: a copy, if this one cannot."""
    return np.require(array, requirements=["C", "W"])


def _fill(rows: Array, *blocks: tuple[int, Any]) -> None:
    """Write arrays to the columns of a table from the given ones on."""
    for first, values in blocks:
        flat = values.reshape(len(rows), -1)
        rows[:, first : first + flat.shape[1]] = flat


def pack(memory: GlideMemory) -> CompiledMemory:
    """Return a memory in the compact form, see :func:`is_packable`."""
    beliefs, posterior = memory.beliefs, memory.beliefs.posterior
    runs, d = memory.shift.shape[:2]
    of_run = at.run_columns(d)
    rows = np.empty((runs, of_run.end))
    for source, names in ((memory, _OF_A_RUN), (memory.faults, _OF_FAULTS), (memory.drift, _OF_DRIFT)):
        for name, column in names:
            rows[:, column] = getattr(source, name)
    starts = np.searchsorted(beliefs.owner, np.arange(runs + 1))
    rows[:, at.BEST] = beliefs.best - starts[:-1]
    _fill(
        rows,
        (of_run.values, memory.spectrum.values),
        (of_run.vectors, memory.spectrum.vectors),
        (of_run.played_values, memory.played.values),
        (of_run.played_vectors, memory.played.vectors),
        (of_run.shift, memory.shift),
        (of_run.moment, memory.moment),
        (of_run.last_u, memory.faults.last_u),
        (of_run.last_step, memory.drift.last_step),
    )
    recent = np.concatenate(
        [beliefs.recent_u, beliefs.recent_y[:, :, None], beliefs.recent_refused[:, :, None]], axis=2
    )
    walks = (posterior.walk_mean, posterior.walk_covariance) if posterior.offset_step.any() else None
    table, root, factor, buffer = pack_beliefs(beliefs)
    return CompiledMemory(table, root, factor, buffer, walks, starts, rows, recent, memory.companion)
