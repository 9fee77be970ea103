"""Results: regret from costs, totals and pieces, files that are bit-identical, and files that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import soqo
from soqo import FTM, POL, Environment, Problem, Result, simulate
from soqo.errors import ArgumentError, FileFormatError, SoqoError, UnknownNameError
from soqo.noise import Uniform
from soqo.processes import Gaussian


@pytest.fixture(scope="module")
def result() -> Result:
    environment = Environment(Problem(np.diag([0.5, 2.0])), Gaussian(3.0), Uniform(1.0))
    policies = {"FTM": FTM(), "POL": POL(1e-4)}
    return simulate(environment, policies, horizon=40, runs=6, seed=9, first_run=2, record=True)


def test_regret_is_the_difference_of_costs(result: Result) -> None:
    record = result["POL"]
    paid = np.cumsum(record.hitting + record.switching, axis=1)
    best = np.cumsum(result.benchmark_hitting + result.benchmark_switching, axis=1)
    np.testing.assert_allclose(result.regret("POL"), paid - best, atol=1e-9)
    np.testing.assert_allclose(np.cumsum(result.regret("POL", per_round=True), axis=1), result.regret("POL"))


def test_the_summary_is_of_the_round_and_form_asked_for(result: Result) -> None:
    early = result.summary(at=10, form="low_variance", interval_of="mean")["POL"]
    sample = result.regret("POL", form="low_variance")[:, 9]
    assert early.mean == pytest.approx(sample.mean())
    assert early.median == pytest.approx(np.median(sample))
    assert early.interval[0] <= early.mean <= early.interval[1]
    assert result.summary()["FTM"].mean == pytest.approx(result.regret("FTM")[:, -1].mean())


def test_a_result_maps_names_to_records(result: Result) -> None:
    assert result.policies == ("FTM", "POL")
    assert list(result) == ["FTM", "POL"]
    assert (len(result), result.runs, result.horizon) == (2, 6, 40)
    assert dict(result.items())["POL"] is result["POL"]
    assert "LAI" not in result
    for kind in (UnknownNameError, KeyError, SoqoError):
        with pytest.raises(kind, match=r"^policy must be one of 'FTM', 'POL', got 'LAI'$"):
            result.regret("LAI")
    with pytest.raises(UnknownNameError):
        result["LAI"]


def test_bad_options_are_refused(result: Result) -> None:
    with pytest.raises(ArgumentError, match="form must be one of"):
        result.regret("FTM", form="x")  # type: ignore[arg-type]  # on purpose
    for at in (0, 41):
        with pytest.raises(ArgumentError, match=f"at must be a recorded round, 1 to 40, got {at}"):
            result.summary(at=at)
    with pytest.raises(ArgumentError, match="at must be a recorded round, which is 40, got 10"):
        result.total().summary(at=10)


def test_to_xarray_labels_everything(result: Result) -> None:
    dataset = result.to_xarray()
    assert dataset["regret"].dims == ("policy", "run", "round")
    picked = dataset["regret"].sel(policy="POL", run=4, round=17)
    assert float(picked) == result.regret("POL")[2, 16]
    assert dataset["actions"].sel(policy="FTM").shape == (6, 40, 2)


def test_a_loaded_file_is_bit_identical(result: Result, tmp_path: Path) -> None:
    path = result.save(tmp_path / "result.nc")
    assert list(tmp_path.iterdir()) == [path]
    back = Result.load(path)
    assert back.policies == result.policies
    assert back.first_run == 2
    assert back.configuration == result.configuration
    for name in result:
        for key in ("hitting", "switching", "low_variance_regret", "diverged"):
            np.testing.assert_array_equal(getattr(back[name], key), getattr(result[name], key))
        np.testing.assert_array_equal(back.regret(name), result.regret(name))
    assert result.actions is not None
    assert back.actions is not None
    for name, actions in result.actions.items():
        np.testing.assert_array_equal(back.actions[name], actions)
    np.testing.assert_array_equal(back.v, result.v)


def test_a_result_without_paths_comes_back_without_them(tmp_path: Path) -> None:
    environment = Environment(Problem(np.eye(1)), Gaussian(3.0), Uniform(1.0))
    saved = simulate(environment, {"FTM": FTM()}, horizon=5, runs=2).save(tmp_path / "result.nc")
    assert Result.load(saved).v is None


def test_the_configuration_says_what_made_the_result(result: Result) -> None:
    configuration: Any = json.loads(json.dumps(result.configuration))
    assert configuration["environment"]["problem"]["A"] == [[0.5, 0.0], [0.0, 2.0]]
    assert configuration["environment"]["process"] == {"class": "Gaussian", "scale": 3.0}
    assert configuration["policies"]["POL"]["learning_rate"] == 1e-4
    assert configuration["versions"]["soqo"] == soqo.__version__
    assert (configuration["seed"], configuration["first_run"], configuration["runs"]) == (9, 2, 6)


def test_damaged_and_foreign_files_are_refused(result: Result, tmp_path: Path) -> None:
    good = result.save(tmp_path / "good.nc").read_bytes()
    for name, content in {
        "empty": b"",
        "text": b"not a result",
        "cut": good[: len(good) // 3],
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=name):
            Result.load(path)
    foreign = tmp_path / "foreign.nc"
    xarray.Dataset({"a": ("x", [1.0, 2.0])}).to_netcdf(foreign, engine="scipy")
    with pytest.raises(FileFormatError, match="must be a soqo result of format 1 or 2, got format None"):
        Result.load(foreign)
    incomplete = tmp_path / "incomplete.nc"
    result.to_xarray().drop_vars("hitting").to_netcdf(incomplete, engine="scipy")
    with pytest.raises(FileFormatError, match="checksum does not match"):
        Result.load(incomplete)
    with pytest.raises(FileFormatError, match="must be a complete soqo result"):
        Result.from_xarray(result.to_xarray().drop_vars("hitting"))
    with pytest.raises(FileFormatError, match="must be a complete soqo result"):
        Result.from_xarray(result.to_xarray().isel(policy=0))
    with pytest.raises(FileNotFoundError, match="no result at"):
        Result.load(tmp_path / "missing.nc")


def test_any_changed_byte_is_noticed(result: Result, tmp_path: Path) -> None:
    path = result.save(tmp_path / "result.nc")
    good = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for place in [*rng.integers(len(good), size=150), *rng.integers(3000, size=150)]:
        bad = good.copy()
        bad[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bad)
        try:
            back = Result.load(path)
        except FileFormatError:
            continue
        # A byte that no number or name depends on, such as padding: then nothing may differ.
        assert back.configuration == result.configuration
        for name in result:
            np.testing.assert_array_equal(back.regret(name), result.regret(name))


def test_a_failed_save_leaves_nothing_behind(result: Result, tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "keep").touch()
    with pytest.raises(OSError, match="folder"):
        result.save(target)
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing to write result.nc in"):
        result.save(tmp_path / "missing" / "result.nc")


def test_diagnostics_for_each_run_are_kept_in_files(result: Result, tmp_path: Path) -> None:
    back = Result.load(result.save(tmp_path / "result.nc"))
    for key in ("estimate", "overshoots"):
        np.testing.assert_array_equal(back["POL"].diagnostics[key], result["POL"].diagnostics[key])


def test_concatenated_pieces_are_bit_identical_to_the_whole(tmp_path: Path) -> None:
    environment = Environment(Problem(np.diag([0.5, 2.0])), Gaussian(3.0), Uniform(1.0))
    policies = {"FTM": FTM(), "POL": POL(1e-4)}
    whole = simulate(environment, policies, horizon=30, runs=5, seed=1, record=True)
    parts = [
        simulate(environment, policies, horizon=30, runs=runs, seed=1, first_run=first, record=True)
        for first, runs in ((0, 2), (2, 3))
    ]
    parts[1] = Result.load(parts[1].save(tmp_path / "part.nc"))
    together = Result.concat(parts)
    assert together.configuration == whole.configuration
    assert list(together) == list(whole)
    for name in whole:
        np.testing.assert_array_equal(together.regret(name), whole.regret(name))
        np.testing.assert_array_equal(together[name].diverged, whole[name].diverged)
    np.testing.assert_array_equal(together["POL"].diagnostics["estimate"], whole["POL"].diagnostics["estimate"])
    assert together.actions is not None
    assert whole.actions is not None
    np.testing.assert_array_equal(together.actions["POL"], whole.actions["POL"])
    with pytest.raises(ArgumentError, match="expected first_run 2, got 0"):
        Result.concat([parts[0], parts[0]])
    with pytest.raises(ArgumentError, match="parts must hold at least one result"):
        Result.concat([])


def test_a_notebook_shows_the_summary(result: Result) -> None:
    html = result._repr_html_()
    assert html.startswith("<p>Regret against LAI: horizon 40, runs 2..7</p>\n<table>")
    assert result.summary()._repr_html_() in html


# ---- totals --------------------------------------------------------------------------------------------------------


def test_the_total_has_the_last_regret_bit_for_bit(result: Result) -> None:
    total = result.total()
    assert (total.runs, total.horizon, total.rounds.tolist()) == (6, 40, [40])
    assert total.v is None
    for name in result:
        for form in ("difference", "low_variance"):
            np.testing.assert_array_equal(total.regret(name, form=form), result.regret(name, form=form)[:, -1:])
        np.testing.assert_allclose(total.cost(name)[:, 0], result.cost(name).sum(axis=1))
    assert total.summary() == result.summary()


def test_totals_of_pieces_are_saved_and_concatenated(result: Result, tmp_path: Path) -> None:
    environment = Environment(Problem(np.diag([0.5, 2.0])), Gaussian(3.0), Uniform(1.0))
    policies = {"FTM": FTM(), "POL": POL(1e-4)}
    pieces = [simulate(environment, policies, horizon=40, runs=3, seed=9, first_run=first).total() for first in (2, 5)]
    loaded = [Result.load(piece.save(tmp_path / f"{k}.nc")) for k, piece in enumerate(pieces)]
    assert all(loaded[k]["POL"].regret is not None for k in range(2))
    together = Result.concat(loaded)
    assert together.horizon == 40
    for name in result:
        np.testing.assert_array_equal(together.regret(name), result.total().regret(name))
    with pytest.raises(ArgumentError, match="the same policies and recorded rounds"):
        Result.concat([pieces[0], simulate(environment, policies, horizon=40, runs=3, seed=9, first_run=5)])


def test_equal_results_are_equal(result: Result, tmp_path: Path) -> None:
    again = Result.load(result.total().save(tmp_path / "total.nc"))
    assert again == Result.load(tmp_path / "total.nc")
    assert again != Result.load(result.save(tmp_path / "whole.nc"))
    assert result["FTM"] != result["POL"]


def test_a_file_of_the_first_version_is_read() -> None:
    old = Result.load(Path(__file__).parent.parent / "data" / "0.1.0" / "result.nc")
    assert old.configuration["versions"]["soqo"] == "0.1.0"
    environment = Environment(Problem(np.diag([0.5, 2.0])), Gaussian(3.0), Uniform(1.0))
    new = simulate(environment, {"FTM": FTM(), "POL": POL(1e-4)}, horizon=5, runs=2, seed=9, first_run=2, record=True)
    assert (old.policies, old.first_run, old.horizon) == (new.policies, 2, 5)
    for name in new:
        np.testing.assert_allclose(old.regret(name), new.regret(name), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(old[name].low_variance_regret, new[name].low_variance_regret, rtol=1e-9, atol=1e-12)
    assert old.v is not None
    assert new.v is not None
    np.testing.assert_allclose(old.v, new.v)
