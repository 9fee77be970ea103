"""Files of earlier versions: the options that are no more, and the old estimate as the prior of the new learner."""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo._model.spectrum import Spectrum
from soqo._storage.registry import retire
from soqo.estimators.bayes import PLAIN, SHIFTED, STRUCTURES, Bank, Terms
from soqo.estimators.factored import Factored
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._forecasts import ForecastTrust
from soqo.policies.glide._meter_faults import MeterFaults
from soqo.policies.glide._probes import Motion
from soqo.typing import Array, BoolArray, IntArray

retire("GLIDE.belief", "GLIDE.beliefs", "GLIDE.outliers", "GLIDE.companion", "GLIDE.stream")
retire(*(f"lowrank.{name}" for name in ("annealing", "factored", "flat", "levels", "moments", "rows")))

_KEPT = {"offset": True, "noise_cap": None, "y_max": None, "switching_included": False, "trusted_distance": None}
"""The options that are still there, and their defaults."""


def without_options(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an earlier version's policy that are still there."""
    return {name: fields.get(name, default) for name, default in _KEPT.items()}


def from_earlier(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the memory that begins with the estimates of an earlier version's memory."""
    spectrum: Spectrum = fields["spectrum"]
    runs, d = spectrum.values.shape
    shift = fields.get("shift", np.zeros((runs, d, 1)))
    posterior, best = _posterior(fields, runs)
    terms, heard = Terms(d, shift.shape[2] - 1), posterior["readings"][best] > 0.0
    start, index = Bank.start(terms, runs), np.flatnonzero(heard)
    plain, shifted = (STRUCTURES.index(one) for one in (PLAIN, SHIFTED))
    kind = np.where(shift.any(axis=(1, 2)), shifted, plain)[index]
    size, context_size = _size(fields)[index], np.ones((index.size, terms.context))
    noise = posterior["noise"][best][index]
    around = Bank.resumed(terms, size, context_size, spectrum.matrix()[index], noise, kind)
    return _fields(fields, Bank.join([around, start.take(np.flatnonzero(~heard))]), heard, terms)


def from_many_dimensions(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the memory that begins with the estimates of an earlier version's memory with many dimensions."""
    streams: list[dict[str, Any]] = list(fields["streams"])
    d, heard = streams[0]["dim"], np.array([one["seen"] > 0 for one in streams])
    terms, index = Terms(d), np.flatnonzero(heard)
    start = Factored.start(terms, len(streams))
    some = start.take(index)
    some = some.begun(terms, np.arange(index.size), _size(fields)[index], np.ones((index.size, 0)))
    estimates = np.array([streams[i]["estimate"] for i in index]).reshape(-1, d, d)
    around = some.around(estimates, np.array([streams[i]["sigma"] for i in index]))
    return _fields(fields, Factored.join([around, start.take(np.flatnonzero(~heard))]), heard, terms)


def _fields(fields: dict[str, Any], posterior: Any, heard: BoolArray, terms: Terms) -> dict[str, Any]:
    """Return the fields of a memory with this posterior, in which the runs that have heard a reading come first."""
    runs, d = len(heard), terms.dim
    order = np.argsort(np.argsort(~heard, kind="stable"), kind="stable")
    return {
        "beliefs": Beliefs.start(posterior.take(order), runs),
        "drift": fields["drift"],
        "forecasts": fields.get("forecasts") or ForecastTrust.start(runs, d),
        "faults": fields.get("faults") or MeterFaults.start(runs, d),
        "motion": Motion.start(runs, d),
        "alarms": fields["alarms"],
        "last_alarm": fields["last_alarm"],
        "terms": terms,
    }


def _size(fields: dict[str, Any]) -> Array:
    """Return the typical size of an entry of u in each run."""
    moment = fields.get("moment", np.zeros((len(fields["alarms"]), 1, 1)))
    squares = np.trace(moment, axis1=1, axis2=2) / moment.shape[1]
    return 0.5 * np.sqrt(np.where(squares > 0.0, squares, 1.0))


def _posterior(fields: dict[str, Any], runs: int) -> tuple[dict[str, Any], IntArray]:
    """Return the fields of the posterior of an earlier version, and the row of the best belief of each run."""
    if "beliefs" in fields:
        return fields["beliefs"]["posterior"], fields["beliefs"]["best"]
    earlier: dict[str, Any] = fields["posterior"] if "posterior" in fields else fields["belief"]
    return earlier, np.arange(runs)
