"""Teaches: where the paper is ambiguous or has an error, and how much each variant changes the numbers.

Each line is one finding of docs/explanation/variants.md, measured here.
"""

import math
from collections.abc import Mapping

import numpy as np

import soqo


def simulate(
    problem: soqo.Problem | soqo.RandomProblem,
    process: soqo.processes.Process,
    policies: Mapping[str, object],
    horizon: int = 1000,
    runs: int = 20,
) -> soqo.Result:
    """Simulate with the paper's noise, horizon and runs, unless a finding needs others."""
    environment = soqo.Environment(problem, process, soqo.noise.Uniform(10.0))
    return soqo.simulate(environment, policies, horizon=horizon, runs=runs, seed=0)


def printed_gradient() -> None:
    """Show that the printed gradient omits the 1/2 of the hitting cost."""
    A = np.array([[3.0]])
    result = simulate(
        soqo.Problem(A),
        soqo.processes.Gaussian(3.0),
        {form: soqo.OAL(0.1, gradient=form) for form in ("exact", "as_printed")},
    )
    found = [np.median(result[form].diagnostics["estimate"]) for form in result]
    print(f"1. gradient: A = 3, the exact one finds {found[0]:.2f}, the printed one {found[1]:.2f}")


def identity_needs_no_learning() -> None:
    """Show that with r = d, sigma_r = 1 and equal eigenvalues, A is the initial estimate of the learners."""
    result = simulate(
        soqo.RandomProblem(4, 4, min_eigenvalue=1.0, spacing="equal"),
        soqo.processes.Gaussian(50.0),
        {"OAL": soqo.OAL(1e-8), "FTM": soqo.FTM()},
    )
    regret = {name: np.abs(result.regret(name)[:, -1]).max() for name in result}
    assert regret["OAL"] < 1e-6
    print(f"2. A = I: regret of OAL below 1e-6, of FTM {regret['FTM']:.1e}")


def correlated_steps() -> None:
    """Show that LAI is not optimal if v is not a martingale."""
    problem = soqo.Problem(np.eye(4))
    policies = {"more": soqo.LAI(1.5 * np.eye(4))}
    regret = {
        name: simulate(problem, process, policies).regret("more")[:, -1].mean()
        for name, process in {
            "Gaussian": soqo.processes.Gaussian(50.0),
            "correlated": soqo.processes.Correlated(50.0, alpha=0.7),
        }.items()
    }
    print("3. regret of LAI(1.5 A) against LAI(A):", end=" ")
    print(", ".join(f"{name} steps {value:+.1e}" for name, value in regret.items()))


def learning_rate() -> None:
    """Show that the paper's rate overshoots if u'u is large; how often, and at what cost, depends on A."""
    rates = (1e-6, 1e-7, 1e-8, 1e-9)
    for title, problem in {
        "0.01 (equal)": soqo.RandomProblem(4, 4, min_eigenvalue=0.01, spacing="equal"),
        "0.01..1": soqo.RandomProblem(4, 4, min_eigenvalue=0.01, max_eigenvalue=1.0),
        "0.01..10": soqo.RandomProblem(4, 4, min_eigenvalue=0.01, max_eigenvalue=10.0),
    }.items():
        result = simulate(
            problem,
            soqo.processes.Gaussian(50.0),
            {f"{rate:.0e}": soqo.POL(rate) for rate in rates},
        )
        cells = []
        for name in result:
            median = np.median(result.regret(name)[:, -1])
            overshoots = np.median(result[name].diagnostics["overshoots"])
            cells.append(f"{name}: {median:.1e} ({overshoots:.0f})")
        print(f"4. POL, eigenvalues {title}, regret (overshoots) by rate:", "  ".join(cells))


def gains_without_overflow() -> None:
    """Compare the hyperbolic form of the gain, which overflows, with the form that soqo computes."""
    theta, rounds = math.acosh(1.5), np.arange(1, 2000)
    with np.errstate(over="ignore", invalid="ignore"):
        naive = np.cosh((rounds - 0.5) * theta) / np.cosh((rounds + 0.5) * theta)
    wrong = rounds[~np.isclose(naive, soqo.contraction(1.0, rounds))][0]
    print(f"5. gain at a = 1: a ratio of cosh is wrong from n = {wrong} on, ", end="")
    print(f"the closed form at n = 1e6 gives {float(soqo.contraction(1.0, 10**6)):.6f}, ", end="")
    print(f"the golden ratio's {(3 - math.sqrt(5)) / 2:.6f}")


def low_variance() -> None:
    """Compare two estimates of the same expected regret, by the distance of the policy from LAI."""
    A = soqo.random_curvature(3, 3, min_eigenvalue=0.2, max_eigenvalue=3.0, rng=np.random.default_rng(0))
    policies = {"FTM": soqo.FTM(), **{f"LAI({k} A)": soqo.LAI(k * A) for k in (0.5, 0.9, 0.99)}}
    result = simulate(soqo.Problem(A), soqo.processes.Gaussian(2.0), policies, horizon=100, runs=2000)
    for name in result:
        plain = result.regret(name)[:, -1]
        quiet = result.regret(name, form="low_variance")[:, -1]
        error = [sample.std() / math.sqrt(sample.size) for sample in (plain, quiet)]
        print(f"6. {name:12s} difference {plain.mean():9.4f} +- {error[0]:.4f},", end=" ")
        print(f"low variance {quiet.mean():9.4f} +- {error[1]:.4f}")


if __name__ == "__main__":
    printed_gradient()
    identity_needs_no_learning()
    correlated_steps()
    learning_rate()
    gains_without_overflow()
    low_variance()
