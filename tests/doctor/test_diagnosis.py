"""A diagnosis as text: versions, extras with what to install, and the results of the tests."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import soqo
from soqo._doctor.installation import Extra
from soqo._doctor.self_test import Check

GOOD = Check("estimate", passed=True, message="trace 1", seconds=0.01)
BAD = Check("journal", passed=False, message="OSError: disk", seconds=0.5)


def diagnose(*checks: Check) -> soqo.Diagnosis:
    """A diagnosis with two extras, of which one includes the other."""
    extras = (Extra("service", {"typer": "1.0"}, ("fastapi", "uvicorn")), Extra("lab", {"typer": "1.0"}, ()))
    return soqo.Diagnosis({"soqo": "9.9", "BLAS": "some"}, extras, checks)


def test_a_diagnosis_is_healthy_if_every_check_passed() -> None:
    assert diagnose(GOOD).healthy
    assert not diagnose(GOOD, BAD).healthy


def test_the_text_says_what_is_missing_and_what_failed() -> None:
    lines = str(diagnose(GOOD, BAD)).splitlines()
    assert lines[:2] == ["soqo  9.9", "BLAS  some"]
    assert "  lab      typer 1.0" in lines
    assert '  service  incomplete, without fastapi, uvicorn: pip install "soqo[service]"' in lines
    assert lines[-2:] == [
        "  estimate    ok      trace 1 (0.01 s)",
        "  journal     FAILED  OSError: disk (0.50 s)",
    ]


def test_a_bug_report_names_versions_and_no_paths() -> None:
    text = str(soqo.doctor())
    assert soqo.__version__ in text
    assert platform.python_version() in text
    assert str(Path.home()) not in text
    assert not re.search(r"/(home|Users|tmp)/", text)
