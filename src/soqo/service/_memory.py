"""The plants in the memory of a server: rebuilt from the store, and told what other servers wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from time import monotonic
from typing import Any

import numpy as np

from soqo._storage.codec import decode, encode
from soqo.errors import FileFormatError, SoqoError, UnknownNameError
from soqo.service._plant import Plant, Progress, make_arguments
from soqo.service._schemas import PlantSettings
from soqo.service._steering import Call, Kind, Outcome, compute
from soqo.service._store import Record, Snapshot, Store, StoredPlant

_SNAPSHOT_RECORDS = 64
"""A plant gets a snapshot after about so many calls, which bounds what a restart repeats."""

_OWN = ("x0", "seed", "v_limits", "actuators", "units")
"""The settings in which plants of one kind may differ; the number of entries of x0 is the same."""


class Memory:
    """Plants in memory.

    Parameters
    ----------
    store : Store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kinds: dict[str, Kind] = {}
        self._checked: dict[str, float] = {}
        self.plants: dict[str, Plant] = {}

    def load(self, names: Iterable[str]) -> dict[str, SoqoError]:
        """Rebuild plants that are not in memory; return the errors of those for which this is not possible."""
        errors: dict[str, SoqoError] = {}
        found: list[StoredPlant] = []
        for name in names:
            if name not in self.plants:
                stored = self._store.find_plant(name)
                if stored is None:
                    errors[name] = UnknownNameError(f"there is no plant {name!r}")
                else:
                    found.append(stored)
        if found:
            snapshots = self._store.snapshots([one.id for one in found])
            fresh = []
            for one in found:
                try:
                    fresh.append(self._rebuild(one, snapshots.get(one.id)))
                except SoqoError as error:
                    errors[one.name] = FileFormatError(f"plant {one.name!r} cannot be rebuilt: {error}")
            self.plants.update({plant.name: plant for plant in fresh})
            self._replay([(one, self._store.records(one.id, after=one.progress.seq)) for one in fresh], errors)
        return errors

    def refresh(self, plant: Plant) -> bool:
        """Repeat what other servers wrote about a plant; return whether there was something."""
        self._checked[plant.name] = monotonic()
        records = self._store.records(plant.id, after=plant.progress.seq)
        if not records:
            return False
        errors: dict[str, SoqoError] = {}
        self._replay([(plant, records)], errors)
        for error in errors.values():
            raise error
        return True

    def note_fresh(self, plant: Plant) -> None:
        """Note that a plant was just written, so that nothing is newer."""
        self._checked[plant.name] = monotonic()

    def age(self, plant: Plant) -> float:
        """Return how many seconds ago a plant was compared with the store."""
        return monotonic() - self._checked.get(plant.name, -float("inf"))

    def forget(self, name: str) -> None:
        """Remove a plant, which is rebuilt when it is needed again."""
        plant = self.plants.pop(name, None)
        if plant is not None:
            plant.kind.batches.drop(np.array([plant.id]))

    def due_snapshots(self, plants: Iterable[Plant]) -> list[Snapshot]:
        """Return snapshots of those plants whose last one is long ago; the times differ from plant to plant."""
        return [
            self.snapshot(plant)
            for plant in plants
            if plant.progress.seq - plant.snapshot_seq >= _SNAPSHOT_RECORDS + plant.id % 16
        ]

    def closing_snapshots(self) -> list[Snapshot]:
        """Return snapshots of all plants that have changed since their last one."""
        return [self.snapshot(one) for one in self.plants.values() if one.progress.seq > one.snapshot_seq]

    @staticmethod
    def snapshot(plant: Plant) -> Snapshot:
        """Return the complete state of a plant."""
        plant.snapshot_seq = plant.progress.seq
        state = {"state": plant.kind.state_of(plant.id), "progress": asdict(plant.progress)}
        return Snapshot(plant.id, plant.progress.seq, encode(state))

    # ---- internals ---------------------------------------------------------------------------------------------------

    def _rebuild(self, stored: StoredPlant, snapshot: Snapshot | None) -> Plant:
        """Return a plant as it was at its last snapshot, or when it began."""
        settings = PlantSettings.model_validate_json(stored.settings)
        arguments = make_arguments(settings)
        kind = self._kind_of(settings, arguments)
        if snapshot is None:
            state = kind.start(np.array(settings.x0), settings.seed)
            progress = Progress(0, 0, 0, [], list(settings.x0), list(settings.x0))
        else:
            held = decode(snapshot.data)
            state, progress = held["state"], Progress(**held["progress"])
        kind.batches.put(kind.player, state, np.array([stored.id]))
        return Plant(stored, kind, arguments, progress)

    def _kind_of(self, settings: PlantSettings, arguments: dict[str, Any]) -> Kind:
        shared = settings.model_dump(exclude=set(_OWN))
        key = json.dumps([len(settings.x0), shared], sort_keys=True)
        if key not in self._kinds:
            names = ("policy", "horizon", "max_delay", "low", "high", "rate", "period", "switching_weight")
            self._kinds[key] = Kind(**{name: arguments[name] for name in names})
        return self._kinds[key]

    def _replay(self, work: Sequence[tuple[Plant, Sequence[Record]]], errors: dict[str, SoqoError]) -> None:
        """Repeat recorded calls, those of different plants together."""
        queues = [(plant, list(reversed(records))) for plant, records in work]
        while queues := [(plant, records) for plant, records in queues if records and plant.name not in errors]:
            calls: list[tuple[Plant, Record, Call]] = []
            for plant, records in queues:
                record = records.pop()
                call = plant.call_from_record(record)
                if call is None:
                    plant.advance(record, None)
                else:
                    calls.append((plant, record, call))
            results = compute([call for _, _, call in calls])
            for kind in {call.kind for _, _, call in calls}:
                kind.store([one for one in results if isinstance(one, Outcome) and one.call.kind is kind])
            for (plant, record, _), outcome in zip(calls, results, strict=True):
                if isinstance(outcome, Outcome):
                    plant.advance(record, outcome)
                else:
                    errors[plant.name] = FileFormatError(
                        f"plant {plant.name!r} cannot be rebuilt: call {record.seq} cannot be repeated: {outcome}"
                    )
                    self.forget(plant.name)
