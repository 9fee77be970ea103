"""Files that are replaced atomically: after a crash, a file has its old contents or its new ones."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from soqo._foundation.arguments import file_path

_ABANDONED_SECONDS = 600.0
"""A temporary file of a process that no longer exists is deleted when it is this old: if a folder is shared, the
process may be one of another machine, which writes to it."""


@contextmanager
def replacing(path: str | os.PathLike[str], *, on_disk: bool = True) -> Iterator[Path]:
    """Yield a temporary path to write to; on success the file there replaces ``path``, and by default is on the disk.

    If not, a power failure may leave an empty or incomplete file.
    """
    target = file_path("path", path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} in")
    remove_abandoned(target)
    temporary = temporary_path(target)
    try:
        yield temporary
        if on_disk:
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if on_disk:
        sync_folder(target.parent)


def temporary_path(target: Path) -> Path:
    """Return the path at which this process writes a file before it gets its name."""
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")


def remove_abandoned(target: Path) -> None:
    """Delete the temporary files of a target that killed processes have left behind."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.(\d+)\.tmp")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            found = pattern.fullmatch(entry.name)
            if found and not _is_alive(int(found[1])) and time.time() - entry.stat().st_mtime > _ABANDONED_SECONDS:
                os.unlink(entry.path)


def _is_alive(process: int) -> bool:
    """Return whether a process exists, as far as this one can tell."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def sync_folder(folder: Path) -> None:
    """Write a folder's directory entries to the disk; Windows cannot, and does so by itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
