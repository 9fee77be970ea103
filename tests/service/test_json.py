"""Policies as tables: there and back, and no code from outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import soqo
from public_classes import concrete_classes, example
from soqo import policies
from soqo.errors import ArgumentError
from soqo.service._json import kinds, policy_from_table, policy_to_table


@pytest.mark.parametrize("kind", concrete_classes(policies, soqo.Policy), ids=lambda kind: kind.__name__)
def test_every_policy_survives_the_way_through_json(kind: Any) -> None:
    import json

    policy = example(kind)
    assert policy_from_table(json.loads(json.dumps(policy_to_table(policy)))) == policy


def test_a_kind_alone_is_a_table() -> None:
    assert policy_from_table("FTM") == soqo.FTM()
    assert policy_to_table(soqo.LAI(np.eye(2)))["A"] == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"kind": "subprocess:Popen", "args": "true"}, "policy must be one of"),
        ({"kind": "Policy"}, "policy must be one of"),
        ({"kind": "POL"}, "POL"),
        ({"kind": "GLIDE", "__class__": 1}, "no argument '__class__'"),
        ({"kind": "GLIDE", "noise_cap": "x"}, "noise_cap"),
        ({"kind": "GLIDE", "noise_cap": {"a": 1}}, "noise_cap"),
        ({}, "policy must have a kind"),
        ({"kind": ["GLIDE"]}, "policy must have a kind"),
        (7, "policy must have a kind"),
    ],
)
def test_wrong_tables_are_refused(table: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        policy_from_table(table)


def test_deep_tables_are_refused() -> None:
    table: Any = "FTM"
    for _ in range(50):
        table = {"kind": "Guarded", "policy": table}
    with pytest.raises(ArgumentError, match="nested deeper"):
        policy_from_table(table)


def test_a_policy_of_the_user_is_not_sent() -> None:
    class Mine(soqo.FTM):
        pass

    assert "FTM" in kinds()
    with pytest.raises(ArgumentError, match="soqo's own"):
        policy_to_table(Mine())
