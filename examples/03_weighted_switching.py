"""Teaches: actuators with different costs of moving, limits on them, and missing readings.

Policies play in coordinates where the switching cost is plain l2. `Weighted` maps any policy to a plant with another
switching cost, and `Limited` keeps the actions within the range of the actuators; the policy inside learns from the
actions that were applied.
"""

import numpy as np

import soqo

A = np.array([[2.0, 0.5], [0.5, 1.0]])
switching_weight = [1.0, 25.0]  # the second actuator is slow and expensive
problem = soqo.Problem(A, switching_weight)

policy = soqo.Limited(soqo.Weighted(soqo.LAI(problem.plain.A), switching_weight), low=[-5.0, -1.0], high=[5.0, 1.0])
rng = np.random.default_rng(0)
state = policy.start(x0=np.zeros(2), horizon=8)
v = np.zeros(2)
print("round            v                  x")
for t in range(8):
    v = v + rng.standard_normal(2)
    x, state = policy.act(state, v)
    reading = np.nan if t == 3 else float(problem.hitting_cost(x, v))
    state = policy.observe(state, reading)
    note = "   no reading" if np.isnan(reading) else ""
    print(f"{t + 1:5d}   {v[0]:6.2f} {v[1]:6.2f}     {x[0]:6.2f} {x[1]:6.2f}{note}")
