"""Every public policy, process, noise and meter fulfills its contract, with few arguments and with others."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from public_classes import concrete_classes, example
from soqo import (
    GLIDE,
    LAI,
    POL,
    RLS,
    ROBD,
    HySCaLE,
    Policy,
    SCaLE,
    Weighted,
    meters,
    noise,
    policies,
    processes,
    random_curvature,
)
from soqo.checks import check_meter, check_noise, check_policy, check_process

FAMILIES: list[tuple[Any, type, Callable[..., None]]] = [
    (policies, Policy, check_policy),
    (processes, processes.Process, check_process),
    (noise, noise.Noise, check_noise),
    (meters, meters.Meter, check_meter),
]
KINDS = [kind for module, parent, _ in FAMILIES for kind in concrete_classes(module, parent)]

SINGULAR = random_curvature(3, 2, min_eigenvalue=0.1, max_eigenvalue=4.0, rng=np.random.default_rng(0))
FULL = random_curvature(3, 3, min_eigenvalue=0.1, max_eigenvalue=4.0, rng=np.random.default_rng(1))
CONFIGURATIONS: list[Any] = [
    LAI(SINGULAR),
    ROBD(SINGULAR),
    ROBD(SINGULAR, lambda1=2.0, lambda2=0.3),
    RLS(0.1, 2.0),
    RLS(offset=True),
    POL(0.02, initial=FULL),
    POL(0.02, initial=SINGULAR),
    POL(0.02, gradient="as_printed"),
    POL(1e3),
    GLIDE(offset=False, noise_cap=0.1),
    GLIDE(noise_cap=0.1, y_max=5.0, switching_included=True, trusted_distance=3.0),
    processes.Gaussian([1.0, 0.0, 3.0]),
    processes.Gaussian([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.5, 3.0]]),
    processes.Correlated(2.0, alpha=0.7, form="additive"),
    processes.Correlated(2.0, alpha=1.0),
    processes.StudentT(2.0, df=5.0),
    processes.StudentT(2.0, df=1.5),
    processes.Recorded(np.random.default_rng(0).standard_normal((2, 64, 3))),
    noise.Uniform(0.0),
    noise.Adversarial(2.0, aim="understate"),
    noise.Adversarial(2.0, aim="overstate"),
    noise.Adversarial(0.0),
    noise.Gaussian(0.0),
    noise.StudentT(0.5, df=1.5),
    noise.StudentT(0.5, df=0.8),
    meters.BaseLoad(5.0, swing=0.4, period=7.0, walk=0.3),
    meters.Dropout(0.3),
    meters.Stuck(1, 3),
    meters.Stuck(5, 6, value=0.0),
    meters.Burst(3, 4, factor=-1.0),
]
"""Other phases, singular matrices, limits of parameters."""

SCALE: dict[str, Any] = {"noise_cap": 0.1, "rank": 1, "min_eigenvalue": 0.5, "c1": 4.0}
PHASES: list[Policy[Any]] = [
    SCaLE(**SCALE),
    SCaLE(0.1, 3, min_eigenvalue=0.5, gamma2=4.0, probe_limit=1.5),
    SCaLE.as_printed(**SCALE),
    Weighted(SCaLE(**SCALE), [1.0, 2.0, 3.0]),
    HySCaLE(**SCALE, learning_rate=1e-3),
    HySCaLE.as_printed(**SCALE),
]
"""Policies that probe first, and act on what they found after at most 36 rounds."""


def test_the_families_are_not_empty() -> None:
    for module, parent, _ in FAMILIES:
        assert len(concrete_classes(module, parent)) >= 4, parent.__name__


@pytest.mark.parametrize("subject", [*map(example, KINDS), *CONFIGURATIONS], ids=lambda each: type(each).__name__)
def test_a_public_class_fulfills_its_contract(subject: Any) -> None:
    (check,) = [check for _, parent, check in FAMILIES if isinstance(subject, parent)]
    check(subject)


@pytest.mark.parametrize("policy", PHASES, ids=lambda each: type(each).__name__)
def test_a_policy_that_probes_fulfills_the_contract_in_all_its_phases(policy: Policy[Any]) -> None:
    check_policy(policy, rounds=36)


def test_a_policy_with_one_A_per_run_fulfills_the_contract() -> None:
    check_policy(LAI(np.stack([SINGULAR, FULL])), batch=(2,))


def test_configuration_has_value_equality_and_a_short_repr() -> None:
    subjects = [*map(example, KINDS), *CONFIGURATIONS]
    for subject, again in zip(subjects, [*map(example, KINDS), *copy.deepcopy(CONFIGURATIONS)], strict=True):
        assert subject == again
        assert hash(subject) == hash(again)
        assert repr(subject) == repr(again)
        assert repr(subject).startswith(f"{type(subject).__name__}(")
        assert len(repr(subject)) < 200
    assert len(set(subjects)) == len(subjects)
