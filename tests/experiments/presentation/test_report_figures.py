"""The figures of a report, and names that are valid for files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from soqo.errors import ArgumentError
from soqo.experiments.execution import Outcome
from soqo.experiments.presentation import figure_names, report_figures
from soqo.experiments.settings import Setting


def test_each_setting_has_a_figure_and_a_sweep_has_one(outcomes: dict[str, Outcome]) -> None:
    figures = report_figures(list(outcomes.values()))
    assert [f.name for f in figures] == ["intro", "curvature", "second", "third", "sweep"]
    assert [f.group for f in figures] == ["intro", "curvature", "pair", "pair", "sweep"]
    assert [f.is_sweep for f in figures] == [False, False, False, False, True]
    sweep = figures[-1]
    assert [o.setting.name for o in sweep.outcomes] == ["sweep_1", "sweep_9"]
    assert sweep.title == "Sweep of c1"
    assert [len(f.draw().axes) for f in figures] == [3, 4, 2, 2, 2]


def test_the_curvature_is_shown_with_the_introduction_only(outcomes: dict[str, Outcome]) -> None:
    assert [f.name for f in report_figures([outcomes["second"]])] == ["second"]


def test_two_settings_must_not_share_files(small: dict[str, Setting]) -> None:
    assert figure_names(list(small.values())) == ["intro", "second", "third", "sweep"]
    with pytest.raises(ArgumentError, match="got 'second' twice"):
        figure_names([small["second"], replace(small["third"], name="second")])
    with pytest.raises(ArgumentError, match="got 'sweep' and a sweep with figure 'sweep'"):
        figure_names([small["sweep_1"], replace(small["third"], name="sweep")])


@pytest.mark.parametrize("name", ["../up", "a\\b", "", "..", "what?", "line\nbreak"])
def test_an_invalid_file_name_is_refused(small: dict[str, Setting], name: str) -> None:
    with pytest.raises(ArgumentError, match="name must be a valid file name"):
        figure_names([replace(small["third"], name=name)])
