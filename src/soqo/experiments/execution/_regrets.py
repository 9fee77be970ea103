"""The regret of many policies after the last round, in a small file."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._simulation.benchmark import benchmark_path
from soqo._simulation.paths import Paths
from soqo._simulation.play import Trajectory
from soqo._storage.atomic import replacing
from soqo.errors import FileFormatError
from soqo.typing import Array, BoolArray


@dataclass(frozen=True)
class Regrets(Value):
    """The regret of policies after the last round.

    Attributes
    ----------
    policies : tuple of str
        The names of the policies.
    regret : Array, shape (policies, runs)
        The regret after the last round.
    exploration : Array, shape (policies, runs)
        The regret at the end of SCaLE's and HySCaLE's probes; NaN for other policies.
    diverged : BoolArray, shape (policies, runs)
        Which runs have diverged.
    """

    policies: tuple[str, ...]
    regret: Array = field(repr=False)
    exploration: Array = field(repr=False)
    diverged: BoolArray = field(repr=False)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.regret.shape[1])

    def __getitem__(self, policy: str) -> Array:
        return np.asarray(self.regret[self.policies.index(policy)])

    def choose(self, policies: Sequence[str]) -> Regrets:
        """Return some of the policies.

        Parameters
        ----------
        policies : sequence of str
            Their names.
        """
        rows = [self.policies.index(name) for name in policies]
        return Regrets(tuple(policies), self.regret[rows], self.exploration[rows], self.diverged[rows])

    def rename(self, names: Mapping[str, str]) -> Regrets:
        """Return the policies under other names, and possibly several names for one policy.

        Parameters
        ----------
        names : mapping of str to str
            For each new name, the present one.
        """
        chosen = self.choose(list(names.values()))
        return Regrets(tuple(names), chosen.regret, chosen.exploration, chosen.diverged)

    @classmethod
    def join_policies(cls, parts: Sequence[Regrets]) -> Regrets:
        """Return the policies of several parts, which have the same runs.

        Parameters
        ----------
        parts : sequence of Regrets
            The parts, with different policies.
        """
        names = tuple(name for part in parts for name in part.policies)
        return cls(names, *(np.concatenate([getattr(part, key) for part in parts]) for key in _ARRAYS))

    @classmethod
    def join_runs(cls, parts: Sequence[Regrets]) -> Regrets:
        """Return the runs of several parts, which have the same policies.

        Parameters
        ----------
        parts : sequence of Regrets
            The parts, in the order of their runs.
        """
        return cls(parts[0].policies, *(np.concatenate([getattr(p, key) for p in parts], axis=1) for key in _ARRAYS))

    def save(self, path: str | os.PathLike[str], *, key: str = "") -> None:
        """Write the numbers to a file, atomically.

        Parameters
        ----------
        path : path
            The file.
        key : str
            What the numbers are the answer to; :meth:`load` refuses a file with another key.
        """
        with replacing(Path(path)) as temporary, Path(temporary).open("wb") as file:
            np.savez(
                file,
                key=np.array(key),
                policies=np.array(self.policies),
                **{key: getattr(self, key) for key in _ARRAYS},
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, key: str = "") -> Regrets:
        """Read the numbers from a file, whose checksums are verified.

        Parameters
        ----------
        path : path
            The file.
        key : str
            What the numbers should be the answer to.

        Raises
        ------
        FileFormatError
            If the file is damaged, or has another key.
        """
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                if str(arrays["key"]) != key:
                    raise FileFormatError(f"{path} holds other numbers than it should: its key is another one")
                return cls(tuple(arrays["policies"].tolist()), *(arrays[key] for key in _ARRAYS))
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise FileFormatError(f"{path} is damaged: {error}") from error


_ARRAYS = ("regret", "exploration", "diverged")


def measure_regrets(played: Mapping[str, Trajectory], paths: Paths) -> Regrets:
    """Return the regret of what policies did on given paths.

    Parameters
    ----------
    played : mapping of str to Trajectory
        What each policy did.
    paths : Paths
        The sample paths.

    Returns
    -------
    Regrets
        The regret of each policy.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a cost that overflows marks the run as diverged
        benchmark = np.add(*paths.costs(benchmark_path(paths)))
        regret, exploration, diverged = [], [], []
        for trajectory in played.values():
            above = np.add(*paths.costs(trajectory.x)) - benchmark
            m = int(trajectory.diagnostics.get("exploration_rounds", 0))
            regret.append(above.sum(axis=1))
            exploration.append(above[:, :m].sum(axis=1) if m else np.full(paths.runs, np.nan))
            diverged.append(trajectory.diverged | ~np.isfinite(regret[-1]))
    return Regrets(tuple(played), np.stack(regret), np.stack(exploration), np.stack(diverged))
