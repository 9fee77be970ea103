"""Functions that are compiled where Numba is installed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from soqo._foundation.compilation import compiled


def add(a: float, b: float) -> float:
    return a + b


def test_a_compiled_function_is_the_same_function() -> None:
    assert compiled(add)(1.5, 2.0) == 3.5


@pytest.mark.parametrize(("value", "expected"), [("0", "False"), ("1", "True"), (None, "True")])
def test_the_environment_switches_compiled_functions_off(value: str | None, expected: str) -> None:
    environment = {name: text for name, text in os.environ.items() if name != "SOQO_FAST"}
    if value is not None:
        environment["SOQO_FAST"] = value
    code = "from soqo._foundation.compilation import can_compile; print(can_compile())"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected


def test_a_process_without_compiled_functions_imports_no_numba() -> None:
    code = "import sys, soqo; p = soqo.GLIDE(); p.act(p.start([0.0]), [1.0]); print('numba' in sys.modules)"
    environment = {**os.environ, "SOQO_FAST": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
