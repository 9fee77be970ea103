"""Constructors that a file can name: derived from the public policies, with their arguments and defaults."""

from __future__ import annotations

import inspect

import soqo
from soqo import GLIDE, POL, ROBD
from soqo.experiments.settings import REQUIRED, policy_constructors

CONSTRUCTORS = policy_constructors()


def test_every_public_policy_except_wrappers_can_be_named() -> None:
    public = [getattr(soqo.policies, name) for name in soqo.policies.__all__]
    policies = {p.__name__ for p in public if inspect.isclass(p) and issubclass(p, soqo.Policy)}
    named = {name for name in CONSTRUCTORS if "." not in name}
    assert named == policies - {"Policy", "Wrapper", "Weighted", "Limited", "Guarded", "Periodic"}
    assert set(CONSTRUCTORS) - named == {"SCaLE.as_printed", "HySCaLE.as_printed"}


def test_policies_are_in_alphabetical_order_with_a_summary() -> None:
    assert list(CONSTRUCTORS) == sorted(CONSTRUCTORS, key=str.casefold)
    assert all(constructor.summary for constructor in CONSTRUCTORS.values())


def test_constructors_have_the_arguments_and_defaults_of_the_class() -> None:
    assert CONSTRUCTORS["POL"].arguments["learning_rate"] is REQUIRED
    assert CONSTRUCTORS["SCaLE"].required == ["noise_cap", "rank", "min_eigenvalue"]
    assert CONSTRUCTORS["SCaLE"].arguments["radius"] == "residual"
    assert CONSTRUCTORS["SCaLE.as_printed"].arguments["radius"] == "cap"
    assert CONSTRUCTORS["GLIDE"].make is GLIDE
    assert CONSTRUCTORS["POL"].make(learning_rate=1.0) == POL(1.0)


def test_policies_that_know_the_problem_are_made_from_it() -> None:
    assert {name for name, c in CONSTRUCTORS.items() if c.from_problem} == {"LAI", "ROBD"}
    assert CONSTRUCTORS["ROBD"].make == ROBD.for_problem
    assert not CONSTRUCTORS["ROBD"].arguments
