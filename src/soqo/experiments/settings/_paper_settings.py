"""The paper's settings by name, in groups that claims are about."""

from __future__ import annotations

PRIMARY = "primary"
"""The setting of Figure 3, the primary evaluation."""

HEAVY_TAILS = ("heavy_tails_0.01", "heavy_tails_1")
"""The settings of Figure 4."""

RANK_DEFICIENT = ("rank_deficient_0.01", "rank_deficient_1")
"""The settings of Figure 5."""

SENSITIVITY = tuple(f"sensitivity_{eta}" for eta in (1, 10, 100, 1000, 10000))
"""The settings of Figure 6."""

_FULL_RANK_FIRST = ("r4_1", "r4_0.01", "r1_1", "r1_0.01")
_RANK_ONE_FIRST = ("r1_0.01", "r1_1", "r4_0.01", "r4_1")
SIXTEEN = tuple(
    f"{process}_{case}"
    for process, cases in (
        ("gaussian", _FULL_RANK_FIRST),
        ("correlated", _RANK_ONE_FIRST),
        ("cauchy", _FULL_RANK_FIRST),
        ("laplace", _FULL_RANK_FIRST),
    )
    for case in cases
)
"""The settings of the appendix in its order, Figures 7 to 22."""

CAUCHY = tuple(name for name in SIXTEEN if name.startswith("cauchy"))
"""The appendix's settings whose steps have no covariance."""

WITH_COVARIANCE = tuple(name for name in SIXTEEN if name not in CAUCHY)
"""The appendix's other settings."""

LAPLACE = tuple(name for name in SIXTEEN if name.startswith("laplace"))
"""The appendix's settings that the paper calls heavy-tailed, whose steps have a covariance."""

LIGHT_TAILS = (PRIMARY, *RANK_DEFICIENT, *(name for name in SIXTEEN if name.startswith(("gaussian", "correlated"))))
"""The settings with light tails."""

FULL_RANK = {"rank_deficient_0.01": "gaussian_r4_0.01", "rank_deficient_1": "gaussian_r4_1"}
"""For each setting of Figure 5, the one of the appendix with the same steps and sigma_r in full rank."""

SAME_PARAMETERS = {"gaussian_r1_0.01": "gaussian_r4_0.01", "gaussian_r1_1": "gaussian_r4_1"}
"""Pairs of the appendix's settings that differ in the rank only; those of FULL_RANK differ in eta and c1 too."""

SPLIT = ("gaussian_r4_1", "gaussian_r4_0.01", "gaussian_r1_1", "gaussian_r1_0.01")
"""The settings in which the two parts of Proposition 1 are compared: v is a martingale with a covariance."""
