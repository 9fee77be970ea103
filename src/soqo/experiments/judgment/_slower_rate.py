"""What a learning rate that is not in the paper changes: text for remarks and for the headline."""

from __future__ import annotations

from collections.abc import Sequence

from soqo._simulation.summary import format_short
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._rankings import BASELINES, outperform
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Status
from soqo.experiments.settings import (
    AXES,
    SLOW_HYSCALE,
    SLOW_LEARNERS,
    SLOW_SCALE,
    Reading,
    canonical_spectrum,
    describe_setting,
)


def against_slower(
    samples: Samples,
    evidence: Evidence,
    readings: Sequence[Reading],
    *,
    names: Sequence[str],
    players: Sequence[str],
    others: Sequence[str] = BASELINES,
) -> str:
    """Return what a learning rate that is not in the paper changes: for the baselines, and for both policies.

    Parameters
    ----------
    samples, evidence, readings
        The regret of policies, other evidence, and the readings of the claim.
    names, players, others : sequence of str
        The settings of the claim, its players and its baselines.
    """
    held = 0
    for reading in readings:
        cases = outperform(samples, evidence, reading, names=names, players=players, others=(*others, *SLOW_LEARNERS))
        held += Status.all(case.status for case in cases) is Status.HOLDS
    told = (
        "With learners of the rate 1e-8 among the baselines, which are not in the paper, it holds in "
        f"{held} of {len(readings)} readings."
    )
    return f"{told} {_tell_slower(samples, names)}".strip()


def _tell_slower(samples: Samples, names: Sequence[str]) -> str:
    """Return in words what SCaLE and HySCaLE do with soqo's defaults and the rate 1e-8, for each spectrum.

    Parameters
    ----------
    samples : Samples
        The regret of policies.
    names : sequence of str
        The settings.
    """
    parts = []
    for name in names:
        found = slower_medians(samples, name)
        for spectrum, (scale, hyscale, text_rate, own_rate) in found.items():
            label = describe_setting(name)
            place = label if len(found) == 1 else f"{label}, spectrum {spectrum.replace('_', ' ')}"
            parts.append(
                f"{place}: {format_short(scale)} and {format_short(hyscale)}, the best of FTM, POL and OAL "
                f"{format_short(text_rate)} at 1e-6 and {format_short(own_rate)} at 1e-8"
            )
    if not parts:
        return ""
    return f"With soqo's defaults and the rate 1e-8, the medians of SCaLE and HySCaLE are, in {'; in '.join(parts)}."


def slower_medians(samples: Samples, name: str) -> dict[str, tuple[float, float, float, float]]:
    """Return medians with soqo's defaults and the rate 1e-8, by spectrum.

    Parameters
    ----------
    samples : Samples
        The regret of policies.
    name : str
        The setting.

    Returns
    -------
    dict of str to tuple of float
        Those of SCaLE, HySCaLE, the best baseline with the text's rate, and the best one with the rate 1e-8.
    """
    medians = {}
    for spectrum in dict.fromkeys(canonical_spectrum(samples.settings[name], one.key) for one in AXES["spectrum"]):
        reading = Reading(spectrum=spectrum, statistic="median")
        found = samples.of(name, reading, None)
        if found is None or SLOW_HYSCALE not in found.policies:
            continue
        best = (min(samples.statistic(name, reading, other)[0] for other in others) for others in _BASELINES_BY_RATE)
        own = (samples.statistic(name, reading, policy)[0] for policy in (SLOW_SCALE, SLOW_HYSCALE))
        scale, hyscale, text_rate, own_rate = map(float, (*own, *best))
        medians[spectrum] = scale, hyscale, text_rate, own_rate
    return medians


def slower_wins(samples: Samples, name: str, statistic: str) -> tuple[int, int]:
    """Return for how many spectra SCaLE with soqo's defaults significantly beats the baselines, and of how many.

    Parameters
    ----------
    samples : Samples
        The regret of policies.
    name : str
        The setting.
    statistic : str
        ``"mean"`` or ``"median"``.
    """
    spectra = slower_medians(samples, name)
    held = 0
    for spectrum in spectra:
        reading = Reading(spectrum=spectrum, statistic=statistic)
        (case,) = outperform(samples, Evidence(), reading, names=(name,), players=(SLOW_SCALE,))
        held += case.status is Status.HOLDS
    return held, len(spectra)


_BASELINES_BY_RATE = (BASELINES, ("FTM", *SLOW_LEARNERS))
"""The baselines with the text's learning rate, and with one that is ours."""
