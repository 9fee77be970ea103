"""A bridge to OPC UA (extra ``opcua``): it reads v, y and the applied positions, and writes x, the round and the state.

A plant whose v is no longer written, is bad or cannot be read is silent: nothing is written to it, so that it stays
where it was last told to be, which was within its limits; the server of soqo is told. When v comes back, the plant goes
on. After a loss of the connection the bridge connects anew.

Times of nodes are compared with earlier times of the same node only, so that no clock needs to be right.
"""

from __future__ import annotations

import asyncio
import logging
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from soqo._foundation.optional_imports import require_extra
from soqo.errors import ArgumentError, ProtocolError, SoqoError, UnknownNameError
from soqo.service._json import policy_from_table
from soqo.service._schemas import describe_validation

if TYPE_CHECKING:
    from soqo.service._async_client import AsyncClient, AsyncRemotePlant

_LOGGER = logging.getLogger("soqo.service")

_RECONNECT_SECONDS = (1.0, 30.0)
"""The first and the longest time to wait before the bridge connects anew."""


# ---- the configuration -----------------------------------------------------------------------------------------------


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


_Nodes = Annotated[list[str], Field(min_length=1)]


class PlantNodes(_Table):
    """The nodes of a plant: a list has one for each actuator.

    Attributes
    ----------
    v, x, applied : list of str
        The minimizer, the action, and the position that the plant took; ``applied`` may be empty.
    y : str
        The measured cost.
    round, state : str or None
        Where the number of the round and the state are written.
    settings : dict or None
        The settings with which the plant is created if there is none of this name.
    """

    v: _Nodes
    y: str
    x: _Nodes
    applied: list[str] = []
    round: str | None = None
    state: str | None = None
    settings: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _have_a_node_for_each_actuator(self) -> Self:
        if len(self.x) != len(self.v) or (self.applied and len(self.applied) != len(self.v)):
            detail = f"x and applied must have as many nodes as v, which has {len(self.v)}"
            raise PydanticCustomError("nodes", detail)
        return self


class PlantServer(_Table):
    """An OPC UA server, and the times of a round in seconds.

    Attributes
    ----------
    url : str
        Its address.
    period : float
        The time of a round.
    settle : float
        The time between an action and its reading; half of the period by default.
    silent_after : float
        A plant is silent if v has not been written for this time; five periods by default.
    """

    url: Annotated[str, Field(pattern=r"^opc\.tcp://")]
    period: Annotated[float, Field(gt=0)] = 60.0
    settle: Annotated[float, Field(ge=0, default_factory=lambda told: 0.5 * told.get("period", 0.0))]
    silent_after: Annotated[float, Field(gt=0, default_factory=lambda told: 5.0 * told.get("period", 1.0))]

    @model_validator(mode="after")
    def _settles_within_a_round(self) -> Self:
        if self.settle > self.period:
            raise PydanticCustomError("settle", "settle must be at most the period")
        return self


class BridgeConfig(_Table):
    """An OPC UA server, and its plants by their names on the server of soqo."""

    opcua: PlantServer
    plants: Annotated[dict[str, PlantNodes], Field(min_length=1)]


def read_config(path: Path) -> BridgeConfig:
    """Read a configuration.

    Parameters
    ----------
    path : Path
        The TOML file.

    Raises
    ------
    ArgumentError
        If a key is missing, unknown or wrong.
    """
    try:
        return BridgeConfig.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise ArgumentError(f"{path}: {describe_validation(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path}: {error}") from None


# ---- the bridge ------------------------------------------------------------------------------------------------------


class _Values(NamedTuple):
    """What nodes say: numbers, or None if one of them is bad; and when they were written, which only a change tells."""

    numbers: list[float] | None
    written: tuple[Any, ...]


class Bridge:
    """A bridge between an OPC UA server and a server of soqo.

    Parameters
    ----------
    config : BridgeConfig
        The addresses and nodes.
    """

    def __init__(self, config: BridgeConfig) -> None:
        require_extra("asyncua", "opcua")
        self._url = config.opcua.url
        self._plants = [_BridgedPlant(name, nodes, config.opcua) for name, nodes in config.plants.items()]

    async def run(self, client: AsyncClient) -> None:
        """Steer the plants until cancelled.

        Parameters
        ----------
        client : AsyncClient
            A client of the server of soqo.
        """
        ua = require_extra("asyncua", "opcua")
        wait, longest = _RECONNECT_SECONDS
        while True:
            try:
                async with ua.Client(self._url, timeout=10) as connection:
                    _LOGGER.info("connected to %s", self._url)
                    wait = _RECONNECT_SECONDS[0]
                    async with asyncio.TaskGroup() as tasks:
                        for plant in self._plants:
                            tasks.create_task(plant.steer(connection, client))
            except (OSError, TimeoutError, ua.ua.UaError, ExceptionGroup) as error:
                reason = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
                _LOGGER.warning("%s: %s; connecting again", self._url, reason or type(reason).__name__)
                for plant in self._plants:
                    await plant.hold(client, None, "the OPC UA server does not answer")
            await asyncio.sleep(wait)
            wait = min(2.0 * wait, longest)


class _BridgedPlant:
    """The rounds of one plant."""

    def __init__(self, name: str, nodes: PlantNodes, times: PlantServer) -> None:
        self._name, self._nodes, self._times = name, nodes, times
        self._held = False
        self._last_v: tuple[Any, ...] = ()
        self._changed = -math.inf

    async def steer(self, connection: Any, client: AsyncClient) -> None:
        """Play a round in each period, while there is a connection."""
        plant = await self._find(connection, client)
        await self._catch_up(connection, plant)
        following = monotonic()
        while True:
            try:
                await self._play(connection, client, plant)
            except SoqoError as error:  # of the server of soqo: the plant stays where it is
                await self.hold(client, connection, str(error))
            following = max(following + self._times.period, monotonic())
            await asyncio.sleep(following - monotonic())

    async def hold(self, client: AsyncClient, connection: Any, reason: str) -> None:
        """Leave a plant where it is, and report it once."""
        if self._held:
            return
        self._held = True
        _LOGGER.warning("plant %s is held: %s", self._name, reason)
        try:
            await client.plant(self._name).note(f"held in its last position: {reason}"[:500], "held")
        except SoqoError as error:
            _LOGGER.warning("plant %s: the report was not accepted: %s", self._name, error)
        if connection is not None:
            await self._write_state(connection, "held")

    async def _find(self, connection: Any, client: AsyncClient) -> AsyncRemotePlant:
        """Return the plant, which is created if there are settings for it."""
        plant = client.plant(self._name)
        try:
            await plant.status()
        except UnknownNameError:
            if self._nodes.settings is None:
                raise
            settings = dict(self._nodes.settings)
            policy = policy_from_table(settings.pop("policy", "GLIDE"))
            if "x0" not in settings:
                settings["x0"] = (await _read(connection, self._nodes.x)).numbers
            plant = await client.create(self._name, policy, **settings)
        return plant

    async def _catch_up(self, connection: Any, plant: AsyncRemotePlant) -> None:
        """Give the plant the action of a round that waits for its reading: it may not have received it."""
        x = await plant.pending()
        if x is not None:
            await _write(connection, self._nodes.x, x.tolist())

    async def _play(self, connection: Any, client: AsyncClient, plant: AsyncRemotePlant) -> None:
        v = await _read(connection, self._nodes.v)
        if v.written != self._last_v:
            self._last_v, self._changed = v.written, monotonic()
        if v.numbers is None:
            await self.hold(client, connection, "v is bad")
            return
        if monotonic() - self._changed > self._times.silent_after:
            await self.hold(client, connection, f"v has not been written for {self._times.silent_after:g} s")
            return
        before = await _read(connection, [self._nodes.y])
        x = await plant.act(v.numbers)
        await _write(connection, self._nodes.x, x.tolist())
        if self._nodes.round is not None:
            await _write(connection, [self._nodes.round], [(await plant.status())["round"]])
        if self._held:
            self._held = False
            await plant.note("v is written again: the plant goes on", "resumed")
        await self._write_state(connection, "running")
        await asyncio.sleep(self._times.settle)
        after = await _read(connection, [self._nodes.y])
        # A reading that was not written since the action is that of an earlier round.
        y = math.nan if after.numbers is None or after.written == before.written else after.numbers[0]
        applied = await _read(connection, self._nodes.applied) if self._nodes.applied else None
        try:
            await plant.observe(y, None if applied is None else applied.numbers)
        except ProtocolError as error:
            _LOGGER.warning("plant %s: %s", self._name, error)

    async def _write_state(self, connection: Any, state: str) -> None:
        if self._nodes.state is not None:
            await _write(connection, [self._nodes.state], [state])


async def _read(connection: Any, nodes: Sequence[str]) -> _Values:
    """Read nodes."""
    values = [await connection.get_node(one).read_data_value(raise_on_bad_status=False) for one in nodes]
    written = tuple(one.SourceTimestamp or one.ServerTimestamp for one in values)
    try:
        numbers = [float(one.Value.Value) for one in values]
    except (TypeError, ValueError, AttributeError):
        return _Values(None, written)
    good = all(one.StatusCode is None or one.StatusCode.is_good() for one in values)
    return _Values(numbers if good and np.isfinite(numbers).all() else None, written)


async def _write(connection: Any, nodes: Sequence[str], values: Sequence[Any]) -> None:
    """Write values to nodes, in the types of the nodes."""
    ua = require_extra("asyncua", "opcua").ua
    for name, value in zip(nodes, values, strict=True):
        node = connection.get_node(name)
        kind = await node.read_data_type_as_variant_type()
        await node.write_value(ua.DataValue(ua.Variant(value, kind)))
