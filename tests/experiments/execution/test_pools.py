"""Pools: processes with one BLAS thread, and a scheduler that does not answer."""

from __future__ import annotations

import os

import pytest

from soqo.errors import ArgumentError
from soqo.experiments.execution import open_executor


def test_a_pool_computes_in_other_processes_and_leaves_the_environment_as_it_was() -> None:
    before = dict(os.environ)
    with open_executor(1, None, []) as executor:
        assert executor.submit(os.getpid).result() != os.getpid()
        assert executor.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"
    assert dict(os.environ) == before


def test_an_address_that_is_none_is_refused() -> None:
    message = "scheduler must be the address of a Dask scheduler"
    with pytest.raises(ArgumentError, match=message), open_executor(1, "nowhere", []):
        pass
