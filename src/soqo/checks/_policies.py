"""The contract of a policy, one check per promise."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._storage.records import pack, same, unpack
from soqo.checks._scenario import Scenario, expect, run_checks
from soqo.errors import ArgumentError, CheckError, ProtocolError
from soqo.policies._base import Policy, State
from soqo.typing import Array

__all__ = ["POLICY_CHECKS", "check_policy"]


def check_policy(
    policy: Policy[Any],
    *,
    dim: int = 3,
    batch: tuple[int, ...] | None = None,
    rounds: int = 24,
    seed: int = 0,
) -> None:
    """Check that a policy keeps the contract of :class:`soqo.Policy`.

    Parameters
    ----------
    policy : Policy
    dim
        The dimension to play in; one that the policy is configured for.
    batch
        The batch shape to play in, if the policy is configured for a single one (such as ``LAI`` with one A per run);
        None to try several.
    rounds
        How long to play, at least 6; long enough to see every phase of the policy.
    seed
        Of everything random in the checks.

    Raises
    ------
    CheckError
        Its message begins with the promise that is broken.
    """
    if not isinstance(policy, Policy):
        raise CheckError(f"policy: must be a soqo.Policy, got {type(policy).__name__}")
    bench = Scenario(dim=dim, only_batch=batch, rounds=rounds, seed=seed)
    run_checks(POLICY_CHECKS, policy, bench)


def check_shapes(policy: Policy[Any], bench: Scenario) -> None:
    """Actions have the shape of v, whatever the batch, and are finite; so do the flags of divergence."""
    for batch in bench.batches((), (1,), (3,), (2, 2)):
        actions, state = bench.play(policy, batch)
        expected = (bench.rounds, *batch, bench.dim)
        expect(
            actions.shape == expected,
            "shapes",
            f"actions of batch {batch} must have shape {expected[1:]}, got {actions.shape[1:]}",
        )
        expect(not state.diverged.any(), "shapes", "decide returned an action that is not finite")
        flags = np.asarray(policy.diverged(state))
        expect(
            flags.shape == batch and flags.dtype == np.bool_,
            "shapes",
            f"diverged must return booleans of shape {batch}, got {flags.dtype} of {flags.shape}",
        )
        found = policy.diagnostics(state)
        expect(isinstance(found, dict), "shapes", f"diagnostics must return a dict, got {found!r}")
        if not batch:
            words: Any = policy.explain(state)
            expect(
                isinstance(words, str) and bool(words),
                "shapes",
                f"explain must return a sentence, got {words!r}",
            )


def check_no_end(policy: Policy[Any], bench: Scenario) -> None:
    """A horizon without end, None, is a horizon too, or is refused at the start by an error that names it."""
    for batch in bench.batches((2,)):
        try:
            state = policy.start(np.zeros((*batch, bench.dim)), None, bench.generators(batch))
        except ArgumentError as error:
            expect("horizon" in str(error), "no end", f"the error must name horizon, got: {error}")
            return
        actions, _ = bench.go_on(policy, state, bench.rounds)
        expect(bool(np.isfinite(actions).all()), "no end", "an action is not finite")


def check_purity(policy: Policy[Any], bench: Scenario) -> None:
    """act and observe change neither their inputs nor the old state, and keep no hold on the caller's arrays."""
    for batch in bench.batches((2,)):
        settings = pickle.dumps(policy)
        state = bench.start(policy, batch)
        for t, v in enumerate(bench.walk(batch)):
            before, given = copy.deepcopy(state), v.copy()
            x, acted = policy.act(state, given)
            expect(same(state, before), "purity", "act changed the state that it was given")
            expect(bool((given == v).all()), "purity", "act changed v")
            mid = copy.deepcopy(acted)
            given += 1.0
            played = x.copy()
            x += 1.0
            expect(
                same(acted, mid),
                "purity",
                "the state after act changes when the caller changes v or the returned action",
            )
            y = bench.reading(t, batch, played - v)
            heard = y.copy()
            state = policy.observe(acted, heard)
            expect(same(acted, mid), "purity", "observe changed the state that it was given")
            expect(bool((heard == y).all()), "purity", "observe changed y")
            after = copy.deepcopy(state)
            heard += 1.0
            expect(same(state, after), "purity", "the state keeps a hold on the caller's y")
        expect(pickle.dumps(policy) == settings, "purity", "playing changed the policy itself")


def check_protocol(policy: Policy[Any], bench: Scenario) -> None:
    """observe before act is refused, and so is act after the last round; a second act means a missed reading."""
    for batch in bench.batches((2,)):
        state = bench.start(policy, batch)
        try:
            policy.observe(state, np.zeros(batch))
        except ProtocolError:
            pass
        else:
            raise CheckError("protocol: observe before act must raise a ProtocolError")
        _, last = bench.play(policy, batch)
        try:
            policy.act(last, np.zeros((*batch, bench.dim)))
        except ProtocolError:
            pass
        else:
            raise CheckError("protocol: act after the last round must raise a ProtocolError")
        walk = bench.walk(batch)
        _, once = policy.act(state, walk[0])
        skipped, _ = policy.act(once, walk[1])
        missed, _ = policy.act(policy.observe(once, np.full(batch, np.nan)), walk[1])
        expect(
            np.array_equal(skipped, missed),
            "protocol",
            "act without observe must equal observe with NaN, then act",
        )


def check_bad_input(policy: Policy[Any], bench: Scenario) -> None:
    """Wrong shapes and non-finite numbers are refused with an error that names the argument; the state stays."""
    for batch in bench.batches((2,)):
        state = bench.start(policy, batch)
        v = bench.walk(batch)[0]
        _, acted = policy.act(state, v)
        before, mid = copy.deepcopy(state), copy.deepcopy(acted)
        y, nan_v, rng = np.zeros(batch), v.copy(), bench.generators(batch)
        nan_v[..., 0] = np.nan
        calls: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
            ("v", policy.act, (state, v[..., :-1])),
            ("v", policy.act, (state, v[None])),
            ("v", policy.act, (state, nan_v)),
            ("y", policy.observe, (acted, np.zeros((*batch, 1)))),
            ("y", policy.observe, (acted, y + np.inf)),
            ("applied", policy.observe, (acted, y, nan_v)),
            ("applied", policy.observe, (acted, y, v[..., :-1])),
            ("x0", policy.start, (nan_v, 5, rng)),
            ("horizon", policy.start, (v, -3, rng)),
        ]
        for name, call, arguments in calls:
            try:
                call(*arguments)
            except ArgumentError as error:
                expect(name in str(error), "bad input", f"the error must name {name}, got: {error}")
            else:
                raise CheckError(f"bad input: a bad {name} must raise an ArgumentError")
            expect(
                same(state, before) and same(acted, mid),
                "bad input",
                f"the state changed although {name} was refused",
            )


def check_repeatability(policy: Policy[Any], bench: Scenario) -> None:
    """The same seed gives the same actions to the bit."""
    for batch in bench.batches((2,)):
        first, _ = bench.play(policy, batch)
        second, _ = bench.play(policy, batch)
        expect(np.array_equal(first, second), "repeatability", "two runs of one seed differ")


def check_batch_equals_loop(policy: Policy[Any], bench: Scenario) -> None:
    """A batch of runs equals the same runs one at a time."""
    if bench.only_batch is not None:
        return  # configured for one batch shape, so there is no single run to compare with
    together, _ = bench.play(policy, (3,))
    for run in range(3):
        alone = SingleRun(bench, run)
        actions, _ = alone.play(policy)
        expect(
            np.allclose(actions, together[:, run], rtol=1e-9, atol=1e-9),
            "batch equals loop",
            f"run {run} differs from the same run alone by {np.abs(actions - together[:, run]).max():.3g}",
        )


@dataclass(frozen=True)
class SingleRun:
    """One run of a bench's batch, alone."""

    bench: Scenario
    run: int

    def play(self, policy: Policy[Any]) -> tuple[Array, State[Any]]:
        """Play it with the batch shape ``()``."""
        bench = self.bench
        walk = bench.walk((3,))[:, self.run]
        state = policy.start(np.zeros(bench.dim), bench.rounds, bench.rng(1, self.run))
        actions = []
        for t, v in enumerate(walk):
            x, state = policy.act(state, v)
            u = np.zeros((3, bench.dim))
            u[self.run] = x - v
            state = policy.observe(state, bench.reading(t, (3,), u)[self.run])
            actions.append(x)
        return np.array(actions), state


def check_round_trip(policy: Policy[Any], bench: Scenario) -> None:
    """Configuration and state survive pickling and packing at any moment, and go on to the bit."""
    for batch in bench.batches((), (2,)):
        for stop in (1, bench.rounds // 3, 2 * bench.rounds // 3):
            _, state = bench.play(policy, batch, rounds=stop)
            expected, _ = bench.go_on(policy, state, bench.rounds - stop)
            thawed = pickle.loads(pickle.dumps((policy, state)))
            expect(same(thawed[1], state), "round trip", "pickling changes the state")
            try:
                unpacked = unpack(*pack((policy, state)))
            except ArgumentError as error:
                raise CheckError(f"round trip: policy and state are not plain data: {error}") from error
            for way, copied in (("pickled", thawed), ("unpacked", unpacked)):
                got, _ = bench.go_on(copied[0], copied[1], bench.rounds - stop)
                expect(
                    np.array_equal(got, expected),
                    "round trip",
                    f"a copy {way} after round {stop} goes on differently",
                )


def check_missing_reading(policy: Policy[Any], bench: Scenario) -> None:
    """A NaN reading changes nothing learned, and a run without a reading does not disturb the others."""
    for batch in bench.batches((2,)):
        for last in (0, bench.rounds // 2, bench.rounds - 2):
            _, state = bench.play(policy, batch, rounds=last) if last else (None, bench.start(policy, batch))
            walk = bench.walk(batch)
            x, acted = policy.act(state, walk[last])
            deaf = policy.observe(acted, np.full(batch, np.nan))
            expect(
                same(learned(deaf), learned(acted)),
                "missing reading",
                f"a NaN reading in round {last + 1} changed what the policy remembers",
            )
            y = bench.reading(last, batch, x - walk[last])
            half = y.copy()
            half.flat[0] = np.nan
            partly, _ = policy.act(policy.observe(acted, half), walk[last + 1])
            fully, _ = policy.act(policy.observe(acted, y), walk[last + 1])
            silent, _ = policy.act(deaf, walk[last + 1])
            flat = (math.prod(batch), bench.dim)
            partly, fully, silent = (a.reshape(flat) for a in (partly, fully, silent))
            expect(
                np.array_equal(partly[1:], fully[1:]) and np.array_equal(partly[0], silent[0]),
                "missing reading",
                "a NaN in one run must leave that run as it was and the others as if nothing happened",
            )


def learned(state: State[Any]) -> Any:
    """What a policy remembers, through wrappers, without their books of where the plant stands."""
    memory = state.memory
    return learned(memory) if isinstance(memory, State) else memory


def check_applied(policy: Policy[Any], bench: Scenario) -> None:
    """The action that the plant really made is where the next round starts.

    If where a player starts moves its first action, then where the plant went must move its next one.
    """
    for batch in bench.batches((2,)):
        walk, y = bench.walk(batch), np.zeros(batch)
        x, acted = policy.act(bench.start(policy, batch), walk[0])
        away = policy.observe(acted, y * np.nan, applied=x + 0.25)
        expect(
            np.array_equal(away.x, x + 0.25),
            "applied",
            "state.x must be the applied action after observe(..., applied=...)",
        )
        there = policy.observe(acted, y * np.nan, applied=x)
        here = policy.observe(acted, y * np.nan)
        expect(
            np.allclose(policy.act(there, walk[1])[0], policy.act(here, walk[1])[0]),
            "applied",
            "applied equal to the action must change nothing",
        )
        other = policy.start(np.full((*batch, bench.dim), 0.25), bench.rounds, bench.generators(batch))
        start_matters = not np.allclose(policy.act(other, walk[0])[0], x)
        applied_matters = not np.allclose(policy.act(away, walk[1])[0], policy.act(here, walk[1])[0])
        expect(
            start_matters == applied_matters,
            "applied",
            "the next action must start from the applied one, as the first does from x0",
        )


def check_huge_numbers(policy: Policy[Any], bench: Scenario) -> None:
    """Numbers of any size leave actions finite and raise no warning."""
    for batch in bench.batches((2,)):
        for size in (1e-150, 1e30, 1e150):
            state = bench.start(policy, batch)
            for t, v in enumerate(size * bench.walk(batch)):
                where = f"in round {t + 1} with v of size {size:g}"
                try:
                    with np.errstate(all="raise", under="ignore"):
                        _, state = policy.act(state, v)
                        state = policy.observe(state, np.full(batch, min(size**2, 1e300)))
                except FloatingPointError as error:
                    raise CheckError(f"huge numbers: {error} {where}") from error
                expect(not state.diverged.any(), "huge numbers", f"an action is not finite {where}")


def check_memory(policy: Policy[Any], bench: Scenario) -> None:
    """Memory does not grow with the rounds, unless the policy declares that it does."""
    if policy.state_grows:
        return
    for batch in bench.batches((2,)):
        middle = bench.rounds // 2
        _, early = bench.play(policy, batch, rounds=middle)
        _, late = bench.go_on(policy, early, bench.rounds - middle)
        sizes = [sum(array.nbytes for array in pack(s)[1].values()) for s in (early, late)]
        entries = [len(repr(pack(s)[0])) for s in (early, late)]
        # Counters may gain a digit; a list that gains an entry per round gains far more.
        expect(
            sizes[1] <= sizes[0] and entries[1] <= entries[0] + 16,
            "memory",
            f"the state grew between rounds {middle} and {bench.rounds}, from {sizes[0]} to {sizes[1]} bytes of "
            f"arrays and from {entries[0]} to {entries[1]} characters of the rest; declare state_grows if it must",
        )


POLICY_CHECKS: tuple[Callable[[Policy[Any], Scenario], None], ...] = (
    check_shapes,
    check_repeatability,
    check_purity,
    check_protocol,
    check_bad_input,
    check_no_end,
    check_batch_equals_loop,
    check_round_trip,
    check_missing_reading,
    check_applied,
    check_huge_numbers,
    check_memory,
)
