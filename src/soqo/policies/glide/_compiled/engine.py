"""Calls of the compiled functions for a batch of runs."""

from __future__ import annotations

from functools import cache

import numpy as np

from soqo._foundation.blas import max_entry
from soqo._model.gains import MAX_ROUNDS
from soqo.estimators.bayes import ReadingModel, first_fits, fit_ages, frequent_fits
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._compiled._deciding import decide as decide_runs
from soqo.policies.glide._compiled._general_readings import learn_general, room
from soqo.policies.glide._compiled._layout import AGE, Constants
from soqo.policies.glide._compiled._packed import CompiledMemory, pack_beliefs
from soqo.policies.glide._compiled._quiet_readings import learn_quiet
from soqo.policies.glide._reviews import ages_of_reviews, offset_ages, review_ages
from soqo.policies.glide._verification import VERIFICATION_AGES
from soqo.typing import Array, IntArray

_VERIFICATION_AGES = np.array([*VERIFICATION_AGES, np.inf])
_BIASES = {"none": 0, "constant": 1, "direction": 2}


@cache
def _constants(model: ReadingModel) -> Constants:
    reviews = review_ages(model.unknowns)
    base_load_ages, fresh = ages_of_reviews(model.unknowns)
    return Constants(
        sizes=np.array([model.dim, model.unknowns, model.biases, model.extras, model.size], dtype=np.int64),
        bias=_BIASES[model.bias],
        kappa=float(model.kappa),
        optional_bias=model.optional_bias,
        trusted_distance=np.nan if model.trusted_distance is None else model.trusted_distance,
        diagonal=np.array([i * (i + 3) // 2 for i in range(model.dim)], dtype=np.int64),
        first=first_fits(model),
        frequent=frequent_fits(model),
        fit_ages=_sorted(set(fit_ages(model, restarted=False))),
        busy_ages=_sorted({*fit_ages(model, restarted=True), *reviews}),
        review_ages=_sorted(reviews),
        base_load_ages=_sorted(base_load_ages),
        offset_ages=_sorted(offset_ages(model.unknowns)),
        fresh_ages=_sorted(frozenset(fresh)),
        fresh_counts=np.array([fresh[age] for age in sorted(fresh)], dtype=np.int64),
        fresh=pack_beliefs(Beliefs.start(model, 1, base_load=False))[0][0],
    )


def _sorted(ages: set[float] | frozenset[float]) -> Array:
    """Return ages in their order, with infinity at the end."""
    return np.array([*sorted(ages), np.inf])


def decide(
    memory: CompiledMemory,
    model: ReadingModel,
    told: Array,
    x_prev: Array,
    last_v: Array,
    *,
    own_rounds: IntArray,
    next_round: int,
    horizon: int | None,
    drift: bool,
    probing: bool,
) -> tuple[Array, CompiledMemory]:
    """Return the actions of a round, and the new memory.

    Parameters
    ----------
    memory, model : CompiledMemory and ReadingModel
        The memory, and the assumptions about the readings.
    told, x_prev, last_v : Array, shape (runs, d)
        The minimizers of this round, the positions, and the minimizers of the last round.
    own_rounds, next_round : IntArray of shape (runs,) and int
        The number of rounds that each run has played, and the number of this round.
    horizon : int or None
        The number of rounds.
    drift, probing : bool
        Whether the predictable part of the steps of v is used, and whether runs explore and probe.
    """
    own = _constants(model)
    runs, x = memory.runs.copy(), np.empty(told.shape)
    follows = np.zeros(len(runs), dtype=np.bool_) if memory.companion is None else memory.companion.leads
    decide_runs(
        memory.table, memory.root, memory.starts, runs, np.ascontiguousarray(told), np.ascontiguousarray(x_prev),
        np.ascontiguousarray(last_v), own_rounds, next_round,
        MAX_ROUNDS if horizon is None else float(horizon - next_round + 1), horizon is not None, own.sizes, own.bias,
        drift, probing, follows, _VERIFICATION_AGES, memory.recent, x,
    )  # fmt: skip
    return x, memory.replace(runs=runs)


def learn(
    memory: CompiledMemory,
    model: ReadingModel,
    u: Array,
    y: Array,
    *,
    own_rounds: IntArray,
    round_number: int,
    base_load: bool,
) -> tuple[CompiledMemory, IntArray, Array]:
    """Return the memory after a reading of each run, the runs for which NumPy's code is needed, and expected readings.

    The beliefs of these runs are missing from the memory.

    Parameters
    ----------
    memory, model : CompiledMemory and ReadingModel
        The memory, and the assumptions about the readings.
    u, y : Array, shape (runs, d) and (runs,)
        The readings; y is NaN for none.
    own_rounds, round_number : IntArray of shape (runs,) and int
        The number of rounds of each run, and of this round.
    base_load : bool
        Whether there may be a base load.
    """
    own = _constants(model)
    table, buffer, runs = memory.table.copy(), memory.buffer.copy(), memory.runs.copy()
    root, recent = np.empty_like(memory.root), np.empty_like(memory.recent)
    status, expected = np.empty(y.size, dtype=np.int64), np.empty(y.size)
    left = learn_quiet(
        table, memory.root, root, buffer, memory.starts, runs, memory.recent, recent, u, y, own_rounds, round_number,
        own.sizes, own.bias, own.kappa, own.trusted_distance, own.busy_ages, status, expected,
    )  # fmt: skip
    if not left:
        after = memory.replace(table=table, root=root, buffer=buffer, runs=runs, recent=recent)
        return after, _NOBODY, expected
    factor = memory.factor
    if not len(factor) and max_entry(memory.table[:, AGE]) + 1.0 >= buffer.shape[1]:
        factor = np.zeros((len(table), *factor.shape[1:]))
    capacity = room(memory.table, memory.starts, status, own.review_ages)
    starts = np.zeros(y.size + 1, dtype=np.int64)
    new_table, new_root, new_buffer = (np.empty((capacity, *array.shape[1:])) for array in (table, root, buffer))
    new_factor = np.empty((capacity if len(factor) else 0, *factor.shape[1:]))
    end = learn_general(
        memory.table, memory.root, factor, memory.buffer, memory.starts, table, root, buffer, memory.runs, runs,
        memory.recent, recent, u, y, own_rounds, round_number, base_load, own, status, expected, new_table, new_root,
        new_factor, new_buffer, starts,
    )  # fmt: skip
    after = memory.replace(
        table=new_table[:end],
        root=new_root[:end],
        factor=new_factor[:end],
        buffer=new_buffer[:end],
        walks=None,
        starts=starts,
        runs=runs,
        recent=recent,
    )
    return after, _NOBODY if not status.any() else np.flatnonzero(status), expected


_NOBODY = np.empty(0, dtype=np.int64)


def insert_runs(memory: CompiledMemory, part: CompiledMemory, index: IntArray) -> CompiledMemory:
    """Return a memory in which some runs, which have no beliefs, are those of another memory.

    Parameters
    ----------
    memory, part : CompiledMemory
        The memory, and the memory of the runs to insert.
    index : IntArray, shape (k,)
        Their places.
    """
    counts = np.diff(memory.starts)
    counts[index] = np.diff(part.starts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    inserted = np.zeros(counts.size, dtype=np.bool_)
    inserted[index] = True
    is_new = np.repeat(inserted, counts)
    fields: dict[str, object] = {"starts": starts}
    for name in ("table", "root", "factor", "buffer"):
        old, new = getattr(memory, name), getattr(part, name)
        if name == "factor":
            if not len(old) and not len(new):
                continue
            old, new = memory.whole_factor, part.whole_factor
        joined = np.empty((is_new.size, *old.shape[1:]))
        joined[~is_new], joined[is_new] = old, new
        fields[name] = joined
    for name in ("runs", "recent"):
        joined = getattr(memory, name).copy()
        joined[index] = getattr(part, name)
        fields[name] = joined
    if part.walks is not None:
        walks = []
        for array in part.walks:
            joined = np.zeros((is_new.size, *array.shape[1:]))
            joined[is_new] = array
            walks.append(joined)
        fields["walks"] = tuple(walks)
    return memory.replace(**fields)
