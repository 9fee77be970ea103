"""Teaches: compare policies on the same sample paths, and read regret.

The benchmark is LAI, a player who knows the curvature A. FTM follows the minimizer and pays for moving; POL and OAL
learn A from one noisy number per round; ROBD knows A and is designed for the worst case.
"""

import soqo

A = soqo.random_curvature(dim=4, rank=4, min_eigenvalue=1e-2, max_eigenvalue=1.0, rng=0)
environment = soqo.Environment(soqo.Problem(A), soqo.processes.Gaussian(scale=50.0), soqo.noise.Uniform(cap=10.0))
policies = {
    "FTM": soqo.FTM(),
    "ROBD": soqo.ROBD(A),
    "POL": soqo.POL(learning_rate=1e-8),
    "OAL": soqo.OAL(learning_rate=1e-8),
}
result = soqo.simulate(environment, policies, horizon=500, runs=20, seed=0)

print("regret against LAI after 500 rounds, 20 runs")
print(result.summary())

regret = result.regret("POL", per_round=True)
print(f"\nPOL per round: {regret[:, :100].mean():.0f} in the first hundred rounds,", end=" ")
print(f"{regret[:, -100:].mean():.0f} in the last hundred")
