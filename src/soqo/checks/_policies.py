"""The contract of a policy, one check per property."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from soqo._storage.plain_data import pack, same, unpack
from soqo.checks._scenario import Scenario, expect, expect_error, run_checks
from soqo.errors import ArgumentError, CheckError, ProtocolError
from soqo.policies import Policy, State
from soqo.typing import Array


def check_policy(
    policy: Policy[Any], *, dim: int = 3, batch: tuple[int, ...] | None = None, rounds: int = 24, seed: int = 0
) -> None:
    """Check that a policy fulfills the contract of :class:`soqo.Policy`.

    Parameters
    ----------
    policy : Policy
        The policy.
    dim : int
        A dimension that the policy is configured for.
    batch : tuple of int, optional
        The batch shape, if the policy is configured for a single one (such as ``LAI`` with one A per run); None to try
        several.
    rounds : int
        The number of rounds, at least 6; enough to reach every phase of the policy.
    seed : int
        The seed of everything random in the checks.

    Raises
    ------
    CheckError
        If a property does not hold; the message begins with its name.

    Examples
    --------
    >>> import soqo
    >>> check_policy(soqo.FTM())
    """
    expect(isinstance(policy, Policy), f"policy: must be a soqo.Policy, got {type(policy).__name__}")
    run_checks(POLICY_CHECKS, policy, Scenario(dim=dim, only_batch=batch, rounds=rounds, seed=seed))


def _check_shapes(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that actions are finite and have the shape of v, and that the flags of divergence have the batch shape."""
    for batch in scenario.batches((), (1,), (3,), (2, 2)):
        actions, state = scenario.play(policy, batch)
        expected = (scenario.rounds, *batch, scenario.dim)
        expect(
            actions.shape == expected,
            f"actions of batch {batch} must have shape {expected[1:]}, got {actions.shape[1:]}",
        )
        expect(not state.diverged.any(), "decide returned an action that is not finite")
        flags = np.asarray(policy.diverged(state))
        expect(
            flags.shape == batch and flags.dtype == np.bool_,
            f"diverged must return booleans of shape {batch}, got {flags.dtype} of {flags.shape}",
        )
        found = policy.diagnostics(state)
        expect(isinstance(found, dict), f"diagnostics must return a dict, got {found!r}")
        if batch in ((), (1,)):
            words: Any = policy.explain(state)
            expect(isinstance(words, str) and bool(words), f"explain must return a sentence, got {words!r}")


def _check_infinite_horizon(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that an infinite horizon, None, is accepted, or refused at the start by an error that names it."""
    for batch in scenario.batches((2,)):
        try:
            state = policy.start(np.zeros((*batch, scenario.dim)), None, scenario.generators(batch))
        except ArgumentError as error:
            expect("horizon" in str(error), f"the error must name horizon, got: {error}")
            return
        actions, _ = scenario.play_on(policy, state, scenario.rounds)
        expect(bool(np.isfinite(actions).all()), "an action is not finite")


def _check_purity(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that act and observe modify neither their inputs nor the old state, and keep no reference to the inputs."""
    for batch in scenario.batches((2,)):
        settings = pickle.dumps(policy)
        state = scenario.start(policy, batch)
        for t, v in enumerate(scenario.walk(batch)):
            before, given = copy.deepcopy(state), v.copy()
            x, acted = policy.act(state, given)
            expect(same(state, before), "act changed the state that it was given")
            expect(bool((given == v).all()), "act changed v")
            mid = copy.deepcopy(acted)
            given += 1.0
            played = x.copy()
            x += 1.0
            expect(same(acted, mid), "the state after act changes when the caller changes v or the returned action")
            y = scenario.reading(t, batch, played - v)
            observed = y.copy()
            state = policy.observe(acted, observed)
            expect(same(acted, mid), "observe changed the state that it was given")
            expect(bool((observed == y).all()), "observe changed y")
            after = copy.deepcopy(state)
            observed += 1.0
            expect(same(state, after), "the state keeps a hold on the caller's y")
        expect(pickle.dumps(policy) == settings, "playing changed the policy itself")


def _check_protocol(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that observe before act and act after the last round are refused, and that a second act skips a reading."""
    for batch in scenario.batches((2,)):
        state = scenario.start(policy, batch)
        expect_error(ProtocolError, "observe before act", partial(policy.observe, state, np.zeros(batch)))
        _, last = scenario.play(policy, batch)
        walk = scenario.walk(batch)
        expect_error(ProtocolError, "act after the last round", partial(policy.act, last, walk[0]))
        _, once = policy.act(state, walk[0])
        skipped, _ = policy.act(once, walk[1])
        missed, _ = policy.act(policy.observe(once, np.full(batch, np.nan)), walk[1])
        expect(np.array_equal(skipped, missed), "act without observe must equal observe with NaN, then act")


def _check_unchecked(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that the unchecked methods, which simulations use, do what act and observe do."""
    for batch in scenario.batches((2,)):
        checked = unchecked = scenario.start(policy, batch)
        for t, v in enumerate(scenario.walk(batch)):
            x, checked = policy.act(checked, v)
            other, unchecked = policy.act_unchecked(unchecked, v.copy())
            expect(np.array_equal(x, other), "act_unchecked must return the action of act")
            y = scenario.reading(t, batch, x - v)
            checked, unchecked = policy.observe(checked, y), policy.observe_unchecked(unchecked, y.copy())
            expect(same(checked, unchecked), "observe_unchecked must return the state of observe")


def _check_bad_input(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that wrong shapes and non-finite numbers raise an error that names the argument; the state stays."""
    for batch in scenario.batches((2,)):
        state = scenario.start(policy, batch)
        v = scenario.walk(batch)[0]
        _, acted = policy.act(state, v)
        before, mid = copy.deepcopy(state), copy.deepcopy(acted)
        y, nan_v, rng = np.zeros(batch), v.copy(), scenario.generators(batch)
        nan_v[..., 0] = np.nan
        calls: list[tuple[str, Callable[[], object]]] = [
            ("v", partial(policy.act, state, v[..., :-1])),
            ("v", partial(policy.act, state, v[None])),
            ("v", partial(policy.act, state, nan_v)),
            ("forecast", partial(policy.act, state, v, forecast=v)),
            ("forecast", partial(policy.act, state, v, forecast=nan_v[..., None, :])),
            ("context", partial(policy.act, state, v, context=y)),
            ("context", partial(policy.act, state, v, context=nan_v)),
            ("factor", partial(policy.act, state, v, factor=v)),
            ("factor", partial(policy.act, state, v, factor=y - 1.0)),
            ("active", partial(policy.act, state, v, active=v)),
            ("unit", partial(policy.observe, acted, y, unit=y)),
            ("covariates", partial(policy.observe, acted, y, covariates=y)),
            ("covariates", partial(policy.observe, acted, y, covariates=nan_v)),
            ("at", partial(policy.observe, acted, y, at=nan_v)),
            ("y", partial(policy.observe, acted, np.zeros((*batch, 1)))),
            ("y", partial(policy.observe, acted, y + np.inf)),
            ("applied", partial(policy.observe, acted, y, applied=nan_v)),
            ("applied", partial(policy.observe, acted, y, applied=v[..., :-1])),
            ("x0", partial(policy.start, nan_v, 5, rng)),
            ("horizon", partial(policy.start, v, -3, rng)),
            ("max_delay", partial(policy.start, v, 5, rng, max_delay=-1)),
        ]
        for name, call in calls:
            expect_error(ArgumentError, f"an invalid {name}", call, named=name)
            expect(same(state, before) and same(acted, mid), f"the state changed although {name} was refused")


def _check_repeatability(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that the same seed gives bit-identical actions."""
    for batch in scenario.batches((2,)):
        first, _ = scenario.play(policy, batch)
        second, _ = scenario.play(policy, batch)
        expect(np.array_equal(first, second), "two runs of one seed differ")


def _check_batch_equals_loop(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that a batch of runs equals the same runs one at a time."""
    if scenario.only_batch is not None:
        return  # configured for one batch shape, so there is no single run to compare with
    together, _ = scenario.play(policy, (3,))
    for run in range(3):
        actions = _play_alone(policy, scenario, run)
        expect(
            np.allclose(actions, together[:, run], rtol=1e-9, atol=1e-9),
            f"run {run} differs from the same run alone by {np.abs(actions - together[:, run]).max():.3g}",
        )


def _play_alone(policy: Policy[Any], scenario: Scenario, run: int, ahead: int = 0) -> Array:
    """Return the actions of one of three runs, played with the batch shape ``()`` and a forecast of some rounds."""
    state = policy.start(np.zeros(scenario.dim), scenario.rounds, scenario.rng(1, run))
    walk, actions = scenario.walk((3,))[:, run], []
    for t, v in enumerate(walk):
        x, state = policy.act(state, v, forecast=walk[t + 1 : t + 1 + ahead] if ahead else None)
        u = np.zeros((3, scenario.dim))
        u[run] = x - v
        state = policy.observe(state, scenario.reading(t, (3,), u)[run])
        actions.append(x)
    return np.array(actions)


def _check_forecast(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that a batch with forecasts equals the same runs one at a time, and that no forecast is kept."""
    for batch in scenario.batches((3,)):
        state, walk, together = scenario.start(policy, batch), scenario.walk(batch), []
        for t, v in enumerate(walk):
            x, state = policy.act(state, v, forecast=np.moveaxis(walk[t + 1 : t + 4], 0, -2))
            expect(state.forecast is None, "the state keeps the forecast")
            state = policy.observe(state, scenario.reading(t, batch, x - v))
            together.append(x)
    if scenario.only_batch is not None:
        return  # configured for one batch shape, so there is no single run to compare with
    for run in range(3):
        gap = np.abs(_play_alone(policy, scenario, run, ahead=3) - np.array(together)[:, run]).max()
        expect(bool(gap <= 1e-9), f"run {run} with a forecast differs from the same run alone by {gap:.3g}")


def _check_context_and_factor(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that a batch with contexts and factors equals the same runs one at a time, and that neither is kept."""
    if scenario.only_batch is not None:
        return  # configured for one batch shape, so there is no single run to compare with
    walk, rng = scenario.walk((3,)), scenario.rng(5)
    contexts, factors = rng.standard_normal((scenario.rounds, 3, 2)), rng.uniform(0.5, 1.5, (scenario.rounds, 3))
    state, together = scenario.start(policy, (3,)), []
    for t, v in enumerate(walk):
        x, state = policy.act(state, v, context=contexts[t], factor=factors[t])
        expect(
            _equal(state.context, contexts[t]) and _equal(state.factor, factors[t]),
            "the state after act must have the context and the factor of the round",
        )
        state = policy.observe(state, scenario.reading(t, (3,), x - v))
        together.append(x)
    _, plain = policy.act(scenario.play(policy, (3,), rounds=1)[1], walk[1])
    expect(plain.context is None and plain.factor is None, "a round without a context or a factor must have none")
    for run in range(3):
        state = policy.start(np.zeros(scenario.dim), scenario.rounds, scenario.rng(1, run))
        for t, v in enumerate(walk[:, run]):
            x, state = policy.act(state, v, context=contexts[t, run], factor=factors[t, run])
            gap = np.abs(x - together[t][run]).max()
            expect(bool(gap <= 1e-9), f"run {run} with a context differs from the same run alone by {gap:.3g}")
            u = np.zeros((3, scenario.dim))
            u[run] = x - v
            state = policy.observe(state, scenario.reading(t, (3,), u)[run])


def _check_covariates(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that a batch whose readings have covariates, some of them late, equals the same runs one at a time."""
    if scenario.only_batch is not None:
        return  # configured for one batch shape, so there is no single run to compare with
    covariates = scenario.rng(6).standard_normal((scenario.rounds, 3, 2))
    together, kept = _play_covariates(policy, scenario, slice(None), covariates)
    expect(kept, "the state keeps the covariates")
    for run in range(3):
        alone, _ = _play_covariates(policy, scenario, run, covariates)
        gap = np.abs(alone - together[:, run]).max()
        expect(bool(gap <= 1e-9), f"run {run} with covariates differs from the same run alone by {gap:.3g}")


def _play_covariates(
    policy: Policy[Any], scenario: Scenario, runs: int | slice[None], covariates: Array
) -> tuple[Array, bool]:
    """Return the actions if some readings are a round late, and whether no state has covariates."""
    rng = scenario.rng(1, runs) if isinstance(runs, int) else scenario.generators((3,))
    walk = scenario.walk((3,))[:, runs]
    state = policy.start(np.zeros_like(walk[0]), scenario.rounds, rng, max_delay=1)
    actions, empty = [], True
    for t, v in enumerate(walk):
        x, state = policy.act(state, v)
        actions.append(x)
        for k in ([t - 1] if t % 4 == 1 else []) + ([t] if t % 4 else []):
            u = np.zeros((3, scenario.dim))
            u[runs] = actions[k] - walk[k]
            y = scenario.reading(k, (3,), u)[runs]
            state = policy.observe(state, y, round=k + 1, covariates=covariates[k, runs])
            empty = empty and state.covariates is None
    return np.array(actions), empty


def _equal(kept: Array | None, given: Array) -> bool:
    return kept is not None and np.array_equal(kept, given)


_MAX_DELAY = 2
"""The number of rounds by which readings may be late in the checks."""


def _check_late_readings(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that a late reading is learned with the action of its own round, once, and for the runs that have one."""
    for batch in scenario.batches((2,)):
        _check_on_time(policy, scenario, batch)
        _check_late_rounds(policy, scenario, batch)
        _check_late_pairs(policy, scenario, batch)
        _check_closed_rounds(policy, scenario, batch)
    _check_late_joins(policy, scenario)


def _start_late(policy: Policy[Any], scenario: Scenario, batch: tuple[int, ...]) -> State[Any]:
    rng = scenario.generators(batch) if batch else scenario.rng(1, 0)
    return policy.start(np.zeros((*batch, scenario.dim)), scenario.rounds, rng, max_delay=_MAX_DELAY)


def _check_on_time(policy: Policy[Any], scenario: Scenario, batch: tuple[int, ...]) -> None:
    """Check that readings that may be late, but are not, give the same actions."""
    expected, _ = scenario.play(policy, batch)
    state = _start_late(policy, scenario, batch)
    for t, v in enumerate(scenario.walk(batch)):
        x, state = policy.act(state, v)
        expect(np.array_equal(x, expected[t]), "readings that are not late must give the same actions")
        state = policy.observe(state, scenario.reading(t, batch, x - v), round=t + 1)


def _check_late_rounds(policy: Policy[Any], scenario: Scenario, batch: tuple[int, ...]) -> None:
    """Check that all rounds can be played with late readings, also from a stored state."""
    state, walk, actions = _start_late(policy, scenario, batch), scenario.walk(batch), []
    for t, v in enumerate(walk):
        x, after = policy.act(state, v)
        again, stored = policy.act(unpack(*pack(state)), v)
        expect(
            np.array_equal(x, again) and same(stored, after), "a stored state with open rounds continues differently"
        )
        state = after
        actions.append(x)
        if t >= 1:
            state = policy.observe(state, scenario.reading(t - 1, batch, actions[-2] - walk[t - 1]), round=t)
        expect(not state.diverged.any(), "an action is not finite after late readings")
        expect(len(state.open_rounds) <= _MAX_DELAY, "the state keeps more open rounds than readings can be late")


def _check_late_joins(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that runs with other open rounds can be one batch."""
    if scenario.only_batch is not None:
        return
    walk = scenario.walk((2,))
    states = [policy.take(_start_late(policy, scenario, (2,)), [run]) for run in range(2)]
    actions, expected = np.empty((2, *walk.shape)), np.empty(walk.shape)
    for together in (False, True):
        parts = list(states)
        for t, v in enumerate(walk):
            if together:
                if policy.batch_key(parts[0]) != policy.batch_key(parts[1]):
                    return  # memories whose shapes depend on the readings stay apart
                joined = policy.join(parts)
                x, joined = policy.act(joined, v)
                parts = [policy.take(joined, [run]) for run in range(2)]
            else:
                x = np.empty(v.shape)
                for run in range(2):
                    x[run : run + 1], parts[run] = policy.act(parts[run], v[run : run + 1])
            actions[int(together), t] = expected[t] = x
            # The readings of the second run are a round late, and every third is lost.
            late = t - 1
            y = scenario.reading(t, (2,), x - v)
            parts[0] = policy.observe(parts[0], y[:1])
            if late >= 0 and late % 3:
                before = scenario.reading(late, (2,), expected[late] - walk[late])
                parts[1] = policy.observe(parts[1], before[1:], round=late + 1)
    gap = np.abs(actions[0] - actions[1]).max()
    expect(bool(gap <= 1e-9), f"runs with other open rounds differ from the same alone by {gap:.3g}")


def _check_late_pairs(policy: Policy[Any], scenario: Scenario, batch: tuple[int, ...]) -> None:
    """Check that what is learned from a reading depends neither on later rounds nor on the runs without one."""
    walk = scenario.walk(batch)
    x, first = policy.act(_start_late(policy, scenario, batch), walk[0])
    y = scenario.reading(0, batch, x - walk[0])
    learned = []
    for v in (walk[1], -walk[1]):
        _, second = policy.act(first, v)
        late = policy.observe(second, y, round=1)
        some, others = y.copy(), y.copy()
        some.flat[1:] = np.nan
        others.flat[0] = np.nan
        split = policy.observe(policy.observe(second, some, round=1), others, round=1)
        expect(
            np.allclose(policy.act(late, walk[2])[0], policy.act(split, walk[2])[0], rtol=1e-9, atol=1e-9),
            "the readings of a round that arrive one run at a time must give the actions of all at once",
        )
        learned.append(policy.diagnostics(late).get("estimate"))
    one, other = learned
    if one is not None and other is not None:
        expect(
            np.allclose(one, other, rtol=1e-9, atol=1e-9),
            "the estimate after a late reading depends on the round after it: learn must use state.x and state.v",
        )


def _check_closed_rounds(policy: Policy[Any], scenario: Scenario, batch: tuple[int, ...]) -> None:
    """Check that a second reading and a reading of a round that is not open are refused."""
    state = _start_late(policy, scenario, batch)
    for v in scenario.walk(batch)[:4]:
        _, state = policy.act(state, v)
    y = np.zeros(batch)
    state = policy.observe(state, y, round=3)
    before = copy.deepcopy(state)
    for kind, number in ((ProtocolError, 1), (ProtocolError, 3), (ArgumentError, 5), (ArgumentError, 0)):
        call = partial(policy.observe, state, y, round=number)
        expect_error(kind, f"a reading of round {number} while 2 and 4 are open", call, named="round")
        expect(same(state, before), "the state changed although a reading was refused")


def _check_split_and_join(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that runs that are taken out of a batch and joined to others go on as if nothing had happened."""
    if scenario.only_batch is not None:
        return  # configured for one batch shape, so a batch cannot change
    together, _ = scenario.play(policy, (4,))
    walk, state = scenario.walk((4,)), scenario.start(policy, (4,))
    for t, v in enumerate(walk):
        pieces, order = [policy.take(state, [3, 1]), policy.take(state, [2]), policy.take(state, [0])], [3, 1, 2, 0]
        states = pieces if t % 3 == 0 else [policy.join(pieces)]
        rows = [[3, 1], [2], [0]] if t % 3 == 0 else [order]
        played, acted = np.empty(v.shape), []
        for mine, one in zip(rows, states, strict=True):
            played[mine], after = policy.act(one, v[mine])
            acted.append(after)
        if t % 2:  # join while readings are pending
            acted, rows = [policy.join(acted)], [order]
        y = scenario.reading(t, (4,), played - v)
        observed = [policy.observe(one, y[mine]) for mine, one in zip(rows, acted, strict=True)]
        state = policy.take(policy.join(observed), np.argsort(order))
        gap = np.abs(played - together[t]).max()
        expect(bool(gap <= 1e-9), f"runs that were split and joined differ from the whole batch by {gap:.3g}")


def _check_mixed_rounds(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that runs that began in different rounds can be one batch, if the policy declares it."""
    if scenario.only_batch is not None or not policy.mixes_rounds:
        return
    walk = scenario.walk((2,))

    def begin(run: int) -> State[Any]:
        return policy.start(np.zeros((1, scenario.dim)), None, [scenario.rng(1, run)])

    def play(state: State[Any], runs: list[int], rounds: list[int]) -> tuple[Array, State[Any]]:
        v = np.stack([walk[t, run] for run, t in zip(runs, rounds, strict=True)])
        x, state = policy.act(state, v)
        u = np.zeros((2, scenario.dim))
        u[runs] = x - v
        y = [scenario.reading(t, (2,), u)[run] for run, t in zip(runs, rounds, strict=True)]
        return x, policy.observe(state, np.array(y))

    alone: list[list[Array]] = [[], []]
    for run in range(2):
        state = begin(run)
        for t in range(scenario.rounds):
            x, state = play(state, [run], [t])
            alone[run].append(x[0])
    early = scenario.rounds // 4 + 1
    state = begin(0)
    for t in range(early):
        _, state = play(state, [0], [t])
    state = policy.join([begin(1), state])
    for t in range(scenario.rounds - early):
        expect(
            np.array_equal(state.own_round, [t, t + early]),
            f"own_round must be {[t, t + early]} for runs that began in different rounds, got {state.own_round}",
        )
        x, state = play(state, [1, 0], [t, t + early])
        gap = max(np.abs(x[0] - alone[1][t]).max(), np.abs(x[1] - alone[0][t + early]).max())
        expect(bool(gap <= 1e-9), f"runs that began in different rounds differ from the same alone by {gap:.3g}")
    later = policy.take(state, [0])
    expect(
        later.began is None and later.round == scenario.rounds - early,
        "a run that is taken out of a batch must count its own rounds",
    )


def _check_round_trip(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that pickled and stored copies of configuration and state continue bit-identically from any round."""
    for batch in scenario.batches((), (2,)):
        for stop in (1, scenario.rounds // 3, 2 * scenario.rounds // 3):
            _, state = scenario.play(policy, batch, rounds=stop)
            expected, _ = scenario.play_on(policy, state, scenario.rounds - stop)
            thawed = pickle.loads(pickle.dumps((policy, state)))
            expect(same(thawed[1], state), "pickling changes the state")
            try:
                unpacked = unpack(*pack((policy, state)))
            except ArgumentError as error:
                raise CheckError(f"policy and state are not plain data: {error}") from error
            for how, copied in (("pickled", thawed), ("stored", unpacked)):
                got, _ = scenario.play_on(copied[0], copied[1], scenario.rounds - stop)
                expect(np.array_equal(got, expected), f"a copy {how} after round {stop} continues differently")


def _check_missing_reading(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that a NaN reading changes no memory, and that a run without a reading does not affect the others."""
    for batch in scenario.batches((2,)):
        for last in (0, scenario.rounds // 2, scenario.rounds - 2):
            _, state = scenario.play(policy, batch, rounds=last) if last else (None, scenario.start(policy, batch))
            walk = scenario.walk(batch)
            x, acted = policy.act(state, walk[last])
            unobserved = policy.observe(acted, np.full(batch, np.nan))
            expect(
                same(unobserved.memory, acted.memory),
                f"a NaN reading in round {last + 1} changed the memory",
            )
            y = scenario.reading(last, batch, x - walk[last])
            half = y.copy()
            half.flat[0] = np.nan
            states = (policy.observe(acted, half), policy.observe(acted, y), unobserved)
            nexts = (policy.act(after, walk[last + 1])[0] for after in states)
            partly, fully, silent = (actions.reshape(-1, scenario.dim) for actions in nexts)
            expect(
                np.array_equal(partly[1:], fully[1:]) and np.array_equal(partly[0], silent[0]),
                "a NaN in one run must leave that run as it was and the others as if nothing happened",
            )


def _check_applied(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that the next round starts from the applied action.

    If the first action depends on x0, then the next action must depend on the applied one.
    """
    for batch in scenario.batches((2,)):
        walk, y = scenario.walk(batch), np.zeros(batch)
        x, acted = policy.act(scenario.start(policy, batch), walk[0])
        away = policy.observe(acted, y * np.nan, applied=x + 0.25)
        expect(np.array_equal(away.x, x + 0.25), "state.x must be the applied action after observe(..., applied=...)")
        there = policy.observe(acted, y * np.nan, applied=x)
        here = policy.observe(acted, y * np.nan)
        expect(
            np.allclose(policy.act(there, walk[1])[0], policy.act(here, walk[1])[0]),
            "applied equal to the action must change nothing",
        )
        other = policy.start(np.full((*batch, scenario.dim), 0.25), scenario.rounds, scenario.generators(batch))
        start_matters = not np.allclose(policy.act(other, walk[0])[0], x)
        applied_matters = not np.allclose(policy.act(away, walk[1])[0], policy.act(here, walk[1])[0])
        expect(
            start_matters == applied_matters,
            "the next action must start from the applied one, as the first does from x0",
        )


def _check_huge_numbers(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that numbers of any size give finite actions and no warnings."""
    for batch in scenario.batches((2,)):
        for size in (1e-150, 1e30, 1e150):
            state = scenario.start(policy, batch)
            for t, v in enumerate(size * scenario.walk(batch)):
                where = f"in round {t + 1} with v of size {size:g}"
                try:
                    with np.errstate(all="raise", under="ignore"):
                        _, state = policy.act(state, v)
                        state = policy.observe(state, np.full(batch, min(size**2, 1e300)))
                except FloatingPointError as error:
                    raise CheckError(f"{error} {where}") from error
                expect(not state.diverged.any(), f"an action is not finite {where}")


def _check_memory(policy: Policy[Any], scenario: Scenario) -> None:
    """Check that the size of the state does not grow with the rounds, unless the policy declares it."""
    if policy.state_grows:
        return
    for batch in scenario.batches((2,)):
        quarter = max(scenario.rounds // 4, 1)
        _, state = scenario.play(policy, batch, rounds=quarter)
        states = [state]
        for done in range(quarter, scenario.rounds - quarter + 1, quarter):
            _, state = scenario.play_on(policy, state, min(quarter, scenario.rounds - done))
            states.append(state)
        sizes = [sum(array.nbytes for array in pack(s)[1].values()) for s in states]
        entries = [len(repr(pack(s)[0])) for s in states]
        # A state of limited size may grow and shrink. One that gains an entry per round grows in every quarter.
        # Counters may gain a digit.
        grows = all(later > before for before, later in itertools.pairwise(sizes))
        grows |= all(later > before + 16 for before, later in itertools.pairwise(entries))
        expect(
            not grows,
            f"the state grew in every quarter of {scenario.rounds} rounds, from {sizes[0]} to {sizes[-1]} bytes of "
            f"arrays and from {entries[0]} to {entries[-1]} characters of the rest; override state_grows if it must",
        )


POLICY_CHECKS: tuple[Callable[[Policy[Any], Scenario], None], ...] = (
    _check_shapes,
    _check_repeatability,
    _check_purity,
    _check_protocol,
    _check_unchecked,
    _check_bad_input,
    _check_infinite_horizon,
    _check_batch_equals_loop,
    _check_forecast,
    _check_context_and_factor,
    _check_split_and_join,
    _check_mixed_rounds,
    _check_round_trip,
    _check_missing_reading,
    _check_applied,
    _check_late_readings,
    _check_covariates,
    _check_huge_numbers,
    _check_memory,
)
"""The checks of :func:`check_policy`, in the order in which they run."""
