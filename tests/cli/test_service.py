"""The commands of the service, in real processes."""

from __future__ import annotations

import signal
import subprocess
import time
import urllib.request
from pathlib import Path

from command_line import COMMAND, ENVIRONMENT, complaint, run
from service_processes import free_port
from soqo import service


def test_tokens_are_created_and_listed(tmp_path: Path) -> None:
    store = tmp_path / "plants.sqlite"
    made = run("token", "create", "roof", "--scope", "operate", "--plant", "roof", SOQO_STORE=str(store))
    assert made.stdout.startswith("soqo_")
    service.revoke_token(store, "roof")
    listed = run("token", "list", "--store", store).stdout
    assert listed.split()[:8] == ["name", "scope", "plants", "created", "state", "roof", "operate", "roof"]
    assert listed.split()[-1] == "revoked"
    assert made.stdout.strip() not in listed


def test_one_command_serves_a_live_demo_and_ends_cleanly(tmp_path: Path) -> None:
    port = free_port()
    command = [*COMMAND, "serve", "--demo", "--port", str(port), "--store", str(tmp_path / "s.sqlite")]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/plants/demo-cooling", headers={"Accept": "text/html"}
        )
        page = ""
        end = time.monotonic() + 60.0
        while "middle aisle" not in page:
            assert time.monotonic() < end
            time.sleep(0.1)
            try:
                page = urllib.request.urlopen(request, timeout=5.0).read().decode()
            except OSError:
                continue
    finally:
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=30.0)
    assert f"http://127.0.0.1:{port}/plants/demo-cooling" in out
    assert "Traceback" not in err


def test_a_password_of_a_store_is_not_printed() -> None:
    line = complaint("token", "revoke", "roof", "--store", "mysql://me:secret@host/base")
    assert line == "store must be a file, sqlite:// or postgresql://, got mysql://"
