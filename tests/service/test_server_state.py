"""What requests share: answers that come too late, too many that wait, and news of a plant."""

from __future__ import annotations

import asyncio

import pytest

from soqo.errors import UnavailableError, UnknownNameError
from soqo.service import _server_state
from soqo.service._plant import Plant
from soqo.service._schemas import PlantSettings, RoundRequest
from soqo.service._server_state import ServerState
from soqo.service._store import Store


def test_requests_are_answered_or_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add_plant("roof", PlantSettings(policy="FTM", x0=[0.0]).model_dump_json())

    async def main() -> None:
        state = ServerState(store)
        state.start()
        news, others = state.subscribe("roof"), state.subscribe("cellar")
        assert (await state.ask("roof", RoundRequest(v=[1.0]))).x == [1.0]
        assert news.is_set()
        assert not others.is_set()
        state.unsubscribe("roof", news)
        state.unsubscribe("roof", news)
        assert (await state.look("roof", Plant.status)).round == 1
        assert (await state.find("roof")).name == "roof"
        with pytest.raises(UnknownNameError):
            await state.find("cellar")
        with monkeypatch.context() as patch:
            patch.setattr(_server_state, "_ANSWER_SECONDS", 0.0)
            with pytest.raises(UnavailableError, match="no answer in time"):
                await state.ask("roof", RoundRequest(v=[2.0], round=2))
        assert (await state.ask("roof", RoundRequest(v=[2.0], round=2))).x == [2.0]  # it took effect all the same
        with monkeypatch.context() as patch:
            patch.setattr(_server_state, "_MAX_WAITING", -1)
            with pytest.raises(UnavailableError, match="too many requests"):
                await state.ask("roof", RoundRequest(v=[2.0]))
        await state.stop()

    asyncio.run(main())
