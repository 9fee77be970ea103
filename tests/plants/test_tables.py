"""Traces in files; what is read from them is tested with wind and load."""

from __future__ import annotations

from pathlib import Path

import pytest

from soqo.errors import FileFormatError
from soqo.plants import Load


def test_a_table_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "load.csv"
    path.write_bytes(b"\xef\xbb\xbfutilization\n0.5\n")
    assert len(Load.read(path)) == 1


def test_a_number_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "load.csv"
    path.write_text("utilization\n0.5\nnan\n")
    with pytest.raises(FileFormatError, match="line 3: expected finite numbers, got utilization = 'nan'"):
        Load.read(path)
