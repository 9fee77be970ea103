"""A policy in one line: a kind with arguments as in TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from soqo import FTM, GLIDE, POL, SCaLE
from soqo.errors import ArgumentError
from soqo.experiments import parse_policy


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("FTM", FTM()),
        (" GLIDE() ", GLIDE()),
        ("GLIDE(noise_cap=0.5, offset=false)", GLIDE(noise_cap=0.5, offset=False)),
        ("POL (learning_rate = 1e-3)", POL(1e-3)),
        ('{ kind = "POL", learning_rate = 1e-3 }', POL(1e-3)),
        (
            "SCaLE.as_printed(noise_cap=1.0, rank=2, min_eigenvalue=0.1)",
            SCaLE.as_printed(noise_cap=1.0, rank=2, min_eigenvalue=0.1),
        ),
    ],
)
def test_a_text_gives_the_policy(text: str, policy: Any) -> None:
    assert parse_policy(text) == policy


def test_a_policy_of_ones_own_is_found_beside_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_for_text.py").write_text(
        "from dataclasses import dataclass\nimport soqo\n\n@dataclass(frozen=True)\n"
        "class Share(soqo.Policy[None]):\n    share: float = 0.5\n\n"
        "    def decide(self, state, v):\n        return state.x + self.share * (v - state.x), None\n"
    )
    monkeypatch.chdir(tmp_path)
    assert repr(parse_policy("own_for_text:Share(share=0.25)")) == "Share(share=0.25)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "policy must be a kind, such as GLIDE"),
        ("GLIDE(", "policy must be a kind, such as GLIDE"),
        ("GLID", "policy must be one of .*FTM, GLIDE, .* or 'module:Class', got 'GLID'"),
        ("GLIDE(cap=1)", "policy GLIDE has no argument 'cap'; it has offset, noise_cap,"),
        ("GLIDE(offset=False)", "policy must have values as in TOML, such as 0.5, true"),
        ("GLIDE(noise_cap=-1)", "policy GLIDE: noise_cap must be a finite number at least 0, got -1"),
        ("POL", r"policy POL needs learning_rate, as in POL\(learning_rate=\.\.\.\)"),
        ("LAI", "policy must not know A, which a log does not hold, got LAI"),
        ("{ learning_rate = 1.0 }", "policy must have a kind"),
        ("no_such_module_for_test:Policy", "kind must be a class that Python can import"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        parse_policy(text)
