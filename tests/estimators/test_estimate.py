"""Estimates as results: short text, value equality, and the message of the status."""

from __future__ import annotations

import numpy as np

from soqo import Status, trace_min

Z = np.random.default_rng(0).standard_normal((12, 2))
Y = 0.5 * np.square(Z) @ [1.0, 2.0]


def test_the_repr_is_short() -> None:
    text = repr(trace_min(Z, Y, 0.1))
    assert text.startswith("Estimate(SOLVED, rank=2, gap=")
    assert len(text) < 80


def test_equal_results_are_equal() -> None:
    assert trace_min(Z, Y, 0.1) == trace_min(Z, Y, 0.1)
    assert hash(trace_min(Z, Y, 0.1)) == hash(trace_min(Z, Y, 0.1))
    assert trace_min(Z, Y, 0.1) != trace_min(Z, Y, 0.2)


def test_the_message_is_the_advice_of_the_status() -> None:
    estimate = trace_min(Z, Y, 0.1)
    assert estimate.message == Status.SOLVED.value
    infeasible = trace_min(Z, -Y, 0.1)
    assert infeasible.min_radius is not None
    assert infeasible.message == f"{Status.INFEASIBLE.value} ({infeasible.min_radius:.6g})"


def test_the_table_for_notebooks_has_the_message_and_the_numbers() -> None:
    estimate = trace_min(Z, Y, 0.1)
    table = estimate._repr_html_()
    for text in (estimate.message, f"{estimate.gap:.3g}", f"<td>{estimate.iterations}</td>"):
        assert text in table


def test_the_history_has_one_entry_per_point() -> None:
    estimate = trace_min(Z, Y, 0.1)
    assert len(estimate.history) == estimate.iterations + 1
    gaps = [primal - dual for primal, dual, _ in estimate.history]
    assert abs(gaps[-1]) < 1e-3 * abs(gaps[0])
