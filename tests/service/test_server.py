"""The server as a program: killed at random moments, and refused where nobody would be asked for a token."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from service_kills import kill_servers
from soqo import service
from soqo.errors import ArgumentError


def test_a_killed_server_loses_and_doubles_nothing(tmp_path: Path) -> None:
    store = str(tmp_path / "store.sqlite")
    assert kill_servers(store, servers=1, plants=3, kills=1, rounds=3) >= 3


def test_another_server_goes_on_where_a_killed_one_stopped(postgres: str) -> None:
    assert kill_servers(postgres, servers=2, plants=3, kills=1, rounds=3) >= 3


def test_an_open_server_listens_to_the_loopback_address_only(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="host must be a loopback address where no token is needed"):
        service.serve(tmp_path / "s.sqlite", host="0.0.0.0", require_token=False)
    with pytest.raises(ArgumentError, match="certificate and key must be given together"):
        service.serve(tmp_path / "s.sqlite", certificate="cert.pem")
    with pytest.raises(ArgumentError, match="log_level"):
        service.serve(tmp_path / "s.sqlite", log_level="loud")


def test_without_the_extra_the_error_names_it() -> None:
    code = """
import sys
for name in ("starlette", "uvicorn", "httpx", "asyncua"):
    sys.modules[name] = None
import soqo
for call in (lambda: soqo.Client("http://a"), lambda: soqo.AsyncClient("http://a"), lambda: soqo.service.serve(),
             lambda: soqo.service.create_app("a"), lambda: soqo.service.create_token("a", "b")):
    try:
        call()
    except soqo.errors.MissingExtraError as error:
        assert 'pip install "soqo[service]"' in str(error), error
    else:
        raise AssertionError
print(soqo.Controller(soqo.GLIDE(), [0.0]).act([1.0]).shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(1,)"
