"""Rounds from records, also where readings come late, twice or not at all."""

from __future__ import annotations

from soqo.service._store import Record, Store, played_rounds


def records(plant: int = 1) -> list[Record]:
    bodies = [
        ("act", 1, '{"v":[1.0],"x":[0.5]}'),
        ("act", 2, '{"v":[2.0],"x":[1.5]}'),
        ("reading", 1, '{"y":null}'),
        ("note", 2, '{"kind":"note","message":"hello"}'),
        ("reading", 2, '{"y":0.2,"expected":0.1}'),
        ("reading", 1, '{"y":0.3,"applied":[0.4]}'),
        ("act", 3, '{"v":[3.0],"x":[2.5]}'),
        ("retire", 3, "{}"),
    ]
    return [Record(plant, seq, kind, number, body, 10**6 * seq) for seq, (kind, number, body) in enumerate(bodies, 1)]


def test_late_readings_find_their_rounds() -> None:
    rounds = played_rounds(records())
    assert [(one.round, one.y, one.applied, one.expected) for one in rounds] == [
        (1, 0.3, [0.4], None),
        (2, 0.2, None, 0.1),
        (3, None, None, None),
    ]
    assert rounds[1].time == "1970-01-01T00:00:02.000Z"
    assert played_rounds(records()[4:6]) == []  # readings without their rounds


def test_pages_cover_all_rounds_once(store: Store) -> None:
    plant = store.add_plant("roof", "{}")
    assert plant is not None
    for one in records(plant.id):
        store.append([one])
    first = store.history(plant.id, after=0, limit=2)
    assert ([one.round for one in first.rounds], first.next) == ([1, 2], 2)
    last = store.history(plant.id, after=2, limit=2)
    assert ([one.round for one in last.rounds], last.next) == ([3], None)
