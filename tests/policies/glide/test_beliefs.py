"""The beliefs in reports and files."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from disturbed_plants import estimates, steer

from soqo import GLIDE, Controller
from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.policies.glide._beliefs import PRUNE_NATS, UNSEEN_NATS, Beliefs
from soqo.typing import Array


def test_explain_describes_the_test_of_a_reading() -> None:
    text = steer(50, {50: 1e4}).explain()
    assert "testing a reading: that of round 50" in text
    assert "(the last 1 did not)" in text
    assert "(the last 2 did not)" in steer(51, {50: 1e4, 51: 2e4}).explain()
    assert "Outliers so far: 1." in steer(60, {50: 1e4}).explain()
    assert "Outliers" not in steer(60, {}).explain()


def test_explain_describes_a_suspected_change() -> None:
    controller = steer(50, {})
    estimates(controller, lambda y: 5.0 * y, rounds=1)
    estimates(controller, lambda y: 5.0 * y, rounds=1)
    assert "testing a reading" in controller.explain()
    estimates(controller, lambda y: 5.0 * y, rounds=4)
    # The new belief starts with one of the first readings after the change.
    assert re.search(r"suspects a change: the reading of round 5[1-4] ", controller.explain())
    assert re.search(r"adapted its estimate; readings since: \d, unknowns: 3", controller.explain())
    estimates(controller, lambda y: 5.0 * y, rounds=20)
    assert re.search(r"since the change it suspected in round 5[1-4]", controller.explain())


def test_glide_is_not_confident_right_after_a_wrong_reading_at_the_start_but_later() -> None:
    assert "confident" in steer(40, {}).explain()
    for value in (1e6, -1e4):
        assert "confident" not in steer(5, {3: value}).explain()
        later = steer(60, {3: value})
        assert "confident" in later.explain()
        np.testing.assert_allclose(later.diagnostics()["estimate"], np.diag([2.0, 0.5]), atol=0.1)


def test_the_number_of_beliefs_and_the_weight_of_the_best_are_reported() -> None:
    for controller in (steer(1, {}), steer(30, {}), steer(50, {50: 1e4})):
        found = controller.diagnostics()
        assert 1 <= found["beliefs"] <= 12
        assert 1.0 / found["beliefs"] <= found["weight"] <= 1.0
    assert GLIDE().diagnostics(GLIDE().start(np.zeros(2)))["beliefs"] == 2  # with and without a base load
    alone = GLIDE(base_load=False)
    assert alone.diagnostics(alone.start(np.zeros(2)))["beliefs"] == 1


def test_each_hypothesis_is_reported_with_what_it_assumes() -> None:
    found = steer(52, {51: 1e4, 52: 2e4}).diagnostics()
    rows = found["hypotheses"][~np.isnan(found["hypotheses"][:, 0])]
    assert len(rows) == min(found["beliefs"], 6)
    assert (np.diff(rows[:, 0]) <= 0.0).all()
    assert rows[:, 0].sum() <= 1.0 + 1e-9
    assert rows[0, 0] == found["weight"]
    # The best one has rejected both readings.
    np.testing.assert_array_equal(rows[0, 1:3], [0.0, 2.0])
    alone = steer(1, {}).diagnostics()["hypotheses"]
    assert np.isnan(alone[2:]).all()


def test_a_reading_under_test_is_saved_and_loaded(tmp_path: Any) -> None:
    controller = steer(50, {50: 1e4})
    controller.save(tmp_path / "saved")
    again = Controller.load(tmp_path / "saved")
    assert again.explain() == controller.explain()
    # A missing reading is no evidence.
    for one in (controller, again):
        one.act(np.zeros(2))
        one.observe(np.nan)
        assert "testing a reading" in one.explain()
        one.act(np.array([5.0, -3.0]))
        one.observe(4.0)
    for name, value in controller.diagnostics().items():
        np.testing.assert_array_equal(again.diagnostics()[name], value)


def merged(densities: Array, epoch: float = 0.0, dim: int = 8) -> tuple[Beliefs, Beliefs]:
    """Return two beliefs of a run with many readings, and what is left of them."""
    model = ReadingModel(dim)
    start = Posterior.start(model, 2)
    posterior = replace(
        start, readings=np.full(2, 3.0 * model.unknowns), total_readings=np.full(2, 3.0 * model.unknowns)
    )
    bank = replace(
        Beliefs.around(posterior),
        owner=np.zeros(2, dtype=np.int64),
        best=np.zeros(1, dtype=np.int64),
        log_weight=np.array([0.0, -1.5]),
        epoch=np.array([0.0, epoch]),
        densities=densities,
    )
    return bank, bank.choose(model, np.ones(1, dtype=np.bool_), round_number=100)


def test_a_belief_that_predicts_what_the_best_one_predicts_is_merged_with_it() -> None:
    same = np.array([[-1.0, -2.0, -1.0, -3.0, -1.0], [-1.05, -2.0, -0.95, -3.0, -1.0]])
    before, after = merged(same)
    assert after.owner.size == 1
    # The probability of both.
    assert after.total[0] == pytest.approx(np.logaddexp(*before.total), rel=1e-12)
    # Others are kept: one that predicts something else, one of another epoch, and all if there are few unknowns.
    other = same + np.array([[0.0], [0.3]])
    for _, kept in (merged(other), merged(same, epoch=50.0), merged(same, dim=4)):
        assert kept.owner.size == 2


def some_beliefs(model: ReadingModel, runs: int) -> tuple[Beliefs, Beliefs, Beliefs]:
    """Return beliefs before a reading, and as those that accept and reject it."""
    rng = np.random.default_rng(8)
    before = Beliefs.start(model, runs, base_load=True)
    u, y = rng.standard_normal((runs, model.dim)), rng.uniform(1.0, 2.0, runs)
    owner = before.owner
    accepted = evolve(before, posterior=before.posterior.update(model, u[owner], y[owner]), age=before.age + 1.0)
    refused = evolve(before, posterior=before.posterior.skip(), in_a_row=before.in_a_row + 1.0, age=before.age + 1.0)
    return before, accepted, refused


@pytest.mark.parametrize("refusing", [[1], [0, 3, 4], [2, 3, 5]])
def test_beliefs_that_reject_a_reading_take_the_place_of_those_that_accept_it(refusing: list[int]) -> None:
    model = ReadingModel(2)
    before, accepted, refused = some_beliefs(model, 3)
    stored = {name: value.tobytes() for name, value in before.posterior.__dict__.items()}
    doubt = np.isin(np.arange(before.owner.size), refusing)
    expected = before._gather((accepted, np.flatnonzero(~doubt)), (refused, np.flatnonzero(doubt)))
    found = before.split(accepted, refused, ~doubt, doubt, model, 1)
    for name in ("owner", "age", "in_a_row", "log_weight", "densities"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name, value in found.posterior.__dict__.items():
        np.testing.assert_array_equal(value, expected.posterior.__dict__[name], err_msg=name)
    # The beliefs before the reading are as they were.
    assert {name: value.tobytes() for name, value in before.posterior.__dict__.items()} == stored


def test_a_base_load_that_the_first_readings_do_not_show_is_dropped_earlier() -> None:
    model = ReadingModel(2)
    beliefs = Beliefs.start(model, 1, base_load=True)
    seen = np.ones(1, dtype=np.bool_)

    def kept(gap: float, readings: float, *, base_load: bool = True) -> int:
        posterior = evolve(beliefs.posterior, readings=np.full(2, readings), log_evidence=np.zeros(2))
        if not base_load:
            posterior = evolve(posterior, level_variance=np.zeros(2))
        weighted = evolve(beliefs, posterior=posterior, log_weight=np.array([0.0, -gap]))
        return weighted.choose(model, seen, 1).owner.size

    between = 0.5 * (UNSEEN_NATS + PRUNE_NATS)
    assert [kept(between, n) for n in (3.0, 4.0, 11.0)] == [2, 1, 1]
    assert [kept(between, n, base_load=False) for n in (3.0, 4.0, 20.0)] == [2, 2, 2]
    assert [kept(PRUNE_NATS + 0.1, n, base_load=False) for n in (3.0, 20.0)] == [1, 1]
    assert [kept(UNSEEN_NATS - 0.1, n) for n in (4.0, 11.0, 12.0)] == [2, 2, 1]  # p = 3: after 4p readings, 3 nats
