"""The dispatcher: several servers on one store, a store that fails, and the order of the calls of a plant."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from service_fixtures import Conditions, undisturbed
from soqo.errors import FileFormatError, UnavailableError, UnknownNameError
from soqo.service import _dispatcher
from soqo.service._dispatcher import Dispatcher, Look, Work
from soqo.service._plants import Change, Plant
from soqo.service._schemas import PlantSettings, Reading, RoundRequest
from soqo.service._store import Record, Snapshot, Store

SETTINGS = PlantSettings(x0=[0.0, 0.0]).model_dump_json()


class Caller:
    """A dispatcher and the loop that it works for, asked from other threads."""

    def __init__(self, store: Store | str) -> None:
        self.store = Store(store) if isinstance(store, str) else store
        self.work: list[Work] = []
        self.dispatcher = Dispatcher(self.store, self.work.append)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._wait(self._start())

    async def _start(self) -> None:
        self.dispatcher.start()

    def _wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30.0)

    def begin(self, plant: str, request: Change | Look) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(self.dispatcher.ask(plant, request), self._loop)

    def ask(self, plant: str, request: Change | Look) -> Any:
        return self.begin(plant, request).result(30.0)

    def look_at_all(self, plants: list[str]) -> Any:
        return self._wait(self.dispatcher.look_at_all(plants, Plant.status))

    def stop(self) -> None:
        self._wait(self.dispatcher.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.store.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: Any, tmp_path: Path) -> str:
    return str(tmp_path / "s.sqlite") if request.param == "sqlite" else str(request.getfixturevalue("postgres"))


def test_servers_that_share_a_plant_play_as_one(url: str) -> None:
    callers = [Caller(url), Caller(url)]
    callers[0].store.add_plant("shared", SETTINGS)
    conditions, actions = Conditions(), []
    for number in range(1, 16):
        request = RoundRequest(v=conditions.draw().tolist(), round=number)
        found = [callers[k % 2].ask("shared", request) for k in range(number % 3 + 1)]  # some ask both
        assert all(one == found[0] for one in found)
        actions.append(found[0].x)
        reading = (number, Reading(y=conditions.reading(actions[-1])))
        callers[number % 2].ask("shared", reading)
        callers[(number + 1) % 2].ask("shared", reading)
    assert actions == undisturbed(15)
    assert len(callers[0].store.records(callers[0].store.find_plant("shared").id)) == 30  # type: ignore[union-attr]
    for one in callers:
        one.stop()


def test_concurrent_calls_of_one_round_have_one_action(url: str) -> None:
    callers = [Caller(url), Caller(url)]
    callers[0].store.add_plant("race", SETTINGS)
    for number in range(1, 8):
        request = RoundRequest(v=[1.0 * number, 2.0], round=number)
        begun = [one.begin("race", request) for one in callers * 2]
        found = [one.result(30.0) for one in begun]
        assert all(one == found[0] for one in found)
    for one in callers:
        one.stop()


def test_calls_that_wait_are_answered_in_their_order_and_together(tmp_path: Path) -> None:
    caller = Caller(str(tmp_path / "s.sqlite"))
    for name in ("a", "b", "c"):
        caller.store.add_plant(name, SETTINGS)
    busy, gate = threading.Event(), threading.Event()

    def wait(_: Any) -> None:
        busy.set()
        gate.wait(10.0)

    first = caller.begin("a", Look(wait))
    assert busy.wait(10.0)  # everything else waits
    begun = [caller.begin(name, RoundRequest(v=[1.0, 1.0])) for _ in range(3) for name in ("a", "b", "c")]
    caller._wait(asyncio.sleep(0))  # all of them have reached the dispatcher
    assert caller.dispatcher.waiting == 9
    gate.set()
    assert [one.result(10.0).round for one in begun] == [1] * 3 + [2] * 3 + [3] * 3
    assert first.result(10.0) is None
    assert [one.requests for one in caller.work[1:]] == [3, 3, 3]
    caller.stop()


class FailingStore(Store):
    """A store whose next write is lost, before or after it has happened."""

    fail = ""

    def append(self, records: Any, snapshots: Any = (), events: Any = ()) -> set[int]:
        how, self.fail = self.fail, ""
        if how == "before":
            raise UnavailableError("the connection is lost; the same call can be repeated")
        done = super().append(records, snapshots, events)
        if how == "after":
            raise UnavailableError("the connection is lost; the same call can be repeated")
        return done


@pytest.mark.parametrize("how", ["before", "after"])
def test_a_call_whose_fate_is_not_known_can_be_repeated(tmp_path: Path, how: str) -> None:
    store = FailingStore(str(tmp_path / "s.sqlite"))
    caller = Caller(store)
    store.add_plant("roof", SETTINGS)
    conditions, actions = Conditions(), []
    for number in range(1, 6):
        request = RoundRequest(v=conditions.draw().tolist(), round=number)
        if number == 3:
            store.fail = how
            with pytest.raises(UnavailableError, match="can be repeated"):
                caller.ask("roof", request)
        actions.append(caller.ask("roof", request).x)
        caller.ask("roof", (number, Reading(y=conditions.reading(actions[-1]))))
    assert actions == undisturbed(5)
    caller.stop()


def test_a_failure_in_the_code_is_an_answer_too(tmp_path: Path) -> None:
    caller = Caller(str(tmp_path / "s.sqlite"))
    caller.store.add_plant("roof", SETTINGS)

    caller.store.add_plant("cellar", SETTINGS)
    busy, gate = threading.Event(), threading.Event()

    def wait(_: Any) -> None:
        busy.set()
        gate.wait(10.0)

    def fail(_: Any) -> None:
        raise ZeroDivisionError("a bug")

    first = caller.begin("roof", Look(wait))
    assert busy.wait(10.0)
    failing, other = caller.begin("roof", Look(fail)), caller.begin("cellar", RoundRequest(v=[1.0, 1.0]))
    gate.set()
    with pytest.raises(ZeroDivisionError):
        failing.result(10.0)
    assert other.result(10.0).round == 1  # of the same batch
    assert first.result(10.0) is None
    assert caller.ask("roof", RoundRequest(v=[1.0, 1.0])).round == 1
    caller.stop()


def test_a_damaged_plant_harms_no_other(tmp_path: Path) -> None:
    caller = Caller(str(tmp_path / "s.sqlite"))
    for name in ("a", "b", "c"):
        caller.store.add_plant(name, SETTINGS)
    damaged = caller.store.find_plant("b")
    assert damaged is not None
    caller.store.append([], [Snapshot(damaged.id, 1, b"nonsense")])
    assert [one.name for one in caller.look_at_all(["a", "b", "c"])] == ["a", "c"]
    with pytest.raises(FileFormatError, match="plant 'b' cannot be rebuilt"):
        caller.ask("b", RoundRequest(v=[1.0, 1.0]))
    with pytest.raises(UnknownNameError):
        caller.look_at_all(["a", "nobody"])
    caller.stop()


def test_a_plant_that_another_server_retired_is_refused(tmp_path: Path) -> None:
    caller = Caller(str(tmp_path / "s.sqlite"))
    plant = caller.store.add_plant("roof", SETTINGS)
    assert plant is not None
    caller.ask("roof", RoundRequest(v=[1.0, 1.0]))
    caller.store.append([Record(plant.id, 2, "retire", 1, "{}", 5)])  # what the other server wrote
    with pytest.raises(RuntimeError, match="is retired"):
        caller.ask("roof", RoundRequest(v=[1.0, 1.0]))
    caller.stop()


def test_requests_that_wait_too_long_or_are_too_many_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = Caller(str(tmp_path / "s.sqlite"))
    caller.store.add_plant("roof", SETTINGS)
    with monkeypatch.context() as patch:
        patch.setattr(_dispatcher, "_ANSWER_SECONDS", 0.0)
        with pytest.raises(UnavailableError, match="no answer in time"):
            caller.ask("roof", RoundRequest(v=[2.0, 2.0], round=1))
    first = caller.ask("roof", RoundRequest(v=[2.0, 2.0], round=1))  # it took effect all the same
    assert first.round == 1
    with monkeypatch.context() as patch:
        patch.setattr(_dispatcher, "_MAX_WAITING", -1)
        with pytest.raises(UnavailableError, match="too many requests"):
            caller.ask("roof", RoundRequest(v=[2.0, 2.0]))
    caller.stop()
