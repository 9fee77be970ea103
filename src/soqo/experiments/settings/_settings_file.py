"""Settings from TOML files, validated key by key.

A file holds one setting, or several ``[[setting]]`` tables that override the rest of the file.

::

    name = "mine"                       horizon = 1000          # rounds of the curves over t
    title = "My plant"                  horizons = [200, 2000]  # horizons of the curve over T
    source = "my thesis, Section 3"     runs = 20
    note = "my assumptions"             seed = 0

    [problem]        dim, rank, min_eigenvalue, max_eigenvalue, spacing; or A; and switching_weight
    [process]        kind = "Gaussian" and its arguments
    [noise]          kind = "Uniform" and its arguments
    [[change]]       round, and the new A
    [offset]         b, scale, walk: the error of the minimizer that the player is told
    [[meter]]        kind = "BaseLoad" and its arguments
    [delay]          rounds, jitter: how late readings are
    [context]        M, or size and dim; scale, correlation: what the player sees beside the minimizer it is told
    [factor]         swing, period, deviation, correlation: what multiplies the hitting cost
    [unit]           the same: the unit of the meter
    [covariates]     h, scale, correlation: what the base load depends on, told with each reading
    [outages]        share, duration: actuators that are out of order
    [actuation]      rate, deadband, lag: what the plant makes of an action
    period           the period of positions that are angles, a number or one for each actuator
    [common]         arguments for every policy that has them, such as c1
    [[policy]]       kind = "SCaLE" and its arguments, and a name if it is not the kind; role, single_horizon
    [adjust]         arguments of policies of the file that a setting changes, by the policy's name
    [sources]        where each parameter comes from: "caption: ...", "text: ...", "file name: ..." or "our choice: ..."
    contradictions   what the source says otherwise elsewhere, a list of texts

Arguments of a policy that are known from the setting (``noise_cap``, ``rank``, ``min_eigenvalue``, ``covariance``) are
supplied unless the file gives them. A list in place of a policy's number makes one policy for each value: a sweep.
``kind = "module:Class"`` names a policy of your own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from soqo import meters, noise, processes
from soqo._foundation.arguments import file_path, integer
from soqo._foundation.text import MAX_LABEL, check_label
from soqo._model.changing_curvature import Change
from soqo._model.problem import Problem, RandomProblem
from soqo._simulation.actuation import Actuation
from soqo._simulation.context import Context
from soqo._simulation.covariates import Covariates
from soqo._simulation.delay import Delay
from soqo._simulation.environment import Environment
from soqo._simulation.factor import Factor
from soqo._simulation.offset import Offset
from soqo._simulation.outages import Outages
from soqo._simulation.simulate import check_names
from soqo.errors import ArgumentError, FileFormatError
from soqo.experiments.settings._constructors import (
    Constructor,
    classes_of_kind,
    import_policy,
    known_arguments,
    policy_constructors,
)
from soqo.experiments.settings._setting import MAX_HORIZON, MAX_RUNS, Setting, SweepPoint
from soqo.experiments.settings._toml_line_numbers import Document, KeyPath, parse_toml

_Made = TypeVar("_Made")
_Place = Callable[[str], KeyPath]
"""A function from a key of a table to its path in the file."""

_FILE_NAME = re.compile(r"\w[\w .+-]*")
"""The names that settings and figures may have, since files are named after them."""

_MAX_NAME, _MAX_TEXT = 60, 2000
"""The largest number of characters of names of files, and of texts that a page shows in lines."""

_TEXTS = ("name", "figure", "title", "source", "note")
_COUNTS = {"horizon": (1, MAX_HORIZON, 1000), "runs": (1, MAX_RUNS, 20), "seed": (0, None, 0)}
"""The smallest and the largest value and the default of each number."""

_ABOUT_A_POLICY = ("name", "kind", "role", "single_horizon")
"""The keys of a policy's table that are not its arguments."""

_PARTS = {
    "offset": Offset,
    "delay": Delay,
    "context": Context,
    "factor": Factor,
    "unit": Factor,
    "covariates": Covariates,
    "outages": Outages,
    "actuation": Actuation,
}
"""The parts of an environment that have a table of their own."""

ROLES = ("paper", "calibrated", "ours")
"""What a policy is: the paper's own, the paper's with other defaults, or another one."""

SOURCE_KINDS = ("caption", "text", "file name", "our choice")
"""Where the value of a parameter can come from."""

SETTING_KEYS = (
    *_TEXTS,
    *_COUNTS,
    *("horizons", "problem", "process", "noise", "common", "policy", "adjust", "change", "offset", "meter"),
    *("delay", "context", "factor", "unit", "covariates", "outages", "actuation", "period"),
    *("sources", "contradictions", "setting"),
)
"""The keys that a file may have; a ``[[setting]]`` table may have all but the last."""


def read_settings(path: str | Path) -> list[Setting]:
    """Read the settings in a TOML file.

    Parameters
    ----------
    path : path
        The file; a single setting without a name is named after it.

    Returns
    -------
    list of Setting
        The settings, in the order of the file.

    Raises
    ------
    FileFormatError
        It names the file, the line, the key and the allowed values.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "mine.toml")
    ...     _ = path.write_text('''
    ...         problem.A = [[1.0]]
    ...         process.kind = "Gaussian"
    ...         noise = { kind = "Uniform", cap = 1 }
    ...         policy = [{ kind = "FTM" }]
    ...     ''')
    ...     [setting.name for setting in read_settings(path)]
    ['mine']
    """
    source = file_path("path", path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}")
    try:
        text = source.read_text(encoding="utf-8-sig")  # some editors begin a file with a byte-order mark
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{source} is not valid TOML: it is not in UTF-8 ({error})") from error
    return parse_settings(text, str(source), name=source.stem)


def parse_settings(text: str, source: str, *, name: str) -> list[Setting]:
    r"""Parse the settings in a TOML text.

    Parameters
    ----------
    text : str
        The text.
    source : str
        Its name in error messages.
    name : str
        The name of a single setting that has none.

    Returns
    -------
    list of Setting
        The settings, in the order of the text.

    Examples
    --------
    >>> text = 'problem.A = [[1.0]]\nprocess.kind = "Gaussian"\nnoise = { kind = "Uniform", cap = 1 }\n'
    >>> (setting,) = parse_settings(text + 'policy = [{ kind = "FTM" }]', "text", name="mine")
    >>> setting.name, setting.runs, list(setting.policies)
    ('mine', 20, ['FTM'])
    """
    document = parse_toml(text, source)
    name = re.sub(r"[^\w+-]+", "_", name)
    _check_keys(document, (), document.tree, SETTING_KEYS)
    entries = _as_list(document, ("setting",), document.tree.get("setting", []))
    if not entries:
        return [_Reader(document, {}, (), name).setting()]
    found = []
    for index, entry in enumerate(entries):
        _check_keys(document, ("setting", index), entry, SETTING_KEYS[:-1])
        found.append(_Reader(document, entry, ("setting", index), f"{name}_{index + 1}").setting())
    # Some file systems do not distinguish upper and lower case.
    names = [setting.name.casefold() for setting in found]
    for index, one in enumerate(names):
        if one in names[:index]:
            document.fail(("setting", index, "name"), f"name must be unique, got {one!r} twice")
    return found


def _check_keys(document: Document, path: KeyPath, table: Any, allowed: Collection[str]) -> None:
    if not isinstance(table, dict):
        document.fail(path, f"{path[0]} must be a table, got {table!r}")
    for key in table:
        if key not in allowed:
            document.fail((*path, key), f"{key!r} is unknown; allowed are {', '.join(allowed)}")


def _as_list(document: Document, path: KeyPath, value: Any) -> list[Any]:
    if not isinstance(value, list):
        document.fail(path, f"{path[-1]} must be a list, got {value!r}")
    return value


@dataclass(frozen=True)
class _Reader:
    """A reader of one setting: its own table overrides the rest of the file."""

    document: Document
    own: dict[str, Any]
    path: KeyPath
    default_name: str

    def setting(self) -> Setting:
        given: dict[str, Any] = {key: self.text(key) for key in _TEXTS}
        given["name"] = given["name"] or self.default_name
        given |= {key: given[key] or given["name"] for key in ("figure", "title")}
        given |= {key: self.count(key) for key in _COUNTS}
        environment = self.environment()
        return Setting(
            **given,
            environment=environment,
            horizons=self.horizons(),
            **self.policies(environment),
            sources=self.sources(),
            contradictions=self.contradictions(),
        )

    def sources(self) -> dict[str, str]:
        table, place = self.table("sources")
        for key, text in table.items():
            if not isinstance(text, str) or not text.startswith(SOURCE_KINDS):
                allowed = ", ".join(SOURCE_KINDS)
                self.document.fail(place(key), f"{key} must be a text that begins with one of {allowed}, got {text!r}")
        return dict(table)

    def contradictions(self) -> tuple[str, ...]:
        value, path = self.find("contradictions", [])
        texts = _as_list(self.document, path, value)
        for text in texts:
            if not isinstance(text, str):
                self.document.fail(path, f"contradictions must be texts, got {text!r}")
        return tuple(texts)

    def find(self, key: str, default: Any) -> tuple[Any, KeyPath]:
        """Return a value from the setting's own table or else from the file, and its path."""
        if key in self.own:
            return self.own[key], (*self.path, key)
        return self.document.tree.get(key, default), (key,)

    def text(self, key: str) -> str:
        value, path = self.find(key, "")
        if not isinstance(value, str):
            self.document.fail(path, f"{key} must be a string, got {value!r}")
        most = _MAX_TEXT if key in ("note", "source") else _MAX_NAME if key in ("name", "figure") else MAX_LABEL
        text = self.attempt(path, lambda: check_label(key, " ".join(value.split()), most=most))
        if key in ("name", "figure") and text and not _FILE_NAME.fullmatch(text):
            allowed = "letters, digits, blanks and _ . + -, since it becomes a file name"
            self.document.fail(path, f"{key} must consist of {allowed}, got {value!r}")
        return text

    def count(self, key: str) -> int:
        least, most, default = _COUNTS[key]
        value, path = self.find(key, default)
        return self.attempt(path, lambda: integer(key, value, least=least, most=most))

    def horizons(self) -> tuple[int, ...]:
        value, path = self.find("horizons", [])
        items = _as_list(self.document, path, value)
        found = [self.attempt(path, partial(integer, "horizons", h, least=1, most=MAX_HORIZON)) for h in items]
        if sorted(set(found)) != found:
            self.document.fail(path, f"horizons must be increasing, got {found}")
        return tuple(found)

    def table(self, key: str) -> tuple[dict[str, Any], _Place]:
        """Return a table of the file with the changes of the setting's own one, and the paths of its keys."""
        general, own = self.document.tree.get(key, {}), self.own.get(key, {})
        for value, path in ((general, (key,)), (own, (*self.path, key))):
            if not isinstance(value, dict):
                self.document.fail(path, f"{key} must be a table, got {value!r}")
        # The arguments of another kind do not apply.
        merged = own if "kind" in own else {**general, **own}
        return merged, lambda name: (*self.path, key, name) if name in own else (key, name)

    # ---- the environment -------------------------------------------------------------------------------------------

    def environment(self) -> Environment:
        table, place = self.table("problem")
        if not table:
            self.document.fail(self.path, "problem is missing: a table with dim, rank and min_eigenvalue, or with A")
        problem = self.problem(table, place)
        process = self.one_of("process", processes, processes.Process)
        found = self.one_of("noise", noise, noise.Noise)
        value, path = self.find("change", [])
        entries = _as_list(self.document, path, value)
        changes = [self.change(entry, (*path, index)) for index, entry in enumerate(entries)]
        where = path if changes else self.path
        options = {key: self.part(key, made) for key, made in _PARTS.items()}
        period, place_of_period = self.find("period", None)
        where = place_of_period if period is not None and not changes else where
        chain = self.meters()
        return self.attempt(
            where, lambda: Environment(problem, process, found, changes=changes, meters=chain, period=period, **options)
        )

    def part(self, key: str, made: type) -> Any:
        """Build a part of the environment that has a table of its own, or return None if there is none."""
        table, place = self.table(key)
        given = key in self.own or key in self.document.tree
        return self.build(Constructor.of(made), table, place) if given else None

    def meters(self) -> list[Any]:
        value, path = self.find("meter", [])
        found = []
        for index, entry in enumerate(_as_list(self.document, path, value)):
            if not isinstance(entry, dict):
                self.document.fail((*path, index), f"meter must be a table, got {entry!r}")
            found.append(self.build_kind(entry, partial(_below, (*path, index)), meters, meters.Meter))
        return found

    def problem(self, table: dict[str, Any], place: _Place) -> Any:
        return self.build(Constructor.of(Problem if "A" in table else RandomProblem), table, place)

    def change(self, entry: Any, path: KeyPath) -> Any:
        if not isinstance(entry, dict):
            self.document.fail(path, f"change must be a table, got {entry!r}")
        inner = entry.get("problem")
        if isinstance(inner, dict):
            entry = {**entry, "problem": self.problem(inner, lambda key: (*path, "problem", key))}
        return self.build(Constructor.of(Change), entry, lambda key: (*path, key))

    def one_of(self, key: str, module: Any, parent: type) -> Any:
        """Build the process or the noise, a class of the module that the table names."""
        table, place = self.table(key)
        if not table:
            known = ", ".join(classes_of_kind(module, parent))
            self.document.fail((key,), f"kind must be one of {known}, and the table {key} is missing")
        return self.build_kind(table, place, module, parent)

    def build_kind(self, table: dict[str, Any], place: _Place, module: Any, parent: type) -> Any:
        """Build an object of the class of the module that the table names as its kind."""
        known, kind = classes_of_kind(module, parent), table.get("kind")
        if not isinstance(kind, str) or kind not in known:
            path = place("kind") if "kind" in table else place("")[:-1]
            self.document.fail(path, f"kind must be one of {', '.join(known)}, got {kind!r}")
        arguments = {k: v for k, v in table.items() if k != "kind"}
        return self.build(Constructor.of(known[kind]), arguments, place)

    def build(self, constructor: Constructor, table: dict[str, Any], place: _Place) -> Any:
        """Build an object from a table of its arguments."""
        for key in table:
            if key not in constructor.arguments:
                allowed = ", ".join(constructor.arguments) or "no arguments"
                self.document.fail(place(key), f"{key!r} is unknown to {constructor.name}; it has {allowed}")
        for key in constructor.required:
            if key not in table:
                self.document.fail(place(key), f"{key} is missing: {constructor.name} needs it")
        try:
            return constructor.make(**table)
        except Exception as error:  # a user's class may raise anything
            word = re.match(r"\w*", str(error))
            named = word[0] if word and word[0] in table else ""
            self.document.fail(place(named), str(error))

    # ---- policies --------------------------------------------------------------------------------------------------

    def policies(self, environment: Environment) -> dict[str, Any]:
        """Return the policies, the sweeps, the roles, and the policies that are played at one horizon."""
        value, path = self.find("policy", [])
        entries = _as_list(self.document, path, value)
        if not entries:
            message = "policy is missing: at least one [[policy]] with a kind"
            self.document.fail(path if path in self.document.lines else self.path, message)
        self.check_common(entries, path)
        adjusted = self.adjusted(entries)
        policies: dict[str, object] = {}
        swept: dict[str, SweepPoint] = {}
        roles: dict[str, str] = {}
        single: set[str] = set()
        for index, entry in enumerate(entries):
            where: KeyPath = (*path, index)
            if not isinstance(entry, dict):
                self.document.fail(where, f"policy must be a table, got {entry!r}")
            name = self.policy_name(entry, where)
            constructor = self.constructor(entry.get("kind"), where)
            role, alone = self.place_of(entry, where)
            given = {key: value for key, value in entry.items() if key not in _ABOUT_A_POLICY}
            given |= adjusted.get(name, {})
            for label, arguments, point in self.expand_sweep(name, constructor, given, where):
                if label in policies:
                    self.document.fail(where, f"name must be unique, got {label!r} twice")
                self.attempt((*where, "name"), partial(check_names, {label: None}))
                policies[label] = self.policy(constructor, arguments, where, environment)
                if point is not None:
                    swept[label] = point
                if role:
                    roles[label] = role
                if alone:
                    single.add(label)
        return {"policies": policies, "swept": swept, "roles": roles, "single_horizon": frozenset(single)}

    def adjusted(self, entries: list[Any]) -> dict[str, dict[str, Any]]:
        """Return the arguments that the setting changes, by the name of the policy."""
        table, place = self.table("adjust")
        names = [str(entry.get("name", entry.get("kind"))) for entry in entries if isinstance(entry, dict)]
        for name, arguments in table.items():
            if name not in names:
                self.document.fail(place(name), f"{name!r} must be a policy of the file, one of {', '.join(names)}")
            if not isinstance(arguments, dict):
                self.document.fail(place(name), f"{name} must be a table of arguments, got {arguments!r}")
        return dict(table)

    def place_of(self, entry: dict[str, Any], path: KeyPath) -> tuple[str, bool]:
        """Return the role of a policy, and whether it is played at one horizon only."""
        role, alone = entry.get("role", ""), entry.get("single_horizon", False)
        if role not in ("", *ROLES):
            self.document.fail((*path, "role"), f"role must be one of {', '.join(ROLES)}, got {role!r}")
        if not isinstance(alone, bool):
            self.document.fail((*path, "single_horizon"), f"single_horizon must be true or false, got {alone!r}")
        return role, alone

    def policy_name(self, entry: dict[str, Any], path: KeyPath) -> str:
        key = "name" if "name" in entry else "kind"
        name = entry.get(key, "")
        if not isinstance(name, str):
            self.document.fail((*path, key), f"{key} must be a string, got {name!r}")
        return name

    def expand_sweep(
        self, name: str, constructor: Constructor, arguments: dict[str, Any], path: KeyPath
    ) -> list[tuple[str, dict[str, Any], SweepPoint | None]]:
        """Return one policy, or one for each value of a list of numbers."""
        lists = [key for key, value in arguments.items() if isinstance(value, list) and key not in constructor.arrays]
        if not lists:
            return [(name, arguments, None)]
        if len(lists) > 1:
            self.document.fail((*path, lists[1]), f"one sweep at a time, got {' and '.join(lists)}")
        (key,) = lists
        if not arguments[key]:
            self.document.fail((*path, key), f"{key} must be a number or a list of numbers, got an empty list")
        for index, value in enumerate(arguments[key]):
            if isinstance(value, bool) or not isinstance(value, int | float):
                message = f"{key} must be a list of numbers for a sweep, got {value!r} in it"
                self.document.fail((*path, key, index), message)
        return [
            (f"{name}, {key} {value:g}", {**arguments, key: value}, SweepPoint(name, key, float(value)))
            for value in arguments[key]
        ]

    def policy(
        self, constructor: Constructor, arguments: dict[str, Any], path: KeyPath, environment: Environment
    ) -> object:
        if constructor.from_problem:
            if arguments:
                message = f"{constructor.name} knows A and takes no arguments"
                self.document.fail((*path, next(iter(arguments))), message)
            return constructor.make
        common, common_place = self.table("common")
        supplied = {**known_arguments(environment), **common}
        supplied = {k: v for k, v in supplied.items() if k in constructor.arguments and k not in arguments}

        def place(key: str) -> KeyPath:
            return common_place(key) if key in common and key in supplied else (*path, key)

        return self.build(constructor, {**supplied, **arguments}, place)

    def constructor(self, name: Any, path: KeyPath) -> Constructor:
        known = policy_constructors()
        if isinstance(name, str) and name in known:
            return known[name]
        if not isinstance(name, str) or ":" not in name:
            allowed = f"{', '.join(known)}, or 'module:Class'"
            self.document.fail((*path, "kind"), f"kind must be one of {allowed}, got {name!r}")
        folder = Path(self.document.source).parent.resolve()
        return self.attempt((*path, "kind"), lambda: import_policy(name, folder))

    def check_common(self, entries: list[Any], path: KeyPath) -> None:
        """Refuse common arguments that no policy has, since they would have no effect."""
        common, place = self.table("common")
        constructors = list(policy_constructors().values())
        for index, entry in enumerate(entries):
            if isinstance(entry, dict) and ":" in str(entry.get("kind")):
                constructors.append(self.constructor(entry["kind"], (*path, index)))
        allowed = list(dict.fromkeys(key for constructor in constructors for key in constructor.arguments))
        for key in common:
            if key not in allowed:
                self.document.fail(place(key), f"{key!r} is unknown to every policy; they have {', '.join(allowed)}")

    def attempt(self, path: KeyPath, make: Callable[[], _Made]) -> _Made:
        """Call a function, and turn an argument error into one that names the line."""
        try:
            return make()
        except ArgumentError as error:
            self.document.fail(path, str(error))


def _below(path: KeyPath, key: str) -> KeyPath:
    return (*path, key)
