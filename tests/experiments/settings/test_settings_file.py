"""Settings from files: what a file may hold; every mistake is named with its line and what is allowed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soqo import (
    LAI,
    POL,
    ROBD,
    Actuation,
    Context,
    Covariates,
    Delay,
    Factor,
    HySCaLE,
    Offset,
    Outages,
    Problem,
    RandomProblem,
    SCaLE,
    meters,
)
from soqo.errors import FileFormatError
from soqo.experiments import Setting, SweepPoint, parse_settings, read_settings
from soqo.noise import Adversarial, Uniform
from soqo.processes import Correlated, Gaussian

SPEC = """\
name = "mine"
horizon = 50
runs = 4

[problem]
dim = 3
rank = 2
min_eigenvalue = 0.5
max_eigenvalue = 2.0
[process]
kind = "Gaussian"
scale = 5.0

[noise]
kind = "Uniform"
cap = 2.0

[common]
c1 = 2.0

[[policy]]
kind = "FTM"

[[policy]]
kind = "SCaLE"
"""


def read(text: str) -> list[Setting]:
    return parse_settings(text, "mine.toml", name="mine")


def one(text: str) -> Setting:
    (setting,) = read(text)
    return setting


def policy(setting: Setting, name: str) -> Any:
    return setting.policies[name]


# ---- what a file may hold ------------------------------------------------------------------------------------------


def test_a_file_is_a_setting_and_what_it_leaves_out_has_defaults() -> None:
    setting = one(SPEC)
    assert (setting.name, setting.figure, setting.title) == ("mine", "mine", "mine")
    assert (setting.horizon, setting.horizons, setting.runs, setting.seed) == (50, (), 4, 0)
    problem, process = setting.environment.problem, setting.environment.process
    assert isinstance(problem, RandomProblem)
    assert (problem.dim, problem.rank, problem.min_eigenvalue) == (3, 2, 0.5)
    assert isinstance(process, Gaussian)
    assert process.scale == 5.0
    assert setting.environment.noise == Uniform(2.0)
    scale = policy(setting, "SCaLE")
    assert type(scale) is SCaLE
    # The arguments that are known from the setting, and those that are common to all.
    assert (scale.noise_cap, scale.rank, scale.min_eigenvalue, scale.c1) == (2.0, 2, 0.5, 2.0)


def test_a_policy_overrides_common_and_common_overrides_the_setting() -> None:
    text = SPEC.replace("c1 = 2.0", "c1 = 2.0\nnoise_cap = 7.0")
    setting = one(text + 'c1 = 9.0\n[[policy]]\nkind = "HySCaLE"\n')
    assert policy(setting, "SCaLE").c1 == 9.0
    assert policy(setting, "HySCaLE").c1 == 2.0
    assert policy(setting, "HySCaLE").noise_cap == 7.0


def test_a_list_makes_a_sweep() -> None:
    setting = one(SPEC + "c1 = [1, 2.5]\n")
    assert list(setting.policies) == ["FTM", "SCaLE, c1 1", "SCaLE, c1 2.5"]
    assert policy(setting, "SCaLE, c1 2.5").c1 == 2.5
    assert dict(setting.swept) == {
        "SCaLE, c1 1": SweepPoint("SCaLE", "c1", 1.0),
        "SCaLE, c1 2.5": SweepPoint("SCaLE", "c1", 2.5),
    }


def test_a_list_for_an_array_argument_is_not_a_sweep() -> None:
    setting = one(SPEC + "probe_limit = [1.0, 2.0, 3.0]\n")
    np.testing.assert_array_equal(policy(setting, "SCaLE").probe_limit, [1.0, 2.0, 3.0])
    assert not setting.swept


def test_tables_of_a_setting_change_those_of_the_file() -> None:
    more = """
    [[setting]]
    name = "first"
    problem = { min_eigenvalue = 0.25 }
    noise = { kind = "Adversarial", cap = 1.0 }
    common = { c1 = 4.0 }

    [[setting]]
    runs = 9
    [setting.process]
    kind = "Correlated"
    alpha = 0.5
    [[setting.policy]]
    kind = "GLIDE"
    """
    text = SPEC.replace('name = "mine"\n', "")
    first, second = read(text + more)
    problem = first.environment.problem
    assert isinstance(problem, RandomProblem)
    assert (problem.min_eigenvalue, problem.rank) == (0.25, 2)
    assert isinstance(first.environment.noise, Adversarial)
    assert policy(first, "SCaLE").c1 == 4.0
    assert policy(first, "SCaLE").min_eigenvalue == 0.25
    assert (second.name, second.runs) == ("mine_2", 9)
    process = second.environment.process
    assert isinstance(process, Correlated)  # with its own default scale, not the Gaussian's
    assert (process.alpha, process.scale) == (0.5, Correlated().scale)
    assert list(second.policies) == ["GLIDE"]


def test_a_problem_can_be_a_matrix_and_change() -> None:
    text = """
    problem = { A = [[2.0, 0.0], [0.0, 1.0]] }
    process = { kind = "Gaussian" }
    noise = { kind = "Uniform", cap = 1.0 }
    policy = [{ kind = "LAI" }, { kind = "ROBD" }]
    [[change]]
    round = 10
    problem = [[1.0, 0.0], [0.0, 3.0]]
    [[change]]
    round = 20
    problem = { A = [[1.0, 0.0], [0.0, 4.0]] }
    """
    setting = one(text)
    assert isinstance(setting.environment.problem, Problem)
    assert [change.round for change in setting.environment.changes] == [10, 20]
    last = setting.environment.changes[1].problem
    assert isinstance(last, Problem)
    assert last.A[1, 1] == 4.0
    assert setting.policies == {"LAI": LAI.for_problem, "ROBD": ROBD.for_problem}


def test_as_printed_is_a_kind_of_its_own() -> None:
    text = SPEC + '[[policy]]\nkind = "HySCaLE.as_printed"\nhandover = "direct"\n'
    printed = policy(one(text), "HySCaLE.as_printed")
    assert type(printed) is HySCaLE
    assert (printed.radius, printed.handover, printed.learning_rate) == ("cap", "direct", 1e-6)


OWN = """
from dataclasses import dataclass
import soqo

@dataclass(frozen=True)
class Lazy(soqo.Policy[None]):
    share: float = 0.5
    noise_cap: float = 0.0

    def decide(self, state, v):
        return state.x + self.share * (v - state.x), None

class Plain(soqo.Policy[None]):
    def decide(self, state, v):
        return v, None

@dataclass(frozen=True)
class Picky(Lazy):
    def __post_init__(self):
        raise KeyError("share is not what I like")

number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of policies; Python forgets it afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own_for_test", raising=False)
    (tmp_path / "own_for_test.py").write_text(OWN)
    (tmp_path / "breaks_for_test.py").write_text("1 / 0")
    return tmp_path


def test_an_own_policy_beside_the_file_is_imported_and_gets_known_arguments(folder: Path) -> None:
    spec = folder / "my plan.toml"
    spec.write_text(
        SPEC.replace('name = "mine"\n', "")
        + '[[policy]]\nname = "Lazy"\nkind = "own_for_test:Lazy"\nshare = [0.25, 0.75]\n'
    )
    (setting,) = read_settings(spec)
    assert setting.name == "my_plan"
    lazy = policy(setting, "Lazy, share 0.75")
    assert (type(lazy).__name__, lazy.share, lazy.noise_cap) == ("Lazy", 0.75, 2.0)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("own_for_test:Missing", "kind must be a class that Python can import, got .*no attribute"),
        ("own_for_test:number", "kind must be a soqo.Policy, got 'own_for_test:number'"),
        ("own_for_test:Plain", "kind must be a dataclass, got 'own_for_test:Plain'"),
        ("own_for_test:Picky", "share is not what I like"),
        ("no_such_module:X", "No module named 'no_such_module'"),
        ("breaks_for_test:X", "ZeroDivisionError: division by zero"),
        (":X", "kind must be a class that Python can import"),
    ],
)
def test_an_own_policy_that_cannot_be_imported_is_an_error(folder: Path, kind: str, message: str) -> None:
    spec = folder / "spec.toml"
    spec.write_text(f'{SPEC}[[policy]]\nname = "own"\nkind = "{kind}"\n')
    with pytest.raises(FileFormatError, match=message) as caught:
        read_settings(spec)
    line = 26 if kind.endswith("Picky") else 28
    assert re.match(rf"{re.escape(str(spec))}, line {line}: ", str(caught.value))


def test_a_missing_file_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file nowhere\.toml"):
        read_settings("nowhere.toml")


def test_a_file_must_be_utf_8(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b'name = "\xff"')
    with pytest.raises(FileFormatError, match=r"x.toml is not valid TOML: it is not in UTF-8"):
        read_settings(tmp_path / "x.toml")


def test_a_byte_order_mark_and_dollar_signs_are_accepted(tmp_path: Path) -> None:
    text = 'title = "$5 or $6"\nproblem.A = [[1.0]]\nprocess.kind = "Gaussian"\nnoise = { kind = "Uniform", cap = 1 }\n'
    (tmp_path / "x.toml").write_bytes(b"\xef\xbb\xbf" + (text + 'policy = [{ kind = "FTM", name = "$F$" }]').encode())
    (setting,) = read_settings(tmp_path / "x.toml")
    assert setting.title == "$5 or $6"
    assert list(setting.policies) == ["$F$"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"seed = {'9' * 5000}", "is not valid TOML: Exceeds the limit"),
        ("runs = 99999999999999999999", "runs must be at most 10,000,000, got 99999999999999999999"),
        ("horizon = 99999999999999999999", "horizon must be at most 1,000,000,000"),
        (r'title = "a\u001b[31m"', "title must be a text of one line without control characters"),
        (f'title = "{"x" * 300}"', "title must have at most 100 characters, got 300"),
        (f'name = "{"x" * 300}"', "name must have at most 60 characters, got 300"),
    ],
)
def test_numbers_and_names_out_of_all_proportion_are_refused(line: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        parse_settings(line, "x.toml", name="x")


# ---- mistakes ------------------------------------------------------------------------------------------------------

MISTAKES = [
    # what to replace, by what, the line of the mistake, what the error says
    ("runs = 4", "rums = 4", 3, "'rums' is unknown; allowed are name, figure, .*, runs, seed"),
    ("dim = 3", "dym = 3", 6, "'dym' is unknown to RandomProblem; it has dim, rank, min_eigenvalue"),
    ("scale = 5.0", "scael = 5.0", 12, "'scael' is unknown to Gaussian; it has scale"),
    ("cap = 2.0", "cup = 2.0", 16, "'cup' is unknown to Uniform; it has cap"),
    ("cap = 2.0", "", 14, "cap is missing: Uniform needs it"),
    ("c1 = 2.0", "c2 = 2.0", 19, "'c2' is unknown to every policy; they have .*c1"),
    ('kind = "FTM"', 'kind = "FTM"\nrate = 1', 23, "'rate' is unknown to FTM; it has no arguments"),
    ('kind = "FTM"', 'kind = "LAI"\nA = 1', 23, "LAI knows A and takes no arguments"),
    ('kind = "FTM"', 'kind = "POL"', 21, "learning_rate is missing: POL needs it"),
    ('kind = "FTM"', 'kind = "FTN"', 22, "kind must be one of .*FTM, .* or 'module:Class', got"),
    ('kind = "FTM"', "kind = 3", 22, "kind must be a string, got 3"),
    ('kind = "FTM"', "name = 3", 22, "name must be a string, got 3"),
    ('kind = "FTM"', 'name = "x"', 21, "kind must be one of .*, got None"),
    ('kind = "FTM"', 'kind = "FTM"\nname = " "', 23, "policies must have names that are not blank"),
    ('kind = "FTM"', 'name = "SCaLE"\nkind = "FTM"', 25, "name must be unique, got 'SCaLE' twice"),
    ('kind = "Gaussian"', 'kind = "Gauss"', 11, "kind must be one of .*Gaussian.*, got 'Gauss'"),
    ('kind = "Gaussian"', "kind = [1]", 11, r"kind must be one of .*Gaussian.*, got \[1\]"),
    ('kind = "Gaussian"', "", 10, "kind must be one of .*Gaussian.*, got None"),
    ('kind = "Uniform"', 'kind = "Normal"', 15, "kind must be one of Adversarial, .*Uniform, got"),
    ("horizon = 50", "horizon = 50.0", 2, "horizon must be a positive integer, got 50.0"),
    ("horizon = 50", "horizons = 5", 2, "horizons must be a list, got 5"),
    ("horizon = 50", "horizons = [5, 5]", 2, r"horizons must be increasing, got \[5, 5\]"),
    ("horizon = 50", "horizons = [0]", 2, "horizons must be a positive integer, got 0"),
    ("runs = 4", "runs = 0", 3, "runs must be a positive integer, got 0"),
    ("runs = 4", "runs = true", 3, "runs must be a positive integer, got True"),
    ("runs = 4", "seed = -1", 3, "seed must be an integer of at least 0, got -1"),
    ("runs = 4", "title = 4", 3, "title must be a string, got 4"),
    ('name = "mine"', 'name = "../mine"', 1, "name must consist of letters, digits, .* got '../mine'"),
    ('name = "mine"', 'figure = ".x"', 1, "figure must consist of letters, digits, .* got '.x'"),
    ("rank = 2", "rank = 4", 7, "rank must be .*, got 4"),
    ("min_eigenvalue = 0.5", 'min_eigenvalue = "a"', 8, "min_eigenvalue must be .*, got 'a'"),
    ("scale = 5.0", "scale = -5.0", 12, "scale must not be negative, got -5"),
    ("cap = 2.0", "cap = nan", 16, "cap must be .*, got nan"),
    ("c1 = 2.0", "c1 = -2.0", 19, "c1 must be .*, got -2.0"),
    ('kind = "SCaLE"', 'kind = "SCaLE"\nc1 = 0', 26, "c1 must be .*, got 0"),
    ('kind = "SCaLE"', 'kind = "SCaLE"\nc1 = []', 26, "c1 must be a number or a list of numbers, got an empty"),
    ('kind = "SCaLE"', 'kind = "SCaLE"\nc1 = [1,\n"a"]', 27, "c1 must be a list of numbers .*'a'"),
    ('kind = "SCaLE"', 'kind = "SCaLE"\nc1 = [1]\nrank = [1]', 27, "one sweep at a time, got c1 and"),
    ('kind = "SCaLE"', 'kind = "SCaLE"\nc1 = [1, 1.0]', 24, "name must be unique, got 'SCaLE, c1 1'"),
    ("[[policy]]", "[[change]]\nround = 1\n[[policy]]", 22, "round must be .* got 1"),
    ("[[policy]]", "[[change]]\nrand = 1\n[[policy]]", 22, "'rand' is unknown to Change; it has"),
    ("[[policy]]", "[[setting]]\nrums = 1\n[[policy]]", 22, "'rums' is unknown; allowed are name"),
    ("[[policy]]", "[[setting]]\nsetting = 1\n[[policy]]", 22, "'setting' is unknown; allowed are"),
    ("[[policy]]", "[[setting]]\nproblem = 1\n[[policy]]", 22, "problem must be a table, got 1"),
    ("[[policy]]", "[[setting]]\n[[setting]]\n[[policy]]", 22, "name must be unique, got 'mine'"),
    ("[[policy]]", "[[setting]]\npolicy = []\n[[policy]]", 22, "policy is missing: at least one"),
    ("[[policy]]", "[[setting]]\npolicy = [1]\n[[policy]]", 22, "policy must be a table, got 1"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "message"), MISTAKES)
def test_a_mistake_is_named_with_its_line_and_what_is_allowed(old: str, new: str, line: int, message: str) -> None:
    with pytest.raises(FileFormatError, match=message) as caught:
        read(SPEC.replace(old, new, 1))
    assert str(caught.value).startswith(f"mine.toml, line {line}: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.toml: problem is missing: a table with dim, rank and min_eigenvalue, or with A"),
        (SPEC.partition("[[policy]]")[0], "mine.toml: policy is missing: at least one"),
        ("a = = 1", "mine.toml is not valid TOML: .*line 1"),
        ("setting = 1", "mine.toml, line 1: setting must be a list, got 1"),
        ("setting = [1]", "mine.toml, line 1: setting must be a table, got 1"),
        ("policy = 1\nproblem.A = [[1]]", "line|and the table process is missing"),
        ("\nproblem = 1", "mine.toml, line 2: problem must be a table, got 1"),
        (f"change = [3]\n{SPEC}", "mine.toml, line 1: change must be a table, got 3"),
    ],
)
def test_missing_keys_and_wrong_tables_are_named(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read(text)


junk = st.recursive(
    st.sampled_from(["-1", "0", "3", "1e300", "nan", "true", '""', '"FTM"', '"a/b"', "1979-05-27", "''' '''"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        inner.map(lambda item: f"{{ kind = {item} }}"),
        inner.map(lambda item: f"{{ A = {item} }}"),
    ),
    max_leaves=4,
)


@given(st.sampled_from([line for line in SPEC.splitlines() if "=" in line]), junk)
def test_any_value_anywhere_gives_a_setting_or_an_error_with_a_line(old: str, value: str) -> None:
    key = old.partition(" = ")[0]
    text = SPEC.replace(old, f"{key} = {value}", 1)
    message = outcome(text)
    assert message == "read" or re.match(r"mine\.toml, line \d+: ", message), message


def outcome(text: str) -> str:
    try:
        read(text)
    except FileFormatError as error:
        return str(error)
    return "read"


PLANT = """
problem = { dim = 2, rank = 2, min_eigenvalue = 0.5, max_eigenvalue = 1.0 }
process = { kind = "Gaussian", scale = 5.0 }
noise = { kind = "Gaussian", scale = 2.0 }
offset = { b = [1.0, -1.0], walk = 0.1 }
meter = [{ kind = "BaseLoad", level = 5.0, swing = 0.4 }, { kind = "Saturation", y_max = 9.0 }]
policy = [{ kind = "RLS" }]
delay = { rounds = 2, jitter = 1 }
context = { size = 0.5, dim = 3 }
factor = { swing = 0.3, period = 12.0 }
unit = { deviation = 0.2 }
covariates = { h = [1.0, 2.0], scale = 3.0 }
outages = { share = 0.1, duration = 3 }
actuation = { rate = [1.0, 2.0], deadband = 0.1, lag = 1.5 }
period = [360.0, inf]
"""


def test_a_file_describes_delays_contexts_and_factors() -> None:
    (setting,) = parse_settings(PLANT, "plant.toml", name="plant")
    assert setting.environment.delay == Delay(2, jitter=1)
    assert setting.environment.context == Context(size=0.5, dim=3)
    assert setting.environment.factor == Factor(0.3, period=12.0)
    changed = PLANT.replace("size = 0.5, dim = 3", "M = [[1.0], [0.0]]")
    (setting,) = parse_settings(changed, "plant.toml", name="plant")
    assert setting.environment.context == Context([[1.0], [0.0]])
    (setting,) = parse_settings(PLANT.replace("rounds = 2, jitter = 1", ""), "plant.toml", name="plant")
    assert setting.environment.delay == Delay(1)  # the defaults


def test_a_file_describes_what_a_plant_does() -> None:
    (setting,) = parse_settings(PLANT, "plant.toml", name="plant")
    environment = setting.environment
    assert environment.unit == Factor(deviation=0.2)
    assert environment.covariates == Covariates([1.0, 2.0], scale=3.0)
    assert environment.outages == Outages(0.1, duration=3.0)
    assert environment.actuation == Actuation(rate=[1.0, 2.0], deadband=0.1, lag=1.5)
    np.testing.assert_array_equal(environment.period, [360.0, np.inf])
    for key, message in (
        ("period = [360.0, inf]", "period must be a number above 0 or one for each of 2 actuators"),
        ("rate = [1.0, 2.0]", "rate must be a number or have shape"),
    ):
        with pytest.raises(FileFormatError, match=message):
            parse_settings(PLANT.replace(key, f"{key[:-1]}, 3.0]"), "plant.toml", name="plant")
    with pytest.raises(FileFormatError, match="'shares' is unknown"):
        parse_settings(PLANT.replace("share =", "shares ="), "plant.toml", name="plant")


def test_a_file_describes_an_offset_and_the_meters_of_a_plant() -> None:
    (setting,) = parse_settings(PLANT, "plant.toml", name="plant")
    assert setting.environment.offset == Offset([1.0, -1.0], walk=0.1)
    assert setting.environment.meters == (meters.BaseLoad(5.0, swing=0.4), meters.Saturation(9.0))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "Saturation"', 'kind = "Saturated"', r"plant\.toml, line 6: kind must be one of BaseLoad, .*Burst"),
        (", y_max = 9.0", "", r"plant\.toml, line 6: y_max is missing: Saturation needs it"),
        ("walk = 0.1", "walks = 0.1", r"plant\.toml, line 5: 'walks' is unknown to Offset; it has b, scale, walk"),
        ("b = [1.0, -1.0]", "b = [1.0]", r"b must be a number or have shape \(2,\), got \(1,\)"),
        ('{ kind = "RLS" }', '{ kind = "SCaLE" }', "noise_cap is missing: SCaLE needs it"),
        ("rounds = 2", "rounds = 0.5", r"plant\.toml, line 8: rounds must be an integer of at least 0, got 0.5"),
        ("size = 0.5, dim = 3", "M = [[1.0]]", r"M must have 2 rows, one for each coordinate of v, got shape \(1, 1\)"),
        ("swing = 0.3", "swings = 0.3", r"line 10: 'swings' is unknown to Factor; it has swing, period, deviation"),
    ],
)
def test_mistakes_in_the_description_of_a_plant_are_named(old: str, new: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        parse_settings(PLANT.replace(old, new), "plant.toml", name="plant")


EXTENDED = """
problem.A = [[1.0]]
process.kind = "Gaussian"
noise = { kind = "Uniform", cap = 1 }
sources = { eta = "caption: 1" }
contradictions = ["The text says 2."]
policy = [
  { kind = "FTM", role = "paper" },
  { name = "slow", kind = "POL", learning_rate = 1e-8, single_horizon = true },
]
adjust = { slow = { learning_rate = 1e-9 } }
"""


def test_roles_sources_and_adjusted_arguments_are_read() -> None:
    (setting,) = parse_settings(EXTENDED, "spec.toml", name="spec")
    assert setting.roles == {"FTM": "paper"}
    assert setting.single_horizon == {"slow"}
    assert setting.policies["slow"] == POL(1e-9)
    assert setting.sources == {"eta": "caption: 1"}
    assert setting.contradictions == ("The text says 2.",)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('role = "paper"', 'role = "mine"', "line 8.*role must be one of paper, calibrated, ours, got 'mine'"),
        ("single_horizon = true", "single_horizon = 1", "single_horizon must be true or false, got 1"),
        ("adjust = { slow", "adjust = { fast", "'fast' must be a policy of the file, one of FTM, slow"),
        (
            '"caption: 1"',
            '"hearsay"',
            "eta must be a text that begins with one of caption, text, file name",
        ),
        ('["The text says 2."]', "[2]", "contradictions must be texts, got 2"),
    ],
)
def test_mistakes_in_them_are_named(before: str, after: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        parse_settings(EXTENDED.replace(before, after), "spec.toml", name="spec")
