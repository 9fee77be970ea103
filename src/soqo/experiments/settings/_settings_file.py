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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

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
from soqo.errors import FileFormatError
from soqo.experiments.settings._constructors import Constructor, classes_of_kind
from soqo.experiments.settings._policy_tables import build, read_policies
from soqo.experiments.settings._setting import MAX_HORIZON, MAX_RUNS, Setting
from soqo.experiments.settings._toml_line_numbers import Node, parse_toml

_FILE_NAME = re.compile(r"\w[\w .+-]*")
"""The names that settings and figures may have, since files are named after them."""

_MAX_NAME, _MAX_TEXT = 60, 2000
"""The largest number of characters of names of files, and of texts that a page shows in lines."""

_TEXTS = {"name": _MAX_NAME, "figure": _MAX_NAME, "title": MAX_LABEL, "source": _MAX_TEXT, "note": _MAX_TEXT}
"""The largest number of characters of each text."""

_COUNTS = {"horizon": (1, MAX_HORIZON, 1000), "runs": (1, MAX_RUNS, 20), "seed": (0, None, 0)}
"""The smallest and the largest value and the default of each number."""

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

_TABLES = ("problem", "process", "noise", "common", "adjust", "sources", *_PARTS)
"""The tables that a setting's own one changes key by key, unless it has another kind; all other values it replaces."""

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
    tree = parse_toml(text, source)
    root, name = Node(tree, (), tree.tree), re.sub(r"[^\w+-]+", "_", name)
    _check_keys(root, SETTING_KEYS)
    entries = root.child("setting", []).items()
    if not entries:
        return [_read_setting(root, root.table(), name)]
    found, names = [], set()
    for index, entry in enumerate(entries):
        _check_keys(entry, SETTING_KEYS[:-1])
        setting = _read_setting(entry, _merge(root, entry), f"{name}_{index + 1}")
        # Some file systems do not distinguish upper and lower case.
        if setting.name.casefold() in names:
            entry.child("name").fail(f"name must be unique, got {setting.name.casefold()!r} twice")
        names.add(setting.name.casefold())
        found.append(setting)
    return found


def _check_keys(node: Node, allowed: Sequence[str]) -> None:
    for key, inner in node.table().items():
        if key not in allowed:
            inner.fail(f"{key!r} is unknown; allowed are {', '.join(allowed)}")


def _merge(root: Node, own: Node) -> Mapping[str, Node]:
    """Return the values of a file with the changes of a setting's own table."""
    merged = {**root.table(), **own.table()}
    for key in {*root.table()} & {*own.table()} & {*_TABLES}:
        general, changes = root.child(key), own.child(key)
        # The arguments of another kind do not apply.
        kept = {} if "kind" in changes.table() else general.table()
        merged[key] = replace(general, merged={**kept, **changes.table()})
    return merged


# ---- a setting -----------------------------------------------------------------------------------------------------


def _read_setting(place: Node, keys: Mapping[str, Node], default_name: str) -> Setting:
    """Read a setting from the values of its keys; what is missing is reported at its place."""
    whole = replace(place, merged=keys)
    given: dict[str, Any] = {key: _read_text(whole.child(key, ""), most) for key, most in _TEXTS.items()}
    given["name"] = given["name"] or default_name
    given |= {key: given[key] or given["name"] for key in ("figure", "title")}
    for key, (least, most, default) in _COUNTS.items():
        node = whole.child(key, default)
        given[key] = node.attempt(partial(integer, key, node.value, least=least, most=most))
    horizons = whole.child("horizons", [])
    found = [
        horizons.attempt(partial(integer, "horizons", one.value, least=1, most=MAX_HORIZON)) for one in horizons.items()
    ]
    if sorted(set(found)) != found:
        horizons.fail(f"horizons must be increasing, got {found}")
    environment = _read_environment(whole)
    return Setting(
        **given,
        environment=environment,
        horizons=tuple(found),
        **read_policies(whole, environment),
        sources=dict(_read_sources(whole.child("sources", {}))),
        contradictions=tuple(_read_contradictions(whole.child("contradictions", []))),
    )


def _read_text(node: Node, most: int) -> str:
    value, key = node.value, node.name
    if not isinstance(value, str):
        node.fail(f"{key} must be a string, got {value!r}")
    text = node.attempt(lambda: check_label(key, " ".join(value.split()), most=most))
    if most == _MAX_NAME and text and not _FILE_NAME.fullmatch(text):
        allowed = "letters, digits, blanks and _ . + -, since it becomes a file name"
        node.fail(f"{key} must consist of {allowed}, got {value!r}")
    return text


def _read_sources(node: Node) -> Iterator[tuple[str, str]]:
    for key, text in node.table().items():
        if not isinstance(text.value, str) or not text.value.startswith(SOURCE_KINDS):
            text.fail(f"{key} must be a text that begins with one of {', '.join(SOURCE_KINDS)}, got {text.value!r}")
        yield key, text.value


def _read_contradictions(node: Node) -> Iterator[str]:
    for text in node.items():
        if not isinstance(text.value, str):
            node.fail(f"contradictions must be texts, got {text.value!r}")
        yield text.value


# ---- the environment -----------------------------------------------------------------------------------------------


def _read_environment(whole: Node) -> Environment:
    keys, problem = whole.table(), whole.child("problem", {})
    if not problem.table():
        whole.fail("problem is missing: a table with dim, rank and min_eigenvalue, or with A")
    parts = (
        _read_problem(problem),
        _build_kind(whole.child("process", {}), processes, processes.Process),
        _build_kind(whole.child("noise", {}), noise, noise.Noise),
    )
    changes = [_read_change(entry) for entry in whole.child("change", []).items()]
    options = {key: build(Constructor.of(made), keys[key]) for key, made in _PARTS.items() if key in keys}
    chain = [_build_kind(entry, meters, meters.Meter) for entry in whole.child("meter", []).items()]
    period = keys.get("period")
    where = keys["change"] if changes else period or whole
    options |= {"changes": changes, "meters": chain, "period": period.value if period else None}
    return where.attempt(lambda: Environment(*parts, **options))


def _read_problem(node: Node) -> Any:
    return build(Constructor.of(Problem if "A" in node.table() else RandomProblem), node)


def _read_change(node: Node) -> Any:
    inner = node.table().get("problem")
    made = {"problem": _read_problem(inner)} if inner is not None and isinstance(inner.value, dict) else {}
    return build(Constructor.of(Change), node, made)


def _build_kind(node: Node, module: Any, parent: type) -> Any:
    """Build an object of the class of a module that a table names as its kind."""
    known, table = classes_of_kind(module, parent), node.table()
    allowed = ", ".join(known)
    if not table:
        node.fail(f"kind must be one of {allowed}, and the table {node.name} is missing")
    kind = node.child("kind")
    if not isinstance(kind.value, str) or kind.value not in known:
        (kind if "kind" in table else node).fail(f"kind must be one of {allowed}, got {kind.value!r}")
    arguments = {key: value for key, value in table.items() if key != "kind"}
    return build(Constructor.of(known[kind.value]), replace(node, merged=arguments))
