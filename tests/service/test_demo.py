"""The simulated plant: it runs, learns and goes on after a restart."""

from __future__ import annotations

import asyncio

import soqo
from service_fixtures import LiveServer
from soqo.service._demo import NAME, run_demo


def test_the_demo_saves_and_continues_where_it_stopped(live: LiveServer) -> None:
    async def main() -> None:
        async with soqo.AsyncClient(live.url) as client:
            await run_demo(client, rounds=40, seconds=0.0)
            await client.plant(NAME).act([20.0, 20.0, 20.0])  # the server stops here
            await run_demo(client, rounds=40, seconds=0.0)
            status = await client.plant(NAME).status()
        assert (status["round"], status["missed"], status["open_rounds"]) == (81, 0, [])
        assert status["cost"] < status["follow_cost"]

    asyncio.run(main())
