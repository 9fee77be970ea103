"""Settings as data: a TOML file that says what to simulate, checked key by key.

A file is one setting, or several: then ``[[setting]]`` tables override what the rest of the file says.

::

    name = "mine"                       horizon = 1000          # rounds of the curves over t
    title = "My plant"                  horizons = [200, 2000]  # horizons of the curve over T
    source = "my thesis, Section 3"     runs = 20
    reading = "what I left open"        seed = 0

    [problem]        dim, rank, smallest, largest, spectrum; or A; and switching
    [process]        kind = "Gaussian" and its arguments
    [noise]          kind = "Uniform" and its arguments
    [[change]]       round, and what A is from there on
    [common]         arguments for every policy that has them, such as c1
    [[policy]]       kind = "SCaLE" and its arguments, and a name if the kind is not name enough

What a policy needs to be told and the setting knows (``noise_cap``, ``rank``, ``sigma_floor``) it is told, unless the
file says otherwise. A list in place of a policy's number makes one policy for each: a sweep. ``kind = "module:Class"``
is a policy of your own.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from soqo import noise, processes
from soqo.arguments import integer
from soqo.changes import Change
from soqo.environment import Environment
from soqo.errors import ArgumentError, FileFormatError
from soqo.experiments.toml_lines import Document, parse
from soqo.policies.base import Policy
from soqo.policies.glide import GLIDE
from soqo.policies.known import FTM, LAI, ROBD
from soqo.policies.learners import OAL, POL
from soqo.policies.scale import HySCaLE, SCaLE
from soqo.problem import Problem, RandomProblem

__all__ = ["KINDS", "Setting", "Swept", "read_settings", "settings_in"]

Where = tuple[str | int, ...]


@dataclass(frozen=True)
class Swept:
    """One policy of a sweep: of which family it is, and at which value of the parameter."""

    family: str
    parameter: str
    value: float


@dataclass(frozen=True, eq=False)
class Setting:
    """One experiment.

    Attributes
    ----------
    name, figure : str
        Its own name, and the name of the figure that it is a panel of.
    title, source, reading : str
        What is above the picture, where in the paper it is from, and what stands for what the paper leaves open.
    environment : Environment
    policies : mapping of str to Policy, or to a function that makes one
    horizon : int
        Rounds of the curves over t.
    horizons : tuple of int
        The horizons of the curve over T; empty for none.
    runs, seed : int
    swept : mapping of str to Swept
        The policies that belong to a sweep.
    """

    name: str
    figure: str
    title: str
    source: str
    reading: str
    environment: Environment
    policies: Mapping[str, object]
    horizon: int
    horizons: tuple[int, ...]
    runs: int
    seed: int
    swept: Mapping[str, Swept] = field(default_factory=dict)


KINDS: dict[str, Callable[..., Any]] = {
    "FTM": FTM,
    "LAI": LAI.knowing,
    "ROBD": ROBD.knowing,
    "POL": POL,
    "OAL": OAL,
    "SCaLE": SCaLE,
    "SCaLE.as_printed": SCaLE.as_printed,
    "HySCaLE": HySCaLE,
    "HySCaLE.as_printed": HySCaLE.as_printed,
    "GLIDE": GLIDE,
}
"""The policies that a file can name; those which know A take no arguments."""

KNOWING = ("LAI", "ROBD")
CLASSES = {"SCaLE.as_printed": SCaLE, "HySCaLE.as_printed": HySCaLE}
TEXTS = ("name", "figure", "title", "source", "reading")
COUNTS = {"horizon": 1, "runs": 1, "seed": 0}
TABLES = ("problem", "process", "noise", "common")
LISTS = ("policy", "change", "setting")
ALLOWED = (*TEXTS, *COUNTS, "horizons", *TABLES, *LISTS)


def read_settings(path: str | Path) -> list[Setting]:
    """The settings in a file.

    Raises
    ------
    FileFormatError
        It names the file, the line, the key, and what is allowed there.
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}")
    return settings_in(source.read_text(encoding="utf-8"), str(source), source.stem)


def settings_in(text: str, source: str, name: str) -> list[Setting]:
    """The settings in a text; ``name`` is for a single one that has none."""
    document = parse(text, source)
    check_keys(document, (), document.tree, ALLOWED)
    entries = as_list(document, ("setting",), document.tree.get("setting", []))
    if not entries:
        return [Reader(document, {}, (), name).setting()]
    for index, entry in enumerate(entries):
        inner = [key for key in ALLOWED if key != "setting"]
        check_keys(document, ("setting", index), entry, inner)
    found = [
        Reader(document, entry, ("setting", index), f"{name}_{index + 1}").setting()
        for index, entry in enumerate(entries)
    ]
    names = [setting.name for setting in found]
    for index, one in enumerate(names):
        if one in names[:index]:
            fail(document, ("setting", index, "name"), f"name must be unique, got {one!r} twice")
    return found


# ---- one setting ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reader:
    """Reads one setting: what its own table says, and what the file says for all."""

    document: Document
    own: dict[str, Any]
    path: Where
    default_name: str

    def setting(self) -> Setting:
        """The setting."""
        texts = {key: self.text(key) for key in TEXTS}
        name = texts["name"] or self.default_name
        counts = {key: self.count(key, least) for key, least in COUNTS.items()}
        environment = self.environment()
        policies, swept = self.policies(environment)
        return Setting(
            name=name,
            figure=texts["figure"] or name,
            title=texts["title"] or name,
            source=texts["source"],
            reading=texts["reading"],
            environment=environment,
            policies=policies,
            horizon=counts["horizon"],
            horizons=self.horizons(),
            runs=counts["runs"],
            seed=counts["seed"],
            swept=swept,
        )

    def find(self, key: str, default: Any) -> tuple[Any, Where]:
        """A value, from the setting's own table or else from the file, and where it stands."""
        if key in self.own:
            return self.own[key], (*self.path, key)
        return self.document.tree.get(key, default), (key,)

    def text(self, key: str) -> str:
        value, where = self.find(key, "")
        if not isinstance(value, str):
            fail(self.document, where, f"{key} must be a text, got {value!r}")
        return " ".join(value.split())

    def count(self, key: str, least: int) -> int:
        default = {"horizon": 1000, "runs": 20, "seed": 0}[key]
        value, where = self.find(key, default)
        return int(self.checked(where, lambda: integer(key, value, least=least)))

    def horizons(self) -> tuple[int, ...]:
        value, where = self.find("horizons", [])
        items = as_list(self.document, where, value)
        found = [self.checked(where, lambda h=h: integer("horizons", h, least=1)) for h in items]  # type: ignore[misc]
        if sorted(set(found)) != found:
            fail(self.document, where, f"horizons must be increasing, got {found}")
        return tuple(found)

    def table(self, key: str) -> tuple[dict[str, Any], Callable[[str], Where]]:
        """A table of the file with what the setting's own one changes; and where each of its keys stands."""
        general, own = self.document.tree.get(key, {}), self.own.get(key, {})
        for value, where in ((general, (key,)), (own, (*self.path, key))):
            if not isinstance(value, dict):
                fail(self.document, where, f"{key} must be a table, got {value!r}")
        # A new kind is a new table: the arguments of the old one are none of its own.
        merged = own if "kind" in own else {**general, **own}
        return merged, lambda name: (*self.path, key, name) if name in own else (key, name)

    def environment(self) -> Environment:
        problem = self.problem()
        process = self.one_of("process", processes, processes.Process)
        found = self.one_of("noise", noise, noise.Noise)
        value, where = self.find("change", [])
        changes = [
            self.built(Change, entry, lambda name, i=i: (*where, i, name))  # type: ignore[misc]
            for i, entry in enumerate(as_list(self.document, where, value))
        ]
        made: Environment = self.checked(
            where, lambda: Environment(problem, process, found, changes=changes)
        )
        return made

    def problem(self) -> Problem | RandomProblem:
        table, where = self.table("problem")
        if not table:
            fail(
                self.document,
                (),
                "problem is missing: a table with dim, rank and smallest, or with A",
            )
        kind: Any = Problem if "A" in table else RandomProblem
        return self.built(kind, table, where)  # type: ignore[no-any-return]

    def one_of(self, key: str, module: Any, parent: type) -> Any:
        table, where = self.table(key)
        classes = {n: c for n in module.__all__ if isinstance(c := getattr(module, n), type)}
        known = {n: c for n, c in classes.items() if issubclass(c, parent) and c is not parent}
        kind = table.get("kind")
        if kind not in known:
            place = where("kind") if "kind" in table else (key,)
            fail(self.document, place, f"kind must be one of {', '.join(known)}, got {kind!r}")
        arguments = {k: v for k, v in table.items() if k != "kind"}
        return self.built(known[kind], arguments, where)

    def built(self, kind: Any, table: dict[str, Any], where: Callable[[str], Where]) -> Any:
        """An object from a table of its arguments."""
        names = arguments_of(kind)
        for key in table:
            if key not in names:
                allowed = ", ".join(names)
                fail(
                    self.document,
                    where(key),
                    f"{key!r} is unknown to {kind.__name__}; it has {allowed}",
                )
        try:
            return kind(**table)
        except (ArgumentError, TypeError) as error:
            named = next((k for k in table if str(error).startswith(k)), None)
            fail(self.document, where(named) if named else where(""), str(error))

    # ---- policies --------------------------------------------------------------------------------------------------

    def policies(self, environment: Environment) -> tuple[dict[str, object], dict[str, Swept]]:
        value, where = self.find("policy", [])
        entries = as_list(self.document, where, value)
        if not entries:
            fail(self.document, (), "policy is missing: at least one [[policy]] with a kind")
        policies: dict[str, object] = {}
        swept: dict[str, Swept] = {}
        for index, entry in enumerate(entries):
            place: Where = (*where, index)
            if not isinstance(entry, dict):
                fail(self.document, place, f"policy must be a table, got {entry!r}")
            for name, arguments, one in self.spread(entry, place):
                if name in policies:
                    fail(self.document, place, f"name must be unique, got {name!r} twice")
                policies[name] = self.policy(arguments, place, environment)
                if one is not None:
                    swept[name] = one
        return policies, swept

    def spread(
        self, entry: dict[str, Any], place: Where
    ) -> list[tuple[str, dict[str, Any], Swept | None]]:
        """One policy, or one for each value of a list of numbers."""
        name = entry.get("name", entry.get("kind", ""))
        if not isinstance(name, str):
            fail(self.document, (*place, "name"), f"name must be a text, got {name!r}")
        arguments = {key: value for key, value in entry.items() if key != "name"}
        lists = [
            key
            for key, value in arguments.items()
            if isinstance(value, list) and key not in ("probe_limit", "initial")
        ]
        if not lists:
            return [(name, arguments, None)]
        if len(lists) > 1:
            fail(
                self.document, (*place, lists[1]), f"one sweep at a time, got {' and '.join(lists)}"
            )
        (key,) = lists
        return [
            (f"{name}, {key} {value:g}", {**arguments, key: value}, Swept(name, key, float(value)))
            for value in arguments[key]
        ]

    def policy(self, arguments: dict[str, Any], place: Where, environment: Environment) -> object:
        kind = arguments.get("kind")
        rest = {key: value for key, value in arguments.items() if key != "kind"}
        if isinstance(kind, str) and ":" in kind:
            made: Any = self.built(self.imported(kind, place), rest, lambda key: (*place, key))
            return made
        if kind not in KINDS:
            allowed = f"{', '.join(KINDS)}, or 'module:Class'"
            fail(self.document, (*place, "kind"), f"kind must be one of {allowed}, got {kind!r}")
        if kind in KNOWING:
            if rest:
                fail(
                    self.document,
                    (*place, next(iter(rest))),
                    f"{kind} knows A and takes no arguments",
                )
            return KINDS[kind]
        names = arguments_of(CLASSES.get(kind, KINDS[kind]))
        common, _ = self.table("common")
        known = {**told(environment), **common}
        known = {key: value for key, value in known.items() if key in names and key not in rest}
        maker = Maker(KINDS[kind], names)
        return self.built(maker, {**known, **rest}, lambda key: (*place, key))

    def imported(self, kind: str, place: Where) -> Any:
        """A policy of the user's own, from a module that Python finds, or beside the file."""
        module, _, name = kind.partition(":")
        folder = str(Path(self.document.source).parent.resolve())
        if folder not in sys.path:
            sys.path.append(folder)
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            fail(
                self.document, (*place, "kind"), f"kind must be a class that Python finds: {error}"
            )
        if not (isinstance(found, type) and issubclass(found, Policy)):
            fail(self.document, (*place, "kind"), f"kind must be a soqo.Policy, got {kind!r}")
        return found

    def checked(self, where: Where, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except ArgumentError as error:
            fail(self.document, where, str(error))


@dataclass(frozen=True)
class Maker:
    """A class method that makes a policy, with the name and the arguments of a class."""

    make: Callable[..., Any]
    names: tuple[str, ...]

    @property
    def __name__(self) -> str:
        return str(getattr(self.make, "__qualname__", self.make))

    def __call__(self, **arguments: Any) -> Any:
        return self.make(**arguments)


def arguments_of(kind: Any) -> tuple[str, ...]:
    """The arguments that a dataclass takes."""
    if isinstance(kind, Maker):
        return kind.names
    return tuple(f.name for f in dataclasses.fields(kind) if f.init)


def told(environment: Environment) -> dict[str, Any]:
    """What a setting knows that some policies must be told."""
    problem = environment.problem
    known: dict[str, Any] = {"noise_cap": environment.noise.cap}
    if isinstance(problem, RandomProblem) and problem.switching is None:
        known |= {"rank": problem.rank, "sigma_floor": problem.smallest}
    return known


def check_keys(document: Document, path: Where, table: Any, allowed: Any) -> None:
    """Refuse keys that mean nothing."""
    if not isinstance(table, dict):
        fail(document, path, f"{path[0]} must be a table, got {table!r}")
    for key in table:
        if key not in allowed:
            fail(document, (*path, key), f"{key!r} is unknown; allowed are {', '.join(allowed)}")


def as_list(document: Document, where: Where, value: Any) -> list[Any]:
    """A list, as an array or an array of tables is."""
    if not isinstance(value, list):
        fail(document, where, f"{where[-1]} must be a list, got {value!r}")
    return value


def fail(document: Document, where: Where, message: str) -> NoReturn:
    """Say where in the file, and what."""
    raise FileFormatError(f"{document.where(where)}: {message}")
