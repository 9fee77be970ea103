"""The bridge to OPC UA, against a real server of asyncua on the loopback address."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from asyncua import ua
from asyncua.server.server import Server

import soqo
from service_fixtures import LiveServer
from service_processes import free_port
from soqo.service import _opcua
from soqo.service._async_client import Request
from soqo.service._opcua import Bridge, BridgeConfig

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
logging.getLogger("asyncua").setLevel(logging.CRITICAL)

PERIOD = 0.12
A = np.diag([0.5, 1.5])


class PlantServer:
    """An OPC UA server of a plant with two actuators: it writes v and y, and reads x."""

    def __init__(self, port: int) -> None:
        self.url = f"opc.tcp://127.0.0.1:{port}/plant"
        self.writing = True
        self._rng = np.random.default_rng(0)

    async def start(self) -> None:
        self._server = Server()
        await self._server.init()
        self._server.set_endpoint(self.url)
        self._server.set_security_policy([ua.SecurityPolicyType.NoSecurity])
        space = await self._server.register_namespace("plant")
        folder = await self._server.nodes.objects.add_object(space, "roof")
        self.nodes: dict[str, Any] = {}
        for name, value in (
            ("v1", 0.0),
            ("v2", 0.0),
            ("y", 0.0),
            ("x1", 0.0),
            ("x2", 0.0),
            ("round", 0),
            ("state", ""),
        ):
            node = await folder.add_variable(f"ns={space};s={name}", name, value)
            await node.set_writable()
            self.nodes[name] = node
        await self._server.start()
        self._task = asyncio.create_task(self._live())

    async def _live(self) -> None:
        """Let v walk, and measure the cost, much quicker than a round."""
        v = np.zeros(2)
        while True:
            if self.writing:
                v = v + 0.2 * self._rng.normal(size=2)
                x = np.array([await self.nodes[name].read_value() for name in ("x1", "x2")])
                y = float(0.5 * (x - v) @ A @ (x - v) + 0.01 * self._rng.normal())
                for name, value in (("v1", v[0]), ("v2", v[1]), ("y", y)):
                    stamp: Any = datetime.now(UTC).replace(tzinfo=None)
                    await self.nodes[name].write_value(ua.DataValue(ua.Variant(float(value)), SourceTimestamp=stamp))
            await asyncio.sleep(PERIOD / 4)

    async def stop(self) -> None:
        self._task.cancel()
        await self._server.stop()

    async def value(self, name: str) -> Any:
        return await self.nodes[name].read_value()


def config(server: PlantServer, **times: float) -> Any:
    nodes = {
        "v": ["ns=2;s=v1", "ns=2;s=v2"],
        "y": "ns=2;s=y",
        "x": ["ns=2;s=x1", "ns=2;s=x2"],
        "applied": ["ns=2;s=x1", "ns=2;s=x2"],
        "round": "ns=2;s=round",
        "state": "ns=2;s=state",
        "settings": {"low": -50.0, "high": 50.0},
    }
    timing = {"period": PERIOD, "settle": PERIOD / 2, "silent_after": 5 * PERIOD, **times}
    return BridgeConfig.model_validate({"opcua": {"url": server.url, **timing}, "plants": {"roof": nodes}})


async def wait_until(condition: Any, what: str, seconds: float = 15.0) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while not await condition():
        assert asyncio.get_running_loop().time() < end, what
        await asyncio.sleep(0.05)


def test_a_plant_is_steered_held_when_silent_and_found_again(live: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_opcua, "_RECONNECT_SECONDS", (0.1, 0.5))

    async def main() -> None:
        port = free_port()
        server = PlantServer(port)
        await server.start()
        async with soqo.AsyncClient(live.url) as client:
            task = asyncio.create_task(Bridge(config(server)).run(client))
            plant = client.plant("roof")

            async def status() -> dict[str, Any]:
                try:
                    return await plant.status()
                except soqo.errors.UnknownNameError:
                    return {"round": 0, "state": "", "x": []}

            async def played(number: int) -> bool:
                return bool((await status())["round"] >= number)

            await wait_until(lambda: played(5), "five rounds")
            assert await server.value("state") == "running"
            assert await server.value("round") >= 4
            history = await plant.history()
            assert sum(one["y"] is not None for one in history) >= 3
            assert all(one["applied"] is not None for one in history if one["y"] is not None)

            server.writing = False  # the plant goes silent

            async def is_(word: str) -> bool:
                return bool((await status())["state"] == word)

            async def shows(word: str) -> bool:
                return bool(await server.value("state") == word)

            await wait_until(lambda: is_("held"), "held")
            await wait_until(lambda: shows("held"), "held at the server")  # the service knows it first
            place = [await server.value(name) for name in ("x1", "x2")]
            assert place == (await status())["x"]
            await asyncio.sleep(3 * PERIOD)
            assert place == [await server.value(name) for name in ("x1", "x2")]

            server.writing = True
            number = (await status())["round"]
            await wait_until(lambda: played(number + 2), "rounds after the silence")

            await server.stop()  # the server of the plant is restarted
            await wait_until(lambda: is_("held"), "held without a connection")
            server = PlantServer(port)
            await server.start()
            number = (await status())["round"]
            await wait_until(lambda: played(number + 2), "rounds after the restart")
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            kinds = [
                one["kind"] for one in (await client.send(Request("GET", "/plants/roof/events?limit=50")))["events"]
            ]
            assert kinds.count("held") == 2
            assert kinds.count("resumed") == 2
        await server.stop()

    asyncio.run(main())
