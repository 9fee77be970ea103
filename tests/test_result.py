"""Results: regret from costs, files that come back to the bit, and files that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import soqo
from soqo import FTM, POL, Environment, Problem, Result, simulate
from soqo.errors import ArgumentError, FileFormatError
from soqo.noise import Uniform
from soqo.processes import Gaussian


@pytest.fixture(scope="module")
def result() -> Result:
    environment = Environment(Problem(np.diag([0.5, 2.0])), Gaussian(3.0), Uniform(1.0))
    policies = {"FTM": FTM(), "POL": POL(1e-4)}
    return simulate(environment, policies, 40, 6, seed=9, first_run=2, record=True)


def test_regret_is_the_difference_of_costs(result: Result) -> None:
    track = result["POL"]
    paid = np.cumsum(track.hitting + track.switching, axis=1)
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


def test_names_sizes_and_unknown_names(result: Result) -> None:
    assert result.policies == ("FTM", "POL")
    assert list(result) == ["FTM", "POL"]
    assert (result.runs, result.horizon) == (6, 40)
    with pytest.raises(ArgumentError, match="policy must be one of 'FTM', 'POL', got 'LAI'"):
        result.regret("LAI")
    with pytest.raises(ArgumentError, match="form must be one of"):
        result.regret("FTM", form="x")
    with pytest.raises(ArgumentError, match="at must be at most horizon = 40, got 41"):
        result.summary(at=41)


def test_to_xarray_labels_everything(result: Result) -> None:
    dataset = result.to_xarray()
    assert dataset["regret"].dims == ("policy", "run", "round")
    picked = dataset["regret"].sel(policy="POL", run=4, round=17)
    assert float(picked) == result.regret("POL")[2, 16]
    assert dataset["actions"].sel(policy="FTM").shape == (6, 40, 2)


def test_a_file_brings_everything_back_to_the_bit(result: Result, tmp_path: Path) -> None:
    path = result.save(tmp_path / "result.nc")
    assert list(tmp_path.iterdir()) == [path]
    back = Result.load(path)
    assert back.policies == result.policies
    assert back.first_run == 2
    assert back.configuration == result.configuration
    for name in result:
        for key in ("hitting", "switching", "excess", "diverged"):
            np.testing.assert_array_equal(getattr(back[name], key), getattr(result[name], key))
        np.testing.assert_array_equal(back.regret(name), result.regret(name))
    assert result.actions is not None
    assert back.actions is not None
    for name, actions in result.actions.items():
        np.testing.assert_array_equal(back.actions[name], actions)
    np.testing.assert_array_equal(back.v, result.v)


def test_a_result_without_paths_comes_back_without_them(tmp_path: Path) -> None:
    environment = Environment(Problem(np.eye(1)), Gaussian(3.0), Uniform(1.0))
    saved = simulate(environment, {"FTM": FTM()}, 5, 2).save(tmp_path / "result.nc")
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
    with pytest.raises(FileFormatError, match="must be a soqo result of format 1, got format None"):
        Result.load(foreign)
    incomplete = tmp_path / "incomplete.nc"
    result.to_xarray().drop_vars("hitting").to_netcdf(incomplete, engine="scipy")
    with pytest.raises(FileFormatError, match="checksum does not match"):
        Result.load(incomplete)
    with pytest.raises(FileFormatError, match="must be a whole soqo result"):
        Result.from_xarray(result.to_xarray().drop_vars("hitting"))
    with pytest.raises(FileFormatError, match="must be a whole soqo result"):
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


def test_a_file_is_as_readable_as_any_other(result: Result, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.touch()
    saved = result.save(tmp_path / "result.nc")
    assert saved.stat().st_mode == other.stat().st_mode


def test_diagnostics_for_each_run_are_kept_in_files(result: Result, tmp_path: Path) -> None:
    back = Result.load(result.save(tmp_path / "result.nc"))
    for key in ("estimate", "overshoots"):
        np.testing.assert_array_equal(back["POL"].diagnostics[key], result["POL"].diagnostics[key])


def test_pieces_are_put_together_to_the_bit(tmp_path: Path) -> None:
    environment = Environment(Problem(np.diag([0.5, 2.0])), Gaussian(3.0), Uniform(1.0))
    policies = {"FTM": FTM(), "POL": POL(1e-4)}
    whole = simulate(environment, policies, 30, 5, seed=1, record=True)
    parts = [
        simulate(environment, policies, 30, runs, seed=1, first_run=first, record=True)
        for first, runs in ((0, 2), (2, 3))
    ]
    parts[1] = Result.load(parts[1].save(tmp_path / "part.nc"))
    together = Result.concat(parts)
    assert together.configuration == whole.configuration
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


def test_a_result_shows_itself_in_a_line(result: Result) -> None:
    assert repr(result) == "Result(FTM, POL; horizon 40, runs 2..7)"
    assert repr(result.summary()) == str(result.summary())
