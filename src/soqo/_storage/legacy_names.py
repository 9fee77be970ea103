"""The names by which soqo 0.1.0 wrote classes to files, which were module paths."""

from __future__ import annotations

_RENAMED = {
    "Standing": "Controller",
    "ScaleMemory": "SCaLE.memory",
    "GlideMemory": "GLIDE.memory",
    "Belief": "GLIDE.belief",
    "Suspicion": "GLIDE.outliers",
    "Drift": "GLIDE.drift",
}


def legacy_tag(name: str) -> str:
    """Return the tag of a class that 0.1.0 wrote as ``"module:Class"``; a class of the user keeps its name.

    Examples
    --------
    >>> legacy_tag("soqo.policies.known:LAI"), legacy_tag("soqo.policies.drift:Drift"), legacy_tag("mine:LAI")
    ('LAI', 'GLIDE.drift', 'mine:LAI')
    """
    module, _, kind = name.partition(":")
    return _RENAMED.get(kind, kind) if module.partition(".")[0] == "soqo" else name
