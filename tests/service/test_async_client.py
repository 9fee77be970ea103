"""The client for asyncio is the other client's twin."""

from __future__ import annotations

import asyncio
import inspect

import httpx
import pytest

import soqo
from service_fixtures import Conditions, LiveServer, undisturbed
from soqo.errors import ProtocolError, UnavailableError
from soqo.service import AsyncRemotePlant, RemotePlant


def test_many_plants_are_steered_at_once(live: LiveServer) -> None:
    async def steer(client: soqo.AsyncClient, number: int) -> list[list[float]]:
        conditions, actions = Conditions(number), []
        plant = await client.create(f"plant-{number}", x0=[0.0, 0.0])
        for _ in range(6):
            x = await plant.act(conditions.draw())
            actions.append(x.tolist())
            await plant.observe(conditions.reading(x))
        assert await plant.round() == 6
        assert await plant.pending() is None
        assert await plant.open_rounds() == ()
        assert (await plant.x()).tolist() == actions[-1]
        assert (await plant.explain()).startswith("Round 6 completed")
        assert (await plant.diagnostics())["estimate"].shape == (2, 2)
        assert len(await plant.history()) == 6
        await plant.note("done")
        return actions

    async def main() -> None:
        async with soqo.AsyncClient(live.url) as client:
            found = await asyncio.gather(*(steer(client, number) for number in range(4)))
            assert found == [undisturbed(6, seed=number) for number in range(4)]
            assert len(await client.plants()) == 4
            await client.retire("plant-0")
            with pytest.raises(ProtocolError, match="retired"):
                await client.plant("plant-0").act([1.0, 1.0])
            with pytest.raises(ProtocolError, match="before act"):
                await (await client.create("new", x0=[0.0])).observe(1.0)

    asyncio.run(main())


def test_failures_are_repeated_and_then_reported() -> None:
    answers = [httpx.Response(503), httpx.Response(200, json={"plants": [{"name": "a"}], "next": None})]

    async def main() -> None:
        transport = httpx.MockTransport(lambda _: answers.pop(0))
        async with soqo.AsyncClient("http://localhost", transport=transport) as client:
            assert await client.plants() == ["a"]
        async with soqo.AsyncClient("http://127.0.0.1:9", patience=0.1) as client:
            with pytest.raises(UnavailableError, match="does not answer"):
                await client.plants()

    asyncio.run(main())


@pytest.mark.parametrize(("one", "other"), [(soqo.Client, soqo.AsyncClient), (RemotePlant, AsyncRemotePlant)])
def test_both_have_the_same_methods_with_the_same_arguments(one: type, other: type) -> None:
    names = [name for name in vars(one) if not name.startswith("_")]
    assert names == [name for name in vars(other) if not name.startswith("_")]
    for name in names:
        if not isinstance(vars(one)[name], property):
            parameters = [inspect.signature(getattr(kind, name)).parameters for kind in (one, other)]
            assert list(parameters[0]) == list(parameters[1])
