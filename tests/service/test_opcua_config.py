"""The file that says which nodes are which plants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from soqo.errors import ArgumentError
from soqo.service._opcua_config import parse_config, read_config

NODES: dict[str, Any] = {"v": ["ns=2;s=v"], "y": "ns=2;s=y", "x": ["ns=2;s=x"]}


def test_a_file_with_everything(tmp_path: Path) -> None:
    path = tmp_path / "bridge.toml"
    path.write_text(
        """
        [opcua]
        url = "opc.tcp://127.0.0.1:4840"
        period = 10.0

        [plants.roof]
        v = ["ns=2;s=v1", "ns=2;s=v2"]
        y = "ns=2;s=y"
        x = ["ns=2;s=x1", "ns=2;s=x2"]
        applied = ["ns=2;s=a1", "ns=2;s=a2"]
        round = "ns=2;s=round"
        state = "ns=2;s=state"
        [plants.roof.settings]
        x0 = [20.0, 20.0]
        """
    )
    config = read_config(path)
    assert (config.period, config.settle, config.silent_after) == (10.0, 5.0, 50.0)
    (plant,) = config.plants
    assert plant.applied == ("ns=2;s=a1", "ns=2;s=a2")
    assert plant.settings == {"x0": [20.0, 20.0]}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, r"must have the tables \[opcua\] and \[plants.NAME\]"),
        ({"opcua": {"url": "http://a"}, "plants": {"a": NODES}}, "url must begin with opc.tcp://"),
        ({"opcua": {"url": "opc.tcp://a", "perod": 1}, "plants": {"a": NODES}}, "no key 'perod'"),
        ({"opcua": {"url": "opc.tcp://a", "period": 0}, "plants": {"a": NODES}}, "period"),
        ({"opcua": {"url": "opc.tcp://a", "settle": 90}, "plants": {"a": NODES}}, "settle"),
        ({"opcua": {"url": "opc.tcp://a"}, "plants": {"a": 1}}, "must be a table"),
        ({"opcua": {"url": "opc.tcp://a"}, "plants": {"a": {**NODES, "w": 1}}}, "no key 'w'"),
        ({"opcua": {"url": "opc.tcp://a"}, "plants": {"a": {**NODES, "v": "ns=2;s=v"}}}, "v must be a list of nodes"),
        ({"opcua": {"url": "opc.tcp://a"}, "plants": {"a": {**NODES, "y": 3}}}, "y must be a node"),
        ({"opcua": {"url": "opc.tcp://a"}, "plants": {"a": {**NODES, "x": ["a", "b"]}}}, "as many nodes"),
    ],
)
def test_mistakes_are_named(document: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        parse_config(document, "bridge.toml")


def test_a_file_that_is_not_toml(tmp_path: Path) -> None:
    (tmp_path / "bridge.toml").write_text("opcua")
    with pytest.raises(ArgumentError, match=r"bridge\.toml"):
        read_config(tmp_path / "bridge.toml")


def test_the_file_in_the_documents_is_read(tmp_path: Path) -> None:
    page = Path(__file__).parent.parent.parent / "docs" / "how-to" / "opc-ua.md"
    (tmp_path / "bridge.toml").write_text(page.read_text(encoding="utf-8").split("```toml\n")[1].partition("```")[0])
    config = read_config(tmp_path / "bridge.toml")
    assert (config.period, config.settle, config.silent_after) == (60.0, 30.0, 300.0)
    (plant,) = config.plants
    assert plant.settings == {"low": 16.0, "high": 27.0}
