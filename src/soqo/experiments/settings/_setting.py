"""A setting: one experiment as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from soqo._foundation.frozen_dataclasses import Value
from soqo._simulation.environment import Environment

MAX_RUNS = 10_000_000
"""The largest number of runs of a setting: the list of the cells of more runs would not fit into the memory."""

MAX_HORIZON = 1_000_000_000
"""The largest number of rounds of a setting: the costs of more rounds would not fit into the memory."""


@dataclass(frozen=True)
class SweepPoint:
    """The place of a policy in a sweep.

    Attributes
    ----------
    family : str
        The name of the policy without the value, which all policies of the sweep share.
    parameter : str
        The parameter that is swept.
    value : float
        Its value in this policy.
    """

    family: str
    parameter: str
    value: float


@dataclass(frozen=True)
class Setting(Value):
    """One experiment.

    Attributes
    ----------
    name, figure : str
        The setting's name, and the name of the figure of which it is a panel.
    title, source, note : str
        The title of its picture, its place in the paper, and the assumptions made where the paper is not specific.
    environment : Environment
        The problem, the process and the noise.
    policies : mapping of str to Policy, or to a function that makes one
        The policies by name, as in :func:`soqo.simulate`.
    horizon : int
        The number of rounds of the curves over t.
    horizons : tuple of int
        The horizons of the curve over T; empty for none.
    runs, seed : int
        The number of runs, and the seed.
    swept : mapping of str to SweepPoint
        The policies that belong to a sweep.
    roles : mapping of str to str
        For each policy: "paper" if it is the paper's own as printed, "calibrated" if it is the paper's with soqo's
        defaults, "ours" if it is not in the paper. Policies without an entry are "ours".
    single_horizon : frozenset of str
        The policies that are played at ``horizon`` only, and not at the other ``horizons``.
    sources : mapping of str to str
        For each parameter of the setting, where its value comes from: a text that begins with "caption", "text", "file
        name" or "our choice".
    contradictions : tuple of str
        What the paper says otherwise about this setting in other places.

    See Also
    --------
    soqo.experiments.read_settings : Read settings from a TOML file.
    soqo.experiments.find : Find settings of the paper.
    """

    name: str
    figure: str
    title: str
    source: str
    note: str
    environment: Environment = field(repr=False)
    policies: Mapping[str, object] = field(repr=False)
    horizon: int
    horizons: tuple[int, ...]
    runs: int
    seed: int
    swept: Mapping[str, SweepPoint] = field(default_factory=dict, repr=False)
    roles: Mapping[str, str] = field(default_factory=dict, repr=False)
    single_horizon: frozenset[str] = field(default_factory=frozenset, repr=False)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    contradictions: tuple[str, ...] = field(default=(), repr=False)
