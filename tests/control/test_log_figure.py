"""The picture of a log: which panels, lines and marks there are, and that they show the numbers of the log."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.dates import date2num
from matplotlib.figure import Figure

from plant_logs import half_steps
from soqo import FTM, GLIDE, Guarded, Log
from soqo.errors import ArgumentError
from soqo.typing import Array


def panel(figure: Figure, title: str) -> Axes:
    (found,) = [axes for axes in figure.axes if axes.get_title(loc="left").startswith(title)]
    return found


def line(axes: Axes, label: str) -> Array:
    """The heights of the line with this label."""
    found = next(line for line in axes.get_lines() if line.get_label() == label)
    return np.asarray(found.get_ydata(), dtype=np.float64)


def heights(axes: Axes, number: int) -> Array:
    """The heights of a line by its number."""
    return np.asarray(axes.get_lines()[number].get_ydata(), dtype=np.float64)


def labels(axes: Axes) -> set[str]:
    return set(axes.get_legend_handles_labels()[1])


def png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=50)
    return buffer.getvalue()


LOG = half_steps(2, 40, low=-30.0, high=[1e6, 30.0], switching_weight=[1.0, 4.0])


def test_positions_minimizers_and_limits_are_drawn_for_each_actuator() -> None:
    figure = LOG.plot(learn=False)
    for k in range(2):
        axes = panel(figure, f"Actuator {k + 1}")
        np.testing.assert_array_equal(line(axes, "minimizer v"), LOG.v[:, k])
        np.testing.assert_array_equal(line(axes, "position x"), LOG.x[:, k])
    heights = [
        line(panel(figure, f"Actuator {k}"), "limit")[0] for k in (1, 2) if "limit" in labels(figure.axes[k - 1])
    ]
    assert set(heights) <= {-30.0, 30.0}  # a limit of a million would compress the lines
    near = replace(LOG, low=LOG.v.min() - 0.1, high=None).plot(learn=False)
    assert line(panel(near, "Actuator 1"), "limit")[0] == LOG.v.min() - 0.1


def test_names_units_and_times_label_the_axes() -> None:
    time = np.datetime64("2026-03-01T00:00:00", "us") + 300 * np.arange(40).astype("timedelta64[s]")
    log = replace(LOG, actuators=["north", "south"], units=["degC", "kPa"], time=time)
    figure = log.plot(learn=False)
    assert [panel(figure, name).get_ylabel() for name in ("north", "south")] == ["degC", "kPa"]
    assert panel(figure, "Readings").get_xlim() == tuple(date2num(time[[0, -1]]))  # type: ignore[no-untyped-call]  # of Matplotlib
    time[-1] = np.datetime64("NaT")
    unknown = replace(log, time=time).plot(learn=False)  # then by rounds
    assert panel(unknown, "Readings").get_xlim() == (1.0, 40.0)


def test_readings_are_drawn_with_what_was_expected_and_the_band() -> None:
    y = np.where(np.arange(40) == 7, np.nan, LOG.y)
    figure = replace(LOG, y=y).plot()
    axes = panel(figure, "Readings, and what GLIDE expected")
    assert labels(axes) == {"95 % band", "expected", "reading", "no reading"}
    np.testing.assert_array_equal(line(axes, "reading"), y)
    low, high = axes.get_ylim()
    assert low < np.nanmin(y)
    assert high > np.nanquantile(y, 0.95)


def test_of_many_readings_the_differences_are_drawn() -> None:
    log = half_steps(1, 700)
    axes = panel(log.plot(), "Difference of the readings from what GLIDE expected")
    assert np.abs(line(axes, "reading"))[100:].mean() < 0.5  # the noise has a deviation of 0.5, hence a mean of 0.4
    assert panel(log.plot(learn=False), "Readings").get_title(loc="left") == "Readings"


def test_the_cost_is_measured_or_that_of_the_estimate() -> None:
    steps = np.diff(LOG.x, axis=0, prepend=LOG.x0[None])
    measured = np.cumsum(LOG.y + 0.5 * steps**2 @ [1.0, 4.0])
    clipped = np.clip(LOG.v, -30.0, [1e6, 30.0])
    follow = np.cumsum(0.5 * np.diff(clipped, axis=0, prepend=LOG.x0[None]) ** 2 @ [1.0, 4.0])
    axes = panel(LOG.plot(learn=False), "Total cost so far, as measured")
    np.testing.assert_allclose(heights(axes, 1), measured)
    np.testing.assert_allclose(heights(axes, 0), follow)
    learned = panel(LOG.plot(), "Total cost so far, by the estimate of GLIDE")
    assert heights(learned, 1)[-1] == pytest.approx(measured[-1], rel=0.1)


@pytest.mark.parametrize(("dim", "expected"), [(1, "±"), (3, "±"), (7, None)])
def test_the_estimate_is_a_heat_map_with_its_uncertainty(dim: int, expected: str | None) -> None:
    axes = panel(half_steps(dim, 30).plot(), "Estimate of A")
    texts = [text.get_text() for text in axes.texts]
    if expected is None:
        assert not texts
        assert len(axes.images[0].get_array()) == dim  # type: ignore[arg-type]  # of Matplotlib
        assert any(line.get_marker() == "." for line in axes.get_lines())  # entries that may be zero
    else:
        assert len(texts) == dim * dim
        assert all(expected in text for text in texts)


def test_alarms_outliers_and_the_guard_are_marked() -> None:
    log = half_steps(2, 120)
    y = np.minimum(log.y, 0.5)  # a saturated meter makes the guard follow v
    y[100] = 500.0
    figure = replace(log, y=y).plot(policy=Guarded(GLIDE()))
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"guard", "outlier"} <= legend
    readings = panel(figure, "Readings")
    low, high = readings.get_ylim()
    assert high < 100.0  # the outlier is at the edge
    assert low < line(readings, "outlier").max() < high
    u = log.x - log.v
    changed = log.y + np.where(np.arange(120) < 60, 0.0, 2.5) * (u**2).sum(axis=1)
    assert "alarm" in labels(panel(replace(log, y=changed).plot(), "Actuator 2"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("dim", [1, 2, 3, 4, 6, 13])
def test_every_size_and_theme_is_drawn_without_a_warning(dim: int, theme: Any) -> None:
    figure = half_steps(dim, 12).plot(theme=theme, title="a plant")
    assert png(figure).startswith(b"\x89PNG")
    dark = theme == "dark"
    assert (to_hex(figure.get_facecolor()) == "#15171c") is dark
    assert len([axes for axes in figure.axes if axes.get_title(loc="left").startswith("Actuator")]) == min(dim, 12)
    title = figure.get_suptitle()
    assert title == ("a plant (the first 12 of 13 actuators)" if dim == 13 else "a plant")


def test_a_log_of_one_round_and_one_without_readings_are_drawn() -> None:
    assert LOG[:1].plot().get_suptitle() == "1 round"
    assert png(replace(LOG, y=np.full(40, np.nan)).plot())


def test_invalid_arguments_are_named() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"theme": "blue"}, "theme must be one of 'light', 'dark', got 'blue'"),
        ({"policy": "GLIDE"}, "policy must be a Policy, got str"),
        ({"policy": GLIDE(), "learn": False}, "policy must be None if learn is False"),
    ]
    for arguments, message in wrong:
        with pytest.raises(ArgumentError, match=message):
            LOG.plot(**arguments)


def test_a_log_is_not_changed_by_its_picture() -> None:
    copy = Log(LOG.v, LOG.x, LOG.y, x0=LOG.x0, low=-30.0, high=[1e6, 30.0], switching_weight=[1.0, 4.0])
    LOG.plot()
    assert copy == LOG


def test_a_policy_that_does_not_estimate_leaves_that_to_glide() -> None:
    assert panel(LOG.plot(policy=FTM()), "Readings, and what GLIDE expected").has_data()


@pytest.mark.parametrize("learn", [True, False])
def test_a_log_with_everything_that_plants_tell_is_drawn(learn: bool) -> None:
    log = Log(
        np.mod(LOG.v, 360.0),
        np.mod(LOG.x, 360.0),
        LOG.y,
        x0=LOG.x0,
        factor=np.linspace(0.0, 2.0, 40),
        unit=np.linspace(0.5, 2.0, 40),
        active=np.random.default_rng(0).random((40, 2)) > 0.2,
        at=np.mod(LOG.x + 0.25, 360.0),
        period=360.0,
    )
    assert panel(log.plot(learn=learn), "Readings").has_data()
