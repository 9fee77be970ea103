"""Settings as data: a TOML file that says what to simulate, checked key by key.

A file is one setting, or several: then ``[[setting]]`` tables override what the rest of the file says.

::

    name = "mine"                       horizon = 1000          # rounds of the curves over t
    title = "My plant"                  horizons = [200, 2000]  # horizons of the curve over T
    source = "my thesis, Section 3"     runs = 20
    note = "what I left open"           seed = 0

    [problem]        dim, rank, smallest, largest, spectrum; or A; and switching_weight
    [process]        kind = "Gaussian" and its arguments
    [noise]          kind = "Uniform" and its arguments
    [[change]]       round, and what A is from there on
    [common]         arguments for every policy that has them, such as c1
    [[policy]]       kind = "SCaLE" and its arguments, and a name if the kind is not name enough

What a policy needs to be told and the setting knows (``noise_cap``, ``rank``, ``min_eigenvalue``) it is told, unless the
file says otherwise. A list in place of a policy's number makes one policy for each: a sweep. ``kind = "module:Class"``
is a policy of your own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from soqo import noise, processes
from soqo._arguments import integer
from soqo._changes import Change
from soqo._environment import Environment
from soqo._problem import Problem, RandomProblem
from soqo._simulation import check_names
from soqo.errors import ArgumentError, FileFormatError
from soqo.experiments.settings._kinds import KINDS, Kind, own_kind, told
from soqo.experiments.settings._toml import Document, Way, parse

__all__ = ["Setting", "Swept", "read_settings", "settings_in"]

NAME = re.compile(r"\w[\w .+-]*")
"""What a setting or a figure may be called: its files are."""


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
    title, source, note : str
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
    note: str
    environment: Environment
    policies: Mapping[str, object]
    horizon: int
    horizons: tuple[int, ...]
    runs: int
    seed: int
    swept: Mapping[str, Swept] = field(default_factory=dict)


TEXTS = ("name", "figure", "title", "source", "note")
COUNTS = {"horizon": (1, 1000), "runs": (1, 20), "seed": (0, 0)}
"""The least that each may be, and what it is where the file does not say."""

TABLES = ("problem", "process", "noise", "common")
ARRAYS = ("probe_limit", "initial", "covariance", "prior")
"""Arguments of policies that are arrays, where a list makes no sweep."""

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
    try:
        text = source.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{source} is no TOML: it is not in UTF-8 ({error})") from error
    return settings_in(text, str(source), source.stem)


def settings_in(text: str, source: str, name: str) -> list[Setting]:
    """The settings in a text; ``name`` is for a single one that has none."""
    document = parse(text, source)
    name = re.sub(r"[^\w+-]+", "_", name)
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
    # Some file systems do not tell capital letters from small ones.
    names = [setting.name.casefold() for setting in found]
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
    path: Way
    default_name: str

    def setting(self) -> Setting:
        """The setting."""
        texts = {key: self.text(key) for key in TEXTS}
        name = texts["name"] or self.default_name
        counts = {key: self.count(key) for key in COUNTS}
        environment = self.environment()
        policies, swept = self.policies(environment)
        return Setting(
            name=name,
            figure=texts["figure"] or name,
            title=texts["title"] or name,
            source=texts["source"],
            note=texts["note"],
            environment=environment,
            policies=policies,
            horizon=counts["horizon"],
            horizons=self.horizons(),
            runs=counts["runs"],
            seed=counts["seed"],
            swept=swept,
        )

    def find(self, key: str, default: Any) -> tuple[Any, Way]:
        """A value, from the setting's own table or else from the file, and where it stands."""
        if key in self.own:
            return self.own[key], (*self.path, key)
        return self.document.tree.get(key, default), (key,)

    def text(self, key: str) -> str:
        value, where = self.find(key, "")
        if not isinstance(value, str):
            fail(self.document, where, f"{key} must be a text, got {value!r}")
        text = " ".join(value.split())
        if key in ("name", "figure") and text and not NAME.fullmatch(text):
            allowed = "letters, digits, blanks and _ . + -, since files are called so"
            fail(self.document, where, f"{key} must be of {allowed}, got {value!r}")
        return text

    def count(self, key: str) -> int:
        least, default = COUNTS[key]
        value, where = self.find(key, default)
        return int(self.checked(where, lambda: integer(key, value, least=least)))

    def horizons(self) -> tuple[int, ...]:
        value, where = self.find("horizons", [])
        items = as_list(self.document, where, value)
        found = [self.checked(where, partial(integer, "horizons", h, least=1)) for h in items]
        if sorted(set(found)) != found:
            fail(self.document, where, f"horizons must be increasing, got {found}")
        return tuple(found)

    def table(self, key: str) -> tuple[dict[str, Any], Callable[[str], Way]]:
        """A table of the file with what the setting's own one changes; and where each of its keys stands."""
        general, own = self.document.tree.get(key, {}), self.own.get(key, {})
        for value, where in ((general, (key,)), (own, (*self.path, key))):
            if not isinstance(value, dict):
                fail(self.document, where, f"{key} must be a table, got {value!r}")
        # A new kind is a new table: the arguments of the old one are none of its own.
        merged = own if "kind" in own else {**general, **own}
        return merged, lambda name: (*self.path, key, name) if name in own else (key, name)

    def environment(self) -> Environment:
        table, where = self.table("problem")
        if not table:
            needed = "a table with dim, rank and smallest, or with A"
            fail(self.document, self.path, f"problem is missing: {needed}")
        problem = self.problem(table, where)
        process = self.one_of("process", processes, processes.Process)
        found = self.one_of("noise", noise, noise.Noise)
        value, place = self.find("change", [])
        changes = [
            self.change(entry, (*place, index)) for index, entry in enumerate(as_list(self.document, place, value))
        ]
        made: Environment = self.checked(
            place if changes else self.path,
            lambda: Environment(problem, process, found, changes=changes),
        )
        return made

    def problem(self, table: dict[str, Any], where: Callable[[str], Way]) -> Any:
        return self.built(Kind.of(Problem if "A" in table else RandomProblem), table, where)

    def change(self, entry: Any, place: Way) -> Any:
        if not isinstance(entry, dict):
            fail(self.document, place, f"change must be a table, got {entry!r}")
        inner = entry.get("problem")
        if isinstance(inner, dict):
            entry = {**entry, "problem": self.problem(inner, lambda k: (*place, "problem", k))}
        return self.built(Kind.of(Change), entry, lambda key: (*place, key))

    def one_of(self, key: str, module: Any, parent: type) -> Any:
        table, where = self.table(key)
        classes = {n: c for n in module.__all__ if isinstance(c := getattr(module, n), type)}
        known = {n: c for n, c in classes.items() if issubclass(c, parent) and c is not parent}
        kind = table.get("kind")
        if not isinstance(kind, str) or kind not in known:
            place = where("kind") if "kind" in table else (key,)
            got = f"got {kind!r}" if table else f"and the table {key} is missing"
            fail(self.document, place, f"kind must be one of {', '.join(known)}, {got}")
        arguments = {k: v for k, v in table.items() if k != "kind"}
        return self.built(Kind.of(known[kind]), arguments, where)

    def built(self, kind: Kind, table: dict[str, Any], where: Callable[[str], Way]) -> Any:
        """An object from a table of its arguments."""
        for key in table:
            if key not in kind.arguments:
                allowed = ", ".join(kind.arguments) or "no arguments"
                message = f"{key!r} is unknown to {kind.name}; it has {allowed}"
                fail(self.document, where(key), message)
        for key in kind.required:
            if key not in table:
                fail(self.document, where(key), f"{key} is missing: {kind.name} needs it")
        try:
            return kind.make(**table)
        except Exception as error:  # an own class may raise anything
            word = re.match(r"\w*", str(error))
            named = word[0] if word and word[0] in table else ""
            fail(self.document, where(named), str(error))

    # ---- policies --------------------------------------------------------------------------------------------------

    def policies(self, environment: Environment) -> tuple[dict[str, object], dict[str, Swept]]:
        value, where = self.find("policy", [])
        entries = as_list(self.document, where, value)
        if not entries:
            message = "policy is missing: at least one [[policy]] with a kind"
            fail(self.document, where if where in self.document.lines else self.path, message)
        self.check_common(entries, where)
        policies: dict[str, object] = {}
        swept: dict[str, Swept] = {}
        for index, entry in enumerate(entries):
            place: Way = (*where, index)
            if not isinstance(entry, dict):
                fail(self.document, place, f"policy must be a table, got {entry!r}")
            for name, arguments, one in self.spread(entry, place):
                if name in policies:
                    fail(self.document, place, f"name must be unique, got {name!r} twice")
                self.checked((*place, "name"), partial(check_names, {name: None}))
                policies[name] = self.policy(arguments, place, environment)
                if one is not None:
                    swept[name] = one
        return policies, swept

    def spread(self, entry: dict[str, Any], place: Way) -> list[tuple[str, dict[str, Any], Swept | None]]:
        """One policy, or one for each value of a list of numbers."""
        name = entry.get("name", entry.get("kind", ""))
        if not isinstance(name, str):
            wrong = "name" if "name" in entry else "kind"
            fail(self.document, (*place, wrong), f"{wrong} must be a text, got {name!r}")
        arguments = {key: value for key, value in entry.items() if key != "name"}
        lists = [key for key, v in arguments.items() if isinstance(v, list) and key not in ARRAYS]
        if not lists:
            return [(name, arguments, None)]
        if len(lists) > 1:
            message = f"one sweep at a time, got {' and '.join(lists)}"
            fail(self.document, (*place, lists[1]), message)
        (key,) = lists
        if not arguments[key]:
            fail(
                self.document,
                (*place, key),
                f"{key} must be a number or several, got an empty list",
            )
        for index, value in enumerate(arguments[key]):
            if isinstance(value, bool) or not isinstance(value, int | float):
                message = f"{key} must be a list of numbers for a sweep, got {value!r} in it"
                fail(self.document, (*place, key, index), message)
        return [
            (f"{name}, {key} {value:g}", {**arguments, key: value}, Swept(name, key, float(value)))
            for value in arguments[key]
        ]

    def policy(self, arguments: dict[str, Any], place: Way, environment: Environment) -> object:
        kind = self.kind(arguments.get("kind"), place)
        rest = {key: value for key, value in arguments.items() if key != "kind"}
        if kind.knows:
            if rest:
                message = f"{kind.name} knows A and takes no arguments"
                fail(self.document, (*place, next(iter(rest))), message)
            return kind.make
        common, where_common = self.table("common")
        known = {**told(environment), **common}
        known = {key: v for key, v in known.items() if key in kind.arguments and key not in rest}

        def where(key: str) -> Way:
            return where_common(key) if key in common and key in known else (*place, key)

        return self.built(kind, {**known, **rest}, where)

    def kind(self, name: Any, place: Way) -> Kind:
        """A kind of policy by its name."""
        if isinstance(name, str) and name in KINDS:
            return KINDS[name]
        if not isinstance(name, str) or ":" not in name:
            allowed = f"{', '.join(KINDS)}, or 'module:Class'"
            fail(self.document, (*place, "kind"), f"kind must be one of {allowed}, got {name!r}")
        folder = Path(self.document.source).parent.resolve()
        made: Kind = self.checked((*place, "kind"), lambda: own_kind(name, folder))
        return made

    def check_common(self, entries: list[Any], place: Way) -> None:
        """Refuse what no policy has: it would change nothing."""
        common, where = self.table("common")
        kinds = list(KINDS.values())
        for index, entry in enumerate(entries):
            if isinstance(entry, dict) and ":" in str(entry.get("kind")):
                kinds.append(self.kind(entry["kind"], (*place, index)))
        allowed = list(dict.fromkeys(key for kind in kinds for key in kind.arguments))
        for key in common:
            if key not in allowed:
                message = f"{key!r} is unknown to every policy; they have {', '.join(allowed)}"
                fail(self.document, where(key), message)

    def checked(self, where: Way, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except ArgumentError as error:
            fail(self.document, where, str(error))


def check_keys(document: Document, path: Way, table: Any, allowed: Any) -> None:
    """Refuse keys that mean nothing."""
    if not isinstance(table, dict):
        fail(document, path, f"{path[0]} must be a table, got {table!r}")
    for key in table:
        if key not in allowed:
            fail(document, (*path, key), f"{key!r} is unknown; allowed are {', '.join(allowed)}")


def as_list(document: Document, where: Way, value: Any) -> list[Any]:
    """A list, as an array or an array of tables is."""
    if not isinstance(value, list):
        fail(document, where, f"{where[-1]} must be a list, got {value!r}")
    return value


def fail(document: Document, where: Way, message: str) -> NoReturn:
    """Say where in the file, and what."""
    raise FileFormatError(f"{document.where(where)}: {message}")
