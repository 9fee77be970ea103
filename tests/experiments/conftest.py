"""Small settings, simulated once for all tests of what is made from them."""

from __future__ import annotations

import pytest

from soqo.experiments import Outcome, Setting, parse_settings, run

SMALL = """
horizon = 60
runs = 3
[problem]
dim = 2
rank = 2
min_eigenvalue = 0.1
max_eigenvalue = 1.0
[process]
kind = "Gaussian"
scale = 10.0
[noise]
kind = "Uniform"
cap = 1.0
[[policy]]
kind = "FTM"
[[policy]]
name = "ROBD (knows A)"
kind = "ROBD"
[[policy]]
name = "POL, rate 1e-4"
kind = "POL"
learning_rate = 1e-4
[[policy]]
kind = "GLIDE"

[[setting]]
name = "intro"
title = "Pair: small steps, eta = 1"
source = "a test"
note = "where A & B are <left> open"
horizons = [20, 40, 60, 80]

[[setting]]
name = "second"
figure = "pair"
title = "Pair: one horizon"
horizons = []

[[setting]]
name = "third"
figure = "pair"
title = "Pair: large steps"
horizons = []
process = { scale = 100.0 }

[[setting]]
name = "sweep_1"
figure = "sweep"
title = "Sweep of c1, eta = 1"
policy = [
  { kind = "SCaLE", c1 = [1.0, 2.0, 8.0] },
  { name = "SCaLE as printed", kind = "SCaLE.as_printed", c1 = [1.0, 4.0] },
]

[[setting]]
name = "sweep_9"
figure = "sweep"
title = "Sweep of c1, eta = 9"
noise = { cap = 9.0 }
policy = [
  { kind = "SCaLE", c1 = [1.0, 2.0, 8.0] },
  { name = "SCaLE as printed", kind = "SCaLE.as_printed", c1 = [1.0, 4.0] },
]
"""


@pytest.fixture(scope="session")
def small() -> dict[str, Setting]:
    """Return the settings by name; one is ``intro``, which brings the picture of the curvature."""
    return {setting.name: setting for setting in parse_settings(SMALL, "small.toml", name="small")}


@pytest.fixture(scope="session")
def outcomes(small: dict[str, Setting], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """Return the outcomes by name."""
    found = run(list(small.values()), tmp_path_factory.mktemp("cells"), workers=1)
    return {outcome.setting.name: outcome for outcome in found}
