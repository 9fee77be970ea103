"""Which nodes of an OPC UA server are which plants: a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soqo._foundation.arguments import number
from soqo.errors import ArgumentError

_KEYS = {
    "opcua": ("url", "period", "settle", "silent_after"),
    "plant": ("v", "y", "x", "applied", "round", "state", "settings"),
}


@dataclass(frozen=True)
class PlantNodes:
    """The nodes of a plant.

    Attributes
    ----------
    name : str
        The name of the plant on the server of soqo.
    v, x, applied : tuple of str
        A node for each actuator; ``applied`` may be empty.
    y : str
        The node of the measured cost.
    round, state : str or None
        Where the number of the round and the state are written.
    settings : dict or None
        The settings with which the plant is created if there is none of this name.
    """

    name: str
    v: tuple[str, ...]
    y: str
    x: tuple[str, ...]
    applied: tuple[str, ...] = ()
    round: str | None = None
    state: str | None = None
    settings: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class BridgeConfig:
    """An OPC UA server, its plants, and the times of a round in seconds.

    Attributes
    ----------
    url : str
        The address of the OPC UA server.
    plants : tuple of PlantNodes
        The plants.
    period : float
        The time of a round.
    settle : float
        The time between an action and its reading.
    silent_after : float
        A plant is silent if v has not been written for this time.
    """

    url: str
    plants: tuple[PlantNodes, ...]
    period: float = 60.0
    settle: float = 30.0
    silent_after: float = 300.0


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
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path}: {error}") from None
    return parse_config(document, str(path))


def parse_config(document: Mapping[str, Any], source: str) -> BridgeConfig:
    """Return the configuration in a document.

    Examples
    --------
    >>> nodes = {"v": ["ns=2;s=v"], "y": "ns=2;s=y", "x": ["ns=2;s=x"]}
    >>> config = parse_config({"opcua": {"url": "opc.tcp://plc:4840"}, "plants": {"roof": nodes}}, "bridge.toml")
    >>> config.period, config.plants[0].name
    (60.0, 'roof')
    """
    server, plants = document.get("opcua"), document.get("plants")
    if not isinstance(server, Mapping) or not isinstance(plants, Mapping) or not plants:
        raise ArgumentError(f"{source} must have the tables [opcua] and [plants.NAME]")
    _check_keys(server, "opcua", f"{source}: [opcua]")
    url = server.get("url")
    if not isinstance(url, str) or not url.startswith("opc.tcp://"):
        raise ArgumentError(f"{source}: url must begin with opc.tcp://, got {url!r}")
    period = number(f"{source}: period", server.get("period", 60.0), above=0.0)
    settle = number(f"{source}: settle", server.get("settle", 0.5 * period), least=0.0, most=period)
    silent = number(f"{source}: silent_after", server.get("silent_after", 5.0 * period), above=0.0)
    return BridgeConfig(
        url, tuple(_parse_plant(name, one, source) for name, one in plants.items()), period, settle, silent
    )


def _parse_plant(name: str, table: Any, source: str) -> PlantNodes:
    where = f"{source}: [plants.{name}]"
    if not isinstance(table, Mapping):
        raise ArgumentError(f"{where} must be a table")
    _check_keys(table, "plant", where)
    v, x = _nodes(table, "v", where), _nodes(table, "x", where)
    applied = _nodes(table, "applied", where) if "applied" in table else ()
    if len(x) != len(v) or (applied and len(applied) != len(v)):
        raise ArgumentError(f"{where} must have as many nodes for x and applied as for v, which has {len(v)}")
    return PlantNodes(
        name,
        v,
        _node(table, "y", where),
        x,
        applied,
        _node(table, "round", where) if "round" in table else None,
        _node(table, "state", where) if "state" in table else None,
        table.get("settings"),
    )


def _check_keys(table: Mapping[str, Any], kind: str, where: str) -> None:
    for key in table:
        if key not in _KEYS[kind]:
            raise ArgumentError(f"{where} has no key {key!r}; it has {', '.join(_KEYS[kind])}")


def _node(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str):
        raise ArgumentError(f'{where} {key} must be a node, as in "ns=2;s=roof.power", got {value!r}')
    return value


def _nodes(table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = table.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        raise ArgumentError(f"{where} {key} must be a list of nodes, one for each actuator, got {value!r}")
    return tuple(value)
