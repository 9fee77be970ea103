"""Play many policies of the paper on the same paths at once.

SCaLE reads nothing after its probes, so that its rounds of exploitation need no loop over policies. HySCaLE, POL and
OAL take the same gradient steps from other starts: those that begin in the same round with the same rate and gradient
are one batch. A policy's numbers do not depend on the policies that it is played with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from soqo._model.planner import Plan, lai_step
from soqo._model.spectrum import Spectrum, quadratic_form
from soqo._simulation.paths import Paths
from soqo._simulation.play import Trajectory, play
from soqo._simulation.simulate import make_policy
from soqo.errors import SoqoError
from soqo.estimators import GradientEstimate, projected_gradient_step
from soqo.noise import Uniform
from soqo.policies import FTM, OAL, POL, HySCaLE, SCaLE
from soqo.typing import Array


def play_jointly(policies: Mapping[str, object], paths: Paths) -> dict[str, Trajectory]:
    """Play policies on given paths; those that this module does not know are played one by one.

    Parameters
    ----------
    policies : mapping of str to Policy, or to a function that makes one
        The policies by name, as in :func:`soqo.simulate`.
    paths : Paths
        The sample paths.

    Returns
    -------
    dict of str to Trajectory
        What each policy did, in the same order.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> (setting,) = find("primary")
    >>> paths = setting.environment.draw(horizon=60, runs=2, seed=0)
    >>> bool((play_jointly(setting.policies, paths)["FTM"].x == paths.v).all())
    True
    """
    plain, played, learners = _is_plain(paths), {}, []
    probed: dict[SCaLE, _Probed] = {}
    with np.errstate(over="ignore", invalid="ignore"):  # a cost that overflows marks the run as diverged
        for name, entry in policies.items():
            try:
                policy = make_policy(entry, paths.problem, paths.period)
                found = _begin(name, policy, paths, probed) if plain and is_joint(policy) else play(policy, paths)
            except SoqoError as error:
                raise type(error)(f"policies[{name!r}]: {error}") from error
            except Exception as error:
                error.add_note(f"in policies[{name!r}]")
                raise
            if isinstance(found, _Learner):
                learners.append(found)
            else:
                played[name] = found
        for group in _group(learners):
            played |= _play_learners(group, paths)
    return {name: played[name] for name in policies}


def _begin(name: str, policy: Any, paths: Paths, probed: dict[SCaLE, _Probed]) -> Trajectory | _Learner:
    """Play a policy up to its first gradient step, or to the end if it takes none; keep what SCaLE's probes found."""
    if type(policy) is FTM:
        return Trajectory(paths.v.copy(), np.zeros(paths.runs, dtype=np.bool_), {})
    if isinstance(policy, POL):
        return _Learner(name, policy, policy.begin(paths.x0, paths.horizon, None), paths.x0, paths.v[:, :0], {})
    if policy.exploration_rounds(paths.v.shape[-1]) >= paths.horizon:
        return play(policy, paths)
    plain = _without_learning(policy)
    if plain not in probed:
        probed[plain] = _probe(plain, paths)
    found = probed[plain]
    if type(policy) is SCaLE:
        return _exploit(found, paths)
    return _Learner(name, policy, found.estimate, found.start, found.x, found.diagnostics)


def is_joint(policy: object) -> bool:
    """Return whether a policy can be played together with others.

    Parameters
    ----------
    policy : object
        A policy, or a function that makes one.
    """
    return type(policy) in (FTM, POL, OAL, SCaLE, HySCaLE)


def _is_plain(paths: Paths) -> bool:
    """Return whether these paths have nothing beside the paper's model."""
    extras = (paths.offset, paths.delays, paths.context, paths.shift, paths.factor, paths.problem.switching_weight)
    of_plants = (paths.unit, paths.covariates, paths.active, paths.actuation, paths.period)
    one_per_run = paths.problem.A.ndim == 3
    return (
        one_per_run
        and not (paths.later or paths.meters)
        and all(e is None for e in (*extras, *of_plants))
        and isinstance(paths.noise, Uniform)
    )


# ---- SCaLE ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Probed:
    """SCaLE at the end of its probes: what it did, its estimate, and where exploitation starts."""

    x: Array
    estimate: GradientEstimate
    start: Array
    diagnostics: dict[str, Any]


def _without_learning(policy: SCaLE) -> SCaLE:
    """Return the SCaLE that a HySCaLE probes and estimates with."""
    if type(policy) is SCaLE:
        return policy
    names = SCaLE.__dataclass_fields__
    return SCaLE(**{name: getattr(policy, name) for name in names})


def _probe(policy: SCaLE, paths: Paths) -> _Probed:
    """Play the rounds of probing, and estimate A."""
    state = policy.start(paths.x0, paths.horizon, paths.policy_generators())
    m = state.memory.probes.shape[-2]
    v = paths.v[:, :m]
    x = v + state.memory.probes
    u = x - v
    y = quadratic_form(paths.problem.A[:, None], u) + paths.noise.perturb(paths.variates[:, :m], u, paths.problem)
    y = np.where(np.isfinite(y), y, np.nan)
    memory = policy.estimate_from(replace(state.memory, u=u, v=v, y=y))
    state = replace(state, x=x[:, -1], round=m)
    start = policy.exploitation_start(memory, state)
    return _Probed(
        x, memory.estimate, start, {"estimate": memory.estimate.matrix, "phase": memory.phase, "exploration_rounds": m}
    )


def _exploit(probed: _Probed, paths: Paths) -> Trajectory:
    """Play LAI with the estimate in all later rounds."""
    m = probed.x.shape[1]
    later = Plan(probed.estimate.matrix, paths.horizon - m).path(probed.start, paths.v[:, m:])
    x = np.concatenate([probed.x, later], axis=1)
    return Trajectory(x, probed.estimate.diverged, probed.diagnostics)


# ---- learners ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Learner:
    """A policy that takes gradient steps: its estimate and position before them, and what it did so far."""

    name: str
    policy: Any
    estimate: GradientEstimate
    start: Array
    x: Array
    diagnostics: dict[str, Any]


def _group(learners: Sequence[_Learner]) -> list[list[_Learner]]:
    """Return the learners that take the same steps from the same round on."""
    groups: dict[tuple[Any, ...], list[_Learner]] = {}
    for learner in learners:
        key = (learner.x.shape[1], learner.policy.learning_rate, learner.policy.gradient)
        groups.setdefault(key, []).append(learner)
    return list(groups.values())


def _play_learners(group: Sequence[_Learner], paths: Paths) -> dict[str, Trajectory]:
    """Play learners that differ in their starts and in whether they hear the noise, as one batch."""
    first, policy = group[0].x.shape[1], group[0].policy
    horizon, A = paths.horizon, paths.problem.A
    estimate = _stack([learner.estimate for learner in group])
    x = np.stack([learner.start for learner in group])
    hears_noise = np.array([not learner.policy.exact_feedback for learner in group])[:, None]
    noise = paths.noise.perturb(paths.variates.T, np.zeros(0), paths.problem)
    v = np.ascontiguousarray(paths.v.swapaxes(0, 1))
    done = np.empty((horizon - first, *x.shape))
    rate, form = policy.learning_rate, policy.gradient
    for t in range(first, horizon):
        x = done[t - first] = lai_step(estimate.spectrum, horizon - t, x, v[t])
        u = x - v[t]
        y = quadratic_form(A, u)
        y = np.where(hears_noise, y + noise[t], y)
        y = np.where(np.isfinite(y), y, np.nan)
        estimate = projected_gradient_step(estimate, u, y, rate=rate, form=form)
    diverged = estimate.diverged | ~np.isfinite(done).all(axis=(0, -1))
    return {
        learner.name: Trajectory(
            np.concatenate([learner.x, done[:, k].swapaxes(0, 1)], axis=1),
            diverged[k],
            {**learner.diagnostics, "estimate": estimate.matrix[k], "overshoots": estimate.overshoots[k]},
        )
        for k, learner in enumerate(group)
    }


def _stack(estimates: Sequence[GradientEstimate]) -> GradientEstimate:
    """Return estimates (runs, ...) as one batch (policies, runs, ...)."""
    return GradientEstimate(
        np.stack([one.matrix for one in estimates]),
        Spectrum(
            np.stack([one.spectrum.values for one in estimates]), np.stack([one.spectrum.vectors for one in estimates])
        ),
        np.stack([one.diverged for one in estimates]),
        np.stack([one.overshoots for one in estimates]),
    )
