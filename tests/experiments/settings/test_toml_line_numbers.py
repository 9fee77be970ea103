"""Lines of a TOML file: the line of every value is found, whatever surrounds it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soqo.errors import FileFormatError
from soqo.experiments.settings import Document, KeyPath, parse_toml

TEXT = '''\
# a comment with [brackets] and key = 1
name = "a" # [no.header]
"quoted key" = 1
dotted . "in two" = 2
text = """
[problem]
runs = 5
quotes "" inside \\""" and an end""""
raw = \'\'\'
[[policy]]
\'\'\'

[problem] # why
A = [
  [1.0, 2.0], # first ] row
  [3.0, 4.0],
]
  [ problem . inner ]
  "x]" = '#'

[[policy]]
kind = "FTM"

[[policy]]
kind = "POL"
inline = { rate = 1e-6, date = 1979-05-27 07:32:00, empty = {}, list = [] }
[policy.sub]
deep = true
[[policy.items]]
one = 1
[[policy.items]]
two = [
  { name = "x" },
  { name = "y", value = [
    3] },
]
'''

LINES: dict[KeyPath, int] = {
    ("name",): 2,
    ("quoted key",): 3,
    ("dotted", "in two"): 4,
    ("text",): 5,
    ("raw",): 9,
    ("problem",): 13,
    ("problem", "A"): 14,
    ("problem", "A", 0): 15,
    ("problem", "A", 1, 1): 16,
    ("problem", "inner"): 18,
    ("problem", "inner", "x]"): 19,
    ("policy", 0): 21,
    ("policy", 0, "kind"): 22,
    ("policy", 1): 24,
    ("policy", 1, "kind"): 25,
    ("policy", 1, "inline", "list"): 26,
    ("policy", 1, "sub"): 27,
    ("policy", 1, "sub", "deep"): 28,
    ("policy", 1, "items", 0, "one"): 30,
    ("policy", 1, "items", 1): 31,
    ("policy", 1, "items", 1, "two", 0, "name"): 33,
    ("policy", 1, "items", 1, "two", 1): 34,
    ("policy", 1, "items", 1, "two", 1, "value", 0): 35,
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_kind_of_value_has_its_line(end: str) -> None:
    document = parse_toml(TEXT.replace("\n", end), "x.toml")
    assert {way: document.lines.get(way) for way in LINES} == LINES
    assert ("runs",) not in document.lines
    assert ("problem", "runs") not in document.lines
    assert ("policy", 2) not in document.lines


def test_locate_finds_the_key_or_its_content_or_the_enclosing_table() -> None:
    document = parse_toml(TEXT, "x.toml")
    assert document.locate(("policy", 1, "kind")) == "x.toml, line 25"
    assert document.locate(("policy",)) == "x.toml, line 21"
    assert document.locate(("dotted",)) == "x.toml, line 4"
    assert document.locate(("policy", 1, "missing")) == "x.toml, line 24"
    assert document.locate(("missing",)) == "x.toml"
    assert document.locate(()) == "x.toml"


def test_broken_toml_names_the_line() -> None:
    with pytest.raises(FileFormatError, match=r"x.toml is not valid TOML: .*line 2"):
        parse_toml("a = 1\nb = = 2\n", "x.toml")


# ---- any file ------------------------------------------------------------------------------------------------------

keys = st.text(alphabet="ab[]=#.'\" \\\n", max_size=4)
scalars = st.one_of(
    st.integers(-9, 9).map(str),
    st.booleans().map(lambda b: str(b).lower()),
    st.text(alphabet='ab[]{}=#,"\\', max_size=6).map(lambda s: quoted(s)),
    st.text(alphabet="ab[]{}=#,\n ", max_size=6).map(lambda s: f"'''{s}'''"),
)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


class Writer:
    """Writes values with blanks, comments and line ends drawn at will, and notes the line of each."""

    def __init__(self, draw: Any) -> None:
        self.draw, self.text, self.lines = draw, "", dict[KeyPath, int]()

    def note(self, way: KeyPath) -> None:
        self.lines[way] = self.text.count("\n") + 1

    def blank(self, *kinds: str) -> None:
        self.text += self.draw(st.sampled_from(["", " ", *kinds]))

    def value(self, way: KeyPath, depth: int) -> None:
        kind = self.draw(st.sampled_from(["scalar", "array", "table"] if depth else ["scalar"]))
        if kind == "scalar":
            self.text += self.draw(scalars)
        elif kind == "array":
            self.text += "["
            for index in range(self.draw(st.integers(0, 3))):
                self.blank("\n", "# ]\n")
                self.note((*way, index))
                self.value((*way, index), depth - 1)
                self.blank("\n", "# ,\n")
                self.text += ","
            self.blank("\n")
            self.text += "]"
        else:
            self.text += "{"
            for index, key in enumerate(self.draw(st.lists(keys, unique=True, max_size=3))):
                self.text += "," if index else ""
                self.entry(way, key, depth - 1)
            self.text += "}"

    def entry(self, table: KeyPath, key: str, depth: int) -> None:
        self.blank()
        self.note((*table, key))
        self.text += quoted(key)
        self.blank()
        self.text += "="
        self.blank()
        self.value((*table, key), depth)

    def file(self) -> Document:
        for key in self.draw(st.lists(keys, unique=True, max_size=4)):
            self.blank("\n", "# [x]\n")
            self.entry((), key, 3)
            self.blank("# = \n")
            self.text += "\n"
        return parse_toml(self.text, "any.toml")


@given(st.data())
def test_lines_are_found_in_any_file(data: st.DataObject) -> None:
    writer = Writer(data.draw)
    assert writer.file().lines == writer.lines
