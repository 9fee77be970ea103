"""Teaches: keep a result in a file, label it with xarray, and divide a simulation into pieces.

Run k of a seed does not depend on the other runs, so the concatenated pieces are bit-identical to the whole.
"""

import tempfile
from pathlib import Path

import numpy as np

import soqo

environment = soqo.Environment(
    soqo.RandomProblem(dim=3, rank=1, min_eigenvalue=0.5),
    soqo.processes.Cauchy(scale=1.0),
    soqo.noise.Uniform(cap=1.0),
)
policies = {"FTM": soqo.FTM(), "ROBD": soqo.ROBD.for_problem}

whole = soqo.simulate(environment, policies, horizon=200, runs=40, seed=3)
pieces = [soqo.simulate(environment, policies, horizon=200, runs=20, seed=3, first_run=first) for first in (0, 20)]
together = soqo.Result.concat(pieces)
print("pieces equal the whole:", np.array_equal(together.regret("ROBD"), whole.regret("ROBD")))

with tempfile.TemporaryDirectory() as folder:
    path = whole.save(Path(folder) / "cauchy.nc")
    back = soqo.Result.load(path)
print("the file has the same numbers:", np.array_equal(back.regret("ROBD"), whole.regret("ROBD")))
print("made by:", back.configuration["environment"]["process"], "seed", back.configuration["seed"])

# Cauchy steps have no mean, so compare medians and quantiles.
quantiles = whole.to_xarray()["regret"].sel(round=200).quantile([0.25, 0.5, 0.75], dim="run")
print(quantiles.to_pandas().map("{:.3g}".format).to_string())
