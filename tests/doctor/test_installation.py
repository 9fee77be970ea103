"""What is installed is what the metadata of packages say."""

from __future__ import annotations

from importlib import metadata

import pytest

from soqo._doctor.installation import THREAD_VARIABLES, describe_blas, describe_threads, find_extras


def test_an_extra_has_the_versions_of_its_packages_and_what_is_missing() -> None:
    requirements = [
        "numpy>=2.2",
        'scipy>=1.13; extra == "speed"',
        'no-such-package>=1.0; extra == "speed"',
        'soqo[speed]; extra == "more"',
        'pytest>=8; extra == "dev"',
    ]
    speed, more = find_extras(requirements)
    assert (speed.name, speed.installed, speed.missing) == (
        "speed",
        {"scipy": metadata.version("scipy")},
        ("no-such-package",),
    )
    assert (more.name, more.installed, more.missing) == ("more", {}, ())


def test_every_extra_for_users_is_found() -> None:
    declared = set(metadata.metadata("soqo").get_all("Provides-Extra") or [])
    assert {extra.name for extra in find_extras()} == declared - {"dev", "docs", "all"}


def test_a_package_for_other_platforms_is_not_missed_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    requirement = "no-such-package>=0.19; sys_platform != 'win32' and extra == 'service'"
    assert find_extras([requirement])[0].missing == ("no-such-package",)
    monkeypatch.setattr("os.name", "nt")
    assert find_extras([requirement]) == []


def test_threads_name_what_limits_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert describe_threads().startswith("not limited, ")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert describe_threads().startswith("OMP_NUM_THREADS=3, ")


def test_the_blas_has_a_name() -> None:
    assert describe_blas() != "unknown"
