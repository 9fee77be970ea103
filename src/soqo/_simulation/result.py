"""The result of a simulation: costs and regret of every policy, their summary, and the NetCDF file that keeps them."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import scipy

from soqo._foundation.arguments import choice, file_path
from soqo._foundation.frozen_dataclasses import Value, set_fields
from soqo._foundation.optional_imports import require_extra
from soqo._simulation.summary import Summary, look_up_policy, summarize
from soqo._storage.atomic import replacing
from soqo._version import __version__
from soqo.errors import ArgumentError, FileFormatError
from soqo.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    import xarray

_Form = Literal["difference", "low_variance"]

_FORMAT = 2
"""The version of the file layout that is written."""

_LOW_VARIANCE_NAME = {1: "excess", 2: "low_variance_regret"}
"""The name of the low-variance form of regret in the file, by version of the layout; format 1 is that of 0.1.0."""


@dataclass(frozen=True)
class PolicyResult(Value):
    """One policy's costs, regret and diagnostics.

    Attributes
    ----------
    hitting, switching : Array, shape (runs, rounds)
        The costs of each recorded round.
    low_variance_regret : Array, shape (runs, rounds)
        Each round's share of the low-variance form of regret (see :meth:`Result.regret`).
    diverged : BoolArray, shape (runs,)
        The runs with a cost that is not finite, or that the policy itself reports as diverged.
    diagnostics : dict
        The policy's own diagnostics after the last round. Files keep those that are numbers for each run.
    regret : Array of shape (runs, rounds), or None
        The cost above the benchmark's. It is stored where rounds are summed, since the difference of two sums of costs
        would lose digits, and None where it follows from the costs of each round.
    """

    hitting: Array
    switching: Array
    low_variance_regret: Array
    diverged: BoolArray
    diagnostics: dict[str, Any] = field(default_factory=dict, repr=False)
    regret: Array | None = None


@dataclass(frozen=True, kw_only=True)
class Result(Value, Mapping[str, PolicyResult]):
    """The outcome of :func:`soqo.simulate`: a mapping from each policy's name to its :class:`PolicyResult`.

    Attributes
    ----------
    records : mapping of str to PolicyResult
        The results by policy.
    benchmark_hitting, benchmark_switching : Array, shape (runs, rounds)
        The costs of LAI, which knows A.
    first_run : int
        The number of the first run.
    configuration : mapping
        Environment, policies, horizon, runs, seed and versions, as plain data.
    rounds : IntArray, shape (rounds,)
        The rounds at which the arrays are recorded: 1 to T, or T alone where rounds are summed (see :meth:`total`).
    v : Array of shape (runs, T, d), or None
        The minimizers, if they were recorded.
    actions : mapping of str to Array of shape (runs, T, d), or None
        The actions of every policy and of ``Result.BENCHMARK``, if they were recorded.

    Examples
    --------
    >>> import soqo
    >>> environment = soqo.Environment(soqo.Problem([[1.0]]), soqo.processes.Gaussian(5.0), soqo.noise.Uniform(1.0))
    >>> result = soqo.simulate(environment, {"FTM": soqo.FTM()}, horizon=50, runs=8)
    >>> result["FTM"].hitting.shape
    (8, 50)
    >>> result["SCaLE"]
    Traceback (most recent call last):
    soqo.errors.UnknownNameError: policy must be one of 'FTM', got 'SCaLE'
    """

    BENCHMARK: ClassVar[str] = "LAI (benchmark)"

    records: Mapping[str, PolicyResult]
    benchmark_hitting: Array
    benchmark_switching: Array
    first_run: int
    configuration: Mapping[str, Any]
    rounds: IntArray = field(default_factory=lambda: np.arange(0))
    v: Array | None = None
    actions: Mapping[str, Array] | None = None

    def __post_init__(self) -> None:
        if not self.rounds.size:
            set_fields(self, rounds=np.arange(1, self.benchmark_hitting.shape[1] + 1))

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies, in the order in which they were given."""
        return tuple(self.records)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.benchmark_hitting.shape[0])

    @property
    def horizon(self) -> int:
        """The number of rounds T."""
        return int(self.rounds[-1])

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, policy: str) -> PolicyResult:
        return look_up_policy(self.records, policy)

    def cost(self, policy: str) -> Array:
        """Return the hitting plus switching cost of each recorded round, shape (runs, rounds).

        Parameters
        ----------
        policy : str
            The policy's name.
        """
        record = self[policy]
        return record.hitting + record.switching

    def regret(self, policy: str, *, form: _Form = "difference", per_round: bool = False) -> Array:
        """Return the regret against LAI on the same path, shape (runs, rounds).

        Parameters
        ----------
        policy : str
            The policy's name.
        form : {"difference", "low_variance"}
            ``"difference"`` is the definition: cost minus LAI's cost. ``"low_variance"`` is the sum of
            1/2 |x_t - x*_t|^2 in the norm of C_t^{-1}, where x*_t is LAI's step from the policy's own x_{t-1}. If v is
            a martingale, both have the same mean; the second is never negative, and its variance becomes smaller as
            the policy approaches LAI. If v is not a martingale, it measures the distance from LAI, not regret.
        per_round : bool
            Return each round's share instead of the running sum.

        Raises
        ------
        UnknownNameError
            If no policy has the name.
        """
        choice("form", form, ("difference", "low_variance"))
        record = self[policy]
        # The costs of diverged runs may be infinite.
        with np.errstate(over="ignore", invalid="ignore"):
            if form == "low_variance":
                shares = record.low_variance_regret
            elif record.regret is not None:
                shares = record.regret
            else:
                shares = self.cost(policy) - (self.benchmark_hitting + self.benchmark_switching)
            return shares if per_round else np.cumsum(shares, axis=1)

    def summary(
        self,
        *,
        form: _Form = "difference",
        at: int | None = None,
        interval_of: Literal["median", "mean"] = "median",
        level: float = 0.95,
        resamples: int = 2000,
    ) -> Summary:
        """Summarize every policy's cumulative regret: mean, median, quartiles, bootstrap interval and diverged runs.

        Parameters
        ----------
        form : {"difference", "low_variance"}
            As in :meth:`regret`.
        at : int, optional
            The recorded round at which regret is summarized; the last one by default.
        interval_of : {"median", "mean"}
            The statistic that the bootstrap interval is for. Under heavy tails only the median is meaningful.
        level : float
            The coverage of the interval.
        resamples : int
            The number of bootstrap resamples. Their seed is fixed, so that a result has one summary.

        Returns
        -------
        Summary
            The summary of every policy; printing it gives a table.

        Examples
        --------
        >>> import soqo
        >>> environment = soqo.Environment(soqo.Problem([[1.0]]), soqo.processes.Gaussian(5.0), soqo.noise.Uniform(1.0))
        >>> summary = soqo.simulate(environment, {"FTM": soqo.FTM()}, horizon=50, runs=8).summary()
        >>> summary["FTM"].lower_quartile <= summary["FTM"].median <= summary["FTM"].upper_quartile
        True
        """
        found = np.flatnonzero(self.rounds == (self.horizon if at is None else at))
        if not found.size:
            raise ArgumentError(f"at must be a recorded round, {self._recorded()}, got {at}")
        samples = {name: self.regret(name, form=form)[:, found[0]] for name in self}
        diverged = {name: int(record.diverged.sum()) for name, record in self.items()}
        return summarize(samples, diverged, interval_of, level, resamples)

    def _recorded(self) -> str:
        return f"{self.rounds[0]} to {self.horizon}" if self.rounds.size > 1 else f"which is {self.horizon}"

    def total(self) -> Result:
        """Return the result with its rounds summed, so that arrays have shape (runs, 1), without paths.

        The cumulative regret at the last round is bit-identical.

        Examples
        --------
        >>> import soqo
        >>> environment = soqo.Environment(soqo.Problem([[1.0]]), soqo.processes.Gaussian(5.0), soqo.noise.Uniform(1.0))
        >>> result = soqo.simulate(environment, {"FTM": soqo.FTM()}, horizon=50, runs=8)
        >>> bool((result.total().regret("FTM") == result.regret("FTM")[:, -1:]).all())
        True
        """
        # Sums of diverged runs may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            records = {
                name: PolicyResult(
                    hitting=_sum_rounds(record.hitting),
                    switching=_sum_rounds(record.switching),
                    low_variance_regret=_sum_rounds(record.low_variance_regret),
                    diverged=record.diverged,
                    diagnostics=record.diagnostics,
                    regret=_sum_rounds(self.regret(name, per_round=True)),
                )
                for name, record in self.items()
            }
            return Result(
                records=records,
                benchmark_hitting=_sum_rounds(self.benchmark_hitting),
                benchmark_switching=_sum_rounds(self.benchmark_switching),
                first_run=self.first_run,
                configuration=self.configuration,
                rounds=self.rounds[-1:],
            )

    @classmethod
    def concat(cls, parts: Sequence[Result]) -> Self:
        """Concatenate results of consecutive runs of one simulation.

        Of the diagnostics, those are kept that are numbers for each run, of the same shape in every part.

        Parameters
        ----------
        parts : sequence of Result
            The results, in the order of their runs.

        Returns
        -------
        Result
            The result of all runs.

        Examples
        --------
        >>> import soqo
        >>> environment = soqo.Environment(soqo.Problem([[1.0]]), soqo.processes.Gaussian(5.0), soqo.noise.Uniform(1.0))
        >>> parts = [
        ...     soqo.simulate(environment, {"FTM": soqo.FTM()}, horizon=9, runs=2, first_run=first) for first in (0, 2)
        ... ]
        >>> whole = soqo.simulate(environment, {"FTM": soqo.FTM()}, horizon=9, runs=4)
        >>> bool((Result.concat(parts).regret("FTM") == whole.regret("FTM")).all())
        True
        """
        if not parts:
            raise ArgumentError("parts must hold at least one result, got none")
        first = parts[0]
        next_run = first.first_run
        for part in parts:
            if part.policies != first.policies or not np.array_equal(part.rounds, first.rounds):
                raise ArgumentError("parts must have the same policies and recorded rounds, got different ones")
            if part.first_run != next_run:
                raise ArgumentError(f"parts must be consecutive: expected first_run {next_run}, got {part.first_run}")
            next_run += part.runs
        actions = [part.actions for part in parts if part.actions is not None]
        return cls(
            records={name: _concat_policy([part[name] for part in parts]) for name in first},
            benchmark_hitting=np.concatenate([part.benchmark_hitting for part in parts]),
            benchmark_switching=np.concatenate([part.benchmark_switching for part in parts]),
            first_run=first.first_run,
            configuration={**first.configuration, "runs": next_run - first.first_run},
            rounds=first.rounds,
            v=_concat_optional([part.v for part in parts]),
            actions={name: np.concatenate([each[name] for each in actions]) for name in actions[0]}
            if len(actions) == len(parts)
            else None,
        )

    # ---- files -----------------------------------------------------------------------------------------------------

    def to_xarray(self) -> xarray.Dataset:
        """Return all arrays as a labeled dataset with dimensions policy, run and round (extra ``lab``)."""
        xr = require_extra("xarray", "lab")
        records = list(self.values())
        by_round, paths = ("policy", "run", "round"), ("run", "round", "coordinate")
        variables: dict[str, Any] = {
            "hitting": (by_round, np.stack([record.hitting for record in records])),
            "switching": (by_round, np.stack([record.switching for record in records])),
            "low_variance_regret": (by_round, np.stack([record.low_variance_regret for record in records])),
            "regret": (by_round, np.stack([self.regret(name) for name in self])),
            "diverged": (("policy", "run"), np.stack([record.diverged for record in records]).astype(np.int8)),
            "benchmark_hitting": (("run", "round"), self.benchmark_hitting),
            "benchmark_switching": (("run", "round"), self.benchmark_switching),
        }
        if self.v is not None and self.actions is not None:
            variables["v"] = (paths, self.v)
            variables["actions"] = (("policy", *paths), np.stack([self.actions[name] for name in self]))
            variables["benchmark_actions"] = (paths, self.actions[self.BENCHMARK])
        for index, record in enumerate(records):
            for key, array in _per_run_numbers(record).items():
                stored = array.astype(np.int8) if array.dtype == np.bool_ else array
                dims = ("run", *(f"{key}_{axis}_{index}" for axis in range(1, array.ndim)))
                variables[f"diagnostic_{index}_{key}"] = (dims, stored)
        coordinates = {
            "policy": list(self),
            "run": np.arange(self.first_run, self.first_run + self.runs),
            "round": self.rounds,
        }
        attributes = {"soqo_format": _FORMAT, "configuration": json.dumps(self.configuration)}
        dataset: xarray.Dataset = xr.Dataset(variables, coordinates, attributes)
        return dataset

    @classmethod
    def from_xarray(cls, dataset: xarray.Dataset) -> Self:
        """Return the result that :meth:`to_xarray` made a dataset from.

        Parameters
        ----------
        dataset : xarray.Dataset
            The dataset.

        Raises
        ------
        FileFormatError
            If the dataset is not a complete result, or is of an unknown format.
        """
        version = dataset.attrs.get("soqo_format")
        if version not in _LOW_VARIANCE_NAME:
            raise FileFormatError(f"dataset must be a soqo result of format 1 or {_FORMAT}, got format {version!r}")
        try:
            return cls._from_xarray(dataset, _LOW_VARIANCE_NAME[int(version)])
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise FileFormatError(f"dataset must be a complete soqo result, got: {error}") from error

    @classmethod
    def _from_xarray(cls, dataset: xarray.Dataset, low_variance_name: str) -> Self:
        names = [str(name) for name in dataset["policy"].values]
        by_round, paths = ("policy", "run", "round"), ("run", "round", "coordinate")

        def values(key: str, *axes: str) -> Any:
            return dataset[key].transpose(*axes).values

        rounds = dataset["round"].values.astype(np.int64)
        summed = rounds.size != rounds[-1]
        hitting, switching = values("hitting", *by_round), values("switching", *by_round)
        low_variance, regret = values(low_variance_name, *by_round), values("regret", *by_round)
        diverged = values("diverged", "policy", "run").astype(np.bool_)
        records = {}
        for i, name in enumerate(names):
            prefix = f"diagnostic_{i}_"
            stored = {str(key): dataset[key].values for key in dataset.data_vars if str(key).startswith(prefix)}
            diagnostics = {key.removeprefix(prefix): array for key, array in stored.items()}
            share = np.diff(regret[i], axis=1, prepend=0.0) if summed else None
            records[name] = PolicyResult(hitting[i], switching[i], low_variance[i], diverged[i], diagnostics, share)
        v, actions = None, None
        if "actions" in dataset:
            v, played = values("v", *paths), values("actions", "policy", *paths)
            actions = {name: played[i] for i, name in enumerate(names)}
            actions[cls.BENCHMARK] = values("benchmark_actions", *paths)
        first_run, runs = int(dataset["run"].values[0]), dataset.sizes["run"]
        configuration = json.loads(dataset.attrs["configuration"])
        return cls(
            records=records,
            benchmark_hitting=values("benchmark_hitting", "run", "round"),
            benchmark_switching=values("benchmark_switching", "run", "round"),
            first_run=first_run,
            configuration={**configuration, "first_run": first_run, "runs": runs},
            rounds=rounds,
            v=v,
            actions=actions,
        )

    def save(self, path: str | os.PathLike[str], *, key: str = "") -> Path:
        """Write a NetCDF file atomically, with a checksum inside (extra ``lab``).

        Parameters
        ----------
        path : path
            The file; its folder must exist.
        key : str
            What the result belongs to, which :meth:`load` can verify.

        Returns
        -------
        Path
            The file.
        """
        target = file_path("path", path)
        dataset = self.to_xarray()
        if key:
            dataset.attrs["key"] = key
        dataset.attrs["checksum"] = _checksum(dataset)
        content = dataset.to_netcdf(engine="scipy")  # SciPy leaves a file open if Ctrl-C comes while it writes
        with replacing(target) as temporary:
            temporary.write_bytes(content)
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, key: str | None = None) -> Self:
        """Read a file that :meth:`save` wrote (extra ``lab``).

        Parameters
        ----------
        path : path
            The file.
        key : str, optional
            The key with which it must have been saved; None for any.

        Returns
        -------
        Result
            The result.

        Raises
        ------
        FileFormatError
            If the file is damaged or not a result.
        """
        xr = require_extra("xarray", "lab")
        source = file_path("path", path)
        if not source.is_file():
            raise FileNotFoundError(f"no result at {source}")
        try:
            dataset = xr.load_dataset(source, engine="scipy")
        except Exception as error:  # a damaged file may make the reader raise anything
            raise FileFormatError(f"{source} is not a NetCDF file, or is damaged: {error}") from error
        if dataset.attrs.get("soqo_format") in _LOW_VARIANCE_NAME:
            found = dataset.attrs.pop("checksum", None)
            if found != _checksum(dataset):
                raise FileFormatError(f"{source} is damaged: its checksum does not match")
        if key is not None and dataset.attrs.get("key") != key:
            raise FileFormatError(f"{source} must have the key {key!r}, got {dataset.attrs.get('key')!r}")
        return cls.from_xarray(dataset)

    # ---- text ------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"Result({', '.join(self)}; {self._size()})"

    def _size(self) -> str:
        return f"horizon {self.horizon}, runs {self.first_run}..{self.first_run + self.runs - 1}"

    def _repr_html_(self) -> str:
        """Return the summary in HTML, for notebooks."""
        caption = f"Regret against LAI: {self._size()}"
        return f"<p>{escape(caption)}</p>\n{self.summary()._repr_html_()}"


def package_versions() -> dict[str, str]:
    """Return the versions of soqo and of what it computes with."""
    return {
        "soqo": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def _sum_rounds(array: Array) -> Array:
    """Sum in the order of a running sum, which is the order that cumulative regret uses."""
    return np.cumsum(array, axis=1)[:, -1:]


def _concat_policy(parts: Sequence[PolicyResult]) -> PolicyResult:
    numbers = [_per_run_numbers(part) for part in parts]
    same_shape = [
        name for name in numbers[0] if len({each[name].shape[1:] if name in each else None for each in numbers}) == 1
    ]
    return PolicyResult(
        hitting=np.concatenate([part.hitting for part in parts]),
        switching=np.concatenate([part.switching for part in parts]),
        low_variance_regret=np.concatenate([part.low_variance_regret for part in parts]),
        diverged=np.concatenate([part.diverged for part in parts]),
        diagnostics={name: np.concatenate([each[name] for each in numbers]) for name in same_shape},
        regret=_concat_optional([part.regret for part in parts]),
    )


def _concat_optional(arrays: Sequence[Array | None]) -> Array | None:
    """Return the arrays as one, or None if one of them is missing."""
    present = [array for array in arrays if array is not None]
    return np.concatenate(present) if len(present) == len(arrays) else None


def _per_run_numbers(record: PolicyResult) -> dict[str, np.ndarray[Any, Any]]:
    """Return the diagnostics that a file can keep: arrays of numbers with one entry per run."""
    runs = (record.diverged.size,)
    arrays = {name: np.asarray(value) for name, value in record.diagnostics.items() if name != "diverged"}
    return {name: array for name, array in arrays.items() if array.dtype.kind in "biuf" and array.shape[:1] == runs}


def _checksum(dataset: xarray.Dataset) -> str:
    """Return a hash of all numbers, names and attributes of a dataset."""
    key = str(dataset.attrs.get("key", ""))
    digest = hashlib.sha256((str(dataset.attrs.get("configuration")) + key).encode())
    for name in sorted(map(str, dataset.variables)):
        variable = dataset[name]
        digest.update(f"{name} {variable.dims} {variable.shape}".encode())
        values = variable.values
        if values.dtype.kind in "OUST":
            digest.update("\0".join(map(str, values.ravel())).encode())
        else:
            # A file may hold integers in fewer bytes and in another byte order: hash one type.
            digest.update(np.ascontiguousarray(values, dtype=np.float64).tobytes())
    return digest.hexdigest()
