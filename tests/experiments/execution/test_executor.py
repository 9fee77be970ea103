"""The executor: the same numbers from one process, from many, from a cluster, and after any interruption."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]  # comes with distributed
import pytest

import soqo
from soqo import FTM, State
from soqo.errors import ArgumentError, ComputationError
from soqo.experiments import CellProgress, Outcome, Setting, parse_settings, run
from soqo.experiments.execution import CellStore, Landed, split_into_cells

SPEC = """
horizon = 80
horizons = [40, 80]
runs = 60
problem = { dim = 3, rank = 3, min_eigenvalue = 0.1, max_eigenvalue = 1.0 }
process = { kind = "Gaussian", scale = 50.0 }
noise = { kind = "Uniform", cap = 10.0 }
policy = [{ kind = "SCaLE" }, { kind = "GLIDE" }]
"""

SCRIPT = """
import hashlib, json, sys
from soqo.experiments import read_settings, run

if __name__ == "__main__":
    spec, folder, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    def show(report):
        print(f"{'kept' if report.kept else 'computed'} {report.seconds:.3f}", flush=True)
    (outcome,) = run(read_settings(spec), folder, progress=show, **options)
    numbers = [outcome.curve(name) for name in outcome.policies]
    numbers += [outcome.regret(name, T) for T in outcome.horizons for name in outcome.policies]
    print("checksum", hashlib.sha256(b"".join(map(bytes, numbers))).hexdigest())
"""

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def settings() -> list[Setting]:
    return parse_settings(SPEC, "spec.toml", name="spec")


def checksum(outcome: Outcome) -> str:
    """Return a hash of all regret, as the script prints it."""
    numbers = [outcome.curve(name) for name in outcome.policies]
    numbers += [outcome.regret(name, T) for T in outcome.horizons for name in outcome.policies]
    return hashlib.sha256(b"".join(map(bytes, numbers))).hexdigest()


@pytest.fixture(scope="module")
def expected(settings: list[Setting], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The checksum of an undisturbed run in one process."""
    (outcome,) = run(settings, tmp_path_factory.mktemp("undisturbed"), workers=1)
    return checksum(outcome)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the script; every process of it is gone at the end of the test."""
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "script.py").write_text(SCRIPT)
    started: list[subprocess.Popen[str]] = []

    def begin(spec: str = "spec.toml", folder: str = "cells", **options: Any) -> subprocess.Popen[str]:
        paths = [str(tmp_path / name) for name in ("script.py", spec, folder)]
        process = subprocess.Popen(
            [sys.executable, "-W", "error", *paths, json.dumps(options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        with suppress(ProcessLookupError):  # its workers too, should it have left any behind
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


MANY_RUNS = 600
"""So many that a test has the time to interrupt them, even in a slow moment of the machine."""


def wait_for_cells(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60.0
    while len(list(folder.glob("*.nc"))) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def workers_of(process: subprocess.Popen[str]) -> list[Any]:
    """The processes that a script started to compute."""
    children = psutil.Process(process.pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def is_gone(process: Any) -> bool:
    """Whether a process has ended; as a zombie, it only waits for somebody to notice."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


# ---- one machine ---------------------------------------------------------------------------------------------------


def test_a_pool_of_processes_gives_bit_identical_numbers(
    start: Callable[..., subprocess.Popen[str]], expected: str
) -> None:
    out, err = start(workers=2).communicate(timeout=60)
    assert err == ""
    lines = out.split("\n")
    assert lines[-2] == f"checksum {expected}"
    assert len(lines) == 12 + 2  # three cells for each horizon, and SCaLE and GLIDE apart
    assert all(0.0 < float(line.split()[1]) < 30.0 for line in lines[:-2])


def test_progress_counts_cells_and_says_which_were_stored(settings: list[Setting], tmp_path: Path) -> None:
    reports: list[CellProgress] = []
    run(settings, tmp_path, runs=22, workers=1, progress=reports.append)
    assert [report.done for report in reports] == list(range(1, 9))
    places = [(80, 0, 20), (80, 20, 2), (40, 0, 20), (40, 20, 2)]
    # SCaLE and GLIDE are computed apart.
    assert sorted((t.horizon, t.first_run, t.runs) for t in reports) == sorted([*places, *places])
    assert all(not t.kept and t.seconds > 0.0 and t.total == 8 and t.policies == 1 for t in reports)
    again: list[CellProgress] = []
    run(settings, tmp_path, runs=22, workers=1, progress=again.append)
    assert all(report.kept and report.seconds == 0.0 for report in again)
    assert len(again) == 8
    more: list[CellProgress] = []
    run(settings, tmp_path, runs=40, workers=1, progress=more.append)
    assert [report.kept for report in more] == [True] * 4 + [False] * 4


def test_one_more_policy_computes_only_itself(settings: list[Setting], tmp_path: Path) -> None:
    (setting,) = settings
    (before,) = run(settings, tmp_path, runs=3, workers=1)
    more = replace(setting, policies={"FTM": FTM(), **setting.policies})
    reports: list[CellProgress] = []
    (after,) = run([more], tmp_path, runs=3, workers=1, progress=reports.append)
    assert sum(report.policies for report in reports if not report.kept) == len(setting.horizons)
    for name in setting.policies:
        np.testing.assert_array_equal(before.curve(name), after.curve(name))
    # Another setting with the same environment finds the policy too, under a name of its own.
    other = replace(setting, name="other", policies={"follower": FTM()})
    reports.clear()
    (found,) = run([other], tmp_path, runs=3, workers=1, progress=reports.append)
    assert all(report.kept for report in reports)
    np.testing.assert_array_equal(found.curve("follower"), after.curve("FTM"))


def test_a_run_in_progress_has_outcomes_of_what_is_done(
    settings: list[Setting], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soqo.experiments.execution._executor._SECONDS_BETWEEN_NOTICES", 0.0)
    monkeypatch.setattr("soqo.experiments.execution._executor._SHARE_OF_NOTICES", 0.0)
    seen: list[tuple[int, list[tuple[str, ...]]]] = []

    def look(landed: Landed) -> None:
        outcomes = landed.outcomes()
        assert landed.by_setting == {"spec": (landed.done, landed.total)}
        assert landed.seconds > 0.0
        seen.append((landed.done, [outcome.policies for outcome in outcomes]))

    (whole,) = run(settings, tmp_path, runs=2, workers=1, landed=look)
    assert seen == [(1, [("SCaLE",)]), (2, [("SCaLE", "GLIDE")]), (3, [("SCaLE", "GLIDE")]), (4, [("SCaLE", "GLIDE")])]
    assert whole.policies == ("SCaLE", "GLIDE")


THREADS = """
import os
from dataclasses import dataclass
import numpy as np
import soqo

@dataclass(frozen=True)
class Threads(soqo.Policy[None]):
    def decide(self, state, v):
        return v, None

    def diagnostics(self, state):
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
        return {"threads": np.full((len(state.x), 2), [float(os.environ.get(name, "nan")) for name in names])}
"""


def test_workers_have_one_thread_and_environment_variables_are_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    (tmp_path / "threads_for_test.py").write_text(THREADS)
    text = SPEC.partition("policy = ")[0] + 'policy = [{ kind = "threads_for_test:Threads", name = "T" }]'
    settings = parse_settings(text, str(tmp_path / "spec.toml"), name="spec")
    (outcome,) = run(settings, tmp_path / "cells", runs=20, workers=2)
    np.testing.assert_array_equal(outcome.results[80]["T"].diagnostics["threads"], np.ones((20, 2)))
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in os.environ


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be a positive integer, got 0"),
        ({"runs": 0}, "runs must be a positive integer, got 0"),
        ({"workers": 2, "scheduler": "tcp://x"}, "workers must be None if a scheduler is given"),
    ],
)
def test_wrong_arguments_are_refused_before_any_work(
    settings: list[Setting], tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        run(settings, tmp_path / "cells", **options)
    assert not (tmp_path / "cells").exists()


@dataclass(frozen=True)
class Broken(FTM):
    """Fails in a cell of fewer than twenty runs."""

    def begin(self, x0: Any, horizon: Any, rng: Any) -> None:
        if len(x0) < 20:
            raise RuntimeError("too few")

    def decide(self, state: State[None], v: Any) -> Any:
        return v, None


def test_a_cell_that_fails_is_named_and_the_others_are_kept(settings: list[Setting], tmp_path: Path) -> None:
    broken = replace(settings[0], policies={"Broken": Broken()}, horizons=())
    message = "setting 'spec', 5 runs of 80 rounds from run 20: RuntimeError: too few .1 of 2 tasks done"
    with pytest.raises(ComputationError, match=message):
        run([broken], tmp_path, runs=25, workers=1)
    assert len(list(tmp_path.glob("*.nc"))) == 1


# ---- interruptions -------------------------------------------------------------------------------------------------


def test_killed_twice_it_resumes_and_ends_with_the_same_numbers(
    start: Callable[..., subprocess.Popen[str]], expected: str, tmp_path: Path
) -> None:
    cells = tmp_path / "cells"
    draw = random.Random(1)
    before = 0
    for _ in range(2):
        process = start(workers=2)
        wait_for_cells(cells, before + draw.randint(1, 2), process)
        workers = workers_of(process)
        assert len(workers) == 2
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        before = len(list(cells.glob("*.nc")))
        assert before < 6
        deadline = time.monotonic() + 10.0
        while not all(is_gone(worker) for worker in workers):  # they leave with their parent
            assert time.monotonic() < deadline
            time.sleep(0.05)
    out, err = start(workers=2).communicate(timeout=60)
    assert err == ""
    # A file holds one or two tasks.
    assert before <= out.count("kept") <= 2 * before
    assert out.split("\n")[-2] == f"checksum {expected}"


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_finished_cells_and_says_how_to_resume(
    start: Callable[..., subprocess.Popen[str]],
    settings: list[Setting],
    tmp_path: Path,
    workers: int,
) -> None:
    cells = tmp_path / "cells"
    total = 2 * len(split_into_cells(settings[0], MANY_RUNS))  # SCaLE and GLIDE apart
    process = start(workers=workers, runs=MANY_RUNS)
    wait_for_cells(cells, 2, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all processes of the command
    begun = time.monotonic()
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - begun < 5.0
    last = err.strip().split("\n")[-1]
    assert err.count("Traceback") == 1, err  # that of the script itself, and none of a worker
    store = CellStore(cells)
    stored = [store.load(cell) for cell in split_into_cells(settings[0], MANY_RUNS)]
    kept = sum(len(result.policies) for result in stored if result is not None)
    done = re.fullmatch(
        rf"soqo.errors.InterruptedRunError: interrupted with (\d+) of {total} tasks done, which are stored in "
        rf"{re.escape(str(cells))}; the same command resumes from there",
        last,
    )
    assert done is not None, last
    # The interrupt may come between the writing and the counting of a task.
    assert kept - 1 <= int(done[1]) <= kept < total
    assert kept >= 2
    assert not list(cells.glob("*.damaged"))
    assert not list(cells.glob(".*.tmp"))


def test_a_worker_that_dies_is_an_error_that_says_so(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = start(workers=2, runs=MANY_RUNS)
    wait_for_cells(tmp_path / "cells", 1, process)
    time.sleep(0.1)  # a worker that dies while it sends a result leaves a pool of Python waiting for the rest of it
    workers_of(process)[0].kill()
    _, err = process.communicate(timeout=30)
    assert "a worker process died, perhaps for lack of memory" in err.strip().split("\n")[-1]


# ---- a cluster -----------------------------------------------------------------------------------------------------


@contextmanager
def open_cluster(folder: Path, **variables: str) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Start a Dask scheduler and two workers with a thread each, on loopback; the variables are for the workers."""
    address_file = folder / "scheduler.json"
    scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    log = (folder / "dask.log").open("w")

    def begin(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", *arguments, "--no-dashboard"]
        return subprocess.Popen(command, stdout=log, stderr=log, env={**ENVIRONMENT, **variables}, cwd=folder)

    processes = [begin(*scheduler, "--scheduler-file", str(address_file))]
    try:
        deadline = time.monotonic() + 30.0
        while not (address_file.exists() and address_file.read_text().endswith("}")):
            assert time.monotonic() < deadline, (folder / "dask.log").read_text()
            time.sleep(0.05)
        address = json.loads(address_file.read_text())["address"]
        worker = ["distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
        processes += [begin(*worker, "--local-directory", str(folder / f"worker{k}")) for k in range(2)]
        yield address, processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()
        log.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    with open_cluster(tmp_path) as opened:
        yield opened


def test_a_cluster_gives_bit_identical_numbers_though_a_worker_is_killed(
    cluster: tuple[str, list[subprocess.Popen[bytes]]],
    start: Callable[..., subprocess.Popen[str]],
    expected: str,
    tmp_path: Path,
) -> None:
    address, workers = cluster
    process = start(scheduler=address)
    wait_for_cells(tmp_path / "cells", 3, process)
    workers[0].kill()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.split("\n")[-2] == f"checksum {expected}"
    assert out.count("computed") == 12


OWN = """
from dataclasses import dataclass
import soqo

@dataclass(frozen=True)
class Lazy(soqo.Policy[None]):
    share: float

    def decide(self, state, v):
        return state.x + self.share * (v - state.x), None
"""


def test_a_policy_beside_the_file_goes_to_the_workers(
    cluster: tuple[str, list[subprocess.Popen[bytes]]],
    start: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
) -> None:
    # The workers run in tmp_path, where they must not find the module by themselves.
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "lazy_for_test.py").write_text(OWN)
    before, _, _ = SPEC.partition("policy = ")
    policy = 'policy = [{ kind = "lazy_for_test:Lazy", share = [0.25, 0.5] }]'
    (tmp_path / "mine" / "spec.toml").write_text(before + policy)
    found: list[str] = []
    for options in ({"scheduler": cluster[0]}, {"workers": 2}):
        process = start(spec="mine/spec.toml", folder=f"cells{len(found)}", runs=20, **options)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert out.count("computed") == 4
        found.append(out.split("\n")[-2])
    assert found[0] == found[1]


def test_a_scheduler_that_does_not_answer_is_an_error_that_names_it(settings: list[Setting], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nothing answers there
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ArgumentError, match=f"scheduler that answers, got '{address}'"):
            run(settings, tmp_path, scheduler=address)
    with pytest.raises(ArgumentError, match="scheduler that answers, got 'nowhere://x'"):
        run(settings, tmp_path, scheduler="nowhere://x")


def test_a_worker_with_other_code_is_refused(settings: list[Setting], tmp_path: Path) -> None:
    package = tmp_path / "other" / "soqo"
    shutil.copytree(Path(soqo.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    with (package / "_planner.py").open("a") as file:
        file.write("# Another version.\n")
    with (
        open_cluster(tmp_path, PYTHONPATH=str(package.parent)) as (address, _),
        pytest.raises(ComputationError, match="the worker must have the same versions of soqo"),
    ):
        run(settings, tmp_path / "cells", runs=2, scheduler=address)
