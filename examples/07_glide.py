"""Teaches: GLIDE, which learns A from the movement of optimal play.

It needs no prior knowledge of the noise, the rank and the scale of A, or the horizon. The example compares it with the
paper's policies, shows its reaction to a change of A, and prints its diagnostics for one plant.
"""

import numpy as np

import soqo
from soqo.noise import Uniform
from soqo.processes import Gaussian

# A rank-deficient A: three of four directions cost nothing, which a policy has to learn.
problem = soqo.RandomProblem(dim=4, rank=1, min_eigenvalue=1.0)
environment = soqo.Environment(problem, Gaussian(scale=50.0), Uniform(cap=10.0))
policies = {
    "FTM": soqo.FTM(),
    "POL": soqo.POL(learning_rate=1e-8),
    "SCaLE": soqo.SCaLE(noise_cap=10.0, rank=1, min_eigenvalue=1.0, c1=10.0),
    "GLIDE": soqo.GLIDE(),
}
result = soqo.simulate(environment, policies, horizon=500, runs=20, seed=0)
print(result.summary())

# Most of the regret is that of the first d(d+1)/2 = 10 rounds, with fewer readings than unknowns.
regret = np.median(result.regret("GLIDE"), axis=0)
print(f"\nGLIDE after 10 rounds {regret[9]:.0f}, after 50 {regret[49]:.0f}, after 500 {regret[-1]:.0f}")

# A changes in round 300: readings that the old A does not explain raise an alarm, and GLIDE adapts its estimate.
changing = soqo.Environment(
    soqo.RandomProblem(dim=4, rank=4, min_eigenvalue=1.0, max_eigenvalue=4.0),
    Gaussian(scale=50.0),
    Uniform(cap=10.0),
    changes=[soqo.Change(round=300)],
)
play = soqo.simulate(
    changing, {"GLIDE": soqo.GLIDE(), "SCaLE": soqo.SCaLE(10.0, 4, min_eigenvalue=1.0)}, horizon=500, runs=20, seed=0
)
alarms = play["GLIDE"].diagnostics["last_alarm"]
print(f"\nA changes in round 300; alarms in rounds {alarms.min():.0f}..{alarms.max():.0f}")
for name in play.policies:
    regret = np.median(play.regret(name), axis=0)
    print(f"  {name}: regret {regret[298]:.0f} before the change, {regret[-1] - regret[298]:.0f} since")

# One plant, round by round.
policy, rng = soqo.GLIDE(), np.random.default_rng(1)
A, v = np.array([[2.0, 0.6], [0.6, 0.5]]), np.zeros(2)
state = policy.start(x0=np.zeros(2))
for _ in range(40):
    v = v + 5.0 * rng.standard_normal(2)
    x, state = policy.act(state, v)
    state = policy.observe(state, 0.5 * (x - v) @ A @ (x - v) + rng.uniform(-1.0, 1.0))
knows = policy.diagnostics(state)
print(f"\nafter 40 rounds: A = {knows['estimate'].round(2).tolist()}")
print(f"  give or take {knows['uncertainty'].round(2).tolist()} along its eigenvectors")
print(f"  noise {knows['noise']:.1f}, alarms {knows['alarms']:.0f}")
