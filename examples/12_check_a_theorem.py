"""Teaches: how to check a theorem with exact regret, a simulation and the bounds, and how to choose the probe variance.

Proposition 1 is an equality, so a simulation must agree with it within its standard error. A theorem is a bound, so
exact regret must stay below it. Exact regret is cheap to compute, so it can be minimized.
"""

from __future__ import annotations

import numpy as np

import soqo
from soqo import theory

A = np.diag([0.5, 1.0, 2.0])
A_hat = A + 0.2 * np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
horizon = 400

# An equality: the mean of 2,000 runs, on steps with heavier tails than Gaussian ones.
process = soqo.processes.Laplace(scale=2.0)
environment = soqo.Environment(soqo.Problem(A), process, soqo.noise.Uniform(1.0))
policies = {"LAI with an estimate": soqo.LAI(A_hat)}
regret = soqo.simulate(environment, policies, horizon=horizon, runs=2000).regret("LAI with an estimate")[:, -1]
exact = theory.exact_regret(A, A_hat, covariance=process, horizon=horizon)
error = regret.std() / np.sqrt(regret.size)
print(f"simulated {regret.mean():.1f} +- {error:.1f}, exact {exact.total:.1f}")

# Upper bounds: Theorem 5 as printed and corrected, and the bound of second order.
epsilon = theory.perturbation(A, A_hat).operator
for bound in (
    theory.theorem5(A, process, epsilon=epsilon, horizon=horizon, variant="as_printed"),
    theory.theorem5(A, process, epsilon=epsilon, horizon=horizon),
    theory.second_order_bound(A, process, epsilon=epsilon, horizon=horizon),
):
    print(f"{bound.statement}, {bound.variant.replace('_', ' ')}: at most {bound.value:.4g}")

# The probe variance: the paper's, for the worst case, and the one with the smallest expected regret here.
scale = soqo.SCaLE(noise_cap=5.0, rank=3, min_eigenvalue=0.5)
best = soqo.SCaLE(noise_cap=5.0, rank=3, min_eigenvalue=0.5, gamma2="optimal", covariance=process, prior=A)
for name, policy in (("Algorithm 1", scale), ("optimal", best)):
    gamma2, m = policy.probe_variance(3, horizon), policy.exploration_rounds(3)
    expected = theory.expected_scale_regret(gamma2, A, covariance=process, horizon=horizon, m=m, noise=5.0)
    print(f"SCaLE, {name}: gamma^2 {gamma2:.3g}, expected regret {expected.mean[0]:.4g}")
