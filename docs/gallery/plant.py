"""Two cooling units: following v, steered by GLIDE, and steered by a player who knows A."""

import matplotlib.pyplot as plt
import numpy as np

import soqo

problem = soqo.Problem([[3.0, 1.0], [1.0, 2.0]], switching_weight=[1.0, 25.0])
rng = np.random.default_rng(0)
v = 21.5 + np.cumsum(rng.normal(0.0, 0.7, (240, 2)), axis=0)
policies = {"FTM": soqo.FTM(), "GLIDE": soqo.GLIDE(), "knows A": soqo.LAI.for_problem(problem)}
paths = {name: [v[0]] for name in policies}
for name, policy in policies.items():
    controller = soqo.Controller(policy, v[0], switching_weight=[1.0, 25.0])
    for target in v:
        paths[name].append(controller.act(target))
        controller.observe(float(problem.hitting_cost(paths[name][-1], target)) + rng.uniform(-0.5, 0.5))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=[3, 2])
for name, path in paths.items():
    x = np.array(path)
    style = {"FTM": "-", "GLIDE": "-", "knows A": ":"}[name]
    left.plot(x[:, 1], style, label=name, linewidth=0.8 if name == "FTM" else 2.0)
    cost = problem.hitting_cost(x[1:], v) + problem.switching_cost(x[1:], x[:-1])
    right.plot(np.cumsum(cost), style, label=name)
left.set(xlabel="minute", ylabel="set point", title="The unit that is expensive to move")
right.set(xlabel="minute", title="Total cost so far")
right.legend()
