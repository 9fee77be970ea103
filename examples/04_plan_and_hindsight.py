"""Teaches: the gains of the optimal player, and the value of knowing v in advance.

C_t multiplies the distance to v: it is near 1 where A is flat (stay) and near 0 where A is steep (follow). Gains grow
towards the end of the horizon, because a move has fewer rounds left in which it pays off.
"""

import numpy as np

import soqo

A = np.diag([0.01, 1.0, 100.0])
plan = soqo.Plan(A, horizon=1000)
print("diagonal of C_t for curvatures 0.01, 1, 100")
for t in (1, 990, 1000):
    print(f"  t = {t:4d}: {np.diag(plan.gain(t)).round(4)}")

problem = soqo.Problem(A)
v = np.cumsum(np.random.default_rng(0).standard_normal((20, 1000, 3)), axis=1)
x0 = np.zeros((20, 3))
costs = {
    "follow v": problem.total_cost(v, v, x0=x0),
    "LAI": problem.total_cost(plan.path(x0, v), v, x0=x0),
    "hindsight": problem.total_cost(soqo.hindsight_optimum(problem, v, x0=x0), v, x0=x0),
}
print("\nmean cost of 1000 rounds")
for name, cost in costs.items():
    print(f"  {name:10s} {cost.mean():8.1f}")
