"""What claims are tested with: regret as a statistic over runs and resamples, and evidence beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from soqo._model.problem import RandomProblem
from soqo.experiments.execution import Regrets, RegretTable, resampled_runs
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.settings import (
    Reading,
    Setting,
    TunedC1,
    c1_values,
    canonical_spectrum,
    hyscale_name,
    learner_names,
    scale_name,
)
from soqo.processes import Cauchy
from soqo.typing import Array


class Samples:
    """The regret of the policies of readings, with the paper's settings by name.

    A statistic comes as an array whose first entry is that of the runs, and whose other entries are those of resamples:
    the same runs for every policy, setting and horizon, so that differences are paired. Under Cauchy steps there is no
    mean, and the trimmed mean takes its place.

    Parameters
    ----------
    settings : iterable of Setting
        The settings.
    table : RegretTable
        The regret of the policies of plans.
    tuned : TunedC1
        The c1 of the reading "tuned".
    evidence : Evidence, optional
        Numbers beside regret; claims that need them are not tested without.

    Examples
    --------
    >>> from soqo.experiments.settings import LITERAL, find
    >>> Samples(find("primary"), {}, {}).policy("SCaLE", "primary", LITERAL)
    'SCaLE/algorithm/cap/3'
    """

    def __init__(
        self, settings: Iterable[Setting], table: RegretTable, tuned: TunedC1, evidence: Evidence | None = None
    ) -> None:
        self.settings = {setting.name: setting for setting in settings}
        self.table = table
        self.tuned = tuned
        self.evidence = evidence or Evidence()
        self._cache: dict[tuple[str, str, int, str, str], Array] = {}

    @cached_property
    def runs(self) -> int:
        """The smallest number of runs."""
        return min((regrets.runs for regrets in self.table.values()), default=0)

    def has(self, names: Sequence[str], horizons: int) -> bool:
        """Return whether all these settings were simulated, each at so many horizons.

        Parameters
        ----------
        names : sequence of str
            The names of the settings.
        horizons : int
            The least number of horizons.
        """
        return all(
            name in self.settings
            and self.of(name, None, None) is not None
            and len({*self.settings[name].horizons, self.settings[name].horizon}) >= horizons
            for name in names
        )

    def has_no_mean(self, name: str) -> bool:
        """Return whether the steps of a setting have no mean, so that means are trimmed.

        Parameters
        ----------
        name : str
            The setting's name.
        """
        return isinstance(self.settings[name].environment.process, Cauchy)

    def of(self, name: str, reading: Reading | None, horizon: int | None) -> Regrets | None:
        """Return the regret of all policies in a setting, or None.

        Parameters
        ----------
        name : str
            The setting's name.
        reading : Reading or None
            The reading, for its spectrum.
        horizon : int or None
            The horizon; None for the setting's own.
        """
        setting = self.settings[name]
        spectrum = canonical_spectrum(setting, reading.spectrum if reading is not None else None)
        return self.table.get((name, spectrum, setting.horizon if horizon is None else horizon))

    def spectrum(self, name: str, reading: Reading) -> str:
        """Return the spectrum of a reading in a setting.

        Parameters
        ----------
        name : str
            The setting's name.
        reading : Reading
            The reading.
        """
        return canonical_spectrum(self.settings[name], reading.spectrum)

    def c1(self, name: str, reading: Reading) -> float:
        """Return the c1 of a reading in a setting.

        Parameters
        ----------
        name : str
            The setting's name.
        reading : Reading
            The reading.
        """
        setting = self.settings[name]
        if reading.c1 != "tuned":
            return c1_values(setting, reading.c1)[0]
        place = (name, self.spectrum(name, reading), str(reading.gamma2), str(reading.radius))
        return self.tuned[place][str(reading.statistic)]

    def exploration_rounds(self, name: str, reading: Reading) -> int:
        """Return the number m of probes under a reading.

        Parameters
        ----------
        name : str
            The setting's name.
        reading : Reading
            The reading.
        """
        problem = self.settings[name].environment.problem
        assert isinstance(problem, RandomProblem)
        return math.ceil(self.c1(name, reading) * problem.rank * problem.dim)

    def policy(self, label: str, name: str, reading: Reading) -> str:
        """Return the name that one of the paper's policies has under a reading.

        Parameters
        ----------
        label : {"FTM", "POL", "OAL", "SCaLE", "HySCaLE"} or str
            The policy of the paper; another name stays as it is.
        name : str
            The setting's name.
        reading : Reading
            The reading.
        """
        gamma2, radius, gradient = (str(getattr(reading, axis)) for axis in ("gamma2", "radius", "gradient"))
        if label == "SCaLE":
            return scale_name(gamma2, radius, self.c1(name, reading))
        if label == "HySCaLE":
            return hyscale_name(gamma2, radius, gradient, self.c1(name, reading))
        return dict(zip(("POL", "OAL"), learner_names(gradient), strict=True)).get(label, label)

    def by_c1(self, name: str, reading: Reading) -> tuple[Array, Array]:
        """Return the values of c1 that a line search tries, and SCaLE's statistic at each of them.

        Parameters
        ----------
        name : str
            The setting's name.
        reading : Reading
            The reading; its c1 does not matter.

        Returns
        -------
        tuple of Array
            The values, and the statistics for the runs and for the resamples, shape (values, 1 + resamples).
        """
        values = c1_values(self.settings[name], "tuned")
        names = [scale_name(str(reading.gamma2), str(reading.radius), c1) for c1 in values]
        return np.array(values), np.stack([self.statistic(name, reading, policy) for policy in names])

    def horizons(self, name: str, reading: Reading, policy: str) -> list[int]:
        """Return the horizons at which a policy was played, in increasing order.

        Parameters
        ----------
        name : str
            The setting's name.
        reading : Reading
            The reading, for its spectrum.
        policy : str
            The policy: one of the paper's, as in :meth:`policy`, or a name in the table.
        """
        setting = self.settings[name]
        policy = self.policy(policy, name, reading)
        every = sorted({setting.horizon, *setting.horizons})
        return [h for h in every if (found := self.of(name, reading, h)) is not None and policy in found.policies]

    def statistic(self, name: str, reading: Reading, policy: str, horizon: int | None = None) -> Array:
        """Return a policy's statistic of regret at the end, for the runs and for the resamples.

        Parameters
        ----------
        name : str
            The setting's name.
        reading : Reading
            The reading, for its spectrum and its statistic.
        policy : str
            The policy: one of the paper's, as in :meth:`policy`, or a name in the table.
        horizon : int, optional
            The horizon; the setting's own by default.
        """
        setting = self.settings[name]
        policy = self.policy(policy, name, reading)
        spectrum = self.spectrum(name, reading)
        used = setting.horizon if horizon is None else horizon
        key = (name, spectrum, used, policy, str(reading.statistic))
        if key not in self._cache:
            self._cache[key] = self.reduce(name, reading, self.table[name, spectrum, used][policy])
        return self._cache[key]

    def reduce(self, name: str, reading: Reading, values: Array) -> Array:
        """Return the statistic of numbers of the runs, for the runs and for the resamples.

        Parameters
        ----------
        name : str
            The setting's name, since means do not exist under Cauchy steps.
        reading : Reading
            The reading, for its statistic.
        values : Array, shape (runs,)
            The numbers; NaN counts as infinite.
        """
        used = np.where(np.isnan(values), np.inf, values)[: self.runs]
        drawn = resample(used)
        with np.errstate(invalid="ignore", over="ignore"):
            if reading.statistic == "median":
                middle = [(self.runs - 1) // 2, self.runs // 2]
                return np.asarray(np.partition(drawn, middle, axis=1)[:, middle].mean(axis=1))
            if self.has_no_mean(name):
                return trimmed_mean(drawn)
            return np.asarray(drawn.mean(axis=1))

    def exponent(self, name: str, reading: Reading, policy: str) -> Array:
        """Return the exponent p of T^p of a policy's regret, by least squares; NaN where regret is not positive.

        Parameters
        ----------
        name : str
            The setting's name.
        reading : Reading
            The reading.
        policy : str
            The policy: one of the paper's, as in :meth:`policy`, or a name in the table.
        """
        horizons = self.horizons(name, reading, policy)
        regret = np.stack([self.statistic(name, reading, policy, h) for h in horizons])
        lengths = np.log(np.array(horizons, dtype=float))
        centered = lengths - lengths.mean()
        with np.errstate(invalid="ignore", divide="ignore"):
            slopes = centered @ np.log(regret) / (centered @ centered)
        return np.where((regret > 0.0).all(axis=0) & np.isfinite(slopes), slopes, np.nan)


TRIMMED = 0.1
"""The share of the runs that a trimmed mean leaves out at each end."""


def trimmed_mean(samples: Array, share: float = TRIMMED) -> Array:
    """Return the mean over the last axis without this share of the smallest and of the largest numbers.

    It settles with the number of runs where a mean does not exist.

    Parameters
    ----------
    samples : Array, shape (..., runs)
        The numbers.
    share : float
        The share that is left out at each end.

    Examples
    --------
    >>> float(trimmed_mean(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1e9])))
    4.5
    """
    cut = int(share * samples.shape[-1])
    ordered = np.sort(samples, axis=-1)
    return np.asarray(ordered[..., cut : samples.shape[-1] - cut].mean(axis=-1))


def resample(values: Array) -> Array:
    """Return numbers of runs, shape (runs,), and those of resamples of the runs, shape (1 + resamples, runs)."""
    return np.concatenate([values[None], values[resampled_runs(values.size)]])


def tune_c1(settings: Iterable[Setting], table: RegretTable, readings: Sequence[Reading]) -> TunedC1:
    """Return the c1 with the least regret at each setting's own horizon, as the paper's line search chooses it.

    Parameters
    ----------
    settings : iterable of Setting
        The settings.
    table : RegretTable
        The regret of the policies of the first stage.
    readings : sequence of Reading
        The readings; those whose c1 is tuned matter.

    Returns
    -------
    TunedC1
        The choices, for means and for medians.

    Examples
    --------
    >>> from soqo.experiments.settings import LITERAL, find
    >>> tune_c1(find("primary"), {}, [LITERAL])         # nothing is tuned in this reading
    {}
    """
    samples = Samples(settings, table, {})
    found: dict[tuple[str, str, str, str], dict[str, float]] = {}
    for reading in readings:
        if reading.c1 != "tuned":
            continue
        for name, setting in samples.settings.items():
            if setting.swept:
                continue
            spectrum = samples.spectrum(name, reading)
            gamma2, radius = str(reading.gamma2), str(reading.radius)
            choices = found.setdefault((name, spectrum, gamma2, radius), {})
            grid, regret = samples.by_c1(name, reading)
            choices[str(reading.statistic)] = float(grid[int(np.argmin(regret[:, 0]))])
    return found
