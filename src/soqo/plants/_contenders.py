"""The policies that are compared on a plant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from soqo.plants._baselines import Deadband, Interpolation, ScheduledLAI
from soqo.plants._curvature import fit_curvature
from soqo.plants._drive import Contender
from soqo.plants._plant import Plant
from soqo.policies import FTM, GLIDE, LAI, RLS, HySCaLE, SCaLE

_NOISE_CAPS = 3.0
"""The bound of the noise that SCaLE is told, in standard deviations."""

ORACLE = "oracle A(context)"
"""The name of the benchmark that knows A for every context."""

TOLD_NOTHING = "GLIDE, told nothing"
"""The name of GLIDE without what an engineer knows about the plant."""


def contenders(plant: Plant, *, rounds: int = 1000, seeds: int | Sequence[int] = 2) -> dict[str, Contender]:
    """Return the policies that are compared on a plant, with what each needs to know.

    - FTM, a deadband and a fixed interpolation: what plants are run with today.
    - LAI with the mean of A, fitted to the plant's own model, and LAI with A(context) now and the mean later: the
      benchmark. No learner knows either.
    - RLS, which is told the noise; GLIDE, which is told how far the cost is nearly quadratic and whether v is right, as
      an engineer knows it; and GLIDE told nothing.
    - The paper's SCaLE and HySCaLE, which are told the noise, the rank and the smallest eigenvalue: calibrated, with
      probes of the size of a typical deviation, and as printed.

    Parameters
    ----------
    plant : Plant
        The plant.
    rounds : int
        The number of rounds for which A is averaged.
    seeds : int or sequence of int
        The runs for which A is averaged, as in :func:`drive`.

    Returns
    -------
    dict of str to Contender
        The policies by name.

    Examples
    --------
    >>> from soqo.plants import Quadratic
    >>> list(contenders(Quadratic([[1.0]]), rounds=20, seeds=1))[:3]
    ['FTM', 'deadband', 'interpolation 0.5']
    """
    runs = list(range(seeds)) if isinstance(seeds, int) else [*seeds]
    fit = fit_curvature(plant, plant.draw(rounds, runs))
    weight = np.asarray(plant.switching_weight, dtype=np.float64)
    root = np.sqrt(weight)
    A, tables = fit.mean / weight, fit.tables / weight
    smallest = max(float(np.linalg.eigvalsh(A)[0]), 1e-3)
    noise = plant.reading_deviation
    told: dict[str, Any] = {"noise_cap": _NOISE_CAPS * noise, "rank": plant.dim, "min_eigenvalue": smallest}
    probes = float(root * plant.typical_step) ** 2
    return {
        "FTM": Contender(FTM()),
        "deadband": Contender(Deadband(float(root * plant.deadband))),
        "interpolation 0.5": Contender(Interpolation(0.5)),
        "LAI, fitted A": Contender(LAI(A), factor=False),
        ORACLE: Contender(ScheduledLAI(A, fit.levels, tables), context=True),
        "RLS": Contender(RLS(noise=noise, prior_deviation=1.0, offset=True)),
        **_glides(plant, float(root)),
        "HySCaLE": Contender(HySCaLE(**told, c1=1.0, gamma2=probes)),
        "SCaLE": Contender(SCaLE(**told, c1=1.0, gamma2=probes)),
        "HySCaLE as printed": Contender(HySCaLE.as_printed(**told)),
        "SCaLE as printed": Contender(SCaLE.as_printed(**told)),
    }


def _glides(plant: Plant, root: float) -> dict[str, Contender]:
    """Return GLIDE as an engineer would set it up, and GLIDE told nothing if that is another policy."""
    distance = plant.trusted_distance
    told = GLIDE(offset=not plant.v_is_minimizer, trusted_distance=None if distance is None else root * distance)
    chosen = {"GLIDE": Contender(told)}
    return chosen if told == GLIDE() else {**chosen, TOLD_NOTHING: Contender(GLIDE())}
