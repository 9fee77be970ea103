"""Simulated regret, exact regret and bounds side by side: the numbers against independent ones, and the text."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from soqo import (
    FTM,
    Change,
    Context,
    Environment,
    Factor,
    HySCaLE,
    Offset,
    Outages,
    Problem,
    RandomProblem,
    SCaLE,
    random_curvature,
    simulate,
)
from soqo.errors import ArgumentError
from soqo.experiments import BoundsTable, Setting, bound_setting, format_bounds, save_bounds
from soqo.experiments.presentation import bounds_figure
from soqo.noise import Uniform
from soqo.processes import Cauchy, Correlated, Gaussian, StudentT
from soqo.theory import bounds, growth_exponent
from soqo.typing import Array

FAMILY = RandomProblem(2, 2, min_eigenvalue=0.5, max_eigenvalue=1.0)
FIXED = Problem([[1.0, 0.3], [0.3, 0.8]])


def setting(problem: Any = FAMILY, process: Any = None, policies: Any = None, **options: Any) -> Setting:
    moving = Gaussian(10.0) if process is None else process
    noise = Uniform(options.pop("cap", 2.0))
    environment = Environment(problem, moving, noise, **options)
    policies = {"SCaLE": SCaLE(2.0, 2, min_eigenvalue=0.5, c1=4.0)} if policies is None else policies
    return Setting("mine", "mine", "My plant", "", "", environment, policies, 60, (10, 30, 60), 6, 3)


@pytest.fixture(scope="module")
def table() -> BoundsTable:
    return bound_setting(setting())


# ---- numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("handover", ["direct", "virtual"])
@pytest.mark.parametrize(("problem", "rank"), [(FAMILY, 2), (RandomProblem(3, 1, min_eigenvalue=0.5), 1)])
def test_simulated_and_exact_means_agree(
    handover: Literal["direct", "virtual"], problem: RandomProblem, rank: int
) -> None:
    policies = {"SCaLE": SCaLE(2.0, rank, min_eigenvalue=0.5, c1=4.0, handover=handover)}
    one = setting(problem, policies=policies, x0=np.full(problem.dim, 20.0))
    found = bound_setting(one, horizons=[25, 50], runs=250)
    # Given A, probes and estimates, the differences have mean zero: 4 standard errors are one chance in 16,000.
    assert (np.abs(found.discrepancy) < 4.0).all()
    spread = (found.simulated - found.exact).std(axis=1, ddof=1) / np.sqrt(250)
    np.testing.assert_allclose(found.discrepancy * spread, found.mean - found.exact.mean(axis=1))
    assert (spread < 0.1 * found.exact.mean(axis=1)).all()  # so that the statement is not empty


@pytest.mark.parametrize("handover", ["direct", "virtual"])
def test_exact_regret_is_what_the_run_loses_on_average_over_v(handover: Literal["direct", "virtual"]) -> None:
    """One run's A, probes and estimate on many paths of v, played by hand with the textbook recursion."""
    T, m, gamma2 = 12, 8, 30.0
    policy = SCaLE(2.0, 1, min_eigenvalue=0.5, c1=4.0, gamma2=gamma2, handover=handover)
    one = setting(FIXED, policies={"SCaLE": policy}, x0=[5.0, -3.0])
    found = bound_setting(one, horizons=[T], runs=2)
    result = simulate(one.environment, {"S": policy}, horizon=T, runs=2, seed=one.seed, record=True)
    assert result.v is not None
    assert result.actions is not None
    estimate = result["S"].diagnostics["estimate"][1]
    probes = (result.actions["S"] - result.v)[1, :m]
    steps = 10.0 * np.random.default_rng(0).standard_normal((20_000, T, 2))
    v = np.cumsum(steps, axis=1)
    start = np.broadcast_to([5.0, -3.0], (20_000, 2))

    def path(matrix: Array, x: Array, rounds: range) -> list[Array]:
        gains = [np.linalg.inv(np.eye(2) + matrix)]  # C_T; C_t = (2 I + A - C_{t+1})^{-1}
        for _ in range(T - 1):
            gains.insert(0, np.linalg.inv(2.0 * np.eye(2) + matrix - gains[0]))
        places = []
        for t in rounds:
            x = v[:, t] + (x - v[:, t]) @ gains[t]
            places.append(x)
        return places

    def cost(places: Sequence[Array]) -> Array:
        x = np.stack(places, axis=1)
        u, moves = x - v, np.diff(x, axis=1, prepend=start[:, None])
        return np.asarray(0.5 * (np.sum(u @ FIXED.A * u, axis=(1, 2)) + np.sum(moves**2, axis=(1, 2))))

    probing = [v[:, t] + probes[t] for t in range(m)]
    before = probing[-1] if handover == "direct" else path(estimate, start, range(m))[-1]
    regret = cost([*probing, *path(estimate, before, range(m, T))]) - cost(path(FIXED.A, start, range(T)))
    error = regret.std() / np.sqrt(regret.size)
    assert found.exact[0, 1] == pytest.approx(regret.mean(), abs=4.0 * error)
    assert error < 0.01 * regret.mean()


def test_simulated_regret_is_that_of_the_setting(table: BoundsTable) -> None:
    one = setting()
    for index, T in enumerate(one.horizons):
        alone = simulate(one.environment, one.policies, horizon=T, runs=6, seed=3)
        np.testing.assert_array_equal(table.simulated[index], alone.regret("SCaLE")[:, -1])
        np.testing.assert_allclose(table.standard_error[index], alone.regret("SCaLE")[:, -1].std(ddof=1) / np.sqrt(6))
    A = one.environment.draw(1, 6, seed=3).problem.A
    alone = simulate(one.environment, one.policies, horizon=60, runs=6, seed=3)
    values = np.linalg.eigvalsh(alone["SCaLE"].diagnostics["estimate"] - A)
    np.testing.assert_allclose(table.error[2], np.abs(values).sum(axis=1))


@pytest.mark.parametrize("scale", [10.0, [3.0, 10.0]])  # the bounds differ between runs for the second
def test_bounds_are_means_over_the_matrices_of_the_runs(table: BoundsTable, scale: Any) -> None:
    process = Gaussian(scale)
    found = bound_setting(setting(process=process), horizons=[30, 60])
    matrices = setting().environment.draw(1, 6, seed=3).problem.A
    for (statement, variant), values in found.bounds.items():
        tables = [bounds(A, process, horizon=60, noise_cap=2.0, c1=4.0) for A in matrices]
        alone = [table.value(statement, variant) for table in tables]
        assert values[1] == pytest.approx(np.mean(alone), rel=1e-12)
    statements = {statement for statement, _ in table.bounds}
    assert statements == {f"Theorem {k}" for k in (1, 2, 3, 5)} | {"Corollary 1", "Second order"}
    plan = bounds(matrices[0], process, horizon=60, noise_cap=2.0, c1=4.0).schedules["corrected"]
    np.testing.assert_allclose(found.epsilon[1], plan.epsilon)
    np.testing.assert_allclose(found.schedules["corrected"][1], plan.gamma2)
    low = bound_setting(setting(RandomProblem(3, 1, min_eigenvalue=0.5)), horizons=[40], runs=1)
    assert {s for s, _ in low.bounds} == {f"Theorem {k}" for k in (1, 2, 3, 4)} | {"Corollary 1"}


def test_corrected_bounds_hold_where_the_estimates_are_as_good_as_they_say() -> None:
    """The noise is a hundredth of the cap that the policy assumes, so that every error is below epsilon."""
    for problem, rank in ((FAMILY, 2), (RandomProblem(3, 1, min_eigenvalue=0.5), 1)):
        policy = SCaLE(2.0, rank, min_eigenvalue=0.5, c1=5.0, gamma2="guarantee", radius=0.4)
        one = setting(problem, policies={"S": policy}, cap=0.02)
        found = bound_setting(one, horizons=[100, 400])
        assert (found.accurate_runs == 6).all()
        for name in found.bounds:
            if name[1] == "corrected" and name[0] != "Theorem 2":
                assert not found.violations(name), name


def test_a_switching_weight_is_a_change_of_coordinates() -> None:
    weight = np.array([4.0, 25.0])
    root = np.sqrt(weight)
    policy = {"S": SCaLE(2.0, 2, min_eigenvalue=0.01, c1=4.0)}
    there = setting(Problem(FIXED.A, switching_weight=weight), Gaussian([1.0, 2.0]), policy, x0=[3.0, 1.0])
    plain = Problem(FIXED.A / np.outer(root, root))
    here = setting(plain, Gaussian(root * [1.0, 2.0]), policy, x0=root * [3.0, 1.0])
    one, other = (bound_setting(s, horizons=[40]) for s in (there, here))
    np.testing.assert_allclose(one.exact, other.exact, rtol=1e-6)
    np.testing.assert_allclose(one.simulated, other.simulated, rtol=1e-6)
    assert one.bounds.keys() == other.bounds.keys()
    for name in one.bounds:
        np.testing.assert_allclose(one.bounds[name], other.bounds[name], rtol=1e-9)


def test_growth_is_that_of_the_horizons_with_room_for_exploitation(table: BoundsTable) -> None:
    assert table.m == 16
    expected = growth_exponent(np.array([30.0, 60.0]), table.exact[1:])
    assert table.growth(table.exact) == expected
    assert table.growth(table.simulated) == growth_exponent(np.array([30.0, 60.0]), table.simulated[1:])


# ---- which policy, which horizons ----------------------------------------------------------------------------------


def test_the_first_scale_of_the_setting_is_played() -> None:
    policies = {
        "Hy": HySCaLE(2.0, 2, min_eigenvalue=0.5),
        "first": SCaLE(2.0, 2, min_eigenvalue=0.5, c1=5.0, gamma2=7.0),
        "second": SCaLE(2.0, 2, min_eigenvalue=0.5),
    }
    found = bound_setting(setting(policies=policies), runs=1)
    assert format_bounds(found).startswith(
        "first of the setting: m = 20 exploration rounds, gamma^2 = 7, direct handover\n"
    )


@pytest.mark.parametrize(
    ("problem", "facts"),
    [
        (RandomProblem(3, 2, min_eigenvalue=0.5, max_eigenvalue=1.0), "noise_cap 2, rank 2, min_eigenvalue 0.5"),
        (Problem(np.diag([2.0, 0.0, 0.25])), "noise_cap 2, rank 2, min_eigenvalue 0.25"),
        (Problem(np.eye(2), switching_weight=[1.0, 4.0]), "noise_cap 2, rank 2, min_eigenvalue 0.25"),
    ],
)
def test_without_a_scale_the_default_one_gets_the_known_arguments(problem: Any, facts: str) -> None:
    policies = {"FTM": FTM(), "Hy": HySCaLE(2.0, 2, min_eigenvalue=0.5)}
    found = bound_setting(setting(problem, policies=policies), runs=1)
    assert found.policy == f"SCaLE by default, since the setting has none ({facts})"
    assert found.m == 3 * 2 * problem.dim


def test_default_horizons_leave_room_for_exploitation() -> None:
    for longest, c1 in itertools.product((1, 7, 60, 1000), (0.25, 4.0, 500.0)):
        policies = {"SCaLE": SCaLE(2.0, 2, min_eigenvalue=0.5, c1=c1)}
        one = replace(setting(policies=policies), horizon=longest, horizons=())
        found = bound_setting(one, runs=1)
        assert found.m == 4 * c1
        assert found.horizons[-1] == longest
        assert list(found.horizons) == sorted(set(found.horizons))
        assert len(found.horizons) <= 6
        assert all(found.m < T for T in found.horizons[:-1])
    assert bound_setting(replace(setting(), horizons=()), runs=1).horizons == (30, 60)


def test_wrong_horizons_and_runs_are_refused() -> None:
    for wrong in ([], [20, 10], [10, 10]):
        with pytest.raises(ArgumentError, match="horizons must be increasing numbers of rounds"):
            bound_setting(setting(), horizons=wrong)
    with pytest.raises(ArgumentError, match="horizons must be a positive integer, got 0"):
        bound_setting(setting(), horizons=[0, 10])
    with pytest.raises(ArgumentError, match="runs must be a positive integer, got 0"):
        bound_setting(setting(), runs=0)
    nothing = setting(Problem(np.zeros((2, 2))), policies={"FTM": FTM()})
    with pytest.raises(ArgumentError, match="must hold a SCaLE if A is zero, got FTM"):
        bound_setting(nothing)


def test_progress_goes_from_horizon_to_horizon() -> None:
    seen: list[tuple[int, int]] = []
    bound_setting(setting(), runs=1, progress=lambda done, total, _: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (100, 100)
    assert {total for _, total in seen} == {100}


# ---- text ----------------------------------------------------------------------------------------------------------


def rows_of(text: str) -> dict[str, list[str]]:
    """The rows of a printed table by their labels."""
    lines = [line.strip().rsplit(maxsplit=3) for line in text.splitlines() if line.startswith("  ")]
    return {line[0].strip(): line[1:] for line in lines}


def test_the_table_has_a_column_for_each_horizon(table: BoundsTable) -> None:
    rows = rows_of(format_bounds(table))
    assert [float(cell) for cell in rows["mean"]] == pytest.approx(table.mean, rel=0.01)
    exact = table.exact.mean(axis=1)
    assert [float(cell) for cell in rows["of all rounds"][1:]] == pytest.approx(exact[1:], rel=0.01)
    # The first horizon is within the rounds of probing.
    for name in ("of all rounds", "Theorem 1, as printed", "Second order, corrected"):
        assert rows[name][0] == "-"
        assert "-" not in rows[name][1:]
    assert rows["runs with a nuclear error of at most epsilon"][0] == "-"
    assert rows["gamma^2 in these runs"][0] == "-"
    assert float(rows["gamma^2 in these runs"][2]) == pytest.approx(table.gamma2[2], rel=0.01)
    printed = bounds(FIXED.A, 100.0, horizon=60, noise_cap=2.0, c1=4.0).value("Theorem 2", "as_printed")
    assert float(rows["Theorem 2, as printed"][2]) == pytest.approx(printed, rel=0.01)


@pytest.mark.parametrize(
    ("process", "options", "reason"),
    [
        (Cauchy(), {}, "Cauchy steps are not known to make v a martingale"),
        (Correlated(5.0), {}, "Correlated steps are not known to make v a martingale"),
        (StudentT(5.0, df=1.5), {}, "StudentT steps have no variance"),
        (Gaussian(5.0), {"changes": [Change(20)]}, "A changes during a run"),
        (Gaussian(5.0), {"factor": Factor(0.5)}, "the hitting cost has a factor that changes"),
        (Gaussian(5.0), {"offset": Offset(1.0)}, "the player is not told v itself"),
        (Gaussian(5.0), {"outages": Outages(0.2)}, "the plant does not apply every action at once"),
        (Gaussian(5.0), {"period": 360.0}, "positions are angles"),
        (Gaussian(5.0), {"context": Context(size=1.0, dim=1)}, "the player is not told v itself"),
    ],
)
def test_it_says_why_the_theorems_do_not_apply(
    process: Any, options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    found = bound_setting(setting(process=process, **options), runs=3)
    assert np.isnan(found.exact).all()
    assert not found.bounds
    assert np.isfinite(found.simulated).all()
    text = format_bounds(found)
    assert f"no exact regret and no bounds: {reason}" in text
    assert "Theorem" not in text
    assert len(rows_of(text)["mean"]) == 3
    files = save_bounds(found, tmp_path)
    assert all(path.stat().st_size for path in files)
    quantities = {row["quantity"] for row in csv.DictReader(files[0].read_text().splitlines())}
    assert quantities == {"simulated", "nuclear error", "gamma2"}


def test_some_matrices_have_an_exact_regret_and_no_bounds() -> None:
    zero = setting(Problem(np.zeros((2, 2))))
    found = bound_setting(zero, runs=2)
    assert "no bounds: A is zero" in format_bounds(found)
    assert np.isfinite(found.exact[1:]).all()
    rng = [np.random.default_rng(k) for k in range(2)]
    mixed = np.stack(
        [random_curvature(2, rank, min_eigenvalue=0.5, max_eigenvalue=1.0, rng=rng[rank - 1]) for rank in (1, 2)]
    )
    found = bound_setting(setting(Problem(mixed)), runs=2)
    assert "no bounds: the rank of A differs between runs" in format_bounds(found)
    short = bound_setting(setting(), horizons=[10, 16])
    assert format_bounds(short).endswith("no bounds: exploration takes all of the 16 rounds")


def handmade(**changes: Any) -> BoundsTable:
    """Exact regret 10 and 20, of exploitation 1 and 2; errors of 1/2 and 1/4 beside epsilon = 1/3."""
    of_runs = np.ones((2, 4))
    table = BoundsTable(
        setting="mine",
        title="Mine",
        policy="SCaLE",
        probe_rule="= 1",
        handover="direct",
        m=5,
        horizons=(100, 400),
        simulated=np.array([[9.0, 11.0, 10.0, 10.0], [18.0, 22.0, 20.0, 20.0]]),
        exact=of_runs * [[10.0], [20.0]],
        direct=of_runs * [[10.0], [20.0]],
        exploitation=of_runs * [[1.0], [2.0]],
        error=of_runs * [[0.5], [0.25]],
        gamma2=np.array([1.0, 2.0]),
        bounds={
            ("Theorem 1", "corrected"): np.array([10.0, 30.0]),
            ("Theorem 1", "as_printed"): np.array([9.0, 19.0]),
            ("Corollary 1", "corrected"): np.array([9.0, 30.0]),
            ("Corollary 1", "appendix"): np.array([11.0, 19.0]),
            ("Theorem 5", "corrected"): np.array([9.0, 9.0]),
            ("Theorem 2", "corrected"): np.array([0.5, 3.0]),
        },
        epsilon=of_runs / 3.0,
        schedules={"corrected": np.ones(2), "as_printed": np.ones(2)},
    )
    return replace(table, **changes)


def test_verdicts_say_where_a_bound_fails_and_whether_its_premise_does() -> None:
    assert format_bounds(handmade()).splitlines()[-5:] == [
        "at or above the exact regret at every T: Theorem 1 (corrected); Theorem 5 (corrected)",
        "Theorem 1 (as printed): below the exact regret at every T, "
        "although every nuclear error is at most epsilon at T = 400",
        "Corollary 1 (corrected): below the exact regret at T = 100, where not every nuclear error is at most epsilon",
        "Corollary 1 (appendix): below the exact regret at T = 400, "
        "although every nuclear error is at most epsilon at T = 400",
        "Theorem 2 (corrected): above the exact regret of exploitation at T = 400, "
        "which is not a contradiction: the bound is for A = 0",
    ]
    text = format_bounds(handmade())
    assert "simulated regret grows as T^0.50 (0." in text
    sinking = handmade(simulated=-handmade().simulated)
    assert "simulated regret does not grow visibly as a power of T" in format_bounds(sinking)


def test_one_run_has_no_standard_error_and_a_still_v_no_discrepancy() -> None:
    one = bound_setting(setting(), runs=1)
    assert rows_of(format_bounds(one))["standard error"] == ["-", "-", "-"]
    still = bound_setting(setting(process=Gaussian(0.0)), horizons=[30])
    np.testing.assert_allclose(still.simulated, still.exact, rtol=1e-9)
    assert np.isnan(still.discrepancy).all()


# ---- files and the picture -----------------------------------------------------------------------------------------


def test_files_hold_the_numbers_and_a_picture(table: BoundsTable, tmp_path: Path) -> None:
    file, png, svg = save_bounds(table, tmp_path / "new")
    rows = list(csv.DictReader(file.read_text().splitlines()))

    def read(quantity: str, variant: str, horizon: int) -> list[float]:
        wanted = (quantity, variant, str(horizon))
        return [float(r["value"]) for r in rows if (*list(r.values())[:3],) == wanted]

    assert read("simulated", "", 10) == table.simulated[0].tolist()
    assert read("exact", "", 60) == table.exact[2].tolist()
    assert read("exact", "", 10) == []
    assert read("exact exploitation", "", 60) == table.exploitation[2].tolist()
    assert read("Theorem 3", "appendix", 30) == [table.bounds["Theorem 3", "appendix"][1]]
    assert read("gamma2", "played", 60) == [table.gamma2[2]]
    assert png.read_bytes().startswith(b"\x89PNG")
    first = svg.read_bytes()
    save_bounds(table, tmp_path / "new")
    assert svg.read_bytes() == first


def test_the_picture_draws_every_bound_once_on_log_axes(table: BoundsTable) -> None:
    figure = bounds_figure(table)
    whole, later = figure.axes
    assert {axes.get_xscale() for axes in figure.axes} == {"log"}
    assert {axes.get_yscale() for axes in figure.axes} == {"log"}
    drawn = [np.asarray(line.get_ydata()) for axes in figure.axes for line in axes.get_lines()]
    for values in (*table.bounds.values(), table.exact.mean(axis=1)):
        assert sum(np.array_equal(values[np.isfinite(values)], line) for line in drawn) >= 1
    low, high = whole.get_ylim()
    assert low < table.mean.min() < table.mean.max() < high
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert {"exact", "Theorem 5, as printed", "Second order, corrected"} <= set(texts)
    assert later.get_title(loc="left").startswith("Regret of exploitation")


def test_the_picture_of_a_single_horizon_shows_dashes() -> None:
    one = bound_setting(setting(), horizons=[60], runs=2)
    markers = {line.get_marker() for axes in bounds_figure(one).axes for line in axes.get_lines()}
    assert "_" in markers
    bare = bounds_figure(bound_setting(setting(process=Cauchy()), runs=4))
    assert len(bare.axes) == 1
    assert bare.legends[0].get_title().get_text().startswith("median of 4 runs")


def test_the_handover_is_named_where_it_is_the_cause() -> None:
    of_runs = np.ones((2, 4))
    virtual = handmade(handover="virtual", direct=of_runs * [[8.0], [19.5]])
    text = format_bounds(virtual)
    assert "virtual handover" in text.splitlines()[0]
    assert "of all rounds, had it gone on from the last probe" in text
    # Corollary 1, corrected, is 9 at T = 100: below 10, and above the 8 of a direct handover.
    (line,) = [line for line in text.splitlines() if line.startswith("Corollary 1 (corrected)")]
    assert "because of the virtual handover at T = 100: from the last probe, as the proof assumes" in line
    # Theorem 1, as printed, is 9 and 19: at T = 400 the direct handover is above it too.
    (line,) = [line for line in text.splitlines() if line.startswith("Theorem 1 (as printed)")]
    assert "because of the virtual handover at T = 100" in line
    assert "at T = 400, although every nuclear error is at most epsilon at T = 400" in line
    # A direct handover is never blamed.
    assert "because of the virtual handover" not in format_bounds(handmade())


def test_the_exact_regret_of_a_direct_handover_is_computed_for_a_virtual_one() -> None:
    policy = SCaLE.as_printed(1.0, 1, min_eigenvalue=1.0, c1=3.0)
    problem = RandomProblem(2, 1, min_eigenvalue=1.0)
    environment = Environment(problem, Gaussian(30.0), Uniform(1.0))
    one = Setting("a", "a", "", "", "", environment, {"SCaLE": policy}, 50, (), 3, 0)
    other = replace(one, policies={"SCaLE": replace(policy, handover="direct")})
    virtual, direct = bound_setting(one), bound_setting(other)
    assert (virtual.handover, direct.handover) == ("virtual", "direct")
    np.testing.assert_allclose(virtual.direct, direct.exact)
    np.testing.assert_allclose(direct.direct, direct.exact)
    assert (virtual.exact[np.isfinite(virtual.exact)] > virtual.direct[np.isfinite(virtual.exact)]).any()
