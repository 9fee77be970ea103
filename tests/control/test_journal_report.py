"""Reports on a journal do not change it; its picture shows what the controller expected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plant_logs import half_steps
from soqo import FTM, GLIDE, Controller
from soqo.errors import ProtocolError

LOG = half_steps(2, 30)


def steer(controller: Controller, start: int = 0) -> None:
    for v, y in zip(LOG.v[start:], LOG.y[start:], strict=True):
        controller.act(v)
        controller.observe(y)


def test_plot_draws_the_journal_while_it_is_in_use(tmp_path: Path) -> None:
    with Controller(GLIDE(), [0.0, 0.0], journal=tmp_path / "plant.journal", durability="process") as controller:
        steer(controller)
        before = (tmp_path / "plant.journal").read_bytes()
        figure = controller.plot(theme="dark")
        assert (tmp_path / "plant.journal").read_bytes() == before
        assert figure.get_suptitle() == "plant.journal: 30 rounds"
        (estimate,) = [axes for axes in figure.axes if axes.get_title(loc="left").startswith("Estimate")]
        drawn = np.asarray(estimate.images[0].get_array())
        np.testing.assert_allclose(drawn, controller.diagnostics()["estimate"], rtol=1e-12)
        controller.act(LOG.v[0])  # and goes on


def test_plot_of_a_journal_that_begins_in_the_middle_of_a_run_knows_what_was_learned_before(tmp_path: Path) -> None:
    first = Controller(GLIDE(), [0.0, 0.0])
    steer(first)
    first.save(tmp_path / "saved")
    with Controller.load(tmp_path / "saved", journal=tmp_path / "journal", durability="process") as second:
        steer(second, start=25)
        (estimate,) = [axes for axes in second.plot().axes if axes.get_title(loc="left").startswith("Estimate")]
        drawn = np.asarray(estimate.images[0].get_array())
        np.testing.assert_allclose(drawn, second.diagnostics()["estimate"], rtol=1e-12)


def test_plot_without_a_journal_draws_the_estimate(tmp_path: Path) -> None:
    controller = Controller(GLIDE(), [0.0, 0.0])
    steer(controller)
    (axes,) = controller.plot().axes
    np.testing.assert_allclose(np.asarray(axes.images[0].get_array()), controller.diagnostics()["estimate"])
    with Controller(GLIDE(), [0.0], journal=tmp_path / "empty") as fresh:
        assert len(fresh.plot().axes) == 1
    with pytest.raises(ProtocolError, match="there is nothing to draw: the controller has no journal"):
        Controller(FTM(), [0.0]).plot()
