"""A round of GLIDE by compiled functions, and by NumPy's code for the runs where they stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.bayes import ReadingModel
from soqo.policies._base import State
from soqo.policies._runs import take_rows
from soqo.policies.glide._compiled import engine
from soqo.policies.glide._compiled._packed import CompiledMemory, pack, with_plain_memory
from soqo.policies.glide._large._companion import Companion
from soqo.policies.glide._large._learning import Options
from soqo.typing import Array, IntArray


def decide(
    state: State[Any], v: Array, model: ReadingModel, *, drift: bool, probing: bool
) -> tuple[Array, CompiledMemory]:
    """Return the actions of a round, and the new memory.

    Parameters
    ----------
    state, v : State and Array, shape (*batch, d)
        The state, and the minimizers of this round.
    model : ReadingModel
        The assumptions about the readings.
    drift, probing : bool
        As for the policy.
    """
    d, memory = v.shape[-1], _packed(state.memory)
    x, after = engine.decide(
        memory,
        model,
        v.reshape(-1, d),
        state.x.reshape(-1, d),
        state.v.reshape(-1, d),
        own_rounds=_own_rounds(state, len(memory.runs)),
        next_round=state.round + 1,
        horizon=state.horizon,
        drift=drift,
        probing=probing,
    )
    return x.reshape(v.shape), after


def learn(
    state: State[Any],
    y: Array,
    model: ReadingModel,
    options: Callable[[], Options],
    learn_dense: Callable[[State[Any], Array], Any],
    *,
    base_load: bool,
) -> Any:
    """Return the memory after a reading of each run.

    Parameters
    ----------
    state, y : State and Array, shape (*batch,)
        The state, and the readings; NaN for none.
    model : ReadingModel
        The assumptions about the readings.
    options : callable
        Returns what companions are told about the readings.
    learn_dense : callable
        NumPy's code, a function of state and readings.
    base_load : bool
        As for the policy.
    """
    d, before, reading = state.x.shape[-1], _packed(state.memory), y.reshape(-1)
    u = (state.x - state.v).reshape(-1, d)
    rounds = _own_rounds(state, len(before.runs))
    memory, left, expected = engine.learn(
        before, model, u, reading, own_rounds=rounds, round_number=state.round, base_load=base_load
    )
    if left.size == len(before.runs):
        return learn_dense(with_plain_memory(state), y)
    companion = before.companion
    if companion is not None and not companion.is_idle:
        # The runs that are left have their companion from NumPy's code.
        known = reading.copy()
        known[left] = np.nan
        companion = companion.observe(u, known, None, expected, options(), state.round)
    if left.size:
        part = learn_dense(_runs_of(state, before, left), reading[left])
        memory = engine.insert_runs(memory, pack(part), left)
        if companion is not None:
            companion = companion.with_runs(left, part.companion)
    if companion is None or (companion is before.companion and not companion.leads.any()):
        return memory
    return _with_companion(memory, companion)


def _with_companion(memory: CompiledMemory, companion: Companion) -> CompiledMemory:
    """Return the memory in which runs play for their companions where these predict clearly better."""
    leads = companion.leads
    if not leads.any():
        return memory.replace(companion=companion)
    runs, columns = memory.runs.copy(), memory.of_run
    played = companion.spectrum(memory.plain.spectrum, leads)
    spectra = np.concatenate([played.values, played.vectors.reshape(len(runs), -1)], axis=1)
    runs[:, columns.played_values : columns.shift] = spectra
    # As in NumPy's code, there is no offset where a companion leads.
    runs[leads, columns.shift : columns.shift + played.values.shape[1]] = 0.0
    return memory.replace(runs=runs, companion=companion)


def _packed(memory: Any) -> CompiledMemory:
    """Return a memory in the form for compiled functions."""
    return memory if isinstance(memory, CompiledMemory) else pack(memory)


def _own_rounds(state: State[Any], runs: int) -> IntArray:
    """Return the number of rounds that each run has begun, shape (runs,)."""
    if state.began is None:
        rounds = np.empty(runs, dtype=np.int64)
        rounds.fill(state.round)
        return rounds
    return np.asarray(state.round - state.began.reshape(-1), dtype=np.int64)


def _runs_of(state: State[Any], memory: CompiledMemory, index: IntArray) -> State[Any]:
    """Return the state of some runs of any batch, with what learning from a reading needs."""
    d = state.x.shape[-1]
    x, v = (rows.reshape(-1, d)[index] for rows in (state.x, state.v))
    began = None if state.began is None else state.began.reshape(-1)[index]
    x_prev = None if state.x_prev is None else state.x_prev.reshape(-1, d)[index]
    return evolve(state, x=x, v=v, began=began, x_prev=x_prev, memory=take_rows(memory.plain, index))
