"""Files of earlier versions can be loaded and resumed, and go on as before; files of newer versions are refused."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import soqo
from service_fixtures import LiveServer
from soqo.errors import FileFormatError

FOLDER = Path(__file__).parent / "data"
CASES = [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in sorted(FOLDER.glob("*/*.json"))]
RELEASES = sorted({path.parent for path in FOLDER.glob("*/FTM.json")})
SHARED = sorted({path.parent for path in FOLDER.glob("*/fleet")})
"""The folders with a fleet and a store."""

GLIDE_TOLERANCE = 0.15
"""How far GLIDE's actions may be from those of the version that wrote a file, as a share of the distance to v.

The learner is another one. It begins with the estimate in a file, or learns the readings in a journal anew. The largest
share measured is 0.10, with 14 dimensions and fewer readings than unknowns; with two, it is 0.08 in the first round
after the file and 0.04 from the second reading on. The cost is flat near the best action: an action that is off by a
tenth of the distance costs about a hundredth more.
"""


def open_controller(source: str, path: Path, folder: Path) -> soqo.Controller:
    """Load a saved controller, or resume a copy of a journal."""
    if source == "saved":
        return soqo.Controller.load(path.with_suffix(".controller"))
    journal = Path(shutil.copy(path.with_suffix(".journal"), folder))
    return soqo.Controller.resume(journal, durability="process")


def curvature(dim: int) -> np.ndarray:
    """Return the A with which the files were written."""
    B = np.random.default_rng(dim).standard_normal((dim, 2))
    return np.array([[2.0, 0.5], [0.5, 1.0]]) if dim == 2 else B @ B.T / dim


# ---- earlier versions ------------------------------------------------------------------------------------------------


def test_every_policy_of_the_first_version_has_files() -> None:
    policies = {path.stem.partition("_")[0] for path in (FOLDER / "0.1.0").glob("*.json")}
    assert policies == {"FTM", "LAI", "ROBD", "POL", "OAL", "SCaLE", "HySCaLE", "GLIDE", "Weighted", "Limited"}


@pytest.mark.parametrize("folder", RELEASES, ids=lambda folder: folder.name)
def test_a_journal_of_every_release_has_a_snapshot_in_the_middle(folder: Path) -> None:
    counts = [path.read_bytes().count(b"soqo snapshot ") for path in folder.glob("*.journal")]
    assert max(counts) > min(counts) == 1


@pytest.mark.parametrize("path", CASES)
@pytest.mark.parametrize("source", ["saved", "journal"])
def test_a_controller_continues_with_the_actions_of_the_version_that_wrote_it(
    source: str, path: Path, tmp_path: Path
) -> None:
    expected = json.loads(path.read_text(encoding="utf-8"))
    controller = open_controller(source, path, tmp_path)
    assert controller.round == expected["round"]
    np.testing.assert_array_equal(controller.pending, expected["pending"])
    np.testing.assert_array_equal(controller.x, expected["pending"])
    controller.observe(expected["y"])
    before, d = np.array(expected["pending"]), len(expected["pending"])
    for k, row in enumerate(expected["rows"]):
        v, action, y = np.array(row[:d]), np.array(row[d:-1]), row[-1]
        x = controller.act(v)
        if path.stem.startswith(("GLIDE", "Guarded")):  # a guard around GLIDE
            assert np.linalg.norm(x - action) <= GLIDE_TOLERANCE * np.linalg.norm(before - v)
        else:
            # Another processor adds in another order, and a learner carries the difference on.
            np.testing.assert_allclose(x, action, rtol=1e-7, atol=1e-7)
        before = action + 0.1 if k == 11 else action
        controller.observe(np.nan if k == 7 else y, applied=before)
    controller.close()


@pytest.mark.parametrize("path", CASES)
def test_the_log_of_a_journal_is_what_was_played(path: Path, tmp_path: Path) -> None:
    """Readings follow from positions, so that both are compared."""
    log = soqo.Log.read(Path(shutil.copy(path.with_suffix(".journal"), tmp_path)))
    expected = json.loads(path.read_text(encoding="utf-8"))
    rounds, d = expected["round"], len(expected["pending"])
    assert (len(log), log.v.shape[1]) == (rounds + 1, d)
    rng, v = np.random.default_rng(1), np.zeros(d)
    for k in range(rounds):
        v = v + 3.0 * rng.standard_normal(d)
        np.testing.assert_array_equal(log.v[k], v)
        u = log.x[k] - (0.1 if k == 11 else 0.0) - v
        y = 0.5 * u @ curvature(d) @ u + rng.uniform(-0.5, 0.5) + (300.0 if k == 20 else 0.0)
        np.testing.assert_allclose(log.y[k], np.nan if k == 7 else y, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(log.x[-1], expected["pending"])
    assert np.isnan(log.y[-1])
    if path.stem == "GLIDE_plant":
        np.testing.assert_array_equal([log.low, log.high], [[-15.0, -9.0], [15.0, np.inf]])


@pytest.mark.parametrize("folder", SHARED, ids=lambda folder: folder.name)
def test_the_journal_of_a_fleet_goes_on(folder: Path, tmp_path: Path) -> None:
    expected = json.loads((folder / "fleet" / "expected.json").read_text(encoding="utf-8"))
    shutil.copytree(folder / "fleet", tmp_path / "fleet")
    with soqo.Fleet.resume(tmp_path / "fleet" / "journal", durability="process") as fleet:
        assert (fleet.names, fleet.pending) == (("a", "b", "c"), ("a",))
        assert fleet.round.tolist() == expected["round"]
        np.testing.assert_array_equal(fleet.x[0], expected["pending"])
        before, v = fleet.x[1:], np.array(expected["v"])
        x = fleet.act(v, ["b", "c"])
    assert (np.linalg.norm(x - expected["x"], axis=1) <= GLIDE_TOLERANCE * np.linalg.norm(before - v, axis=1)).all()


@pytest.mark.parametrize("folder", SHARED, ids=lambda folder: folder.name)
def test_the_store_of_a_server_goes_on(folder: Path, tmp_path: Path) -> None:
    expected = json.loads((folder / "store" / "expected.json").read_text(encoding="utf-8"))
    path = tmp_path / "store.sqlite"
    with closing(sqlite3.connect(path)) as store:
        store.executescript((folder / "store" / "store.sql").read_text(encoding="utf-8"))
    with LiveServer(path) as server, soqo.Client(server.url) as client:
        plant = client.plant("roof")
        assert plant.round == expected["round"]
        np.testing.assert_array_equal(plant.pending, expected["pending"])
        plant.observe(expected["y"])
        assert len(plant.act([0.0, 0.0])) == 2
        assert len(plant.history()) == expected["round"] + 2


@pytest.mark.parametrize("path", CASES)
def test_a_loaded_controller_is_saved_in_the_current_format(path: Path, tmp_path: Path) -> None:
    controller = soqo.Controller.load(path.with_suffix(".controller"))
    saved = controller.save(tmp_path / "saved")
    assert b"soqo." not in saved.read_bytes(), "a file must not hold module paths"
    assert soqo.Controller.load(saved).explain() == controller.explain()


def test_the_first_version_wrote_module_paths() -> None:
    assert all(b"soqo." in path.read_bytes() for path in (FOLDER / "0.1.0").glob("*.controller"))


# ---- newer versions --------------------------------------------------------------------------------------------------

ADVICE = (
    r"has version 9 in the file, and this soqo reads versions up to \d+: use the soqo that wrote it, or a later one"
)


def raise_version(data: bytes, tag: str) -> bytes:
    """Return the data with version 9 of a class, which is as long as the current one."""
    changed, count = re.subn(rf'("tag": "{re.escape(tag)}", "version": )\d'.encode(), rb"\g<1>9", data)
    assert count == 1
    return changed


@pytest.mark.parametrize("tag", ["Plants", "State", "GLIDE", "GLIDE.memory"])
def test_a_saved_controller_with_a_class_of_a_newer_version_is_refused_with_advice(tag: str, tmp_path: Path) -> None:
    saved = soqo.Controller(soqo.GLIDE(), [1.0, -1.0]).save(tmp_path / "saved")
    body = raise_version(saved.read_bytes()[:-16], tag)
    saved.write_bytes(body + hashlib.blake2b(body, digest_size=16).digest())
    with pytest.raises(FileFormatError, match=f"saved: .*'{tag}' {ADVICE}"):
        soqo.Controller.load(saved)


@pytest.mark.parametrize("tag", ["Plants", "State", "GLIDE", "GLIDE.memory"])
def test_a_journal_with_a_class_of_a_newer_version_is_refused_with_advice_and_left(tag: str, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    soqo.Controller(soqo.GLIDE(), [1.0, -1.0], journal=path).close()
    magic, body = path.read_bytes()[:16], raise_version(path.read_bytes()[16:-4], tag)
    newer = magic + body + zlib.crc32(body, zlib.crc32(magic)).to_bytes(4, "little")
    path.write_bytes(newer)
    for read in (soqo.Controller.resume, soqo.Log.read):
        with pytest.raises(FileFormatError, match=f"journal: .*'{tag}' {ADVICE}"):
            read(path)
    assert path.read_bytes() == newer


def test_a_class_that_is_not_known_is_refused(tmp_path: Path) -> None:
    saved = soqo.Controller(soqo.FTM(), [1.0]).save(tmp_path / "saved")
    body = saved.read_bytes()[:-16].replace(b'"tag": "FTM"', b'"tag": "XYZ"')
    saved.write_bytes(body + hashlib.blake2b(body, digest_size=16).digest())
    with pytest.raises(FileFormatError, match="the file holds a 'XYZ', which this soqo does not know"):
        soqo.Controller.load(saved)


@pytest.mark.parametrize(
    ("name", "layout"), [("saved", "has layout b'2', and soqo"), ("journal", "is a journal of another layout")]
)
def test_a_file_of_a_newer_layout_is_refused(name: str, layout: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with soqo.Controller(soqo.FTM(), [1.0], journal=tmp_path / "journal") as controller:
        controller.save(tmp_path / "saved")
    path.write_bytes(path.read_bytes().replace(b" 1\n", b" 2\n", 1))
    with pytest.raises(FileFormatError, match=layout):
        (soqo.Controller.load if name == "saved" else soqo.Controller.resume)(path)
