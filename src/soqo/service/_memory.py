"""The plants in the memory of a server: rebuilt from the store, and told what other servers wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from time import monotonic

import numpy as np

from soqo._storage.codec import decode, encode
from soqo.errors import FileFormatError, SoqoError, UnknownNameError
from soqo.service._plants import Plant, Progress, make_arguments
from soqo.service._schemas import PlantSettings
from soqo.service._steering import SETTINGS_OF_KIND, Kind, compute, take_effect
from soqo.service._store import Record, Snapshot, Store, StoredPlant

_SNAPSHOT_RECORDS = 128
"""A plant gets a snapshot after about so many calls, which bounds what a restart repeats."""


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
            for one in found:
                try:
                    self.plants[one.name] = self._rebuild(one, snapshots.get(one.id))
                except Exception as error:  # a damaged plant is no reason to refuse others
                    errors[one.name] = FileFormatError(f"plant {one.name!r} cannot be rebuilt: {error}")
            fresh = [self.plants[one.name] for one in found if one.name not in errors]
            errors |= self._replay([(one, self._store.records(one.id, after=one.progress.seq)) for one in fresh])
        return errors

    def refresh(self, plant: Plant) -> bool:
        """Repeat what other servers wrote about a plant; return whether there was something."""
        plant.checked = monotonic()
        records = self._store.records(plant.id, after=plant.progress.seq)
        for error in self._replay([(plant, records)]).values():
            raise error
        return bool(records)

    def forget(self, name: str) -> None:
        """Remove a plant, which is rebuilt when it is needed again."""
        plant = self.plants.pop(name, None)
        if plant is not None:
            plant.kind.batches.drop(np.array([plant.id]))

    def records_of(self, plant: Plant, number: int) -> Sequence[Record]:
        """Return the records of a round of a plant."""
        act, reading = plant.latest.get("act"), plant.latest.get("reading")
        if plant.kind.max_delay or act is None or act.round != number:
            return self._store.rounds(plant.id, number, number)
        return [act, reading] if reading is not None and reading.round == number else [act]

    def snapshots(self, plants: Iterable[Plant], *, behind: int = _SNAPSHOT_RECORDS) -> list[Snapshot]:
        """Return snapshots of those plants whose last one is so many calls ago."""
        found = []
        for plant in plants:
            if plant.progress.seq - plant.snapshot_seq >= behind:
                plant.snapshot_seq = plant.progress.seq
                state = {"state": plant.kind.state_of(plant.id), "progress": asdict(plant.progress)}
                found.append(Snapshot(plant.id, plant.progress.seq, encode(state)))
        return found

    # ---- internals ---------------------------------------------------------------------------------------------------

    def _rebuild(self, stored: StoredPlant, snapshot: Snapshot | None) -> Plant:
        """Return a plant as it was at its last snapshot, or when it began."""
        settings = PlantSettings.model_validate_json(stored.settings)
        arguments = make_arguments(settings)
        key = json.dumps([len(settings.x0), settings.model_dump(include=set(SETTINGS_OF_KIND))], sort_keys=True)
        if key not in self._kinds:
            self._kinds[key] = Kind(**{name: arguments[name] for name in SETTINGS_OF_KIND})
        kind = self._kinds[key]
        if snapshot is None:
            state = kind.start(np.array(settings.x0), settings.seed)
            progress = Progress(0, 0, 0, [], list(settings.x0), list(settings.x0))
        else:
            held = decode(snapshot.data)
            state, progress = held["state"], Progress(**held["progress"])
        kind.batches.put(kind.player, state, np.array([stored.id]))
        return Plant(stored, kind, arguments, progress)

    def _replay(self, work: Sequence[tuple[Plant, Sequence[Record]]]) -> dict[str, SoqoError]:
        """Repeat recorded calls, those of different plants together; return the errors of those that failed."""
        errors: dict[str, SoqoError] = {}
        queues = [(plant, list(reversed(records))) for plant, records in work]
        while queues := [(plant, records) for plant, records in queues if records and plant.name not in errors]:
            steps = [(record := records.pop(), plant.repeat(record)) for plant, records in queues]
            compute(step for _, step in steps)
            take_effect(step for _, step in steps)
            for record, step in steps:
                name = step.plant.name
                if step.error is None:
                    step.plant.advance(record, step)
                else:
                    errors[name] = FileFormatError(
                        f"plant {name!r} cannot be rebuilt: call {record.seq} cannot be repeated: {step.error}"
                    )
                    self.forget(name)
        return errors
