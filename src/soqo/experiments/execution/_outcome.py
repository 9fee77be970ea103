"""What came of a setting: regret at the end for each horizon, and its course over the rounds for one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soqo._storage.files import replacing
from soqo._storage.records import describe
from soqo._summary import Summary, summarize
from soqo.errors import ArgumentError, require_extra
from soqo.experiments.settings._spec import Setting
from soqo.typing import Array, BoolArray

if TYPE_CHECKING:
    import xarray

__all__ = ["Outcome"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The regret of every policy of a setting.

    Attributes
    ----------
    setting : Setting
    runs : int
        As many as were simulated, which may be fewer than the setting asks for.
    final : mapping of int to Array, shape (policies, runs)
        Regret at the end, for each horizon; the setting's own ``horizon`` is among them.
    diverged : mapping of int to BoolArray, shape (policies, runs)
    curves : Array, shape (policies, runs, horizon)
        Regret up to each round, for the setting's own horizon.
    """

    setting: Setting
    runs: int
    final: Mapping[int, Array]
    diverged: Mapping[int, BoolArray]
    curves: Array

    @property
    def policies(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(self.setting.policies)

    @property
    def horizons(self) -> tuple[int, ...]:
        """Every horizon that was simulated."""
        return tuple(sorted(self.final))

    def regret(self, policy: str, horizon: int | None = None) -> Array:
        """Regret at the end, shape (runs,); of the setting's own horizon if none is named."""
        return np.asarray(self.final[self._horizon(horizon)][self._index(policy)])

    def curve(self, policy: str) -> Array:
        """Regret up to each round, shape (runs, horizon)."""
        return np.asarray(self.curves[self._index(policy)])

    def median(self, policy: str, horizon: int | None = None) -> float:
        """The median over the runs of the regret at the end."""
        return float(np.median(self.regret(policy, horizon)))

    def summary(self, horizon: int | None = None) -> Summary:
        """A few numbers for each policy."""
        diverged = self.diverged[self._horizon(horizon)]
        return summarize(
            {name: self.regret(name, horizon) for name in self.policies},
            {name: int(diverged[k].sum()) for k, name in enumerate(self.policies)},
        )

    def _index(self, policy: str) -> int:
        if policy not in self.policies:
            raise ArgumentError(f"policy must be one of {list(self.policies)}, got {policy!r}")
        return self.policies.index(policy)

    def _horizon(self, horizon: int | None) -> int:
        wanted = self.setting.horizon if horizon is None else horizon
        if wanted not in self.final:
            raise ArgumentError(f"horizon must be one of {list(self.horizons)}, got {horizon!r}")
        return wanted

    # ---- files -----------------------------------------------------------------------------------------------------

    def to_xarray(self) -> xarray.Dataset:
        """With named axes (extra ``lab``)."""
        xr: Any = require_extra("xarray", "lab")
        setting = self.setting
        about = {
            "environment": describe(setting.environment),
            "policies": {name: describe(entry) for name, entry in setting.policies.items()},
            "seed": setting.seed,
        }
        dataset = xr.Dataset(
            {
                "final_regret": (
                    ("horizon", "policy", "run"),
                    np.stack([self.final[h] for h in self.horizons]),
                ),
                "diverged": (
                    ("horizon", "policy", "run"),
                    np.stack([self.diverged[h] for h in self.horizons]).astype(np.int8),
                ),
                "regret": (("policy", "run", "round"), self.curves),
            },
            coords={
                "horizon": list(self.horizons),
                "policy": list(self.policies),
                "run": np.arange(self.runs),
                "round": np.arange(1, setting.horizon + 1),
            },
            attrs={
                "setting": setting.name,
                "title": setting.title,
                "source": setting.source,
                "note": setting.note,
                "configuration": json.dumps(about, sort_keys=True),
            },
        )
        dataset.attrs["checksum"] = checksum(self.final, self.diverged, self.curves)
        return dataset  # type: ignore[no-any-return]  # xarray is found at run time, so untyped

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a NetCDF file, whole or not at all (extra ``lab``)."""
        dataset = self.to_xarray()
        with replacing(path) as temporary:
            dataset.to_netcdf(temporary, engine="scipy")
        return Path(path)


def checksum(final: Mapping[int, Array], diverged: Mapping[int, BoolArray], curves: Array) -> str:
    """Of all numbers of an outcome."""
    digest = hashlib.sha256()
    for horizon in sorted(final):
        digest.update(str(horizon).encode())
        digest.update(np.ascontiguousarray(final[horizon]).tobytes())
        digest.update(np.ascontiguousarray(diverged[horizon]).tobytes())
    digest.update(np.ascontiguousarray(curves).tobytes())
    return digest.hexdigest()
