"""What a simulation found: costs and regret of every policy, their summary, and a file to keep them in."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from soqo.arguments import Array, BoolArray, choice, integer
from soqo.errors import ArgumentError, FileFormatError, require_extra
from soqo.summary import Summary, summarize

if TYPE_CHECKING:
    import xarray

__all__ = ["Result", "Track"]

FORMAT = 1
"""Version of the file layout; a reader refuses what it does not know."""


@dataclass(frozen=True, eq=False)
class Track:
    """One policy's record: costs of each round, shape (runs, T), and what became of it.

    Attributes
    ----------
    hitting, switching : Array, shape (runs, T)
    excess : Array, shape (runs, T)
        The low-variance form of regret, per round (see :meth:`Result.regret`).
    diverged : BoolArray, shape (runs,)
    diagnostics : dict
        The policy's own, after the last round. Not kept in files.
    """

    hitting: Array
    switching: Array
    excess: Array
    diverged: BoolArray
    diagnostics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of :func:`soqo.simulate`.

    Attributes
    ----------
    tracks : dict of str to Track
        By policy.
    benchmark_hitting, benchmark_switching : Array, shape (runs, T)
        What LAI paid, who knows A.
    first_run : int
        Number of the first run.
    configuration : dict
        Environment, policies, horizon, runs, seed and versions, as plain data.
    v : Array, shape (runs, T, d), or None
        The minimizers, if recorded.
    actions : dict of str to Array of shape (runs, T, d), or None
        The actions of every policy and of ``Result.BENCHMARK``, if recorded.
    """

    BENCHMARK: ClassVar[str] = "LAI (benchmark)"

    tracks: Mapping[str, Track]
    benchmark_hitting: Array
    benchmark_switching: Array
    first_run: int
    configuration: Mapping[str, Any]
    v: Array | None = None
    actions: Mapping[str, Array] | None = None

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies, in the order they were given."""
        return tuple(self.tracks)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.benchmark_hitting.shape[0])

    @property
    def horizon(self) -> int:
        """The number of rounds T."""
        return int(self.benchmark_hitting.shape[1])

    def __iter__(self) -> Iterator[str]:
        return iter(self.tracks)

    def __getitem__(self, policy: str) -> Track:
        if policy not in self.tracks:
            known = ", ".join(repr(name) for name in self.tracks)
            raise ArgumentError(f"policy must be one of {known}, got {policy!r}")
        return self.tracks[policy]

    def cost(self, policy: str) -> Array:
        """Hitting plus switching cost of each round, shape (runs, T)."""
        track = self[policy]
        return track.hitting + track.switching

    def regret(self, policy: str, *, form: str = "difference", per_round: bool = False) -> Array:
        """Regret against LAI on the same path, shape (runs, T); cumulative unless ``per_round``.

        Parameters
        ----------
        policy : str
        form : {"difference", "low_variance"}
            ``"difference"``: cost minus LAI's cost, the definition. ``"low_variance"``: the sum of
            1/2 |x_t - x*_t|^2 in the norm of C_t^{-1}, where x*_t is LAI's step from the policy's own x_{t-1}. When v
            is a martingale both have the same mean; the second is never negative, and its variance is the smaller the
            nearer the policy comes to LAI. Where v is no martingale it measures distance from LAI, not regret.
        per_round : bool
            Each round's share instead of the running sum.
        """
        choice("form", form, ("difference", "low_variance"))
        if form == "low_variance":
            shares = self[policy].excess
        else:
            shares = self.cost(policy) - (self.benchmark_hitting + self.benchmark_switching)
        return shares if per_round else np.cumsum(shares, axis=1)

    def summary(
        self,
        *,
        form: str = "difference",
        at: int | None = None,
        interval_of: str = "median",
        level: float = 0.95,
        resamples: int = 2000,
    ) -> Summary:
        """Mean, median, quartiles, bootstrap interval and diverged runs of every policy's cumulative regret.

        Parameters
        ----------
        form : {"difference", "low_variance"}
            As in :meth:`regret`.
        at : int, optional
            The round at which to look; the last by default.
        interval_of : {"median", "mean"}
            Which of them the bootstrap interval is for. Under heavy tails only the median means anything.
        level : float
            Coverage of the interval.
        resamples : int
            Bootstrap resamples; their seed is fixed, so that a result has one summary.

        Examples
        --------
        >>> import soqo
        >>> environment = soqo.Environment(
        ...     soqo.Problem([[1.0]]), soqo.processes.Gaussian(5.0), soqo.noise.Uniform(1.0)
        ... )
        >>> summary = soqo.simulate(environment, {"FTM": soqo.FTM()}, horizon=50, runs=8).summary()
        >>> summary["FTM"].lower_quartile <= summary["FTM"].median <= summary["FTM"].upper_quartile
        True
        """
        when = self.horizon if at is None else integer("at", at, least=1)
        if when > self.horizon:
            raise ArgumentError(f"at must be at most horizon = {self.horizon}, got {at}")
        samples = {name: self.regret(name, form=form)[:, when - 1] for name in self.tracks}
        diverged = {name: int(track.diverged.sum()) for name, track in self.tracks.items()}
        return summarize(samples, diverged, interval_of, level, resamples)

    def to_xarray(self) -> xarray.Dataset:
        """All arrays as a labelled dataset with dimensions policy, run and round (extra ``lab``)."""
        xr = require_extra("xarray", "lab")
        names = list(self.tracks)
        stacked = {
            key: (
                ("policy", "run", "round"),
                np.stack([getattr(self.tracks[name], key) for name in names]),
            )
            for key in ("hitting", "switching", "excess")
        }
        regret = np.stack([self.regret(name) for name in names])
        flags = np.stack([self.tracks[name].diverged for name in names]).astype(np.int8)
        variables: dict[str, Any] = {
            **stacked,
            "regret": (("policy", "run", "round"), regret),
            "diverged": (("policy", "run"), flags),
            "benchmark_hitting": (("run", "round"), self.benchmark_hitting),
            "benchmark_switching": (("run", "round"), self.benchmark_switching),
        }
        if self.v is not None and self.actions is not None:
            played = np.stack([self.actions[name] for name in names])
            variables["v"] = (("run", "round", "coordinate"), self.v)
            variables["actions"] = (("policy", "run", "round", "coordinate"), played)
            variables["benchmark_actions"] = (
                ("run", "round", "coordinate"),
                self.actions[self.BENCHMARK],
            )
        coordinates = {
            "policy": names,
            "run": np.arange(self.first_run, self.first_run + self.runs),
            "round": np.arange(1, self.horizon + 1),
        }
        attributes = {"soqo_format": FORMAT, "configuration": json.dumps(self.configuration)}
        dataset: xarray.Dataset = xr.Dataset(variables, coordinates, attributes)
        return dataset

    @classmethod
    def from_xarray(cls, dataset: xarray.Dataset) -> Result:
        """The way back from :meth:`to_xarray`; diagnostics are not kept."""
        if dataset.attrs.get("soqo_format") != FORMAT:
            raise FileFormatError(
                f"dataset must be a soqo result of format {FORMAT}, "
                f"got format {dataset.attrs.get('soqo_format')!r}"
            )
        names = [str(name) for name in dataset["policy"].values]
        tracks = {
            name: Track(
                hitting=dataset["hitting"].values[i],
                switching=dataset["switching"].values[i],
                excess=dataset["excess"].values[i],
                diverged=dataset["diverged"].values[i].astype(np.bool_),
            )
            for i, name in enumerate(names)
        }
        actions = None
        if "actions" in dataset:
            actions = {name: dataset["actions"].values[i] for i, name in enumerate(names)}
            actions[cls.BENCHMARK] = dataset["benchmark_actions"].values
        return cls(
            tracks=tracks,
            benchmark_hitting=dataset["benchmark_hitting"].values,
            benchmark_switching=dataset["benchmark_switching"].values,
            first_run=int(dataset["run"].values[0]),
            configuration=json.loads(dataset.attrs["configuration"]),
            v=dataset["v"].values if "v" in dataset else None,
            actions=actions,
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a NetCDF file with everything but the diagnostics, whole or not at all (extra ``lab``)."""
        target = Path(path)
        dataset = self.to_xarray()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        os.close(handle)
        try:
            dataset.to_netcdf(name, engine="scipy")
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a file that :meth:`save` wrote (extra ``lab``)."""
        xr = require_extra("xarray", "lab")
        source = Path(path)
        if not source.is_file():
            raise FileNotFoundError(f"no result at {source}")
        try:
            dataset = xr.load_dataset(source, engine="scipy")
        except Exception as error:  # whatever a damaged file makes the reader raise
            raise FileFormatError(
                f"{source} is not a NetCDF file, or is damaged: {error}"
            ) from error
        try:
            return cls.from_xarray(dataset)
        except (KeyError, IndexError, json.JSONDecodeError) as error:
            raise FileFormatError(f"{source} is a damaged soqo result: {error}") from error
