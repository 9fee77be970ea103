"""Which pictures there are, and names that files can have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from soqo.errors import ArgumentError
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.presentation._pictures import picture_names, pictures_of
from soqo.experiments.settings._spec import Setting


def test_settings_have_one_each_and_a_sweep_has_one(outcomes: dict[str, Outcome]) -> None:
    pictures = pictures_of(list(outcomes.values()))
    assert [p.name for p in pictures] == ["intro", "curvature", "second", "third", "sweep"]
    assert [p.sweep for p in pictures] == [False, False, False, False, True]
    sweep = pictures[-1]
    assert [o.setting.name for o in sweep.outcomes] == ["sweep_1", "sweep_9"]
    assert sweep.title == "Sweep of c1"
    assert [len(p.draw().axes) for p in pictures] == [3, 2, 2, 2, 2]


def test_the_curvature_comes_only_with_the_introduction(outcomes: dict[str, Outcome]) -> None:
    assert [p.name for p in pictures_of([outcomes["second"]])] == ["second"]


def test_two_settings_must_not_share_files(small: dict[str, Setting]) -> None:
    assert picture_names(list(small.values())) == ["intro", "second", "third", "sweep"]
    with pytest.raises(ArgumentError, match="got 'second' twice"):
        picture_names([small["second"], replace(small["third"], name="second")])
    with pytest.raises(ArgumentError, match="got 'sweep' and a sweep with figure 'sweep'"):
        picture_names([small["sweep_1"], replace(small["third"], name="sweep")])


@pytest.mark.parametrize("name", ["../up", "a\\b", "", "..", "what?", "line\nbreak"])
def test_a_name_that_no_file_can_have_is_refused(small: dict[str, Setting], name: str) -> None:
    with pytest.raises(ArgumentError, match="name must be one that a file can have"):
        picture_names([replace(small["third"], name=name)])
