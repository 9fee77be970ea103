"""An instance of each public policy, process and noise, for tests that run over all of them."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import numpy as np

import soqo

ARGUMENTS: dict[str, Any] = {
    "A": np.diag([0.5, 1.0, 2.0]),
    "c1": 1.5,
    "cap": 1.0,
    "factor": 10.0,
    "learning_rate": 0.02,
    "min_eigenvalue": 0.5,
    "noise_cap": 0.1,
    "path": np.ones((64, 3)),
    "policy": soqo.POL(0.02),
    "rank": 1,
    "rate": 0.2,
    "rounds": 4,
    "scale": 1.0,
    "start": 5,
    "step": 0.1,
    "y_max": 2.0,
}
"""A value for each argument that a public class requires, and for those whose default does not suit a short test."""


def example(kind: type) -> Any:
    """An instance of a public class."""
    fields = [field for field in dataclasses.fields(kind) if field.init]
    required = {f.name for f in fields if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING}
    missing = required - set(ARGUMENTS)
    assert not missing, f"{kind.__name__} requires {sorted(missing)}: give ARGUMENTS a value for a test"
    given = {f.name: ARGUMENTS[f.name] for f in fields if f.name in required or f.name == "c1"}
    return kind(**given)


def concrete_classes(module: Any, parent: type) -> list[type]:
    """The public classes of a family, without the abstract ones."""
    found = [getattr(module, name) for name in module.__all__]
    return [
        kind for kind in found if inspect.isclass(kind) and issubclass(kind, parent) and not inspect.isabstract(kind)
    ]
