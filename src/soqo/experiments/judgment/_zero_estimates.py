"""Why SCaLE as printed fails where the signal is weak: its estimate is zero, and it stays where it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.settings import HEAVY_TAILS, Reading, describe_setting


def explain_zero_estimates(evidence: Evidence, setting: str) -> str:
    """Return in how many runs SCaLE's estimate as printed is zero in a setting, and why; empty if in none.

    Parameters
    ----------
    evidence : Evidence
        The evidence.
    setting : str
        The name of the setting.

    Examples
    --------
    >>> explain_zero_estimates(Evidence(), "heavy_tails_0.01")
    ''
    """
    found = next((one for one in evidence.rub if one.setting == setting), None)
    if found is None or not found.zero_estimates:
        return ""
    runs = found.curvature.size
    return (
        f"SCaLE's estimate as printed is zero in {found.zero_estimates} of {runs} runs: the measured costs sum to less "
        "than the radius eta m, so that M = 0 satisfies the constraint and has the least trace. Then C = I, and "
        "SCaLE stays where its probes end while v moves away: its regret grows as T^2. A smaller radius (exact or "
        "residual) or larger probes repair it."
    )


def tell_zero_estimates(
    _: Samples, evidence: Evidence, _readings: Sequence[Reading], *, names: Sequence[str] = HEAVY_TAILS
) -> str:
    """Return the same for several settings, for a remark.

    Parameters
    ----------
    evidence : Evidence
        The evidence.
    names : sequence of str
        The names of the settings.
    """
    parts = []
    for found in evidence.rub:
        if found.setting in names:
            share = float(np.median(found.sizes["SCaLE"] / found.curvature))
            told = explain_zero_estimates(evidence, found.setting)
            where = describe_setting(found.setting)
            parts.append(
                f"In {where}, {told}"
                if told
                else f"In {where}, the nuclear norm of its estimate is {share:.2g} of A's (median)."
            )
    return " ".join(parts)
