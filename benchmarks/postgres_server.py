"""A PostgreSQL server in a temporary folder, for tests and benchmarks: it listens to a socket in that folder only."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def find_programs() -> Path | None:
    """The folder of PostgreSQL's programs, or None if it is not installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return folders[-1].parent if folders else None


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a server, and return the URL of its database."""
    programs = find_programs()
    assert programs is not None, "PostgreSQL is not installed"
    # PostgreSQL refuses to run as root.
    user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    with tempfile.TemporaryDirectory(prefix="soqo-pg-", ignore_cleanup_errors=True) as folder:
        if os.getuid() == 0:
            shutil.chown(folder, user)
        account, quiet = (user if os.getuid() == 0 else None), subprocess.DEVNULL
        data = f"{folder}/data"
        initialize = [
            str(programs / "initdb"),
            "-D",
            data,
            "-U",
            "soqo",
            "--auth=trust",
            "--no-locale",
            "-E",
            "UTF8",
            "-N",
        ]
        subprocess.run(initialize, check=True, user=account, stdout=quiet, stderr=quiet)
        command = [
            str(programs / "postgres"),
            "-D",
            data,
            "-k",
            folder,
            "-c",
            "listen_addresses=",
            "-c",
            "max_connections=50",
        ]
        server = subprocess.Popen(command, user=account, stdout=quiet, stderr=quiet)
        try:
            ready = [str(programs / "pg_isready"), "-h", folder, "-d", "postgres", "-U", "soqo"]
            for _ in range(200):
                if subprocess.run(ready, user=account, stdout=quiet, stderr=quiet, check=False).returncode == 0:
                    break
                time.sleep(0.05)
            yield f"postgresql://soqo@/postgres?host={folder}"
        finally:
            server.terminate()
            with suppress(subprocess.TimeoutExpired):
                server.wait(10)
            server.kill()
