"""What a simulation found: costs and regret of every policy, their summary, and a file to keep them in."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from soqo._arguments import choice, integer
from soqo._storage.files import replacing
from soqo._summary import Summary, summarize
from soqo.errors import ArgumentError, FileFormatError, require_extra
from soqo.typing import Array, BoolArray

if TYPE_CHECKING:
    import xarray

__all__ = ["Result", "Track"]

FORMAT = 1
"""Version of the file layout; a reader refuses what it does not know."""

PER_ROUND = ("hitting", "switching", "excess")
"""What a track holds for each round."""


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
        The policy's own, after the last round. Files keep those that are numbers for each run.
    """

    hitting: Array
    switching: Array
    excess: Array
    diverged: BoolArray
    diagnostics: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def concat(cls, parts: Sequence[Track]) -> Track:
        """Tracks of runs that follow each other, as one; diagnostics that are numbers for each run come along."""
        kept = [per_run_numbers(part.diagnostics, part.diverged.size) for part in parts]
        common = [name for name in kept[0] if all(name in other for other in kept)]
        return cls(
            hitting=np.concatenate([part.hitting for part in parts]),
            switching=np.concatenate([part.switching for part in parts]),
            excess=np.concatenate([part.excess for part in parts]),
            diverged=np.concatenate([part.diverged for part in parts]),
            diagnostics={name: np.concatenate([other[name] for other in kept]) for name in common},
        )


@dataclass(frozen=True, eq=False, repr=False)
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
            for key in PER_ROUND
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
        for index, name in enumerate(names):
            numbers = per_run_numbers(self.tracks[name].diagnostics, self.runs)
            for key, array in numbers.items():
                stored = array.astype(np.int8) if array.dtype == np.bool_ else array
                dims = ("run", *(f"{key}_{axis}_{index}" for axis in range(1, array.ndim)))
                variables[f"diagnostic_{index}_{key}"] = (dims, stored)
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
        """The way back from :meth:`to_xarray`, for all that it keeps."""
        if dataset.attrs.get("soqo_format") != FORMAT:
            raise FileFormatError(
                f"dataset must be a soqo result of format {FORMAT}, got format {dataset.attrs.get('soqo_format')!r}"
            )
        try:
            return cls._from_xarray(dataset)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise FileFormatError(f"dataset must be a whole soqo result, got: {error}") from error

    @classmethod
    def _from_xarray(cls, dataset: xarray.Dataset) -> Result:
        names = [str(name) for name in dataset["policy"].values]

        def part(key: str, *axes: str) -> Any:
            return dataset[key].transpose(*axes).values

        hitting, switching, excess = (part(key, "policy", "run", "round") for key in PER_ROUND)
        diverged = part("diverged", "policy", "run").astype(np.bool_)
        tracks = {
            name: Track(
                hitting[i],
                switching[i],
                excess[i],
                diverged[i],
                {
                    str(key).removeprefix(f"diagnostic_{i}_"): dataset[key].values
                    for key in dataset.data_vars
                    if str(key).startswith(f"diagnostic_{i}_")
                },
            )
            for i, name in enumerate(names)
        }
        v, actions = None, None
        if "actions" in dataset:
            v = part("v", "run", "round", "coordinate")
            played = part("actions", "policy", "run", "round", "coordinate")
            actions = {name: played[i] for i, name in enumerate(names)}
            actions[cls.BENCHMARK] = part("benchmark_actions", "run", "round", "coordinate")
        first_run, runs = int(dataset["run"].values[0]), dataset.sizes["run"]
        configuration = json.loads(dataset.attrs["configuration"])
        return cls(
            tracks=tracks,
            benchmark_hitting=part("benchmark_hitting", "run", "round"),
            benchmark_switching=part("benchmark_switching", "run", "round"),
            first_run=first_run,
            configuration={**configuration, "first_run": first_run, "runs": runs},
            v=v,
            actions=actions,
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a NetCDF file, whole or not at all, with a checksum inside (extra ``lab``)."""
        target = Path(path)
        dataset = self.to_xarray()
        dataset.attrs["checksum"] = checksum(dataset)
        with replacing(target) as temporary:
            dataset.to_netcdf(temporary, engine="scipy")
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a file that :meth:`save` wrote; a damaged one is refused (extra ``lab``)."""
        xr = require_extra("xarray", "lab")
        source = Path(path)
        if not source.is_file():
            raise FileNotFoundError(f"no result at {source}")
        try:
            dataset = xr.load_dataset(source, engine="scipy")
        except Exception as error:  # whatever a damaged file makes the reader raise
            raise FileFormatError(f"{source} is not a NetCDF file, or is damaged: {error}") from error
        if dataset.attrs.get("soqo_format") == FORMAT:
            found = dataset.attrs.pop("checksum", None)
            if found != checksum(dataset):
                raise FileFormatError(f"{source} is damaged: its checksum does not match")
        return cls.from_xarray(dataset)

    @classmethod
    def concat(cls, parts: Sequence[Result]) -> Result:
        """Put pieces of a simulation together, whose runs follow each other.

        Examples
        --------
        >>> import soqo
        >>> environment = soqo.Environment(
        ...     soqo.Problem([[1.0]]), soqo.processes.Gaussian(5.0), soqo.noise.Uniform(1.0)
        ... )
        >>> parts = [
        ...     soqo.simulate(environment, {"FTM": soqo.FTM()}, horizon=9, runs=2, first_run=first)
        ...     for first in (0, 2)
        ... ]
        >>> whole = soqo.simulate(environment, {"FTM": soqo.FTM()}, horizon=9, runs=4)
        >>> bool((Result.concat(parts).regret("FTM") == whole.regret("FTM")).all())
        True
        """
        if not parts:
            raise ArgumentError("parts must hold at least one result, got none")
        first = parts[0]
        following = first.first_run
        for part in parts:
            if part.policies != first.policies or part.horizon != first.horizon:
                raise ArgumentError("parts must have the same policies and horizon, got others")
            if part.first_run != following:
                raise ArgumentError(
                    f"parts must follow each other: expected first_run {following}, got {part.first_run}"
                )
            following += part.runs
        return cls(
            tracks={name: Track.concat([part[name] for part in parts]) for name in first},
            benchmark_hitting=np.concatenate([part.benchmark_hitting for part in parts]),
            benchmark_switching=np.concatenate([part.benchmark_switching for part in parts]),
            first_run=first.first_run,
            configuration={**first.configuration, "runs": following - first.first_run},
            v=joined([part.v for part in parts]),
            actions=None
            if any(part.actions is None for part in parts)
            else {
                name: np.concatenate([part.actions[name] for part in parts if part.actions])
                for name in (first.actions or {})
            },
        )

    def __repr__(self) -> str:
        names = ", ".join(self.tracks)
        return f"Result({names}; horizon {self.horizon}, runs {self.first_run}..{self.first_run + self.runs - 1})"


def joined(arrays: Sequence[Array | None]) -> Array | None:
    """Arrays put together, or None if one of them is missing."""
    present = [array for array in arrays if array is not None]
    return np.concatenate(present) if len(present) == len(arrays) else None


def checksum(dataset: xarray.Dataset) -> str:
    """A hash of all numbers, names and attributes of a dataset."""
    digest = hashlib.sha256(str(dataset.attrs.get("configuration")).encode())
    for name in sorted(map(str, dataset.variables)):
        variable = dataset[name]
        digest.update(f"{name} {variable.dims} {variable.shape}".encode())
        values = variable.values
        if values.dtype.kind in "OUST":
            digest.update("\0".join(map(str, values.ravel())).encode())
        else:
            # As one type, since a file may hold integers in fewer bytes, and in another order.
            digest.update(np.ascontiguousarray(values, dtype=np.float64).tobytes())
    return digest.hexdigest()


def per_run_numbers(diagnostics: Mapping[str, Any], runs: int) -> dict[str, np.ndarray[Any, Any]]:
    """The diagnostics that a file can keep: arrays of numbers with one entry per run."""
    arrays = {name: np.asarray(value) for name, value in diagnostics.items() if name != "diverged"}
    return {name: array for name, array in arrays.items() if array.dtype.kind in "biuf" and array.shape[:1] == (runs,)}
