"""The file that says which nodes are which plants."""

from __future__ import annotations

from pathlib import Path

import pytest

from soqo.errors import ArgumentError
from soqo.service._opcua import read_config


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
    times = config.opcua
    assert (times.period, times.settle, times.silent_after) == (10.0, 5.0, 50.0)
    plant = config.plants["roof"]
    assert plant.applied == ["ns=2;s=a1", "ns=2;s=a2"]
    assert plant.settings == {"x0": [20.0, 20.0]}


@pytest.mark.parametrize(
    ("opcua", "plant", "words"),
    [
        (None, "", "opcua: field required"),
        ('url = "opc.tcp://a"', None, "plants: field required"),
        ('url = "http://a"', "", "opcua.url: string should match pattern .*, got 'http://a'"),
        ('url = "opc.tcp://a"\nperod = 1', "", "opcua.perod: extra inputs are not permitted"),
        ('url = "opc.tcp://a"\nperiod = 0', "", "opcua.period: input should be greater than 0"),
        ('url = "opc.tcp://a"\nsettle = 90', "", "opcua: settle must be at most the period"),
        ('url = "opc.tcp://a"', "w = 1", "plants.roof.w: extra inputs are not permitted"),
        ('url = "opc.tcp://a"', 'v = "ns=2;s=v"', "plants.roof.v: input should be a valid list"),
        ('url = "opc.tcp://a"', "y = 3", "plants.roof.y: input should be a valid string, got 3"),
        (
            'url = "opc.tcp://a"',
            'x = ["a", "b"]',
            "plants.roof: x and applied must have as many nodes as v, which has 1",
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, opcua: str | None, plant: str | None, words: str) -> None:
    nodes = {"v": 'v = ["ns=2;s=v"]', "y": 'y = "ns=2;s=y"', "x": 'x = ["ns=2;s=x"]'}
    lines = [] if opcua is None else ["[opcua]", opcua]
    if plant is not None:
        lines += ["[plants.roof]", plant, *(line for name, line in nodes.items() if name != plant[:1])]
    path = tmp_path / "bridge.toml"
    path.write_text("\n".join(lines))
    with pytest.raises(ArgumentError, match=rf"bridge\.toml: {words}"):
        read_config(path)


def test_a_file_that_is_not_toml(tmp_path: Path) -> None:
    (tmp_path / "bridge.toml").write_text("opcua")
    with pytest.raises(ArgumentError, match=r"bridge\.toml"):
        read_config(tmp_path / "bridge.toml")


def test_the_file_in_the_documents_is_read(tmp_path: Path) -> None:
    page = Path(__file__).parent.parent.parent / "docs" / "how-to" / "opc-ua.md"
    (tmp_path / "bridge.toml").write_text(page.read_text(encoding="utf-8").split("```toml\n")[1].partition("```")[0])
    config = read_config(tmp_path / "bridge.toml")
    times = config.opcua
    assert (times.period, times.settle, times.silent_after) == (60.0, 30.0, 300.0)
    plant = config.plants["roof"]
    assert plant.settings == {"low": 16.0, "high": 27.0}
