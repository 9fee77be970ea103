"""Records and environments are packed as plain data and unpacked again; anything else is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from soqo import Change, Environment, Problem, RandomProblem
from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.plain_data import describe, pack, portability_problems, same, unpack
from soqo.errors import ArgumentError, FileFormatError
from soqo.noise import Adversarial, Uniform
from soqo.processes import Cauchy, Correlated, Gaussian, Laplace, Recorded, StudentT


@dataclass(frozen=True)
class Nested(Value):
    """A record that can contain others."""

    array: Any
    inner: Any = None


RECORD = Nested(
    np.arange(3.0),
    (Nested(np.array([True, False])), [1, 2.5, "text", None, True], {"key": np.int64(3)}, np.nan),
)


def test_a_record_survives_json() -> None:
    tree, arrays = pack(RECORD)
    rebuilt = unpack(json.loads(json.dumps(tree)), arrays)
    assert same(rebuilt, RECORD)
    assert isinstance(rebuilt.inner[0], Nested)
    assert isinstance(rebuilt.inner, tuple)
    assert isinstance(rebuilt.inner[1], list)


def test_same_detects_every_difference() -> None:
    assert same(Nested(np.array([1.0, np.nan])), Nested(np.array([1.0, np.nan])))
    assert not same(Nested(np.array([1.0])), Nested(np.array([1.0 + 2**-52])))
    assert not same(Nested(np.zeros(1)), Nested(np.zeros((1, 1))))
    assert not same(Nested(np.zeros(1)), Nested(np.zeros(1, dtype=np.int64)))
    assert not same(Nested(1), Nested(1.0))
    assert not same(Nested(None), Gaussian(1.0))


def test_evolve_makes_what_the_constructor_makes_and_leaves_the_old_record() -> None:
    before = Nested(np.arange(3.0), inner=1)
    after = evolve(before, inner=2)
    assert type(after) is Nested
    assert vars(after) == vars(Nested(before.array, inner=2))
    assert before.inner == 1


def test_a_value_that_is_not_plain_data_is_refused_with_its_place() -> None:
    with pytest.raises(ArgumentError, match=r"value\.inner\[1\] must be an array.* got function"):
        pack(Nested(1, (2, lambda: None)))
    with pytest.raises(ArgumentError, match=r"value\.array must be an array"):
        pack(Nested(np.array([object()])))


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "soqo.processes:Missing",
        "soqo._storage.journal:Journal",
        "not.imported:Thing",
        "builtins:eval",
        "x",
    ],
)
def test_only_known_dataclasses_are_built(name: str) -> None:
    with pytest.raises(FileFormatError, match=r"not a dataclass known here|which this soqo does not know"):
        unpack({"class": name, "fields": {}}, {})


def test_a_class_of_the_main_program_is_refused_with_advice() -> None:
    with pytest.raises(FileFormatError, match="define it in a module of its own, which both"):
        unpack({"class": "__main__:Mine", "fields": {}}, {})


def test_a_damaged_tree_is_refused() -> None:
    with pytest.raises(FileFormatError, match="array '7' is missing"):
        unpack({"array": "7"}, {})
    with pytest.raises(FileFormatError, match=r"unknown entry with keys \['what'\]"):
        unpack({"what": 1}, {})
    damaged: list[Any] = [
        {"class": 5, "fields": {}},
        {"class": "soqo.processes:Gaussian", "fields": {"wrong": 1}},
        {"class": "soqo.processes:Gaussian", "fields": {"scale": -1.0}},
        {"class": "soqo.processes:Gaussian", "fields": 7},
        {"class": "soqo.noise:Noise", "fields": {"cap": 1.0}},
        {"array": []},
        {"mapping": [1]},
        {"tuple": 3},
    ]
    for tree in damaged:
        with pytest.raises(FileFormatError):
            unpack(tree, {})


def test_keys_that_are_not_strings_are_refused() -> None:
    with pytest.raises(ArgumentError, match="must have strings as keys"):
        pack({0: 1, "0": 2})


def test_numpy_scalars_keep_their_dtype() -> None:
    tree, arrays = pack((np.bool_(True), np.float64(2.0)))
    flag, value = unpack(tree, arrays)
    assert flag.dtype == np.bool_
    assert value.dtype == np.float64


def test_describe_returns_readable_json() -> None:
    described = json.loads(json.dumps(describe(Nested(np.eye(2), Gaussian([1.0, 2.0])))))
    assert described == {
        "class": "Nested",
        "array": [[1.0, 0.0], [0.0, 1.0]],
        "inner": {"class": "Gaussian", "scale": [1.0, 2.0]},
    }
    large = describe(Gaussian(np.eye(40)))["scale"]
    assert large["shape"] == [40, 40]
    assert large != describe(Gaussian(2 * np.eye(40)))["scale"]
    assert describe({"make": Nested.__init__}) == {"make": "Nested.__init__"}


# ---- environments ----------------------------------------------------------------------------------------------------

W = np.array([[3.0, 0.5], [0.5, 1.0]])
PARTS = [
    Problem(np.eye(2), W),
    RandomProblem(2, 1, min_eigenvalue=0.1, switching_weight=[1.0, 2.0]),
    Change(3),
    Change(6, np.eye(2), duration=3),
    Gaussian(W),
    Correlated([1.0, 2.0], alpha=0.5, form="additive"),
    Laplace(),
    StudentT(2.0, df=1.5),
    Cauchy(3.0),
    Recorded(np.ones((5, 2))),
    Uniform(2.0),
    Adversarial(1.0, aim="overstate"),
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_a_part_of_an_environment_can_be_packed_and_built_again(part: Any) -> None:
    assert unpack(*pack(part)) == part


def test_an_environment_with_changes_can_be_packed_and_built_again() -> None:
    world = Environment(
        RandomProblem(2, 2, min_eigenvalue=0.1, max_eigenvalue=1.0),
        Gaussian(2.0),
        Uniform(1.0),
        x0=[1.0, -2.0],
        changes=(Change(3), Change(6, W, duration=3)),
    )
    again = unpack(*pack(world))
    assert again == world
    assert again.draw(9, 2, seed=1) == world.draw(9, 2, seed=1)


def test_classes_that_another_program_could_not_find_are_named_wherever_they_are() -> None:
    @dataclass(frozen=True)
    class Local:
        inner: Any = None

    Script = type("Script", (Nested,), {"__module__": "__main__"})
    assert portability_problems(RECORD) == []
    assert portability_problems([np.ones(2), Local]) == []  # a class itself is no record
    found = portability_problems(Nested(None, ({"key": [Local(Script(1.0))]}, Gaussian(2.0))))
    assert len(found) == 2
    assert "Local cannot be found in its module" in found[0]
    assert "Script is defined in the script that is run" in found[1]
