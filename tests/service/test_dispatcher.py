"""The dispatcher: several servers on one store, a store that fails, and the order of the calls of a plant."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from service_fixtures import Conditions, undisturbed
from soqo.errors import UnavailableError
from soqo.service._dispatcher import Dispatcher, Work
from soqo.service._requests import Change, Look
from soqo.service._schemas import PlantSettings, Reading, RoundRequest
from soqo.service._store import Record, Store

SETTINGS = PlantSettings(x0=[0.0, 0.0]).model_dump_json()


class Caller:
    """A dispatcher that is asked from this thread."""

    def __init__(self, url: str) -> None:
        self.store = Store(url)
        self.work: list[Work] = []
        self.dispatcher = Dispatcher(self.store, self._deliver)
        self.dispatcher.start()

    def _deliver(self, answers: Any, work: Work) -> None:
        self.work.append(work)
        for answer in answers:
            answer()

    def ask(self, plant: str, request: Change | Look) -> Any:
        done, found = threading.Event(), []

        def answer(result: Any, error: BaseException | None) -> None:
            found.append((result, error))
            done.set()

        self.dispatcher.submit(plant, request, answer)
        assert done.wait(30.0)
        ((result, error),) = found
        if error is not None:
            raise error
        return result

    def stop(self) -> None:
        self.dispatcher.stop()
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
        found: list[Any] = []
        request = RoundRequest(v=[1.0 * number, 2.0], round=number)
        threads = [
            threading.Thread(
                target=lambda one, into, what: into.append(one.ask("race", what)), args=(one, found, request)
            )
            for one in callers * 2
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        assert all(one == found[0] for one in found)
    for one in callers:
        one.stop()


def test_calls_that_wait_are_answered_in_their_order_and_together(tmp_path: Path) -> None:
    caller = Caller(str(tmp_path / "s.sqlite"))
    for name in ("a", "b", "c"):
        caller.store.add_plant(name, SETTINGS)
    busy, gate, rounds, all_done = threading.Event(), threading.Event(), [], threading.Semaphore(0)

    def wait(_: Any) -> None:
        busy.set()
        gate.wait(10.0)

    caller.dispatcher.submit("a", Look(wait), lambda *_: None)
    assert busy.wait(10.0)  # everything else waits

    def answer(result: Any, error: BaseException | None) -> None:
        rounds.append(error or result.round)
        all_done.release()

    for _ in range(3):
        for name in ("a", "b", "c"):
            caller.dispatcher.submit(name, RoundRequest(v=[1.0, 1.0]), answer)
    gate.set()
    for _ in range(9):
        assert all_done.acquire(timeout=10.0)
    assert rounds == [1] * 3 + [2] * 3 + [3] * 3
    assert [one.requests for one in caller.work[1:]] == [3, 3, 3]
    caller.stop()


class FailingStore(Store):
    """A store whose next write is lost, before or after it has happened."""

    fail = ""

    def append(self, records: Any, snapshots: Any = (), events: Any = ()) -> set[int]:
        how, self.fail = self.fail, ""
        if how == "before":
            raise OperationalError("INSERT", {}, Exception("the connection is lost"))
        done = super().append(records, snapshots, events)
        if how == "after":
            raise OperationalError("COMMIT", {}, Exception("the connection is lost"))
        return done


@pytest.mark.parametrize("how", ["before", "after"])
def test_a_call_whose_fate_is_not_known_can_be_repeated(tmp_path: Path, how: str) -> None:
    caller = Caller(str(tmp_path / "s.sqlite"))
    caller.stop()
    caller.store = FailingStore(str(tmp_path / "s.sqlite"))
    caller.dispatcher = Dispatcher(caller.store, caller._deliver)
    caller.dispatcher.start()
    caller.store.add_plant("roof", SETTINGS)
    conditions, actions = Conditions(), []
    for number in range(1, 6):
        request = RoundRequest(v=conditions.draw().tolist(), round=number)
        if number == 3:
            caller.store.fail = how
            with pytest.raises(UnavailableError, match="can be repeated"):
                caller.ask("roof", request)
        actions.append(caller.ask("roof", request).x)
        caller.ask("roof", (number, Reading(y=conditions.reading(actions[-1]))))
    assert actions == undisturbed(5)
    caller.stop()


def test_a_failure_in_the_code_is_an_answer_too(tmp_path: Path) -> None:
    caller = Caller(str(tmp_path / "s.sqlite"))
    caller.store.add_plant("roof", SETTINGS)

    def fail(_: Any) -> None:
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        caller.ask("roof", Look(fail))
    assert caller.ask("roof", RoundRequest(v=[1.0, 1.0])).round == 1
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
